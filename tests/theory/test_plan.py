import json
import math
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.estimation import CONFIDENCE, cycles_to_lock, warmup_cycles
from sparsebandits.theory import (
    Plan,
    plan,
    regret_adaptive,
    regret_general,
    regret_general_compact,
)
from sparsebandits.theory.advice import readable, share
from tests.contracts.examples import CASE_IDS, FACTORIES, Factory, correlated_matrix


@pytest.fixture(scope="module")
def papers() -> Plan:
    return plan(sb.LpBall(20), sparsity=5, sigma=0.5, delta=0.05, horizon=2_000)


# -------------------------------------------------------------------- the paper's setting


def test_the_papers_setting(papers: Plan) -> None:
    """h_1 = 10 and 2 epsilon = 2.5 after 100 cycles, against a gap of about 0.03."""
    assert (papers.dim, papers.sparsity, papers.basis, papers.cycles) == (20, 5, "standard", 100)
    assert (papers.lambda_0, papers.trace, papers.h_1) == (1.0, 20.0, 10.0)
    assert 2 * papers.epsilon_c == pytest.approx(2.5215, abs=1e-4)
    assert papers.literal.threshold == pytest.approx(2 * papers.epsilon_c)
    # The spacings of 20 uniform variables are Beta(1, 20).
    for quantile, found in (
        (0.1, papers.gap_low),
        (0.5, papers.gap_median),
        (0.9, papers.gap_high),
    ):
        assert found == pytest.approx(1 - (1 - quantile) ** (1 / 20), rel=0.1)
    assert papers.gamma == papers.alpha == 1
    assert papers.theorem == "thm:regret_adaptive"
    assert papers.response_lipschitz == 1


def test_the_literal_test_cannot_pass_there(papers: Plan) -> None:
    assert papers.literal.lock_share == 0
    assert papers.literal.lock_step > 10**7
    assert papers.warmup_cycles > 10**7
    assert papers.regret_bound == papers.largest_regret
    first = papers.advice[0]
    assert "cannot pass" in first
    assert "2.52" in first
    assert any("Use SparseThompson" in sentence for sentence in papers.advice)
    assert papers.sharpest.confidence == "pairwise"
    assert "confidence='pairwise'" in papers.advice[1]


def test_one_line_for_each_bound(papers: Plan) -> None:
    assert [lock.confidence for lock in papers.locks] == list(CONFIDENCE)
    for lock in papers.locks:
        assert lock.threshold <= papers.literal.threshold
        assert lock.lock_step == 20 * lock.lock_cycle
        assert lock.lock_cycle < lock.sure_cycle <= papers.warmup_cycles


def test_only_exploring_is_what_a_simulation_of_it_loses(papers: Plan) -> None:
    ball = sb.LpBall(20)
    policy = sb.APSEE(action_set=ball, sparsity=5, sigma=0.5)
    env = sb.LinearEnvironment(action_set=ball, theta_star=sb.UniformCube(), noise=sb.Gaussian(0.5))
    run = sb.simulate(policy, env, horizon=2_000, trials=200, seed=0)
    assert run.locked_share == 0
    assert papers.exploring_regret == pytest.approx(np.median(run.at(2_000)), rel=0.02)


# -------------------------------------------------------------------- the numbers


def test_a_given_gap() -> None:
    made = plan(sb.LpBall(4), 1, sigma=0.1, delta=0.05, horizon=2_000, gap=0.9)
    policy = sb.APSEE(action_set=sb.LpBall(4), sparsity=1, sigma=0.1)
    assert made.gap_is_given
    assert made.gap_low == made.gap_median == made.gap_high == 0.9
    lock = made.literal
    assert lock.lock_cycle == cycles_to_lock(0.9, policy.test.unit_threshold, sigma=0.1)
    assert lock.sure_cycle == cycles_to_lock(0.45, policy.test.unit_threshold, sigma=0.1)
    assert made.warmup_cycles == warmup_cycles(0.9, made.h_1, 4, 0.05)
    assert lock.lock_share == 1
    assert made.regret_bound == regret_adaptive(
        2_000,
        dim=4,
        norm_bound=1.0,
        theta_norm=made.theta_norm,
        support_norm=made.support_norm,
        h_1=made.h_1,
        delta=0.05,
        warmup_cycles=lock.sure_cycle,
    )
    assert made.regret_bound < made.compact_bound < made.largest_regret
    assert len(made.advice) == 1
    assert "can pass" in made.advice[0]


