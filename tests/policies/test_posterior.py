"""What a learner that keeps a posterior says of it, against a slow sampling of the same."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

import sparsebandits as sb
from sparsebandits.policies import Learner
from sparsebandits.policies.certificate import PosteriorCertificate
from sparsebandits.policies.thompson_rule import ThompsonRule
from sparsebandits.validation import FloatArray
from tests.policies.examples import (
    DIM,
    EXAMPLES,
    FIRST_OF_EACH,
    LEAST_SQUARES,
    OWN_ESTIMATE,
    SIGMA,
    THETA,
    Make,
    Play,
    adaptive,
    box,
    certify,
    decision_of,
    normal_equations,
    play,
    play_late,
    through_json,
)

RIDGE = sorted(set(EXAMPLES) - set(LEAST_SQUARES) - set(OWN_ESTIMATE))


def posterior(learner: Learner, plays: list[Play]) -> tuple[FloatArray, FloatArray, float]:
    """theta_hat, its covariance for unit noise and sigma_hat from the plays, the slow way."""
    theta, covariance, sigma = normal_equations(learner, plays)
    own = slice(theta.size - DIM, None)  # behind the baseline
    return theta[own], covariance[own, own], sigma


def slow_support(action_set: sb.ActionSet, theta: FloatArray, sparsity: int) -> tuple[int, ...]:
    """The best support of all, by trying every one; the coordinates that are used of it."""
    supports = list(itertools.combinations(range(theta.size), sparsity))
    responses = [action_set.best_response(theta, support) for support in supports]
    best = max(responses, key=lambda action: float(action @ theta))
    return tuple(int(i) for i in np.flatnonzero(best))


@pytest.mark.parametrize("kind", RIDGE)
def test_the_certificate_is_the_ridge_posterior(kind: str) -> None:
    for make in EXAMPLES[kind]:
        learner = make().start(seed=1)
        policy = learner.policy
        plays = play_late(learner, 40, seed=3)
        theta, covariance, sigma = posterior(learner, plays)
        certificate = certify(learner)
        rule = learner._rule
        if isinstance(rule, ThompsonRule) and rule.recipe.evidence:
            sigma = certificate.sigma  # of few rewards, the level that goes with the learned prior
        given = getattr(policy, "sigma", "estimate")
        if not isinstance(given, str) and given > 0:
            sigma = max(sigma, given) if kind == "sparse-thompson" else given
        assert certificate.sigma == pytest.approx(sigma, rel=1e-5)
        assert certificate.theta_hat is not None
        assert certificate.deviation is not None
        np.testing.assert_allclose(certificate.theta_hat, theta, rtol=1e-5, atol=1e-8)
        expected = sigma * np.sqrt(np.diag(covariance))
        np.testing.assert_allclose(certificate.deviation, expected, rtol=1e-5)
        best = sb.sparse_argmax(policy.action_set, theta, policy.sparsity, "exact")
        assert certificate.best_support == best.support
        told = sum(p.reward is not None for p in plays)
        assert (certificate.replications, certificate.cycle) == (told, told + 1)
        assert certificate.locked == (learner.support is not None)
        assert certificate.support == learner.support
        assert math.isnan(certificate.threshold)
        assert math.isnan(certificate.cycles_to_lock)
        assert certificate.confidence == "none"
        assert certificate.draws == 200
        assert 0 <= certificate.probability <= 1


@pytest.mark.parametrize(
    ("make", "sigma"),
    [
        (lambda: adaptive("lin-ts"), 0.4),
        (lambda: adaptive("lin-ts", box(), sigma=0.4), 0.4),
        (lambda: adaptive("sparse-thompson"), 0.3),
        (lambda: adaptive("oful", sb.LpBall(DIM, p=1.0), starts=3, sweeps=2), 0.3),
    ],
)
def test_the_probability_is_that_of_an_independent_sampling(make: Make, sigma: float) -> None:
    """1,500 draws here and 4,000 in the certificate, of one and the same probability.

    With p from the pooled counts, each count lies outside its binomial interval of 1 - 2e-7 with
    probability 2e-7: a false alarm below 1e-6 for a case.
    """
    learner = make().start(seed=2)
    check_probability(learner, play(learner, 12, sigma=sigma, seed=5))


def test_the_probability_knows_which_coordinates_are_known() -> None:
    """Logs that know coordinates 0 and 1 by one sum alone, and the others one by one.

    R R' and R' R have the same eigenvalues, and only the first is the covariance. The false alarm
    is that of the test above.
    """
    rng = np.random.default_rng(3)
    actions = np.zeros((60, DIM))
    actions[:30, :2] = [0.5, 1.0]
    actions[np.arange(30, 60), np.repeat([2, 3], 15)] = 0.4
    rewards = actions @ np.array([0.6, -0.2, 1.0, -0.1]) + 0.3 * rng.standard_normal(60)
    learner = adaptive("lin-ts").start(seed=0)
    learner.warm_start(actions, rewards)
    logged = [
        Play(decision_of(action), float(reward))
        for action, reward in zip(actions, rewards, strict=True)
    ]
    check_probability(learner, logged)


def check_probability(learner: Learner, plays: list[Play]) -> None:
    """Compare with draws from the slow posterior, each solved by trying all supports."""
    theta, covariance, scale = posterior(learner, plays)
    policy = learner.policy
    given = getattr(policy, "sigma", "estimate")
    scale = scale if isinstance(given, str) else given
    certificate = certify(learner, draws=4000)
    assert certificate.best_support is not None
    wanted = slow_support(policy.action_set, theta, policy.sparsity)
    assert certificate.best_support == wanted
    rng = np.random.default_rng(99)
    n = 1500
    drawn = theta + scale * rng.multivariate_normal(np.zeros(DIM), covariance, n)
    found = sum(slow_support(policy.action_set, row, policy.sparsity) == wanted for row in drawn)
    counted = round(certificate.probability * 4000)
    assert certificate.probability * 4000 == pytest.approx(counted)
    pooled = (found + counted) / (n + 4000)
    assert 0.05 < pooled < 0.98
    assert binom.ppf(1e-7, n, pooled) <= found <= binom.isf(1e-7, n, pooled)
    assert binom.ppf(1e-7, 4000, pooled) <= counted <= binom.isf(1e-7, 4000, pooled)


def test_the_probability_grows_with_what_is_known() -> None:
    learner = adaptive("lin-ts").start(seed=0)
    shares = []
    for steps in (4, 30, 300):
        play(learner, steps, sigma=0.3, seed=steps)
        shares.append(certify(learner, draws=500).probability)
    assert shares[0] < shares[1] <= shares[2]
    assert shares[2] > 0.99
    assert certify(learner).best_support == (0, 2)


@pytest.mark.parametrize("kind", RIDGE)
def test_before_any_reward_there_is_a_prior_and_no_probability(kind: str) -> None:
    learner = FIRST_OF_EACH[kind]().start(seed=0)
    for _ in range(2):
        certificate = certify(learner)
        assert certificate.theta_hat is not None
        assert not certificate.theta_hat.any()
        assert certificate.deviation is not None
        assert (certificate.deviation >= 0).all()
        assert math.isnan(certificate.probability)
        assert (certificate.draws, certificate.replications, certificate.cycle) == (0, 0, 1)
        assert not certificate.locked
        assert certificate.warning is None
        learner.ask()  # an open decision is no reward


@pytest.mark.parametrize(
    "kind", sorted(set(FIRST_OF_EACH) - {*RIDGE, "pege", "explore-then-commit"})
)
def test_where_there_is_no_posterior_the_certificate_says_so(kind: str) -> None:
    learner = FIRST_OF_EACH[kind]().start(seed=0)
    start = certify(learner)
    assert start.theta_hat is None
    assert start.best_support is None
    assert math.isnan(start.gap)
    play(learner, 60, sigma=SIGMA)
    certificate = certify(learner)
    assert certificate.deviation is None
    assert math.isnan(certificate.probability)
    assert (certificate.draws, certificate.replications) == (0, 0)
    assert certificate.locked == (learner.support is not None)
    assert certificate.locked == (kind in ("estc", "csar"))
    if learner.theta_hat is None:
        assert certificate.theta_hat is None
        assert certificate.best_support is None
    else:
        np.testing.assert_array_equal(certificate.theta_hat, learner.theta_hat)
        assert certificate.best_support == learner.policy.support_of(learner.theta_hat)
    # The Lasso has estimated a noise level on the way.
    assert math.isfinite(certificate.sigma) == (kind == "estc")


def test_the_draws_depend_on_the_data_alone() -> None:
    """Not on the seed, nor on what was asked meanwhile, nor on being saved."""
    actions = np.random.default_rng(0).standard_normal((9, DIM))
    rewards = actions @ THETA + np.random.default_rng(1).standard_normal(9)
    shares = set()
    for seed in range(3):
        learner: Learner = adaptive("lin-ts").start(seed=seed)
        learner.warm_start(actions, rewards)
        shares.add(certify(learner).probability)
        learner.ask()
        shares.add(certify(learner).probability)
        learner = through_json(learner)
        shares.add(certify(learner).probability)
    assert len(shares) == 1
    learner.warm_start(actions[:1], rewards[:1])
    assert certify(learner).probability not in shares


def test_the_number_of_draws_is_the_resolution() -> None:
    learner = adaptive("lin-ts").start(seed=0)
    play(learner, 8, sigma=0.5)
    for draws in (1, 7, 50):
        certificate = certify(learner, draws=draws)
        assert certificate.draws == draws
        scaled = certificate.probability * draws
        assert scaled == pytest.approx(round(scaled), abs=1e-9)
    assert certify(learner).draws == 200


def test_the_arrays_of_a_certificate_are_its_own() -> None:
    learner = adaptive("lin-ts").start(seed=0)
    play(learner, 20)
    before = learner.to_dict()
    certificate = certify(learner)
    assert certificate.theta_hat is not None
    assert certificate.deviation is not None
    certificate.theta_hat[:] = 99.0
    certificate.deviation[:] = 99.0
    assert learner.to_dict() == before


@pytest.mark.parametrize("dim", [4, 200])
def test_thetas_drawn_are_the_draws_of_the_certificate(dim: int) -> None:
    """With few coordinates and with so many that only some are looked at."""
    policy = sb.SparseThompson(action_set=sb.LpBall(dim), sparsity=2)
    learner, rng = policy.start(0), np.random.default_rng(1)
    assert learner.thetas_drawn() is None
    for _ in range(300):
        decision = learner.ask()
        learner.tell(decision, float(decision.action[:2] @ [0.5, 0.4] + rng.normal()))
    before, drawn = learner.to_dict(), learner.thetas_drawn(200)
    assert drawn is not None
    assert learner.to_dict() == before
    np.testing.assert_array_equal(drawn[0], learner.theta_hat)
    used = policy.best_actions(drawn, policy.action_set) != 0
    share = float((used[1:] == used[0]).all(axis=1).mean())
    certificate = learner.certificate(draws=200)
    assert isinstance(certificate, PosteriorCertificate)
    assert share == pytest.approx(certificate.probability)
    assert certificate.deviation is not None
    # 200 draws: a deviation is off by more than a quarter with probability below 1e-5.
    spread = drawn[1:].std(axis=0)
    known = spread > 0
    np.testing.assert_allclose(spread[known], certificate.deviation[known], rtol=0.25)


def test_thetas_drawn_follow_the_context() -> None:
    policy = sb.SparseThompson(action_set=sb.LpBall(3), sparsity=1, context=1)
    learner, rng = policy.start(0), np.random.default_rng(0)
    for _ in range(80):
        z = rng.normal(size=1)
        decision = learner.ask(context=z)
        learner.tell(decision, float(decision.action[0] * z[0] + 0.05 * rng.normal()))
    at = {z: learner.thetas_drawn(20, context=[z]) for z in (0.0, 1.0, 2.0)}
    plain = learner.thetas_drawn(20)
    assert plain is not None
    assert at[0.0] is not None
    assert at[1.0] is not None
    assert at[2.0] is not None
    np.testing.assert_allclose(at[0.0], plain)
    np.testing.assert_allclose(at[2.0] - at[0.0], 2 * (at[1.0] - at[0.0]))
    assert at[1.0][0, 0] == pytest.approx(1.0, abs=0.2)
