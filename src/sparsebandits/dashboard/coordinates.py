"""The coordinates of a learner: which were on, over time, and what is known of each."""

import math
from dataclasses import dataclass

import numpy as np

from sparsebandits.dashboard.charts import Chart, Dots, Map, along, axis
from sparsebandits.dashboard.history import History
from sparsebandits.dashboard.words import counted
from sparsebandits.policies import Learner
from sparsebandits.policies.summary import Row, Summary
from sparsebandits.validation import FloatArray, IntArray

ROWS, BINS = 40, 200
"""How many coordinates, and stretches of time, a map has at most."""

_INTERVALS = 30
_SETTLED = 20
"""Decisions from which on it is said what is nearly always on."""

SORTS = ("inclusion", "estimate", "name")


@dataclass(frozen=True, kw_only=True, eq=False)
class Usage:
    """How often coordinates were on, over time.

    Attributes
    ----------
    indices : (rows,) int array
        The coordinates used most, the most used first.
    shares : (rows, bins) array
        The share of the decisions of a stretch that had the coordinate on.
    ends : (bins,) int array
        The place of the last decision of each stretch.
    left_out : int
        Coordinates that were on, and are not shown.
    """

    indices: IntArray
    shares: FloatArray
    ends: IntArray
    left_out: int


def usage(history: History) -> Usage:
    """Count, in at most 40 rows and 200 stretches of equally many decisions, what was on."""
    count, bins = len(history), min(BINS, len(history))
    stretch = (np.arange(count) * bins) // max(count, 1)
    used, inverse = np.unique(history.columns, return_inverse=True)
    times = np.bincount(inverse, minlength=used.size)
    shown = np.lexsort((used, -times))[:ROWS]
    row_of = np.full(used.size, -1)
    row_of[shown] = np.arange(shown.size)
    rows = row_of[inverse]
    columns = np.repeat(stretch, np.diff(history.starts))
    kept = rows >= 0
    table = np.zeros((shown.size, bins))
    np.add.at(table, (rows[kept], columns[kept]), 1.0)
    sizes = np.bincount(stretch, minlength=bins)
    return Usage(
        indices=used[shown],
        shares=table / np.maximum(sizes, 1),
        ends=np.cumsum(sizes) - 1,
        left_out=int(used.size - shown.size),
    )


def usage_chart(learner: Learner, history: History, by_time: bool = False) -> Chart | None:
    """Draw which coordinates were on over time; None before the first decision."""
    if not history.columns.size:
        return None
    usages = usage(history)
    x, shares = _one_each(along(history, usages.ends, by_time), usages)
    names = names_of(learner, usages.indices)
    more = f" {usages.left_out:,} more were on now and then." if usages.left_out else ""
    return Chart(
        id="usage",
        title="Which coordinates were on",
        y_label="coordinate",
        layers=(
            Map(
                x=x,
                rows=names,
                shares=shares,
                label="share of decisions",
            ),
        ),
        sentence="The most used on top; the stronger the colour, the larger the share of "
        f"decisions that had it on. {_settled(history, usages.indices, names)}{more}",
        height=110 + 18 * len(names),
        is_list=True,
        **axis(history, by_time),
    )


def _one_each(
    x: FloatArray | list[str], usages: Usage
) -> tuple[FloatArray | list[str], FloatArray]:
    """Return places on the axis and shares, with one column for stretches at the same moment."""
    if not isinstance(x, list):
        return x, usages.shares
    first = [place for place, moment in enumerate(x) if not place or moment != x[place - 1]]
    sizes = np.diff(usages.ends, prepend=-1)
    counts = np.add.reduceat(usages.shares * sizes, first, axis=1)
    return [x[place] for place in first], counts / np.add.reduceat(sizes, first)


def _settled(history: History, indices: IntArray, names: list[str]) -> str:
    """Say what was on lately; of a policy that explores in between, when it did not."""
    if len(history) < _SETTLED:
        return "It is too early to tell what it settles on."
    late = np.arange(len(history) - len(history) // 10, len(history))
    earning = late[history.phases[late] == "exploit"]
    looked_at, but = (earning, ", where it did not explore") if earning.size else (late, "")
    shares = (history.actions(looked_at, indices) != 0).mean(axis=0)
    lasting = [name for name, share in zip(names, shares.tolist(), strict=True) if share > 0.8]
    if lasting:
        some = ", ".join(lasting[:6]) + (" and others" if len(lasting) > 6 else "")
        return f"Lately nearly always on{but if earning.size < late.size else ''}: {some}."
    tries = "Lately none was nearly always on: it still tries"
    return tries + ("." if history.contexts is None else ", or follows the context.")


def names_of(learner: Learner, indices: IntArray) -> list[str]:
    """Return the names of coordinates, or their numbers as text."""
    names = learner.policy.action_set.names
    return [str(i) if names is None else names[i] for i in indices.tolist()]


def sorted_rows(summary: Summary, by: str) -> list[Row]:
    """Return the coordinates by inclusion probability, by size of their estimate, or by name."""
    rows = list(summary)
    if by == "name":
        return sorted(rows, key=lambda row: _counted_first(row.name))
    if by == "estimate":
        return sorted(rows, key=lambda row: -_size(row.estimate))
    return rows


def _counted_first(name: str) -> tuple[float, str]:
    """Sort names that are numbers as numbers, 2 before 10, and before the others."""
    return (float(name) if name.isascii() and name.isdecimal() else math.inf), name.casefold()


def _size(estimate: float) -> float:
    return -1.0 if math.isnan(estimate) else abs(estimate)


def estimate_chart(summary: Summary) -> Chart | None:
    """Draw the estimates of the likeliest coordinates with their intervals; None without any."""
    rows = [row for row in summary if math.isfinite(row.estimate)][:_INTERVALS]
    if not rows:
        return None
    estimates = np.array([row.estimate for row in rows])
    low, high = (np.array([getattr(row, side) for row in rows]) for side in ("low", "high"))
    has_intervals = bool(np.isfinite(low).all())
    apart = sum(1 for row in rows if row.low > 0 or row.high < 0)
    names = [row.name for row in rows]
    sentence = "This policy keeps no posterior, so there are no intervals."
    if has_intervals:
        sentence = (
            "The likeliest in the best support on top. "
            f"Bars are 95% intervals: of {counted(len(rows), 'coordinate')} shown, {apart} "
            f"{'has' if apart == 1 else 'have'} an effect that is told apart from 0."
        )
    return Chart(
        id="estimates",
        title="Estimated effects",
        x_label="effect (reward per unit)",
        y_label="coordinate",
        layers=(
            Dots(
                x=estimates,
                y=names,
                label="estimate",
                role="main",
                low=low if has_intervals else None,
                high=high if has_intervals else None,
            ),
        ),
        sentence=sentence,
        height=110 + 20 * len(rows),
        is_list=True,
    )
