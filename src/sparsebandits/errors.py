"""Every error that sparsebandits raises on purpose.

All derive from `SparseBanditsError`, so that one ``except`` catches them, and from ``ValueError``
or ``TypeError``, so that code written for the standard errors keeps working.
"""


class SparseBanditsError(Exception):
    """Base of every error raised by sparsebandits.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> try:
    ...     sb.LpBall(dim=0)
    ... except sb.SparseBanditsError as error:
    ...     print(error)
    dim must be at least 1, got 0.
    """


class InvalidValueError(SparseBanditsError, ValueError):
    """An argument has the right type and an illegal value.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> try:
    ...     sb.Box([0, 0], [1, 1], names=["tv", "tv"])
    ... except sb.InvalidValueError as error:
    ...     print(error)
    names must be distinct, got 'tv' at index 0 and again at 1; rename one of them.
    """


class InvalidTypeError(SparseBanditsError, TypeError):
    """An argument is of a kind that cannot be used here.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> try:
    ...     sb.LpBall(dim="three")
    ... except sb.InvalidTypeError as error:
    ...     print(error)
    dim must be an integer, got 'three'; pass an int such as 1.
    """


class CompositionError(SparseBanditsError, TypeError):
    """Two parts were composed that do not fit; the message names one that does.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> tilted = sb.Ellipsoid([[1.0, 0.5], [0.5, 1.0]])
    >>> try:
    ...     sb.sparse_argmax(tilted, [1.0, 2.0], sparsity=1, method="top-h")
    ... except sb.CompositionError as error:
    ...     print(str(error)[-39:])
    Use method='greedy', 'swap' or 'exact'.
    """


class SolverError(SparseBanditsError, ValueError):
    """A numerical solver could not answer for the given data.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> issubclass(sb.SolverError, sb.SparseBanditsError) and issubclass(sb.SolverError, ValueError)
    True
    """


class SweepError(SparseBanditsError, ValueError):
    """A sweep cannot be read, started, continued or finished as asked."""
