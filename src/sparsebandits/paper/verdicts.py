"""How a claim is judged: shares with exact intervals, the verdict, and what would have changed it.

A page of verdicts is a page of tests. So that all of them together err with probability 5% at most,
what chance decides is judged by intervals of confidence `LEVEL`, Bonferroni's for `FAMILY`
verdicts; the 95% intervals that are printed are for reading.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from sparsebandits.comparison.intervals import Interval, share_interval
from sparsebandits.paper.claim import CHANGED, Claim, Verdict
from sparsebandits.validation import BoolArray, FloatArray

ROUNDING = 1e-9
"""An inequality counts as violated beyond this relative margin, which is rounding."""

FAMILY = 100
"""So many verdicts may be decided by chance in one report."""

LEVEL = 1 - 0.05 / FAMILY
"""The confidence of the intervals that decide."""


@dataclass(frozen=True)
class Judgement:
    """A verdict, and what would have made it come out otherwise."""

    verdict: Verdict
    otherwise: str


@dataclass(frozen=True)
class Share:
    """How often something happened, with its exact 95% (Clopper-Pearson) interval."""

    count: int
    runs: int

    @classmethod
    def of(cls, happened: BoolArray | list[BoolArray]) -> "Share":
        """Count a boolean array, or the arrays of a list."""
        every = np.concatenate(happened) if isinstance(happened, list) else happened
        return cls(int(np.count_nonzero(every)), every.size)

    @property
    def value(self) -> float:
        """The share itself; 0 of 0 is 0."""
        return self.count / max(self.runs, 1)

    @property
    def low(self) -> float:
        """Lower end: 0 exactly when it never happened."""
        return share_interval(self.count, self.runs).low

    @property
    def high(self) -> float:
        """Upper end: 1 exactly when it always happened."""
        return share_interval(self.count, self.runs).high

    @property
    def brief(self) -> str:
        """The count and its interval in a few words."""
        return f"{self.count:,} of {self.runs:,} [{_percent(self.low)}, {_percent(self.high)}]"

    def __str__(self) -> str:
        interval = f"95% interval {self.low:.3%} to {self.high:.3%}"
        return f"{self.count} of {self.runs} ({self.value:.3%}, {interval})"


def _percent(share: float) -> str:
    """Write a share without decimals, but for those that would become 0% or 100%."""
    rounds_off = 0 < share < 0.01 or 0.99 < share < 1
    return f"{share:.2%}" if rounds_off else f"{share:.0%}"


# ---------------------------------------------------------------------- judges


def always(violations: Share) -> Judgement:
    """Judge a statement about every instance: one counter-example refutes it."""
    if violations.runs == 0:
        return Judgement("not testable", "an instance to try it on")
    if violations.count:
        return Judgement("fails", f"no violation among the {violations.runs:,} instances")
    return Judgement("holds", f"a single violation among the {violations.runs:,} instances")


def sometimes(seen: Share) -> Judgement:
    """Judge a statement that something occurs: it fails if it was never seen."""
    if seen.runs == 0:
        return Judgement("not testable", "an instance to look at")
    if seen.count:
        return Judgement("holds", f"not a single one among the {seen.runs:,} instances")
    return Judgement("fails", f"a single one among the {seen.runs:,} instances")


def at_most(failures: Share, limit: float) -> Judgement:
    """Judge a bound on a probability; where the interval contains it, more runs are needed."""
    decided = share_interval(failures.count, failures.runs, LEVEL)
    most, least = deciding_counts(failures.runs, limit)
    up_to = f"holds up to {most}" if most >= 0 else f"{failures.runs} are too few to hold"
    otherwise = f"{up_to} and fails from {least} of {failures.runs:,} on"
    if least > failures.runs:
        otherwise = f"{up_to}, and too few to fail"
    if decided.high <= limit:
        return Judgement("holds", otherwise)
    return Judgement("fails" if decided.low > limit else "not testable", otherwise)


@functools.cache
def deciding_counts(runs: int, limit: float) -> tuple[int, int]:
    """Return the most failures with which `at_most` holds, and the fewest with which it fails.

    -1 where none is few enough, runs + 1 where all together are not enough.

    Examples
    --------
    >>> deciding_counts(2000, 0.05), deciding_counts(20, 0.05)
    ((67, 137), (-1, 7))
    """
    most = _first(runs, lambda count: share_interval(count, runs, LEVEL).high > limit) - 1
    return most, _first(runs, lambda count: share_interval(count, runs, LEVEL).low > limit)


def _first(runs: int, passes: Any) -> int:
    """Return the smallest count from 0 to `runs` that passes, or runs + 1; it is monotone."""
    low, high = 0, runs + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle + 1, high)
    return low


def locks_at_most(wrong: Share, locked: Share, limit: float) -> Judgement:
    """Judge wrong locks; where nothing was locked there is nothing to judge."""
    if locked.count:
        return at_most(wrong, limit)
    return Judgement("not testable", "runs that lock anything")


def below_one(total: float) -> Judgement:
    """Judge a sum of failure probabilities, in units of delta."""
    return Judgement("holds" if total <= 1 else "fails", "a sum on the other side of 1 delta")


def levels_off(quotients: FloatArray) -> Judgement:
    """Judge an order of growth from quotients at equal ratios of the argument.

    A bounded quotient settles: its last step is less than a fifth of its first. One that is off by
    a logarithm takes equal steps, and one that is off by a power takes growing ones.
    """
    steps = np.abs(np.diff(quotients))
    settles = steps[-1] < steps[0] / 5
    return Judgement(
        "holds" if settles else "fails",
        f"a last step of {'at least' if settles else 'less than'} a fifth of the first "
        f"({steps[-1]:.2g} against {steps[0]:.2g})",
    )


def within(low: float, high: float, limits: tuple[float, float], what: str) -> Judgement:
    """Judge a figure by its interval: inside the limits, apart from them, or across an end.

    An infinite limit is none, so that the same judge serves bounds on one side.
    """
    least, most = limits
    ends = [f"above {most:.3g}"] if np.isfinite(most) else []
    ends += [f"below {least:.3g}"] if np.isfinite(least) else []
    if least <= low and high <= most:
        return Judgement("holds", f"{what} that reaches {' or '.join(ends)}")
    apart = high < least or low > most
    inside = (
        f"{what} within {least:.3g} to {most:.3g}" if len(ends) == 2 else f"{what} not {ends[0]}"
    )
    return Judgement("fails" if apart else "not testable", inside)


def with_change(printed: Judgement, changed: Judgement) -> Judgement:
    """Judge a statement that may fail as printed and hold once changed."""
    if (printed.verdict, changed.verdict) != ("fails", "holds"):
        return printed
    return Judgement(CHANGED, f"as printed: {printed.otherwise}; changed: {changed.otherwise}")


def first_change(printed: Judgement, tried: Mapping[str, Judgement]) -> tuple[Judgement, str]:
    """Judge with the first of some changes, by name, that is enough; "" where none is needed."""
    for name, changed in tried.items():
        judged = with_change(printed, changed)
        if judged.verdict == CHANGED:
            return judged, name
    return printed, ""


# ---------------------------------------------------------------------- claims


class Figures(Protocol):
    """A figure with its 95% interval: a `Share`, an `Exponent`."""

    @property
    def value(self) -> float:
        """The figure."""

    @property
    def low(self) -> float:
        """The lower end."""

    @property
    def high(self) -> float:
        """The upper end."""


def judged_claim(figure: Figures | Interval, judged: Judgement, **texts: Any) -> Claim:
    """Make the claim of a figure; `texts` are the other fields of the claim.

    Examples
    --------
    >>> ratio = Interval(0.2, 0.1, 0.3)
    >>> claim = judged_claim(
    ...     ratio,
    ...     within(ratio.low, ratio.high, (0.0, 0.5), "a ratio"),
    ...     id="x", label="ours", statement="Less.", measured="0.2",
    ... )
    >>> claim.verdict, claim.value, claim.otherwise
    ('holds', 0.2, 'a ratio that reaches above 0.5 or below 0')
    """
    return Claim(
        **texts,
        value=figure.mean if isinstance(figure, Interval) else figure.value,
        low=figure.low,
        high=figure.high,
        verdict=judged.verdict,
        otherwise=judged.otherwise,
    )


def share_claim(
    share: Share,
    judged: Judgement | None = None,
    *,
    repaired: Share | None = None,
    **claim: Any,
) -> Claim:
    """Make the claim of a lemma whose figure is a share.

    Without a judgement it counts violations of a statement about every instance, and `repaired`
    those once the statement is changed. `claim` is as for `number_claim`.
    """
    happened = f"{share.count:,} of {share.runs:,}"
    if judged is None:
        happened = f"violated in {happened}"
        judged = always(share)
        if repaired is not None:
            judged = with_change(judged, always(repaired))
    details = {"count": share.count, "instances": share.runs, **claim.pop("details", {})}
    brief = claim.pop("brief", happened)
    made = number_claim(share.value, judged, details=details, brief=brief, **claim)
    return replace(made, low=share.low, high=share.high)


def number_claim(
    value: float, judged: Judgement, *, details: dict[str, Any], change: str = "", **texts: str
) -> Claim:
    """Make the claim of a lemma whose figure is computed; a change is stated where it is needed."""
    given = {"experiment": "lemmas", "brief": f"{value:.3g}", **texts}
    return Claim(
        **given,
        value=value,
        low=value,
        high=value,
        verdict=judged.verdict,
        otherwise=judged.otherwise,
        change=change if judged.verdict == CHANGED else "",
        details=details,
    )
