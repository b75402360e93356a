import numpy as np
import pytest

from sparsebandits.paper.claim import Claim
from sparsebandits.paper.exponents import rate_claim, rate_verdict
from sparsebandits.paper.figures.bases import equivalence_verdict
from sparsebandits.plotting.figure import (
    Exponent,
    mean_series,
    over_power,
    regret_series,
    tail_exponent,
)
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
    mixed = Run.join([first, second])
    fitted = tail_exponent(mixed)
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


def test_normalised_series() -> None:
    series = regret_series(run(0.5), "a", 0, over_power(0.5), scatter=True)
    assert np.ptp(series.y) == pytest.approx(0, abs=1e-9)
    assert series.runs is not None
    assert series.low is not None
    assert (series.low < series.y).all()


def test_the_band_is_a_95_percent_interval_of_the_mean() -> None:
    """2,000 bands of 10 normal numbers; the share that covers 0 is 95% within 4 deviations."""
    values = np.random.default_rng(0).standard_normal((10, 2000))
    series = mean_series(np.arange(2000.0), values, "a", 0)
    assert series.low is not None
    assert series.high is not None
    covered = ((series.low <= 0) & (series.high >= 0)).mean()
    assert abs(covered - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 2000)


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
