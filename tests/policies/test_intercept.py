"""reward = b + theta·x with b unknown: a constant in every reward changes nothing but b."""

import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import sparsebandits as sb
from sparsebandits.policies import POLICIES, Policy
from sparsebandits.policies.baselines.oful import OFULRule
from sparsebandits.validation import FloatArray
from tests.policies.examples import CASES, DIM, SCHEDULED, Make, adaptive, box, through_json

MANY = 150
"""So many coordinates that `SparseThompson` does not look at all of them."""

GATED: dict[str, Make] = {
    "gated-ball": lambda: adaptive("sparse-thompson", sb.LpBall(MANY)),
    "gated-box": lambda: adaptive("sparse-thompson", sb.Box(np.zeros(MANY), np.ones(MANY))),
}
THOMPSON: dict[str, Make] = {
    "ball": lambda: adaptive("sparse-thompson"),
    "box": lambda: adaptive("sparse-thompson", box()),
    "fading": lambda: adaptive("sparse-thompson", box(-1.0), half_life=40.0),
    **GATED,
}
KINDS = {
    kind for kind, cls in POLICIES.items() if "intercept" in {field.name for field in fields(cls)}
}
WITH_INTERCEPT: dict[str, Make] = {
    **{name: make for name, make in CASES if getattr(make(), "intercept", False)},
    **GATED,
}


def played(
    policy: Policy,
    steps: int,
    constant: float = 0.0,
    unit: float = 1.0,
    sigma: float = 0.5,
    on_grid: bool = True,
) -> FloatArray:
    """The actions of a learner whose rewards are unit (constant + theta·x + noise).

    On the grid the constant costs no digit of a reward.
    """
    learner, rng = policy.start(seed=3), np.random.default_rng(0)
    theta = rng.uniform(-1, 1, policy.action_set.dim)
    actions = []
    for _ in range(steps):
        decision = learner.ask()
        reward = theta @ decision.action + sigma * rng.standard_normal()
        if on_grid:
            reward = np.rint(2.0**20 * reward) / 2.0**20
        learner.tell(decision, float(unit * (reward + constant)))
        actions.append(decision.action)
    return np.array(actions)


def test_every_kind_with_the_keyword_is_here() -> None:
    kinds = {make().kind for make in WITH_INTERCEPT.values()}
    assert kinds == KINDS
    assert set(SCHEDULED) | {"pege", "lin-ts", "oful", "epsilon-greedy"} < kinds
    for name, make in THOMPSON.items():
        policy = make()
        assert isinstance(policy, sb.SparseThompson)
        assert policy.is_gated == (name in GATED)
    assert sb.SparseThompson(action_set=sb.LpBall(DIM), sparsity=2).intercept
    for kind in KINDS - {"sparse-thompson"}:
        policy = next(make() for name, make in CASES if name == f"{kind}-0")
        assert policy.to_dict()["intercept"] is False


def test_the_page_says_of_every_policy_whether_it_has_the_keyword() -> None:
    page = (Path(__file__).parents[2] / "docs" / "baseline.md").read_text(encoding="utf-8")
    have, lack = page.split("The others have\nno such keyword")
    for kind, cls in POLICIES.items():
        part = have if kind in KINDS else lack.split("\n\n")[0]
        assert f"`{cls.__name__}`" in part


@pytest.mark.parametrize("constant", [5.0, -100.0])
@pytest.mark.parametrize("name", WITH_INTERCEPT)
def test_a_constant_in_every_reward_changes_no_decision(name: str, constant: float) -> None:
    policy = WITH_INTERCEPT[name]()
    plain, moved = (played(policy, 60, constant=b) for b in (0.0, constant))
    np.testing.assert_array_equal(moved, plain)
    assert len(np.unique(plain.round(6), axis=0)) > 3


SYMMETRIC: dict[str, sb.ActionSet] = {
    "box": sb.Box(np.zeros(20), np.ones(20)),
    "cube": sb.LpBall(20, p=math.inf),
    "ball": sb.LpBall(20),
    "budget": sb.Budget(2.0, np.full(20, 0.7)),
    "many": sb.Box(np.zeros(MANY), np.ones(MANY)),
}


