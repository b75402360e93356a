"""Growth rates: exponents of regret, and verdicts on them that locks on wrong supports cannot earn.

A run that has locked a wrong support has linear regret for ever, however slowly it grows at first.
So no rate holds by a run in which more than delta of the locks are wrong.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebandits.comparison.intervals import student
from sparsebandits.environments.paper_setting import DELTA
from sparsebandits.paper.claim import Claim
from sparsebandits.paper.locks import Locks
from sparsebandits.paper.verdicts import LEVEL, Judgement, first_change, judged_claim, within
from sparsebandits.simulation import Run
from sparsebandits.validation import FloatArray

SUB_LINEAR = 0.95
"""An exponent whose whole interval lies below this is called sub-linear."""

LOG_SLACK = 0.1
"""What a logarithm adds to a fitted exponent over the last decade of these horizons."""

FIRST, PIECES = 200, 6
"""The average regret is looked at from 10 cycles on, in so many equal pieces of log t."""


@dataclass(frozen=True)
class Exponent:
    """A slope of logarithms, with a 95% bootstrap interval over trials.

    `least` and `most` are the ends of the interval of confidence `LEVEL` that decides.
    """

    value: float
    low: float
    high: float
    least: float
    most: float

    @classmethod
    def of(cls, samples: FloatArray, log_x: FloatArray, *, seed: int = 0) -> "Exponent":
        """Fit log of the mean over trials against log x, (points,), for samples (trials, points).

        The trials, which are the same at every x, are resampled with replacement. The interval that
        decides is Student's with the bootstrap's standard error: 1,000 draws have no 0.025%.
        """
        weights = log_x - log_x.mean()
        weights = weights / (weights @ weights)
        positive = np.maximum(samples, 1e-12)
        trials = positive.shape[0]
        chosen = np.random.default_rng(seed).integers(trials, size=(1000, trials))
        slopes = np.log(positive[chosen].mean(axis=1)) @ weights
        value = float(np.log(positive.mean(axis=0)) @ weights)
        low, high = np.percentile(slopes, [2.5, 97.5])
        half = np.inf
        if trials > 1:
            # The bootstrap's variance is that of the population of trials, 1 - 1/n times too small.
            error = float(slopes.std()) * np.sqrt(trials / (trials - 1))
            half = float(student(np.array([trials - 1.0]), LEVEL)[0]) * error
        return cls(value, float(low), float(high), value - half, value + half)

    def judge(self, least: float, most: float) -> Judgement:
        """Judge by the interval that decides whether it lies between the two."""
        return within(self.least, self.most, (least, most), "an exponent")

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def tail_exponent(run: Run, *, start: float = 0.1, seed: int = 0) -> Exponent:
    """Fit R_t ~ t^b on the steps after `start` times the horizon."""
    tail = run.steps >= start * run.steps[-1]
    return Exponent.of(run.regret[:, tail], np.log(run.steps[tail].astype(float)), seed=seed)


def judge_run(run: Run, limit: float) -> tuple[Exponent, Judgement]:
    """Judge "R_t grows at most like t^limit" on one run: by its exponent and by its wrong locks."""
    fitted, wrong = tail_exponent(run), Locks.of(run).wrong
    if wrong.low > DELTA:
        return fitted, Judgement(
            "fails",
            f"at most delta = {DELTA:g} of the runs locked wrongly, for those are linear in the "
            f"end; the interval begins at {wrong.low:.0%}",
        )
    return fitted, fitted.judge(-np.inf, limit)


def rate_claim(
    *,
    literal: Run,
    changed: Run | Mapping[str, Run],
    change: str = "",
    rate: float,
    slack: float = LOG_SLACK,
    beside: Mapping[str, Run] | None = None,
    **texts: Any,
) -> Claim:
    """Judge "regret grows like t^rate up to logarithms" on a literal and on changed runs.

    Holds if the literal run's interval lies below `rate` plus the slack for the logarithm; fails if
    it lies above; holds with a change if it fails literally and a changed run's lies below. Runs
    with too many wrong locks earn nothing.

    Parameters
    ----------
    literal : Run
    changed : Run, or Run by change
        Valid variants, the preferred first; the literal run itself where there is none.
    change : str
        What was changed, for a single changed run.
    rate, slack : float
    beside : Run by label, optional
        Shown in the sentence and not judged, because nothing is guaranteed there.
    texts
        The id, label, statement and experiment of the claim.
    """
    limit = rate + slack
    first, judged = judge_run(literal, limit)
    variants = changed if isinstance(changed, Mapping) else {change: changed}
    variants = {name: run for name, run in variants.items() if run is not literal}
    tried = {name: judge_run(run, limit) for name, run in variants.items()}
    judged, stated = first_change(judged, {name: each for name, (_, each) in tried.items()})
    chosen = tried[stated][0] if stated else first
    parts = [f"{first} for the literal run{Locks.of(literal).note}"]
    parts += [f"{tried[name][0]} with {name}{Locks.of(run).note}" for name, run in variants.items()]
    shown = [
        f"{tail_exponent(run)} with {name}{Locks.of(run).note}"
        for name, run in (beside or {}).items()
    ]
    if shown:
        parts.append(f"not judged, because nothing is guaranteed: {', '.join(shown)}")
    briefs = [f"exponent {first.value:.2f} literally{Locks.of(literal).brief}"]
    if stated:
        briefs.append(f"{chosen.value:.2f} with {stated}{Locks.of(variants[stated]).brief}")
    briefs += [
        f"not judged, {name}: {tail_exponent(run).value:.2f}{Locks.of(run).brief}"
        for name, run in list((beside or {}).items())[-1:]  # the longest horizon
    ]
    return judged_claim(
        chosen,
        judged,
        **texts,
        measured=f"Exponent over the last decade: {'; '.join(parts)}.",
        brief="; ".join(briefs),
        change=stated,
        details={
            "literal": vars(first),
            "changed": {name: vars(fitted) for name, (fitted, _) in tried.items()},
            "rate": rate,
            "limit": limit,
        },
    )


# ---------------------------------------------------------------------- other fits


def regret_since_lock(run: Run, fewest: int = 3) -> Exponent | None:
    """Fit R_t - R_lock ~ t^b over the last decade of the runs that locked the right support early.

    A cycle after a lock in cycle C exploits C steps at least, so R_t - R_lock grows linearly until
    t is of order C^2: only runs with C^2 below a thousandth of the horizon show the rate. None
    where there are fewer than `fewest` of those.
    """
    horizon, dim = int(run.steps[-1]), run.theta_star.shape[1]
    cycle = np.nan_to_num(run.locked_at, nan=np.inf) / dim
    early = run.rows(run.support_correct & (cycle**2 <= horizon / 1000))
    if early.trials < fewest:
        return None
    steps = run.steps.astype(float)
    # Exploring costs the same in every cycle, so that between recorded steps a line is exact.
    at_lock = np.array(
        [np.interp(t, steps, row) for t, row in zip(early.locked_at, early.regret, strict=True)]
    )
    tail = steps >= horizon / 10
    return Exponent.of(early.regret[:, tail] - at_lock[:, None], np.log(steps[tail]))


def falls_steadily(run: Run) -> tuple[list[Exponent], Judgement]:
    """Judge "R_t / t decreases monotonically": the exponent of R_t between marks, each below 1.

    Fails if one is above `SUB_LINEAR` for sure and not below 1: no fall to speak of.
    """
    marks = np.geomspace(min(FIRST, run.steps[-1] / 10), run.steps[-1], PIECES + 1)
    places = np.searchsorted(run.steps, marks - 0.5)
    pieces = []
    for pair in np.lib.stride_tricks.sliding_window_view(places, 2):
        pieces.append(Exponent.of(run.regret[:, pair], np.log(run.steps[pair].astype(float))))
    wrong = Locks.of(run).wrong
    flat = [each for each in pieces if each.most >= 1]
    if wrong.low > DELTA:
        return pieces, Judgement("fails", f"at most delta = {DELTA:g} of the runs locked wrongly")
    if not flat:
        return pieces, Judgement("holds", f"one of {len(pieces)} pieces whose exponent reaches 1")
    rises = any(each.least > SUB_LINEAR for each in flat)
    return pieces, Judgement(
        "fails" if rises else "not testable",
        f"exponents below 1 in all of {len(pieces)} pieces of log t",
    )


def power_exponent(x: Sequence[float], samples: Sequence[FloatArray]) -> Exponent:
    """Fit samples ~ x^b, for samples (trials,) at each x that share their trials."""
    return Exponent.of(np.array(samples).T, np.log(np.asarray(x, dtype=float)))
