"""OFUL: its ellipsoid holds theta*, its index is optimistic, and its maximisers come close."""

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import sparsebandits as sb
from sparsebandits.policies.baselines.oful import OFUL, OFULRule, extreme_points
from sparsebandits.validation import FloatArray
from tests.contracts.examples import CASE_IDS, FACTORIES, correlated_matrix
from tests.policies.examples import play_late

DIM = 4
SMALL_SETS: dict[str, sb.ActionSet] = {
    "box": sb.Box(np.zeros(DIM), np.ones(DIM)),
    "two-sided box": sb.Box([-1.0, -0.5, 0.0, -2.0], [1.0, 1.0, 2.0, 0.5]),
    "l1": sb.LpBall(DIM, p=1.0),
    "cube": sb.LpBall(DIM, p=float("inf")),
    "l2": sb.LpBall(DIM),
    "l1.5": sb.LpBall(DIM, p=1.5, radius=2.0),
    "ellipsoid": sb.Ellipsoid(correlated_matrix(np.random.default_rng(2), DIM)),
    "finite": sb.FiniteSet(
        np.vstack([np.zeros(DIM), np.random.default_rng(0).integers(-2, 3, (60, DIM))])
    ),
}
ROUND = ("l2", "l1.5", "ellipsoid")


def oful(action_set: sb.ActionSet | None = None, **keywords: Any) -> OFUL:
    chosen = SMALL_SETS["box"] if action_set is None else action_set
    return OFUL(action_set=chosen, **{"sparsity": 2, "sigma": 0.5, **keywords})


def rule_of(policy: OFUL, lanes: int, seed: int = 0) -> OFULRule:
    return policy.rule([np.random.default_rng([seed, lane]) for lane in range(lanes)])


def steps(
    policy: OFUL, theta: FloatArray, horizon: int, sigma: float, seed: int = 0
) -> Iterator[tuple[OFULRule, FloatArray]]:
    """Play all lanes; yield the rule and the actions it chose, before it learns from them."""
    rule = rule_of(policy, len(theta), seed)
    rng = np.random.default_rng([seed, 10**6])
    for _ in range(horizon):
        actions = rule.choose(policy.action_set)
        yield rule, actions
        rewards = (actions * theta).sum(axis=1) + sigma * rng.standard_normal(len(theta))
        rule.learn(actions, rewards, rule.pulls)


def trained(policy: OFUL, lanes: int = 3, rewards: int = 12, seed: int = 0) -> OFULRule:
    """A rule whose lanes have seen random data, so that V is nothing special."""
    rng = np.random.default_rng(seed)
    rule = rule_of(policy, lanes, seed)
    for _ in range(rewards):
        actions = np.array([policy.action_set.sample(rng, 2) for _ in range(lanes)])
        rule.learn(actions, rng.standard_normal(lanes), rule.pulls)
    return rule


def slow_index(policy: OFUL, rule: OFULRule, lane: int, points: FloatArray) -> FloatArray:
    """The index by its definition, with plain inverses of the Gram matrix."""
    precision = rule.posterior.gram[lane] + policy.ridge * np.eye(rule.dim)
    theta = np.linalg.solve(precision, rule.posterior.response[lane])
    widths = np.einsum("ni,ij,nj->n", points, np.linalg.inv(precision), points)
    return np.asarray(points @ theta + rule.radii()[lane] * np.sqrt(widths))


# ---------------------------------------------------------------------- the radius


def test_the_proven_radius_is_theorem_2_written_out() -> None:
    policy = oful(sigma=0.3, delta=0.02, ridge=0.7, theta_bound=1.3)
    rule = trained(policy, lanes=2, rewards=40)
    for lane in range(2):
        determinant = np.linalg.det(np.eye(DIM) + rule.posterior.gram[lane] / 0.7)
        expected = 0.3 * math.sqrt(2 * math.log(math.sqrt(determinant) / 0.02))
        assert rule.radii()[lane] == pytest.approx(expected + math.sqrt(0.7) * 1.3, rel=1e-12)


