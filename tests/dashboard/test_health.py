"""Each look at the model comes out both ways, and cries wolf no more often than it says."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from sparsebandits.dashboard import health
from sparsebandits.dashboard.health import Finding
from sparsebandits.dashboard.regression import (
    basis_of,
    cusum_test,
    f_test,
    normality_test,
    residuals_of,
)
from sparsebandits.dashboard.sample import Sample
from sparsebandits.validation import FloatArray

THETA = np.array([1.0, -0.5, 0.3, 0.0])
DAY = 86_400.0


def sample(
    rng: np.random.Generator,
    reward: Callable[[FloatArray, FloatArray], FloatArray],
    n: int = 400,
    *,
    contexts: FloatArray | None = None,
    intercept: bool = True,
    half_life: float | None = None,
) -> Sample:
    """Doses in [0, 1] of four coordinates, about half of them on; rewards with noise 0.3."""
    actions = rng.random((n, 4)) * (rng.random((n, 4)) < 0.5)
    times = np.linspace(0.0, 20 * DAY, n) + 1e9
    earned = reward(actions, times) + 0.3 * rng.normal(size=n)
    return Sample(
        places=np.arange(n),
        rewards=earned,
        actions=actions,
        times=times,
        contexts=contexts,
        intercept=intercept,
        half_life=half_life,
    )


def plain(actions: FloatArray, times: FloatArray) -> FloatArray:
    return np.asarray(2.0 + actions @ THETA)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(2)


def test_where_the_model_is_right_nothing_is_found(rng: np.random.Generator) -> None:
    """Five tests at level 0.001: a false alarm in 0.5% of seeds, and this one is fixed."""
    found = health.findings(sample(rng, plain))
    assert [finding.state for finding in found] == ["fine"] * 5
    assert all(finding.meaning.endswith(".") and finding.advice for finding in found)


def alarm(look: Callable[[Sample], Finding], given: Sample) -> Finding:
    found = look(given)
    assert found.state == "look", found
    assert found.p < 0.001
    assert found.advice != "Nothing."
    return found


def test_rewards_that_are_not_normal(rng: np.random.Generator) -> None:
    heavy = sample(rng, lambda x, t: plain(x, t) + rng.standard_t(2, size=len(x)))
    assert "outliers" in alarm(health.normality, heavy).meaning
    yes = sample(rng, plain)
    clicks = replace(yes, rewards=(rng.random(400) < 0.1).astype(float))
    found = alarm(health.normality, clicks)
    assert "yes or no" in found.meaning
    assert found.advice.startswith("Nothing, if rewards are of that kind")


@pytest.mark.parametrize("half_life", [None, 200.0])
def test_drift_of_baseline_and_of_effects(
    rng: np.random.Generator, half_life: float | None
) -> None:
    def jump(actions: FloatArray, times: FloatArray) -> FloatArray:
        return plain(actions, times) + 0.3 * (np.arange(len(times)) > len(times) / 2)

    def turn(actions: FloatArray, times: FloatArray) -> FloatArray:
        """Effects turn round about their mean, so that the baseline seems to stay."""
        slope = np.linspace(-1, 1, len(times))[:, None]
        return np.asarray(2.0 + ((actions - 0.25) * (1 + slope)) @ THETA)

    for change in (jump, turn):
        found = alarm(health.drift, sample(rng, change, half_life=half_life))
        assert ("forgets already" in found.advice) == (half_life is not None)


def test_a_missing_baseline(rng: np.random.Generator) -> None:
    without = sample(rng, plain, intercept=False)
    alarm(health.intercept, without)
    at_zero = sample(rng, lambda x, t: plain(x, t) - 2.0, intercept=False)
    assert health.intercept(at_zero).state == "fine"
    assert health.drift(without).state == "fine"  # one misfit is not taken for another


def test_effects_that_bend(rng: np.random.Generator) -> None:
    alarm(health.curve, sample(rng, lambda x, t: np.sqrt(x) @ THETA * 2))
    full = sample(rng, plain)
    full = replace(full, actions=(full.actions > 0).astype(float))
    assert health.curve(full).state == "unknown"  # x^2 = x


def test_what_drifts_is_taken_neither_for_a_curve_nor_for_outliers(
    rng: np.random.Generator,
) -> None:
    """A learner's doses move while it learns: with the clock, as what drifts does."""

    def rising(actions: FloatArray, times: FloatArray) -> FloatArray:
        return plain(actions, times) + np.linspace(0, 3, len(times))

    steady = sample(rng, rising)
    doses = steady.actions.copy()
    doses[:, 0] = np.sqrt(np.linspace(0, 1, 400))  # its square is the clock
    moved = replace(steady, actions=doses)
    assert health.curve(moved).state == "fine"
    alarm(health.curve, replace(moved, rewards=moved.rewards + 3 * doses[:, 1] ** 2))

    def bursts(actions: FloatArray, times: FloatArray) -> FloatArray:
        late = np.arange(len(times)) > 0.9 * len(times)
        return np.asarray(plain(actions, times) + 3.0 * late)

    burst = sample(rng, bursts)
    assert "drift first" in alarm(health.normality, burst).advice
    calm = replace(burst, rewards=rng.permutation(burst.rewards))
    assert "drift" not in alarm(health.normality, calm).advice


