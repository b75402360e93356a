"""Policies side by side: the field, the scenarios, one comparison."""
