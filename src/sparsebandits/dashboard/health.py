"""Whether the model fits: residuals, normality, drift, and what it may lack."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sparsebandits.dashboard.regression import (
    ALARM,
    UNKNOWN,
    Found,
    cusum_test,
    f_test,
    moments,
    normality_test,
    residuals_of,
)
from sparsebandits.dashboard.sample import Sample, residuals
from sparsebandits.validation import FloatArray

_DAY = 86_400.0
_FAR_FROM_NORMAL = 0.5
"""Skewness or excess kurtosis below which not being normal is of no consequence."""

_COARSE = 10
"""Distinct rewards up to which they are said to be few."""

_NO_REST = "The model explains these rewards without any rest."
_NOTHING = "Nothing."

State = Literal["fine", "look", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One look at the model: what was found, what it means, and what to do."""

    title: str
    state: State
    meaning: str
    advice: str
    p: float = float("nan")


def findings(sample: Sample) -> list[Finding]:
    """Look at the model from every side."""
    return [
        normality(sample),
        drift(sample),
        intercept(sample),
        curve(sample),
        context(sample),
    ]


def _fine(title: str, meaning: str, p: float = float("nan"), advice: str = _NOTHING) -> Finding:
    return Finding(title=title, state="fine", meaning=meaning, advice=advice, p=p)


def _look(title: str, meaning: str, advice: str, p: float) -> Finding:
    return Finding(title=title, state="look", meaning=meaning, advice=advice, p=p)


def _untold(title: str, why: str, advice: str = "Come back with more rewards.") -> Finding:
    return Finding(title=title, state="unknown", meaning=why, advice=advice)


def _too_few(title: str, sample: Sample) -> Finding:
    here = sample.rewards.size
    return _untold(title, f"It takes about {sample.needed:,} rewards to tell; {here:,} are here.")


def normality(sample: Sample) -> Finding:
    """Ask whether residuals are normal."""
    title = "Are the residuals normal?"
    if not sample.is_enough:
        return _too_few(title, sample)
    found = normality_test(residuals(sample))
    if not found.is_known:
        return _untold(title, _NO_REST, _NOTHING)
    if found.is_alarm and found.gain > _FAR_FROM_NORMAL:
        causes = [name for name, test in _MISFITS.items() if test(sample).is_alarm]
        if causes:
            return _look(
                title,
                "They are not normal, but what the model lacks looks like that too: one fit "
                "cannot tell them apart.",
                f"See to the {' and the '.join(causes)} first.",
                found.p,
            )
        is_coarse = np.unique(sample.rewards).size <= _COARSE
        kind = "few distinct rewards, such as yes or no" if is_coarse else _shape(sample)
        return _look(
            title,
            f"They are not normal ({kind}): estimates still settle, but intervals and "
            "probabilities on these pages are rough.",
            "Nothing, if rewards are of that kind: means of many are near normal. Or tell one "
            "reward for several plays, such as a rate."
            if is_coarse
            else "Look for rewards in a wrong unit and correct them; with heavy tails tell a "
            "capped or logarithmic reward.",
            found.p,
        )
    return _fine(
        title,
        "They are close enough to normal: intervals and probabilities mean what they say.",
        found.p,
    )


def _shape(sample: Sample) -> str:
    skewness, excess = moments(residuals(sample))
    if excess > _FAR_FROM_NORMAL:
        return "outliers"
    return "skewed" if abs(skewness) > _FAR_FROM_NORMAL else "flat, as where something is missing"


def drift_test(sample: Sample) -> Found:
    """Test whether baseline or effects change over time.

    A learner's doses move while it learns, and an effect that bends looks like drift: where there
    is a curve, what it explains is none.
    """
    if not sample.is_enough:
        return UNKNOWN
    found = _drift_beside(sample.whole, sample)
    if not (found.is_alarm and curve_test(sample).is_alarm):
        return found
    beside_curve = _drift_beside(np.hstack([sample.whole, sample.actions**2]), sample)
    return beside_curve if beside_curve.is_known else found


def _drift_beside(columns: FloatArray, sample: Sample) -> Found:
    """Return Bonferroni's p of two tests on what is left by columns.

    A CUSUM looks for a baseline that moves, an F test for effects that go up or down in time.
    """
    rest, freedom = residuals_of(columns, sample.rewards)
    tests = [cusum_test(rest, freedom)]
    if sample.rewards.size >= 2 * sample.needed:
        tests.append(f_test(columns, sample.trend * sample.whole, sample.rewards))
    known = [test.p for test in tests if test.is_known]
    return Found(min(1.0, len(known) * min(known))) if known else UNKNOWN


def drift(sample: Sample) -> Finding:
    """Ask whether what is learned stays true."""
    title = "Does what was learned stay true (drift)?"
    if not sample.is_enough:
        return _too_few(title, sample)
    found = drift_test(sample)
    if not found.is_known:
        return _untold(title, _NO_REST, _NOTHING)
    wandering = _drift_beside(sample.whole, sample)
    if wandering.is_alarm and not found.is_alarm:
        return _look(
            title,
            "Residuals wander, but no more than effects that bend explain: the doses have moved.",
            "See to the curve first.",
            wandering.p,
        )
    if not found.is_alarm:
        return _fine(
            title,
            "Residuals keep to 0 all the time: no sign that effects or baseline change.",
            found.p,
        )
    if sample.half_life is None:
        advice = "Make a learner with half_life, in decisions, so that old rewards fade."
    else:
        advice = (
            f"It forgets already (half_life {sample.half_life:g}); where rewards fall all the "
            "same, shorten it."
        )
    return _look(
        title,
        "Effects or baseline change over time: one fit does not describe early and late rewards.",
        advice,
        found.p,
    )


