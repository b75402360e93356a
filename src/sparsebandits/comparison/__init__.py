"""Policies side by side: the field, the scenarios, and one comparison of runs or of a sweep."""
