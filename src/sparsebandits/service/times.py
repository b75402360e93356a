"""Moments as clients see them."""

from datetime import UTC, datetime


def as_text(moment: float) -> str:
    """Return seconds since 1970 as a time in UTC.

    Examples
    --------
    >>> as_text(0.25)
    '1970-01-01T00:00:00.250000Z'
    """
    written = datetime.fromtimestamp(moment, UTC).isoformat(timespec="microseconds")
    return f"{written.removesuffix('+00:00')}Z"
