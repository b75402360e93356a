"""Suggestions of this project and of its peers on the same problems: see `benchmarks/peers.py`."""