def test_an_ellipsoid_uses_the_greedy_gap_and_l_x() -> None:
    X = sb.Ellipsoid(correlated_matrix(np.random.default_rng(0), 6))
    made = plan(X, 2, sigma=0.01, delta=0.05, horizon=10_000, prior=sb.UniformCube())
    assert made.oracle == "greedy"
    assert made.theorem == "thm:regret_general"
    assert made.literal.threshold == pytest.approx(2 * X.norm_bound * made.epsilon_c)
    assert made.gamma == pytest.approx(X.gamma_bound)
    assert made.alpha == pytest.approx(1 - math.exp(-X.gamma_bound))
    assert any("oracle='exact' has alpha = 1" in sentence for sentence in made.advice)
    expected = warmup_cycles(made.gap_median / X.norm_bound, made.h_1, 6, 0.05)
    assert made.warmup_cycles == pytest.approx(expected)
    assert made.regret_bound == regret_general(
        10_000,
        dim=6,
        norm_bound=X.norm_bound,
        response_lipschitz=X.response_lipschitz(2),
        theta_norm=made.theta_norm,
        support_norm=made.support_norm,
        h_1=made.h_1,
        delta=0.05,
        warmup_cycles=made.literal.sure_cycle,
    )


def test_the_share_that_locks_is_about_the_share_that_a_simulation_locks() -> None:
    ball, setting = sb.LpBall(6), {"sparsity": 2, "sigma": 0.1, "delta": 0.05}
    made = plan(ball, 2, sigma=0.1, delta=0.05, horizon=3_000)
    env = sb.LinearEnvironment(action_set=ball, theta_star=sb.UniformCube(), noise=sb.Gaussian(0.1))
    for lock in made.locks:
        keywords: dict[str, Any] = {**setting, "confidence": lock.confidence}
        policy = sb.APSEE(action_set=ball, **keywords)
        run = sb.simulate(policy, env, horizon=3_000, trials=400, seed=1)
        # Three standard errors of 400 trials are 0.075.
        assert lock.lock_share == pytest.approx(run.locked_share, abs=0.08)


def test_a_box_is_covered_by_theorem_3() -> None:
    made = plan(sb.Box(np.zeros(20), np.ones(20)), 5, sigma=0.5, delta=0.05, horizon=2_000)
    assert made.theorem == "thm:regret_general_compact"
    assert made.regret_bound == made.compact_bound
    assert made.compact_bound == regret_general_compact(
        2_000,
        dim=20,
        norm_bound=math.sqrt(20),
        theta_norm=made.theta_norm,
        h_1=10.0,
        delta=0.05,
    )
    assert made.alpha == 1
    assert made.response_lipschitz == math.inf
    (sentence,) = [sentence for sentence in made.advice if "not strongly convex" in sentence]
    # The proof covers m_c = c too; "no regret bound" was wrong.
    assert "T^(3/4)" in sentence
    assert readable(made.linear_bound) in sentence


@pytest.mark.parametrize("factory", FACTORIES, ids=CASE_IDS)
def test_every_registered_set_can_be_planned(factory: Factory) -> None:
    X = factory(np.random.default_rng(0), 5)
    made = plan(X, 2, sigma=0.3, delta=0.1, horizon=1_000)
    assert json.loads(json.dumps(made.to_dict(), allow_nan=False)) == made.to_dict()
    assert made.advice
    assert 0 <= made.regret_bound <= made.largest_regret
    assert (made.alpha is None) == (X.kind in ("budget", "polytope", "finite-set"))
    if X.sorting is not None:
        theta = np.random.default_rng(1).standard_normal(5)
        assert sb.submodularity_ratio(X, theta) == pytest.approx(1)


