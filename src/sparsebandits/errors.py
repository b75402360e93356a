"""Every error that sparsebandits raises on purpose.

All derive from `SparseBanditsError`, so that one ``except`` catches them, and from ``ValueError``
or ``TypeError``, so that code written for the standard errors keeps working.
"""


class SparseBanditsError(Exception):
    """Base of every error raised by sparsebandits."""


class InvalidValueError(SparseBanditsError, ValueError):
    """An argument has the right type and an illegal value."""


class InvalidTypeError(SparseBanditsError, TypeError):
    """An argument is of a kind that cannot be used here."""


class CompositionError(SparseBanditsError, TypeError):
    """Two parts were composed that do not fit; the message names one that does."""


class SolverError(SparseBanditsError, ValueError):
    """A numerical solver could not answer for the given data."""


class SweepError(SparseBanditsError, ValueError):
    """A sweep cannot be read, started, continued or finished as asked."""
