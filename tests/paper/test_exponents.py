"""Growth rates: fitted exponents, and the verdicts that follow from their intervals."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sparsebandits.paper.claim import CHANGED, Claim
from sparsebandits.paper.exponents import (
    Exponent,
    falls_steadily,
    power_exponent,
    rate_claim,
    regret_since_lock,
    tail_exponent,
)
from sparsebandits.paper.figures.app_basis_actions import equivalence_verdict
from sparsebandits.paper.locks import Locks
from sparsebandits.paper.synthetic import made_run
from sparsebandits.simulation import Run

TEXTS: dict[str, Any] = {"id": "x", "label": "thm:x", "statement": "s.", "experiment": "e"}


@pytest.mark.parametrize("exponent", [0.5, 2 / 3, 1.0])
def test_the_exponent_of_a_power_is_found(exponent: float) -> None:
    fitted = tail_exponent(made_run(exponent))
    for figure in (fitted.value, fitted.low, fitted.high, fitted.least, fitted.most):
        assert figure == pytest.approx(exponent, abs=1e-9)
    x = [2.0, 5.0, 9.0]
    constants = np.random.default_rng(0).uniform(1, 2, 30)
    assert power_exponent(x, [constants * v**exponent for v in x]).value == pytest.approx(exponent)


def test_the_interval_covers_a_mixture_of_rates_and_the_one_that_decides_is_wider() -> None:
    fitted = tail_exponent(Run.join([made_run(0.5, trials=20), made_run(1.0, trials=20)]))
    assert 0.5 < fitted.low < fitted.value < fitted.high <= 1.0
    assert fitted.least < fitted.low
    assert fitted.most > fitted.high


def test_the_interval_has_its_confidence() -> None:
    """Exponents of curves with random slopes: the 95% interval misses the mean slope rarely.

    300 repetitions of 20 trials. The bootstrap of 20 trials covers about 92%: fewer than 255 hits
    have probability below 1e-5. The interval that decides misses 0.05%: 4 misses, 2e-5.
    """
    rng = np.random.default_rng(0)
    log_x = np.log(np.geomspace(1.0, 10.0, 5))
    hit = sure = 0
    for seed in range(300):
        values = 0.5 * log_x + 0.1 * rng.standard_normal((20, 1)) * (log_x - log_x.mean())
        fitted = Exponent.of(np.exp(values), log_x, seed=seed)
        hit += fitted.low <= 0.5 <= fitted.high
        sure += fitted.least <= 0.5 <= fitted.most
    assert hit >= 255
    assert sure >= 297


def test_a_change_is_what_made_it_hold() -> None:
    slow, fast, worse = made_run(1.0), made_run(0.5), made_run(0.8)
    claim = rate_claim(**TEXTS, rate=0.5, literal=slow, changed={"worse": worse, "this": fast})
    assert (claim.verdict, claim.change) == (CHANGED, "this")
    assert claim.value == pytest.approx(0.5)
    assert "1.000" in claim.measured
    assert "0.800" in claim.measured
    assert claim.otherwise
    single = rate_claim(**TEXTS, rate=0.5, literal=slow, changed=fast, change="a change")
    assert (single.verdict, single.change) == (CHANGED, "a change")
    assert rate_claim(**TEXTS, rate=0.5, literal=fast, changed=fast).verdict == "holds"
    assert rate_claim(**TEXTS, rate=0.5, literal=slow, changed=worse).verdict == "fails"


def test_no_rate_holds_by_runs_that_locked_a_wrong_support() -> None:
    """What item 1 of the recomputation found: 13 of 20 wrong locks, and 'holds with a change'."""
    wrong = made_run(0.5, trials=20, locked=20, wrong=13)
    claim = rate_claim(**TEXTS, rate=0.5, literal=made_run(1.0), changed=wrong, change="shrunk")
    assert claim.verdict == "fails"
    assert "13 of 20 [41%, 85%] wrongly" in claim.measured
    right = made_run(0.5, trials=20, locked=20, wrong=0)
    claim = rate_claim(**TEXTS, rate=0.5, literal=made_run(1.0), changed=right, change="valid")
    assert claim.verdict == CHANGED
    beside = rate_claim(
        **TEXTS, rate=0.5, literal=made_run(1.0), changed={}, beside={"shrunk": wrong}
    )
    assert beside.verdict == "fails"
    assert "not judged" in beside.measured


def test_locks_are_stated_where_there_is_a_gap_test() -> None:
    assert Locks.of(made_run(0.5)).note == " (0 of 30 [0%, 12%] locked)"
    without = replace(made_run(0.5), label={"policy": "apsee-compact"})
    assert Locks.of(without).note == ""


def test_the_warm_up_does_not_pull_the_rate_after_the_lock_down() -> None:
    """R = R_lock + t^b: the fit of R itself is far below b, the fit of R - R_lock is b."""
    run = made_run(0.5, locked=30, wrong=0, warm_up=200.0, lock_step=16, trials=30)
    assert tail_exponent(run).value < 0.46
    fitted = regret_since_lock(run)
    assert fitted is not None
    assert fitted.value == pytest.approx(0.5, abs=0.02)
    assert regret_since_lock(made_run(0.5, locked=2, wrong=0)) is None
    # A lock in cycle 5,000 exploits 5,000 steps a cycle: nothing of the rate shows yet.
    assert regret_since_lock(made_run(0.5, locked=30, wrong=0, lock_step=10**4)) is None


def test_an_average_that_rises_on_the_way_does_not_fall_steadily() -> None:
    run = made_run(0.5)
    bent = replace(
        run, regret=np.where(run.steps > 3000, run.regret * run.steps / 3000, run.regret)
    )
    assert falls_steadily(run)[1].verdict == "holds"
    assert falls_steadily(bent)[1].verdict == "fails"
    assert falls_steadily(made_run(1.0))[1].verdict == "fails"


def test_equivalence_is_judged_by_the_interval() -> None:
    assert equivalence_verdict(-0.04, 0.03) == "holds"
    assert equivalence_verdict(0.06, 0.09) == "fails"
    assert equivalence_verdict(-0.19, -0.07) == "fails"
    assert equivalence_verdict(-0.02, 0.09) == "not testable"


def test_claims_state_a_change_exactly_when_they_need_one() -> None:
    with pytest.raises(ValueError, match="change"):
        Claim(id="a", label="b", statement="c", measured="d", verdict="holds", change="e")
    with pytest.raises(ValueError, match="change"):
        Claim(id="a", label="b", statement="c", measured="d", verdict=CHANGED)