@pytest.mark.parametrize("name", SYMMETRIC)
@pytest.mark.parametrize("half_life", [None, 50.0])
def test_nor_does_its_rounding_where_all_coordinates_are_alike(
    name: str, half_life: float | None
) -> None:
    """What was never played, or always together, is known alike: no rounding may part it."""
    X = SYMMETRIC[name]
    policy = sb.SparseThompson(action_set=X, sparsity=5, half_life=half_life)
    plain, moved = (played(policy, 60, constant=b, on_grid=False) for b in (0.0, -100.0))
    np.testing.assert_allclose(moved, plain, atol=1e-6)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_without_the_keyword_a_constant_does_change_decisions(kind: str) -> None:
    """The contract above would see it."""
    needed: dict[str, Any] = {"horizon": 40} if kind == "explore-then-commit" else {}
    if kind in ("apsee", "apsee-g", "apsee-hedged", "time-varying", "support-elimination"):
        needed = {"sigma": 0.02}
    if kind in ("apsee-g", "time-varying"):
        needed["insist"] = True
    policy = adaptive(kind, box(-1.0), intercept=False, **needed)
    plain, *moved = (played(policy, 60, constant=b) for b in (0.0, 100.0, -100.0))
    assert max(np.abs(plain - other).max() for other in moved) > 0.1


@pytest.mark.parametrize("name", THOMPSON)
def test_a_power_of_two_in_the_unit_changes_no_bit(name: str) -> None:
    policy = THOMPSON[name]()
    plain = played(policy, 80, constant=3.0)
    for unit in (2.0**10, 2.0**-20):
        np.testing.assert_array_equal(played(policy, 80, constant=3.0, unit=unit), plain)


def regret(action_set: sb.ActionSet, trials: int, horizon: int, **keywords: Any) -> FloatArray:
    """The regret of every trial; `unit` multiplies all rewards, `baseline` is added."""
    unit, baseline = keywords.pop("unit", 1.0), keywords.pop("baseline", 0.0)
    env = sb.LinearEnvironment(
        action_set=action_set,
        theta_star=sb.UniformCube(unit),
        noise=sb.Gaussian(0.5 * unit),
        baseline=baseline * unit,
    )
    H = min(5, action_set.dim // 2)
    policy = sb.SparseThompson(action_set=action_set, sparsity=H, **keywords)
    return sb.simulate(policy, env, horizon, trials, seed=5).at(horizon)


def test_regret_does_not_see_the_baseline_and_scales_with_the_unit() -> None:
    """But for rounding the runs are the same: no false alarm but where that tips a decision."""
    X = sb.LpBall(8)
    plain = regret(X, 8, 150)
    for changed in (
        regret(X, 8, 150, baseline=5.0),
        regret(X, 8, 150, baseline=-100.0),
        regret(X, 8, 150, unit=1000.0) / 1000,
    ):
        assert (np.abs(changed / plain - 1) < 1e-6).mean() > 0.5
        assert changed.mean() == pytest.approx(plain.mean(), rel=0.1)
    assert regret(X, 8, 150, baseline=5.0, intercept=False).mean() > 2 * plain.mean()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("action_set", "limit"),
    [(sb.LpBall(20), 1.03), (sb.Box(np.zeros(20), np.ones(20)), 1.10)],
    ids=["l2", "box"],
)
def test_a_baseline_that_is_not_there_costs_little(action_set: sb.ActionSet, limit: float) -> None:
    """Paired by theta* and noise: two standard errors of the difference are granted."""
    without = regret(action_set, 200, 2000, intercept=False)
    reckoning = regret(action_set, 200, 2000)
    off = reckoning - without
    noise = 2 * off.std() / math.sqrt(off.size)
    assert reckoning.mean() <= limit * without.mean() + noise
    for baseline in (5.0, -100.0):
        moved = regret(action_set, 200, 2000, baseline=baseline)
        apart = moved - reckoning
        assert abs(apart.mean()) <= 3 * apart.std() / math.sqrt(apart.size) + 1e-9


