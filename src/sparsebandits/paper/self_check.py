"""The judges judged: each on data made to hold, made to fail, and made to decide nothing.

A report opens with this check, so that no verdict on it comes from a judge that cannot fail.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparsebandits.paper.claim import CHANGED, Verdict
from sparsebandits.paper.exponents import (
    falls_steadily,
    power_exponent,
    rate_claim,
    regret_since_lock,
)
from sparsebandits.paper.figures.app_support_recovery import recovery
from sparsebandits.paper.rates import necessity
from sparsebandits.paper.synthetic import made_run
from sparsebandits.paper.theorems import judge_bound
from sparsebandits.paper.verdicts import (
    Judgement,
    Share,
    always,
    at_most,
    below_one,
    levels_off,
    locks_at_most,
    sometimes,
    with_change,
    within,
)
from sparsebandits.simulation import Run

HOLDS, FAILS, OPEN = Judgement("holds", ""), Judgement("fails", ""), Judgement("not testable", "")


@dataclass(frozen=True)
class Check:
    """One judge on one case: what the case was made for, and what the judge said."""

    judge: str
    made_to: Verdict
    verdict: Verdict

    @property
    def is_right(self) -> bool:
        """Whether the judge said what it had to say."""
        return self.made_to == self.verdict


def check_judges() -> tuple[Check, ...]:
    """Try every judge; a judge that is wrong is a bug of ours, and nothing it says may be shown."""
    checks = tuple(
        Check(judge, made_to, case())
        for judge, cases in CASES.items()
        for made_to, case in cases.items()
    )
    wrong = [each for each in checks if not each.is_right]
    assert not wrong, f"judges that do not judge: {wrong}"
    return checks


def _rate(literal: Run, changed: Run | None = None) -> Verdict:
    texts: dict[str, Any] = {"id": "x", "label": "x", "statement": "x.", "experiment": "x"}
    variants = {} if changed is None else {"a change": changed}
    return rate_claim(literal=literal, changed=variants, rate=0.5, **texts).verdict


def _mixed() -> Run:
    """Make trials of two rates, too few to say which: the interval spans the limit."""
    return Run.join([made_run(0.5, trials=3), made_run(0.65, trials=3)])


def _after_lock(exponent: float) -> Verdict:
    fitted = regret_since_lock(made_run(exponent, locked=30, warm_up=500.0, lock_step=16))
    assert fitted is not None
    return fitted.judge(0.4, 0.6).verdict


def _bent() -> Run:
    """Make an average that falls until t = 3,000 and rises from there."""
    run = made_run(0.5)
    return replace(
        run, regret=np.where(run.steps > 3000, run.regret * run.steps / 3000, run.regret)
    )


def _uncertain() -> Run:
    """Make an average that falls or rises, as the trial goes."""
    slow, fast = made_run(0.6, trials=3), made_run(1.3, trials=3)
    return Run.join([slow, replace(fast, regret=fast.regret / 1000)])


def _bound(factor: float, trivial: float = 10.0, trials: int = 400) -> Verdict:
    measured = np.full(trials, factor)
    bounds = np.minimum(np.ones(trials), trivial)
    return judge_bound(measured, bounds, np.full(trials, trivial), 0.05)[0].verdict


def _power(exponent: float) -> Verdict:
    x = [8.0, 16.0, 32.0]
    constants = np.random.default_rng(0).uniform(1, 2, 30)
    return power_exponent(x, [constants * d**exponent for d in x]).judge(0.9, 1.1).verdict


def _recovery(**made: Any) -> Verdict:
    return recovery(made_run(0.5, trials=300, **made), t_star=1000.0)[0].verdict


_t = np.geomspace(1e1, 1e10, 10)

CASES: dict[str, dict[Verdict, Callable[[], Verdict]]] = {
    "every instance": {
        "holds": lambda: always(Share(0, 1000)).verdict,
        "fails": lambda: always(Share(1, 1000)).verdict,
        "not testable": lambda: always(Share(0, 0)).verdict,
    },
    "some instance": {
        "holds": lambda: sometimes(Share(1, 1000)).verdict,
        "fails": lambda: sometimes(Share(0, 1000)).verdict,
        "not testable": lambda: sometimes(Share(0, 0)).verdict,
    },
    "a probability": {
        "holds": lambda: at_most(Share(20, 1000), 0.05).verdict,
        "fails": lambda: at_most(Share(90, 1000), 0.05).verdict,
        "not testable": lambda: at_most(Share(0, 20), 0.05).verdict,
    },
    "wrong locks": {
        "holds": lambda: locks_at_most(Share(0, 1000), Share(10, 1000), 0.05).verdict,
        "fails": lambda: locks_at_most(Share(90, 1000), Share(100, 1000), 0.05).verdict,
        "not testable": lambda: locks_at_most(Share(0, 1000), Share(0, 1000), 0.05).verdict,
    },
    "a sum of probabilities": {
        "holds": lambda: below_one(0.82).verdict,
        "fails": lambda: below_one(1.64).verdict,
    },
    "an order of growth": {
        "holds": lambda: levels_off(3 - _t**-0.5).verdict,
        "fails": lambda: levels_off(1 + 0.01 * np.log(_t)).verdict,
    },
    "an interval between limits": {
        "holds": lambda: within(0.9, 1.1, (0.8, 1.2), "x").verdict,
        "fails": lambda: within(1.3, 1.4, (0.8, 1.2), "x").verdict,
        "not testable": lambda: within(1.1, 1.3, (0.8, 1.2), "x").verdict,
    },
    "with a change": {
        "holds": lambda: with_change(HOLDS, HOLDS).verdict,
        CHANGED: lambda: with_change(FAILS, HOLDS).verdict,
        "fails": lambda: with_change(FAILS, OPEN).verdict,
        "not testable": lambda: with_change(OPEN, HOLDS).verdict,
    },
    "a rate": {
        "holds": lambda: _rate(made_run(0.5)),
        CHANGED: lambda: _rate(made_run(1.0), made_run(0.5)),
        "fails": lambda: _rate(made_run(1.0), made_run(0.8)),
        "not testable": lambda: _rate(_mixed()),
    },
    "a rate by wrong locks": {
        CHANGED: lambda: _rate(made_run(1.0), made_run(0.5, locked=30)),
        "fails": lambda: _rate(made_run(1.0), made_run(0.5, locked=30, wrong=15)),
    },
    "an average that falls": {
        "holds": lambda: falls_steadily(made_run(0.5))[1].verdict,
        "fails": lambda: falls_steadily(_bent())[1].verdict,
        "not testable": lambda: falls_steadily(_uncertain())[1].verdict,
    },
    "regret since the lock, both sides": {
        "holds": lambda: _after_lock(0.5),
        "fails": lambda: _after_lock(0.3),
    },
    "regret since the lock, too fast": {"fails": lambda: _after_lock(0.8)},
    "a theorem's bound": {
        "holds": lambda: _bound(0.5),
        "fails": lambda: _bound(2.0),
        "not testable": lambda: _bound(0.5, trivial=1.0),
    },
    "a necessary schedule": {
        "holds": lambda: necessity(1.2, 1.5).verdict,
        "fails": lambda: necessity(0.1, 0.3).verdict,
        "not testable": lambda: necessity(0.8, 1.3).verdict,
    },
    "linear in d": {"holds": lambda: _power(1.0), "fails": lambda: _power(0.5)},
    "support found in time": {
        "holds": lambda: _recovery(locked=300),
        "fails": lambda: _recovery(locked=300, wrong=60),
        "not testable": lambda: _recovery(horizon=500),
    },
    "support found too late": {"fails": lambda: _recovery(locked=300, lock_step=2000)},
}
"""By judge: what a case is made to be, and the case."""