def test_the_tuned_radius_counts_the_steps() -> None:
    rule = trained(oful(radius=0.25), rewards=7)
    np.testing.assert_allclose(rule.radii(), 0.25 * 0.5 * math.sqrt(math.log(1 + 8)))


def test_the_default_norm_bound_covers_the_cube() -> None:
    rule = rule_of(oful(sigma=0.0, ridge=2.0), 1)
    assert rule.radii()[0] == pytest.approx(math.sqrt(2.0 * DIM))


def test_the_determinant_is_right_past_a_refactoring_and_after_logged_data() -> None:
    policy = oful(SMALL_SETS["l2"], ridge=0.01)
    rule = trained(policy, lanes=1, rewards=1200)
    expected = np.linalg.slogdet(np.eye(DIM) + rule.posterior.gram[0] / 0.01)[1]
    assert rule.log_det[0] == pytest.approx(expected, rel=1e-11)
    rng = np.random.default_rng(1)
    rule.learn_many(rng.standard_normal((50, DIM)), rng.standard_normal(50))
    expected = np.linalg.slogdet(np.eye(DIM) + rule.posterior.gram[0] / 0.01)[1]
    assert rule.log_det[0] == pytest.approx(expected, rel=1e-11)


def test_the_determinant_grows_and_stays_below_its_bound() -> None:
    """Lemma 10 of the paper: det(V + ridge) <= (ridge + t L^2 / d)^d."""
    policy = oful(ridge=0.5)
    theta = np.random.default_rng(0).uniform(-1, 1, (5, DIM))
    before = np.zeros(5)
    for t, (rule, _) in enumerate(steps(policy, theta, 300, 0.5)):
        assert (rule.log_det >= before).all()
        squared_norm = policy.action_set.sparse_norm_bound(2) ** 2
        assert (rule.log_det <= DIM * math.log1p(t * squared_norm / (DIM * 0.5)) + 1e-9).all()
        before = rule.log_det.copy()


def misses(policy: OFUL, trials: int, horizon: int, scale: float = 1.0) -> int:
    """In how many runs theta* is ever outside the ellipsoid of `scale` times the radius."""
    theta = np.random.default_rng(5).standard_normal((trials, DIM))
    theta *= policy.norm_of_theta / np.linalg.norm(theta, axis=1, keepdims=True)
    missed = np.zeros(trials, dtype=np.bool_)
    for rule, _ in steps(policy, theta, horizon, 0.5):
        error = theta - rule.posterior.theta_hat
        precision = rule.posterior.gram + policy.ridge * np.eye(DIM)
        distance = np.sqrt(np.einsum("ni,nij,nj->n", error, precision, error))
        missed |= distance > scale * rule.radii() * (1 + 1e-12)
    return int(missed.sum())


@pytest.mark.parametrize("maximiser", ["alternating", "dani", "enumerate"])
def test_the_ellipsoid_holds_theta_star_throughout_with_probability_one_minus_delta(
    maximiser: str,
) -> None:
    """False alarm: below 1e-6 if misses are Binomial(300, delta) at worst."""
    policy = oful(delta=0.2, ridge=0.1, theta_bound=0.5, maximiser=maximiser)
    assert misses(policy, 300, 150) <= binom.ppf(1 - 1e-6, 300, 0.2)


def test_the_coverage_test_would_see_a_radius_that_is_too_small() -> None:
    policy = oful(delta=0.2, ridge=0.1, theta_bound=0.5)
    assert misses(policy, 300, 150, scale=0.6) > binom.ppf(1 - 1e-6, 300, 0.2)


# ---------------------------------------------------------------------- optimism and regret


