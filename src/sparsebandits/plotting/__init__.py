"""Figures as plain records, and what draws them."""