def intercept_test(sample: Sample) -> Found:
    """Test whether a baseline that the policy does not reckon with explains rewards."""
    if sample.intercept or not sample.is_enough:
        return UNKNOWN
    return f_test(sample.columns, sample.baseline, sample.rewards)


def intercept(sample: Sample) -> Finding:
    """Ask whether rewards have a baseline."""
    title = "Is a baseline missing?"
    if sample.intercept:
        return _fine(
            title,
            "The model has a baseline: what is earned with everything off is no one's effect.",
        )
    if not sample.is_enough:
        return _too_few(title, sample)
    found = intercept_test(sample)
    if not found.is_known:
        return _untold(title, "With these actions a baseline cannot be told from the effects.")
    if found.is_alarm:
        return _look(
            title,
            f"Yes: a baseline explains {found.gain:.0%} of what is left over, and the "
            "model takes it for effects of the coordinates.",
            "Make a learner with intercept=True, or tell rewards minus what is earned "
            "without any action.",
            found.p,
        )
    return _fine(title, "No: a baseline explains no more than chance would.", found.p)


def curve_test(sample: Sample) -> Found:
    """Test whether squares of the doses explain rewards, beside a trend."""
    if not sample.is_enough:
        return UNKNOWN
    return f_test(np.hstack([sample.whole, sample.trend]), sample.actions**2, sample.rewards)


def curve(sample: Sample) -> Finding:
    """Ask whether effects bend: diminishing returns, or a best dose in between."""
    title = "Do effects bend (a curve)?"
    if not sample.is_enough:
        return _too_few(title, sample)
    found = curve_test(sample)
    if not found.is_known:
        return _untold(
            title,
            "Coordinates were played at one dose, or off: a curve cannot be seen in that.",
            "Nothing to do where doses are all or nothing; else log some in between (observe).",
        )
    if found.is_alarm:
        return _look(
            title,
            f"Yes: squares of the doses explain {found.gain:.0%} of what is left over, "
            "such as diminishing returns or a best dose in between.",
            "Describe levels of a coordinate as coordinates of their own (a block of "
            "levels, see docs/constraints.md), or tell the logarithm of the dose.",
            found.p,
        )
    return _fine(title, "No: doses seem to work in proportion.", found.p)


def context(sample: Sample) -> Finding:
    """Ask whether what is seen before a decision explains rewards."""
    if sample.contexts is None:
        return _rhythm(sample)
    title = "Does the context help?"
    if not sample.is_enough:
        return _too_few(title, sample)
    plain = np.hstack([sample.baseline, sample.actions])
    found = f_test(plain, sample.whole, sample.rewards)
    if not found.is_known:
        return _untold(title, "The context was always the same.")
    if found.is_alarm:
        return _fine(
            title,
            f"Yes: it explains {found.gain:.0%} of what is left over without it.",
            found.p,
            advice="Keep giving it.",
        )
    return _look(
        title,
        "No: it explains no more than chance would, and every number of it has to be "
        "learned for every coordinate.",
        "Leave it out, or give fewer numbers.",
        found.p,
    )


def _rhythm(sample: Sample) -> Finding:
    """Without a context, the clock is all that is known of the circumstances."""
    title = "Would a context help (hour of the day, day of the week)?"
    if sample.times is None and sample.rewards.size:
        return _untold(
            title,
            "Nothing is known of the circumstances, not even the time.",
            "Look at it where it is served.",
        )
    if sample.times is None or not sample.is_enough:
        return _too_few(title, sample)
    span = float(np.ptp(sample.times))
    periods = [days for days in (1.0, 7.0) if span >= 2 * days * _DAY]
    if not periods:
        return _untold(title, "It takes rewards of two days to see a daily rhythm.")
    turns = [2 * np.pi * sample.times / (days * _DAY) for days in periods]
    waves = np.column_stack([wave(turn) for turn in turns for wave in (np.sin, np.cos)])
    found = f_test(np.hstack([sample.whole, sample.trend]), waves, sample.rewards)
    if found.is_alarm:
        return _look(
            title,
            f"Yes: the time of day or week explains {found.gain:.0%} of what is left over.",
            "Make a learner with context=2 and give sine and cosine of the hour to ask.",
            found.p,
        )
    return _fine(
        title,
        "Not the time: hour and weekday explain no more than chance would.",
        found.p,
        advice="Nothing to do; anything else that is known before a decision may be worth a try.",
    )


def level_of_alarm() -> str:
    """Say how often these alarms are false."""
    return f"An alarm is given where chance alone does as much once in {1 / ALARM:,.0f} times."


_MISFITS = {"baseline": intercept_test, "curve": curve_test, "drift": drift_test}
"""What makes residuals look as if they were not normal."""
