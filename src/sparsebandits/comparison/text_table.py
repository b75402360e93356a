"""A table as plain text cells: the command line and the page only lay it out."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class TextTable:
    """Headings and rows of text, with notes below."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    folded: bool = False
    """On the page such a table opens on a click."""
    words: int = 2
    """How many columns from the left hold words; numbers in the others are set to the right."""


def number(value: float, digits: int = 3) -> str:
    """Write a number with three digits, or all digits before the point; never ``-0``.

    Examples
    --------
    >>> [number(x) for x in (12345.6, 123.4, 12.34, 0.1234, -1e-13, float("nan"))]
    ['12,346', '123', '12.3', '0.123', '0', 'nan']
    """
    if abs(value) < 1e-9:
        return "0"
    small = abs(value) < 10 ** (digits - 1) * 9.995 / 10
    return f"{value:.{digits}g}" if small else f"{value:,.0f}"