def test_the_first_reward_says_where_the_baseline_is_and_no_more() -> None:
    for make in (lambda: adaptive("lin-ts", intercept=True), *THOMPSON.values()):
        learner = make().start(seed=0)
        learner.tell(learner.ask(), 1e6)
        assert learner.theta_hat is not None
        np.testing.assert_allclose(learner.theta_hat, 0.0, atol=1e-6)


# ---------------------------------------------------------------------- OFUL


def oful_rule(lanes: int, **keywords: Any) -> OFULRule:
    settings = {"sigma": 0.5, "ridge": 0.7, "delta": 0.2, "intercept": True, **keywords}
    rule = adaptive("oful", **settings).rule([np.random.default_rng(i) for i in range(lanes)])
    assert isinstance(rule, OFULRule)
    return rule


def fed(rule: OFULRule, steps: int, theta: FloatArray, baseline: float, seed: int) -> Any:
    """Yield after each of random actions, told to all lanes."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        actions = rng.standard_normal((rule.lanes, DIM)) * (rng.random(DIM) < 0.5)
        rewards = baseline + (actions * theta).sum(axis=1) + 0.5 * rng.standard_normal(rule.lanes)
        rule.learn(actions, rewards, rule.pulls)
        yield actions


def test_the_determinant_starts_at_the_first_reward_of_each_lane() -> None:
    """ln det(V + P) - d ln ridge, by a slow determinant; 0 after the first, whatever x is."""
    rule = oful_rule(3)
    np.testing.assert_array_equal(rule.log_det, 0.0)
    gram = np.zeros((3, DIM + 1, DIM + 1))
    theta = np.zeros((3, DIM))
    for number, actions in enumerate(fed(rule, 600, theta, 7.0, seed=0)):
        columns = np.column_stack([np.ones(3), actions])
        gram += columns[:, :, None] * columns[:, None, :]
        if number in (0, 1, 9, 599):
            precision = gram + np.diag([0.0] + [0.7] * DIM)
            expected = np.linalg.slogdet(precision)[1] - DIM * math.log(0.7)
            np.testing.assert_allclose(rule.log_det, expected, rtol=1e-9, atol=1e-12)


def misses(lanes: int, shrink: float = 1.0) -> int:
    """In how many lanes (b, theta*) ever leaves the ellipsoid, its radius times `shrink`."""
    theta = np.random.default_rng(9).uniform(-1, 1, (lanes, DIM))
    rule, out = oful_rule(lanes), np.zeros(lanes, dtype=np.bool_)
    for _ in fed(rule, 60, theta, 40.0, seed=1):
        posterior = rule.posterior
        truth = np.column_stack([40.0 - posterior.anchor, theta])
        precision = posterior.gram + np.diag([0.0] + [0.7] * DIM)
        off = posterior.theta_hat - truth
        out |= np.einsum("ni,nij,nj->n", off, precision, off) > (shrink * rule.radii()) ** 2
    return int(out.sum())


def test_the_proven_radius_holds_with_a_baseline_of_which_nothing_is_believed() -> None:
    """At most a share of delta = 0.2 of 400 lanes: a false alarm below 1e-6."""
    assert misses(400) <= binom.isf(1e-6, 400, 0.2)
    assert misses(400, shrink=0.3) > binom.isf(1e-6, 400, 0.2)


@pytest.mark.parametrize("name", WITH_INTERCEPT)
def test_a_saved_learner_knows_its_baseline(name: str) -> None:
    learner, rng = WITH_INTERCEPT[name]().start(seed=0), np.random.default_rng(0)
    for number in range(40):
        if number == 20:
            learner = through_json(learner)
        decision = learner.ask()
        learner.tell(decision, 1e3 + float(rng.standard_normal()))
    again = through_json(learner)
    assert again.to_dict() == learner.to_dict()
    assert again.ask().action.tobytes() == learner.ask().action.tobytes()
