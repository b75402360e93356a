"""How a claim is judged: shares with exact intervals, and the verdict that follows from them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparsebandits.comparison.intervals import share_interval
from sparsebandits.paper.claim import Claim, Verdict
from sparsebandits.validation import BoolArray, FloatArray

ROUNDING = 1e-9
"""An inequality counts as violated beyond this relative margin, which is rounding."""

CHANGED: Verdict = "holds with the stated change"


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

    def __str__(self) -> str:
        interval = f"95% interval {self.low:.3%} to {self.high:.3%}"
        return f"{self.count} of {self.runs} ({self.value:.3%}, {interval})"


def always(violations: Share) -> Verdict:
    """Judge a statement about every instance: one counter-example refutes it."""
    if violations.runs == 0:
        return "not testable"
    return "fails" if violations.low > 0 else "holds"


def sometimes(seen: Share) -> Verdict:
    """Judge a statement that something occurs: it fails if it was never seen."""
    if seen.runs == 0:
        return "not testable"
    return "holds" if seen.low > 0 else "fails"


def at_most(failures: Share, limit: float) -> Verdict:
    """Judge a bound on a probability; where the interval contains it, more runs are needed."""
    if failures.high <= limit:
        return "holds"
    return "fails" if failures.low > limit else "not testable"


def locks_at_most(wrong: Share, locked: Share, limit: float) -> Verdict:
    """Judge wrong locks; where nothing was locked there is nothing to judge."""
    return at_most(wrong, limit) if locked.count else "not testable"


def below_one(total: float) -> Verdict:
    """Judge a sum of failure probabilities, in units of delta."""
    return "holds" if total <= 1 else "fails"


def levels_off(quotients: FloatArray) -> Verdict:
    """Judge an order of growth from quotients at equal ratios of the argument.

    A bounded quotient settles: its last step is less than a fifth of its first. One that is off by
    a logarithm takes equal steps, and one that is off by a power takes growing ones.
    """
    steps = np.abs(np.diff(quotients))
    return "holds" if steps[-1] < steps[0] / 5 else "fails"


def with_change(printed: Verdict, changed: Verdict) -> Verdict:
    """Judge a statement that may fail as printed and hold once changed."""
    return CHANGED if (printed, changed) == ("fails", "holds") else printed


def share_claim(
    share: Share,
    verdict: Verdict | None = None,
    *,
    repaired: Share | None = None,
    **claim: Any,
) -> Claim:
    """Make the claim of a lemma whose figure is a share.

    Without a verdict it counts violations of a statement about every instance, and `repaired` those
    once the statement is changed. `claim` is as for `number_claim`.
    """
    if verdict is None:
        verdict = always(share)
        if repaired is not None:
            verdict = with_change(verdict, always(repaired))
    details = {"count": share.count, "instances": share.runs, **claim.pop("details", {})}
    judged = number_claim(share.value, verdict, details=details, **claim)
    return replace(judged, low=share.low, high=share.high)


def number_claim(
    value: float, verdict: Verdict, *, details: dict[str, Any], change: str = "", **texts: str
) -> Claim:
    """Make the claim of a lemma whose figure is computed; a change is stated where it is needed."""
    return Claim(
        **texts,
        experiment="lemmas",
        value=value,
        low=value,
        high=value,
        verdict=verdict,
        change=change if verdict == CHANGED else "",
        details=details,
    )