@pytest.mark.parametrize("name", [name for name in SMALL_SETS if name not in ROUND])
def test_the_index_is_optimistic_while_the_ellipsoid_holds_theta_star(name: str) -> None:
    """Deterministic: theta* in the ellipsoid gives index(x_t) >= index(x*) >= theta*·x*."""
    policy = oful(SMALL_SETS[name], maximiser="enumerate")
    theta = np.random.default_rng(3).uniform(-1, 1, (20, DIM))
    best = sb.sparse_argmax_batch(policy.action_set, theta, 2, "exact").values
    held = 0
    for rule, actions in steps(policy, theta, 60, 0.5):
        error = theta - rule.posterior.theta_hat
        precision = rule.posterior.gram + policy.ridge * np.eye(DIM)
        radii = rule.radii()
        inside = np.einsum("ni,nij,nj->n", error, precision, error) <= radii**2
        index = rule.index(actions[:, None, :], radii)[:, 0]
        assert (index >= best - 1e-9)[inside].all()
        # Their proof: regret of the step is at most twice the bonus.
        regret = best - (actions * theta).sum(axis=1)
        assert (regret <= 2 * radii * np.sqrt(rule.posterior.widths(actions)) + 1e-9)[inside].all()
        held += int(inside.sum())
    assert held > 1000


@pytest.mark.parametrize("maximiser", ["enumerate", "alternating", "dani"])
def test_regret_stays_below_the_published_bound(maximiser: str) -> None:
    """Theorem 3: R_T <= 2 beta_T sqrt(2 T ln det(I + V / ridge)) if ridge >= max(1, L^2).

    For "dani" the bonus, and so the bound, is sqrt(d) times larger (Dani et al., Theorem 2).
    False alarm: at most delta = 1e-6 per run, where the maximiser is exact.
    """
    policy = oful(delta=1e-6, ridge=2.5, maximiser=maximiser, starts=8)
    assert policy.ridge >= max(1, policy.action_set.sparse_norm_bound(2) ** 2)
    theta = np.random.default_rng(4).uniform(-1, 1, (20, DIM))
    best = sb.sparse_argmax_batch(policy.action_set, theta, 2).values
    regret = np.zeros(20)
    factor = math.sqrt(DIM) if maximiser == "dani" else 1.0
    for t, (rule, actions) in enumerate(steps(policy, theta, 400, 0.5), start=1):
        regret += best - (actions * theta).sum(axis=1)
        log_det = rule.log_det + np.log1p(rule.posterior.widths(actions))
        assert (regret <= factor * 2 * rule.radii() * np.sqrt(2 * t * log_det)).all()


def test_regret_grows_like_the_square_root_at_most() -> None:
    """Four times the horizon gives far less than four times the regret; a fixed seed."""
    policy = oful(SMALL_SETS["l2"], radius=1.0, starts=4)
    env = sb.LinearEnvironment(
        action_set=policy.action_set, theta_star=sb.UniformCube(), noise=sb.Gaussian(0.5)
    )
    run = sb.simulate(policy, env, horizon=1600, trials=5, seed=0, points=1600)
    assert run.at(1600).mean() < 2.2 * run.at(400).mean()


# ---------------------------------------------------------------------- the maximisers


def test_a_case_solved_by_hand() -> None:
    """theta_hat = (1/2, 0), V + 1 = diag(2, 1): e_2 beats e_1 once beta > (1 + 1/sqrt(2))."""
    ball = sb.LpBall(2)
    for maximiser in ("alternating", "enumerate"):
        for beta, wanted in ((1.70, 0), (1.72, 1)):
            learner = OFUL(
                action_set=ball, sparsity=1, sigma=0.0, theta_bound=beta, maximiser=maximiser
            ).start(seed=1)
            learner.warm_start([[1.0, 0.0]], [1.0])
            np.testing.assert_allclose(np.abs(learner.ask().action), np.eye(2)[wanted])


@pytest.mark.parametrize("name", SMALL_SETS)
def test_enumerate_finds_the_largest_index(name: str) -> None:
    """Against random H-sparse actions, and against its own candidates the slow way."""
    policy = oful(SMALL_SETS[name], maximiser="enumerate")
    rule = trained(policy)
    chosen = rule.choose(policy.action_set)
    rng = np.random.default_rng(1)
    others = np.array([policy.action_set.sample(rng, 2) for _ in range(3000)])
    for lane in range(3):
        index = slow_index(policy, rule, lane, chosen[lane, None])[0]
        assert policy.action_set.contains(chosen[lane])
        assert np.count_nonzero(chosen[lane]) <= 2
        slack = 1e-4 if name in ROUND else 1e-12
        assert slow_index(policy, rule, lane, others).max() <= index * (1 + slack)
        listed = extreme_points(policy.action_set, 2)
        assert slow_index(policy, rule, lane, listed).max() == pytest.approx(index, rel=1e-12)


