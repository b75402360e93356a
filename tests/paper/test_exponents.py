"""Growth rates: fitted exponents, and the verdicts that follow from their intervals."""

import numpy as np
import pytest

from sparsebandits.paper.claim import Claim
from sparsebandits.paper.exponents import Exponent, rate_claim, rate_verdict, tail_exponent
from sparsebandits.paper.figures.app_basis_actions import equivalence_verdict
from sparsebandits.simulation import Run, log_spaced_steps


def run(exponent: float, trials: int = 30, horizon: int = 10**5) -> Run:
    """Regret that grows exactly like t^exponent, with another constant in each trial."""
    steps = log_spaced_steps(horizon)
    constants = np.random.default_rng(0).uniform(1, 3, (trials, 1))
    regret = constants * steps.astype(float) ** exponent
    nan = np.full(trials, np.nan)
    return Run(
        steps=steps,
        theta_star=np.ones((trials, 2)),
        regret=regret,
        locked_at=nan,
        support_correct=np.zeros(trials, dtype=np.bool_),
        theta_error=np.zeros_like(regret),
        optimum=nan,
        optimal_share=np.zeros_like(regret),
        label={"benchmark": "exact optimum"},
    )


@pytest.mark.parametrize("exponent", [0.5, 2 / 3, 1.0])
def test_the_exponent_of_a_power_is_found(exponent: float) -> None:
    fitted = tail_exponent(run(exponent))
    assert fitted.value == pytest.approx(exponent, abs=1e-9)
    assert fitted.low == pytest.approx(exponent, abs=1e-9)
    assert fitted.high == pytest.approx(exponent, abs=1e-9)


def test_the_interval_covers_a_mixture_of_rates() -> None:
    first, second = run(0.5, 20), run(1.0, 20)
    fitted = tail_exponent(Run.join([first, second]))
    assert 0.5 < fitted.low < fitted.value < fitted.high <= 1.0


def test_verdicts_follow_from_the_intervals() -> None:
    low, high = Exponent(0.5, 0.45, 0.55), Exponent(1.0, 0.99, 1.01)
    assert rate_verdict(low, high, 0.6) == "holds"
    assert rate_verdict(high, low, 0.6) == "holds with the stated change"
    assert rate_verdict(high, high, 0.6) == "fails"
    assert rate_verdict(high, Exponent(0.55, 0.5, 0.61), 0.6) == "not testable"
    assert rate_verdict(low, low, 0.6) == "holds"
    assert equivalence_verdict(-0.04, 0.03) == "holds"
    assert equivalence_verdict(0.01, 0.09) == "fails"
    assert equivalence_verdict(-0.02, 0.09) == "not testable"
    claim = rate_claim(
        id="x",
        label="thm:x",
        statement="s",
        experiment="e",
        rate=0.5,
        literal=run(1.0),
        changed=run(0.5),
        change="a change",
    )
    assert claim.verdict == "holds with the stated change"
    assert claim.value == pytest.approx(0.5)
    assert "1.000" in claim.measured


def test_claims_state_a_change_exactly_when_they_need_one() -> None:
    with pytest.raises(ValueError, match="change"):
        Claim(id="a", label="b", statement="c", measured="d", verdict="holds", change="e")
    with pytest.raises(ValueError, match="change"):
        Claim(
            id="a",
            label="b",
            statement="c",
            measured="d",
            verdict="holds with the stated change",
        )