def test_more_time_less_noise_and_larger_gaps_lock_more() -> None:
    def share_of(**change: Any) -> list[float]:
        keywords: dict[str, Any] = {"sigma": 0.1, "delta": 0.05, "horizon": 5_000, **change}
        return [lock.lock_share for lock in plan(sb.LpBall(8), 2, **keywords).locks]

    base = share_of()
    for better in (
        share_of(horizon=50_000),
        share_of(sigma=0.05),
        share_of(delta=0.2),
        share_of(prior=sb.GapTheta(0.8)),
    ):
        assert all(more >= less for more, less in zip(better, base, strict=True))


def test_seeds_and_bases() -> None:
    keywords: dict[str, Any] = {"sigma": 0.5, "delta": 0.05, "horizon": 2_000}
    assert plan(sb.LpBall(6), 2, **keywords) == plan(sb.LpBall(6), 2, **keywords)
    other = plan(sb.LpBall(6), 2, **keywords, seed=1)
    assert other.gap_median != plan(sb.LpBall(6), 2, **keywords).gap_median
    wide = sb.LpBall(6, radius=3.0)
    near, far = (plan(wide, 2, **keywords, basis=name) for name in ("standard", "boundary"))
    assert far.lambda_0 == pytest.approx(9)
    assert far.literal.threshold == pytest.approx(near.literal.threshold / 3)


# -------------------------------------------------------------------- the edges


def test_everything_fits_or_nothing_can_be_estimated() -> None:
    free = plan(sb.LpBall(3), 3, sigma=0.5, delta=0.05, horizon=100)
    assert free.gap_median == math.inf
    assert free.warmup_cycles == 0
    assert all(lock.lock_cycle == 1 and lock.lock_share == 1 for lock in free.locks)
    assert "no support to find" in free.advice[0]
    short = plan(sb.LpBall(20), 5, sigma=0.5, delta=0.05, horizon=19)
    assert short.cycles == 0
    assert short.literal.threshold == math.inf
    assert all(lock.lock_share == 0 for lock in short.locks)
    assert "fewer than the d = 20" in short.advice[0]
    assert short.to_dict()["epsilon_c"] is None


def test_without_noise_or_without_a_gap() -> None:
    silent = plan(sb.LpBall(5), 2, sigma=0, delta=0.05, horizon=100)
    assert silent.h_1 == silent.literal.threshold == 0
    assert silent.literal.lock_cycle == 1
    tied = plan(sb.LpBall(5), 3, 0.5, 0.05, 100, prior=sb.SparseTheta(2))
    assert tied.gap_median == 0
    assert tied.warmup_cycles == math.inf
    assert "for ever" in tied.advice[0]
    assert tied.to_dict()["warmup_cycles"] is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"action_set": "ball"}, "action_set must be an action set"),
        ({"sparsity": 6}, "at most dim = 5"),
        ({"sigma": -1.0}, "sigma must be"),
        ({"sigma": "estimate"}, "sigma must be a number"),
        ({"delta": 1.5}, "delta must lie"),
        ({"horizon": 0}, "horizon must be at least 1"),
        ({"gap": 0.0}, "gap must be positive"),
        ({"prior": "uniform"}, "prior must be a sampler"),
        ({"basis": "fourier"}, "basis must be one of"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"action_set": sb.LpBall(5).restrict([0, 1])}, "cannot be explored"),
    ],
)
def test_arguments_are_checked(change: dict[str, Any], message: str) -> None:
    keywords: dict[str, Any] = {
        "action_set": sb.LpBall(5),
        "sparsity": 2,
        "sigma": 0.5,
        "delta": 0.05,
        "horizon": 100,
        **change,
    }
    with pytest.raises(sb.SparseBanditsError, match=message):
        plan(**keywords)


def test_numbers_for_people() -> None:
    numbers = [0.03429, 999.4, 1234, 98_765, 4_304_000, 2.5e9, 3e13, math.inf]
    words = ["0.0343", "999", "1,230", "98,800", "4.3 million", "2.5 billion", "3.0e+13"]
    assert [readable(number) for number in numbers] == [*words, "infinite"]
    assert [share(x) for x in (0, 0.0002, 0.034, 1)] == ["0%", "<0.1%", "3.4%", "100%"]
