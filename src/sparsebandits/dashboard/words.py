"""How pages and sentences write numbers."""

import math

from sparsebandits.policies.summary import in_digits

DASH = "-"


def number(value: float | None, digits: int = 3) -> str:
    """Return a number in few digits; a dash where there is none.

    Examples
    --------
    >>> number(0.12345), number(float("nan")), number(-1234567.0)
    ('0.123', '-', '-1,230,000')
    """
    return DASH if value is None or math.isnan(value) else in_digits(value, digits)


def whole(value: float | None) -> str:
    """Return a whole number with separators; a dash where there is none."""
    return DASH if value is None or math.isnan(value) else f"{value:,.0f}"


def counted(count: int, word: str) -> str:
    """Return how many there are of something, by its word for one.

    Examples
    --------
    >>> counted(1, "reward"), counted(1200, "reward")
    ('1 reward', '1,200 rewards')
    """
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def share(value: float | None) -> str:
    """Return a share in percent; a dash where there is none.

    Examples
    --------
    >>> share(0.5), share(0.0), share(0.001), share(0.9999), share(1.0)
    ('50%', '0%', '<1%', '>99%', '100%')
    """
    if value is None or math.isnan(value):
        return DASH
    if 0 < value < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= value < 1 else f"{value:.0%}"


def seconds(value: float) -> str:
    """Return a duration in its natural unit.

    Examples
    --------
    >>> seconds(0.25), seconds(90), seconds(7200), seconds(200000), seconds(float("nan"))
    ('0.25 s', '90 s', '2 h', '2.3 d', '-')
    """
    if math.isnan(value):
        return DASH
    for unit, length in (("d", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if value >= 2 * length:
            return f"{value / length:.2g} {unit}"
    return f"{value:.2g} s"
