"""Growth rates: the exponent of a regret curve, and verdicts on it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebandits.paper.claim import Claim, Verdict
from sparsebandits.simulation import Run
from sparsebandits.validation import FloatArray

SUB_LINEAR = 0.95
"""An exponent whose whole interval lies below this is called sub-linear."""

LOG_SLACK = 0.1
"""What a logarithm adds to a fitted exponent over the last decade of these horizons."""


@dataclass(frozen=True)
class Exponent:
    """The slope of log R_t against log t over the tail, with a bootstrap interval over trials."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def tail_exponent(
    run: Run, *, start: float = 0.1, seed: int = 0, resamples: int = 1000
) -> Exponent:
    """Fit R_t ~ t^b on the steps after `start` times the horizon.

    Trials are resampled with replacement; the interval is the 2.5 and 97.5 percentile.
    """
    tail = run.steps >= start * run.steps[-1]
    log_steps = np.log(run.steps[tail].astype(float))
    centred = log_steps - log_steps.mean()
    regret = np.maximum(run.regret[:, tail], 1e-12)

    def slope(mean: FloatArray) -> FloatArray:
        return np.asarray(np.log(mean) @ centred / (centred @ centred))

    rng = np.random.default_rng(seed)
    chosen = rng.integers(regret.shape[0], size=(resamples, regret.shape[0]))
    slopes = slope(regret[chosen].mean(axis=1))
    low, high = np.percentile(slopes, [2.5, 97.5])
    return Exponent(float(slope(regret.mean(axis=0))), float(low), float(high))


def rate_claim(
    *, literal: Run, changed: Run, change: str, rate: float, slack: float = LOG_SLACK, **texts: Any
) -> Claim:
    """Judge "regret grows like t^rate up to logarithms" on a literal and a changed run.

    Holds if the literal run's interval lies below `rate` plus the slack for the logarithm; holds
    with the change if the changed run's does; fails if both lie above; else it is undecided. The
    literal run may be the changed one, where the paper's algorithm needs no change. `texts` are the
    id, label, statement and experiment of the claim.
    """
    first = tail_exponent(literal)
    second = first if changed is literal else tail_exponent(changed)
    verdict = rate_verdict(first, second, rate + slack)
    chosen = first if verdict == "holds" else second
    beside = "" if literal is changed else f", {second} with {change}"
    return Claim(
        **texts,
        measured=f"Exponent over the last decade: {first} for the literal run{beside}.",
        **vars(chosen),
        verdict=verdict,
        change=change if verdict == "holds with the stated change" else "",
        details={"literal": vars(first), "changed": vars(second), "rate": rate},
    )


def rate_verdict(literal: Exponent, changed: Exponent, limit: float) -> Verdict:
    """Compare the intervals with the limit; one that spans it decides nothing."""
    if literal.high <= limit:
        return "holds"
    if changed is not literal and changed.high <= limit:
        return "holds with the stated change"
    return "fails" if min(literal.low, changed.low) > limit else "not testable"