@pytest.mark.parametrize("name", SMALL_SETS)
def test_the_index_never_falls_along_the_alternation(name: str) -> None:
    rule = trained(oful(SMALL_SETS[name], starts=2), lanes=20)
    reached = [np.full(20, -np.inf)]
    for sweeps in range(6):
        policy = oful(SMALL_SETS[name], starts=2, sweeps=sweeps)
        twin = rule_of(policy, 20)  # the same random start each time
        for name_of, array in twin.arrays().items():
            array[:] = rule.arrays()[name_of]
        actions = twin.choose(policy.action_set)
        index = twin.index(actions[:, None, :], twin.radii())[:, 0]
        assert (index >= reached[-1]).all()
        reached.append(index)
    start = sb.sparse_argmax_batch(policy.action_set, rule.posterior.theta_hat, 2).actions
    assert (index >= rule.index(start[:, None, :], rule.radii())[:, 0]).all()
    if name in ROUND:
        assert (index > reached[1]).any()  # more than the better start


@pytest.mark.parametrize("name", SMALL_SETS)
def test_the_alternation_ends_where_theta_and_x_answer_each_other(name: str) -> None:
    """No action is better than x for the theta of the ellipsoid that is best for x."""
    policy = oful(SMALL_SETS[name], sweeps=200)
    rule = trained(policy, lanes=20)
    for lane, action in enumerate(rule.choose(policy.action_set)):
        precision = rule.posterior.gram[lane] + policy.ridge * np.eye(DIM)
        push = np.linalg.solve(precision, action)
        theta = np.linalg.solve(precision, rule.posterior.response[lane])
        theta = theta + rule.radii()[lane] * push / math.sqrt(action @ push)
        index = slow_index(policy, rule, lane, action[None])[0]
        assert theta @ action == pytest.approx(index)
        best = sb.sparse_argmax(policy.action_set, theta, 2, "exact").value
        assert best == pytest.approx(index, rel=1e-6)


@pytest.mark.parametrize("radius", ["proven", 0.5])
@pytest.mark.parametrize("name", SMALL_SETS)
def test_alternating_comes_close_to_the_largest_index(name: str, radius: Any) -> None:
    """With 64 starts: within 5% in every case, within 1% in nine of ten; never above."""
    policy = oful(SMALL_SETS[name], radius=radius, starts=64)
    rule = trained(policy, lanes=40)
    chosen = rule.choose(policy.action_set)
    listed = extreme_points(policy.action_set, 2)
    best = np.array([slow_index(policy, rule, lane, listed).max() for lane in range(40)])
    index = rule.index(chosen[:, None, :], rule.radii())[:, 0]
    assert (index <= best * (1 + 1e-4 if name in ROUND else 1 + 1e-12)).all()
    assert (index >= 0.95 * best).all()
    assert np.mean(index >= 0.99 * best) >= 0.9


@pytest.mark.parametrize("name", SMALL_SETS)
def test_dani_bounds_the_index_from_above_by_at_most_sqrt_d_times_the_bonus(name: str) -> None:
    policy = oful(SMALL_SETS[name], maximiser="dani")
    rule = trained(policy, lanes=10)
    chosen = rule.choose(policy.action_set)
    listed = extreme_points(policy.action_set, 2)
    radii = rule.radii()
    for lane in range(10):
        theta, root = rule.posterior.theta_hat[lane], rule.posterior.root[lane]
        offsets = math.sqrt(DIM) * radii[lane] * root
        corners = np.concatenate([theta + offsets.T, theta - offsets.T])
        value = sb.sparse_argmax_batch(policy.action_set, corners, 2).values.max()
        assert value == pytest.approx((corners @ chosen[lane]).max(), rel=1e-12)
        assert value >= slow_index(policy, rule, lane, listed).max() * (1 - 1e-12)
        bonus = math.sqrt(DIM) * radii[lane] * np.linalg.norm(listed @ root, axis=1)
        slack = 1e-4 if name in ROUND else 1e-12
        assert value <= (listed @ theta + bonus).max() * (1 + slack)


