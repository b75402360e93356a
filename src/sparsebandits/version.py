"""The release, for results that must not be mixed with those of another."""

__version__ = "0.1.0"
