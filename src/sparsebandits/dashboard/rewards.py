"""Reward over time: single rewards, their moving mean, and how sure that is."""

from dataclasses import dataclass

import numpy as np
import scipy.special

from sparsebandits.dashboard.charts import Band, Chart, Dots, Line, along, axis
from sparsebandits.dashboard.history import History
from sparsebandits.dashboard.words import counted, number
from sparsebandits.validation import FloatArray, IntArray

POINTS = 200
"""Points of a curve."""

_DOTS = 1000
_SMALLEST = 8
"""Rewards from which on a mean is drawn."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MovingMean:
    """Means of the last `window` values, at some places, with 95% intervals."""

    places: IntArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    window: int


def moving_mean(values: FloatArray) -> MovingMean:
    """Return means over windows of a twentieth of all values, at least 8, at up to 200 places.

    The interval is Student's for a mean of independent values: right where the mean stands still
    within a window.
    """
    window = min(values.size, max(_SMALLEST, values.size // 20))
    last = evenly(np.arange(window - 1, values.size), POINTS)
    centred = values - values.mean()  # so that sums of squares keep their digits
    sums, squares = (np.concatenate([[0.0], np.cumsum(v)]) for v in (centred, centred**2))
    total = sums[last + 1] - sums[last + 1 - window]
    square = squares[last + 1] - squares[last + 1 - window]
    mean = total / window
    variance = np.maximum(square - window * mean**2, 0.0) / (window - 1)
    reach = scipy.special.stdtrit(window - 1, 0.975) * np.sqrt(variance / window)
    mean = mean + values.mean()
    return MovingMean(places=last, mean=mean, low=mean - reach, high=mean + reach, window=window)


def evenly(places: IntArray, most: int) -> IntArray:
    """Return at most so many of the places, evenly chosen, the last one among them."""
    if places.size <= most:
        return places
    return places[np.linspace(0, places.size - 1, most).round().astype(np.intp)]


def reward_chart(history: History, by_time: bool = False) -> Chart | None:
    """Draw rewards in the order of their decisions; None while there are none."""
    told = history.told
    if not told.size:
        return None
    rewards = history.rewards[told]
    dots = evenly(np.arange(told.size), _DOTS)
    sampled = "" if dots.size == told.size else f" ({dots.size:,} of {told.size:,})"
    layers: list[Band | Line | Dots] = [
        Dots(x=along(history, told[dots], by_time), y=rewards[dots], label=f"rewards{sampled}")
    ]
    sentence = f"{counted(told.size, 'reward')} so far; a mean is drawn from {_SMALLEST} on."
    if told.size >= _SMALLEST:
        curve = moving_mean(rewards)
        x = along(history, told[curve.places], by_time)
        layers.insert(
            0, Band(x=x, low=curve.low, high=curve.high, label="95% interval of the mean")
        )
        layers.append(Line(x=x, y=curve.mean, label=f"mean of {curve.window:,}"))
        sentence = _sentence(rewards, curve, is_whole=len(history) == history.total)
    return Chart(
        id="rewards",
        title="Reward over time",
        y_label="reward (its own unit)",
        layers=tuple(layers),
        sentence=sentence,
        **axis(history, by_time),
    )


def _sentence(rewards: FloatArray, curve: MovingMean, *, is_whole: bool) -> str:
    """Compare the first window with the last, where they do not overlap."""
    window = curve.window
    first, last = rewards[:window], rewards[-window:]
    if rewards.size < 2 * window:
        return f"The last {window:,} rewards had a mean of {number(float(last.mean()))}."
    difference = float(last.mean() - first.mean())
    error = float(np.sqrt((first.var(ddof=1) + last.var(ddof=1)) / window))
    reach = float(scipy.special.stdtrit(2 * window - 2, 0.975)) * error
    earlier, later = number(float(first.mean())), number(float(last.mean()))
    at_first = "the first" if is_whole else "the first shown"
    told = f"The last {window:,} rewards had a mean of {later}, {at_first} of {earlier}: "
    if abs(difference) <= reach:
        return told + "no more apart than chance allows."
    way = "more" if difference > 0 else "less"
    return f"{told}{way} by {number(abs(difference))} ± {number(reach, 2)}."