@pytest.mark.parametrize("factory", FACTORIES, ids=CASE_IDS)
@pytest.mark.parametrize("maximiser", ["alternating", "dani"])
def test_every_set_is_served_with_feasible_actions(factory: Any, maximiser: str) -> None:
    action_set = factory(np.random.default_rng(1), 5)
    policy = oful(action_set, maximiser=maximiser, starts=3)
    learner = policy.start(seed=0)
    for step in range(12):
        mask = None if step % 2 else [0, 3, 4]
        action = learner.ask(available=mask).action
        assert action_set.contains(action)
        assert np.count_nonzero(action) <= 2
        if mask is not None:
            assert not action[[1, 2]].any()
        learner.tell(step + 1, float(np.sin(step)))


def test_a_greedy_oracle_composes_too() -> None:
    policy = oful(SMALL_SETS["ellipsoid"], oracle="greedy", sigma="estimate")
    for decision in play_late(policy.start(seed=0), 40, seed=0):
        assert policy.action_set.contains(decision.decision.action)


def test_another_set_of_the_same_dimension_is_respected() -> None:
    for maximiser in ("alternating", "dani", "enumerate"):
        learner = oful(SMALL_SETS["box"], maximiser=maximiser).start(seed=0)
        for name in ("box", "l1", "cube", "finite"):
            decision = learner.ask(action_set=SMALL_SETS[name])
            assert SMALL_SETS[name].contains(decision.action)
            learner.tell(decision, 0.3)


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"maximiser": "best"}, r"maximiser must be one of 'alternating', 'dani', 'enumerate'"),
        ({"radius": "large"}, r"radius must be a number or 'proven', got 'large'"),
        ({"radius": 0.0}, r"radius must be positive, got 0.0"),
        ({"radius": 1.0, "sigma": 0.0}, r"nothing would ever be explored. Use radius='proven'"),
        ({"delta": 1.0}, r"delta must lie strictly between 0 and 1"),
        ({"ridge": 0.0}, r"ridge must be positive"),
        ({"theta_bound": -1.0}, r"theta_bound must be positive"),
        ({"starts": 1}, r"starts must be at least 2"),
        ({"sweeps": -1}, r"sweeps must be at least 0"),
        ({"sigma": "guess"}, r"sigma must be a number or 'estimate'"),
    ],
)
def test_bad_settings_are_refused(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(sb.SparseBanditsError, match=message):
        oful(**keywords)


@pytest.mark.parametrize(
    ("action_set", "sparsity"),
    [
        (sb.Budget(1.0, np.full(DIM, 0.6)), 2),
        (sb.LpBall(5), 3),
        (sb.Box(np.zeros(40), np.ones(40)), 4),
    ],
    ids=repr,
)
def test_sets_that_cannot_be_listed_are_refused_when_composed(
    action_set: sb.ActionSet, sparsity: int
) -> None:
    with pytest.raises(sb.CompositionError, match=r"cannot be listed.*maximiser='alternating'"):
        oful(action_set, sparsity=sparsity, maximiser="enumerate")


def test_a_set_that_cannot_be_listed_is_refused_when_asked_for() -> None:
    learner = oful(maximiser="enumerate").start(seed=0)
    with pytest.raises(sb.CompositionError, match="cannot be listed"):
        learner.ask(action_set=sb.Budget(1.0, np.full(DIM, 0.6)))
    assert learner.open_decisions == ()


def test_settings_survive_a_round_trip() -> None:
    for policy in (oful(radius=np.float64(0.5), starts=np.int64(3)), oful(theta_bound=2)):
        data = json.loads(json.dumps(policy.to_dict()))
        assert sb.Policy.from_dict(data).to_dict() == policy.to_dict()
    assert replace(policy, ridge=3.0).ridge == 3.0
