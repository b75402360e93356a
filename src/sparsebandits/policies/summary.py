"""What a learner knows of its coordinates, as a table for a person."""

import html
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sparsebandits.validation import FloatArray, IntArray

SHOWN = 30
"""How many rows are printed; all of them can be iterated over."""

_FULL = 1e9
"""From here on a number is written with its power of ten."""

_TITLES = ("coordinate", "estimate", "95% interval", "in the best support")


@dataclass(frozen=True)
class Row:
    """One coordinate: its name, or its index as text, and what is known of it."""

    index: int
    name: str
    estimate: float
    low: float
    high: float
    inclusion: float
    """The probability of being in the best support, by draws from the posterior; nan if unknown."""


@dataclass(frozen=True, eq=False)
class Summary:
    """The coordinates that a learner knows something of, the likeliest of the best support first.

    Attributes
    ----------
    indices : (k,) array
    names : tuple of str
    estimate, deviation, inclusion : (k,) arrays
        theta_hat, its standard deviation (nan where there is no posterior), and the share of draws
        whose best action uses the coordinate.
    rewards : int
    sigma : float
        The noise level reckoned with.
    note : str
        Further things worth saying, such as the baseline.
    """

    indices: IntArray
    names: tuple[str, ...]
    estimate: FloatArray
    deviation: FloatArray
    inclusion: FloatArray
    rewards: int
    sigma: float
    note: str = ""

    def __iter__(self) -> Iterator[Row]:
        size = np.where(np.isnan(self.estimate), 0.0, np.abs(self.estimate))
        order = np.lexsort((self.indices, -size, -np.nan_to_num(self.inclusion, nan=-1.0)))
        for k in order.tolist():
            estimate, reach = float(self.estimate[k]), 1.96 * float(self.deviation[k])
            yield Row(
                index=int(self.indices[k]),
                name=self.names[k],
                estimate=estimate,
                low=estimate - reach,
                high=estimate + reach,
                inclusion=float(self.inclusion[k]),
            )

    def __len__(self) -> int:
        return len(self.names)

    def _cells(self) -> list[tuple[str, str, str, str]]:
        return [
            (
                row.name,
                _number(row.estimate),
                "" if math.isnan(row.low) else f"{_number(row.low)} to {_number(row.high)}",
                "" if math.isnan(row.inclusion) else f"{row.inclusion:.0%}",
            )
            for row, _ in zip(self, range(SHOWN), strict=False)
        ]

    def _heading(self) -> str:
        level = "" if math.isnan(self.sigma) else f", noise {_number(self.sigma)}"
        note = f"; {self.note}" if self.note else ""
        return f"{self.rewards:,} rewards{level}{note}"

    def _rest(self) -> str:
        more = len(self) - SHOWN
        return f"and {more:,} more" if more > 0 else ""

    def __repr__(self) -> str:
        cells = [_TITLES, *self._cells()]
        widths = [max(len(row[column]) for row in cells) for column in range(len(_TITLES))]
        lines = [
            "  ".join(
                text.ljust(width) if column == 0 else text.rjust(width)
                for column, (text, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in cells
        ]
        return "\n".join(line for line in (self._heading(), *lines, self._rest()) if line)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{title}</th>" for title in _TITLES)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>"
            for row in self._cells()
        )
        heading, rest = html.escape(self._heading()), self._rest()
        return (
            f"<table><caption>{heading}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>{rest}"
        )


def in_digits(value: float, digits: int = 3) -> str:
    """Return a number as people write it: in few digits, and up to 10^9 without a power of ten.

    Examples
    --------
    >>> in_digits(0.12345), in_digits(-1234567.0), in_digits(8.5e-7), in_digits(2.5e9)
    ('0.123', '-1,230,000', '8.5e-07', '2.5e+09')
    >>> in_digits(1089.6), in_digits(1089.6, 5), in_digits(-999.6)
    ('1,090', '1,089.6', '-1,000')
    """
    rounded = float(f"{value:.{digits}g}") + 0.0  # no -0
    return f"{rounded:,.15g}" if abs(rounded) < _FULL else f"{rounded:.{digits}g}"


def _number(value: float) -> str:
    return "" if math.isnan(value) else in_digits(value)


def baseline_note(baseline: float) -> str:
    """Say what is earned without any action."""
    return f"baseline {in_digits(baseline)}"