def test_what_bends_is_not_taken_for_drift_while_doses_move(rng: np.random.Generator) -> None:
    """A learner that comes from high doses to low ones sees another slope each time."""
    steady = sample(rng, plain)
    doses: FloatArray = steady.actions * np.linspace(1.5, 0.2, 400)[:, None]
    bending = 2.0 + doses @ THETA + 2.0 * (doses**2) @ np.ones(4)
    bent = replace(steady, actions=doses, rewards=bending + 0.3 * rng.normal(size=400))
    assert not health.drift_test(bent).is_alarm
    assert alarm(health.drift, bent).advice == "See to the curve first."
    alarm(health.curve, bent)
    both = replace(bent, rewards=bent.rewards + np.linspace(0, 3, 400))
    assert health.drift_test(both).is_alarm
    assert "half_life" in alarm(health.drift, both).advice


def test_a_missing_baseline_is_not_taken_for_outliers(rng: np.random.Generator) -> None:
    """Where what is on always adds up to nearly the same, it hides in the effects; but not at 0."""
    without = sample(rng, plain, intercept=False)
    doses = (rng.random((400, 4)) < 0.5).astype(float)
    doses[:380, 0] = 1.0
    rewards = 20.0 + doses @ THETA + 0.3 * rng.normal(size=400)
    found = alarm(health.normality, replace(without, actions=doses, rewards=rewards))
    assert found.advice == "See to the baseline first."


def test_a_context_that_helps_and_one_that_does_not(rng: np.random.Generator) -> None:
    z = rng.normal(size=(400, 1))
    useful = sample(rng, lambda x, t: plain(x, t) + 0.8 * x[:, 0] * z[:, 0], contexts=z)
    assert health.context(useful).state == "fine"
    assert health.context(useful).p < 0.001
    assert health.context(sample(rng, plain, contexts=z)).state == "look"


def test_a_daily_rhythm_asks_for_a_context(rng: np.random.Generator) -> None:
    def rhythm(actions: FloatArray, times: FloatArray) -> FloatArray:
        return plain(actions, times) + 0.3 * np.sin(2 * np.pi * times / DAY)

    alarm(health.context, sample(rng, rhythm))
    one_day = sample(rng, rhythm)
    times = np.linspace(0.0, DAY, 400)
    assert health.context(replace(one_day, times=times)).state == "unknown"


def test_too_few_rewards_are_no_finding(rng: np.random.Generator) -> None:
    few = sample(rng, plain, n=30, intercept=False)
    assert {finding.state for finding in health.findings(few)} == {"unknown"}
    assert "40 rewards" in health.drift(few).meaning


# ---------------------------------------------------------------------- the tests themselves


def test_f_is_that_of_two_fits(rng: np.random.Generator) -> None:
    columns = np.hstack([np.ones((90, 1)), rng.normal(size=(90, 2))])
    more = np.hstack([rng.normal(size=(90, 2)), columns[:, :1] * 3.0])  # the last adds nothing
    rewards = rng.normal(size=90) + 0.3 * more[:, 0]
    found = f_test(columns, more, rewards)

    def squares(design: FloatArray) -> float:
        fit = design @ np.linalg.lstsq(design, rewards, rcond=None)[0]
        return float(((rewards - fit) ** 2).sum())

    short, long = squares(columns), squares(np.hstack([columns, more[:, :2]]))
    ratio = ((short - long) / 2) / (long / (90 - 5))
    assert found.added == 2
    np.testing.assert_allclose(found.p, stats.f.sf(ratio, 2, 85))
    np.testing.assert_allclose(found.gain, (short - long) / short)
    rest, freedom = residuals_of(columns, rewards)
    np.testing.assert_allclose((rest**2).sum(), short)
    assert freedom == 87
    assert not f_test(columns, columns * 2.0, rewards).is_known


@pytest.mark.parametrize("size", [25, 400])
def test_normality_is_that_of_scipy(rng: np.random.Generator, size: int) -> None:
    for values in (rng.normal(size=size), rng.exponential(size=size)):
        expected = stats.normaltest(values).pvalue
        np.testing.assert_allclose(normality_test(values).p, expected, rtol=1e-6)


def test_rewards_without_noise_are_no_drift(rng: np.random.Generator) -> None:
    """What rounding leaves of them is neither normal nor steady, and says nothing."""
    noisy = sample(rng, plain)
    for rewards in (np.ones(400), 1e6 + noisy.actions @ THETA, np.zeros(400)):
        exact = replace(noisy, rewards=rewards)
        assert not any(found.state == "look" for found in health.findings(exact))
        assert not health.drift_test(exact).is_alarm


def test_alarms_are_as_rare_as_they_say(rng: np.random.Generator) -> None:
    """Of 400 right models p < 0.1 in 40 +- 6 where the level is exact.

    More than 68 have probability below 1e-5 (binomial). An F test and a normality test must not
    be much rarer either: fewer than 16 have probability below 1e-5. The CUSUM is conservative.
    """
    low = dict.fromkeys(("f", "normal", "cusum"), 0)
    for _ in range(400):
        columns = np.hstack([np.ones((120, 1)), rng.random((120, 3))])
        rewards = rng.normal(size=120)
        rest, freedom = residuals_of(columns, rewards)
        low["f"] += f_test(columns, columns[:, 1:] ** 2, rewards).p < 0.1
        low["normal"] += normality_test(rest).p < 0.1
        low["cusum"] += cusum_test(rest, freedom).p < 0.1
    assert 16 <= low["f"] <= 68
    assert 16 <= low["normal"] <= 68
    assert low["cusum"] <= 68


def test_a_basis_is_orthonormal_where_columns_hardly_differ(rng: np.random.Generator) -> None:
    first = rng.random((500, 3))
    nearly = first + 1e-5 * rng.normal(size=(500, 3))
    basis = basis_of(np.hstack([first, nearly, first[:, :1] * 4.0, np.zeros((500, 1))]))
    assert basis.shape == (500, 6)
    np.testing.assert_allclose(basis.T @ basis, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(basis @ (basis.T @ nearly), nearly, atol=1e-9)
