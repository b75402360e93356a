"""What PEGE, explore-then-commit, epsilon-greedy and random-sparse promise alike, on any set."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies import Decision, Policy
from sparsebandits.policies.baselines.epsilon_greedy import EpsilonGreedy
from sparsebandits.policies.baselines.explore_then_commit import ExploreThenCommit
from sparsebandits.policies.baselines.pege import PEGE
from sparsebandits.policies.baselines.random_sparse import RandomSparse
from tests.policies.examples import DIM, THETA, ellipsoid, play, play_late, polytope, reward_of

Make = Callable[[sb.ActionSet], Policy]

POINTS = np.vstack([np.eye(DIM), -0.5 * np.eye(DIM), 0.7 * np.eye(DIM)[[1, 2, 3, 0]]])
PAIRS = np.array([[0.6, 0.6, 0, 0], [0, -0.4, 0.8, 0], [0.5, 0, 0, -0.9], [0, 0, 0.3, 0.3]])

SETS: dict[str, sb.ActionSet] = {
    "ball": sb.LpBall(DIM),
    "l1": sb.LpBall(DIM, p=1.0, radius=0.5),
    "ellipsoid": ellipsoid(),
    "box": sb.Box(np.array([-1.0, 0.0, -0.2, 0.0]), np.array([0.5, 2.0, 1.0, 1.0])),
    "budget": sb.Budget(1.0, np.full(DIM, 0.6)),
    "polytope": polytope(),
    "finite": sb.FiniteSet(np.vstack([POINTS, PAIRS, np.zeros((1, DIM))])),
}


def _of(kind: Any, **keywords: Any) -> Make:
    def make(action_set: sb.ActionSet) -> Policy:
        policy = kind(action_set=action_set, sparsity=2, **keywords)
        assert isinstance(policy, Policy)
        return policy

    return make


MAKERS: dict[str, Make] = {
    "pege": _of(PEGE),
    "pege-all-data": _of(PEGE, use_all_data=True, schedule="quadratic", basis="designed"),
    "explore-then-commit": _of(ExploreThenCommit, horizon=60),
    "explore-then-commit-short": _of(ExploreThenCommit, horizon=9, exploration_steps=5),
    "epsilon-greedy": _of(EpsilonGreedy, rate=0.4),
    "epsilon-greedy-rare": _of(EpsilonGreedy, rate=0.1, power=1.0, basis="boundary"),
    "random-sparse": _of(RandomSparse),
}

every_policy = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
every_set = pytest.mark.parametrize("action_set", SETS.values(), ids=SETS)


def check(policy: Policy, decision: Decision) -> None:
    assert policy.action_set.contains(decision.action)
    assert np.count_nonzero(decision.action) <= policy.sparsity
    assert not decision.action.flags.writeable
    assert decision.phase in ("explore", "exploit")


@every_policy
def test_the_contract(make: Make) -> None:
    """On a set that `tests/policies/examples.py` does not pair with most of them."""
    sb.testing.check_policy(make(SETS["finite"]), seed=1)


@every_policy
def test_another_set_of_the_step_is_respected(make: Make) -> None:
    """Smaller sets that hold few of the exploration actions, or none."""
    learner = make(sb.LpBall(DIM)).start(seed=1)
    rng = np.random.default_rng(5)
    others: list[sb.ActionSet] = [
        *SETS.values(),
        sb.LpBall(DIM, radius=0.1),
        sb.Box(np.full(DIM, -0.2), np.zeros(DIM)),
        ellipsoid(seed=9).restrict([1, 3]),
    ]
    for _ in range(100):
        current = others[int(rng.integers(len(others)))]
        decision = learner.ask(action_set=current)
        assert current.contains(decision.action)
        assert np.count_nonzero(decision.action) <= 2
        learner.tell(decision, reward_of(decision))


@every_policy
@pytest.mark.parametrize("name", ["ball", "budget"])
def test_late_and_lost_rewards_spoil_nothing(make: Make, name: str) -> None:
    """The estimate needs no order, and comes near theta* however late the rewards are."""
    policy = make(SETS[name])
    learner = policy.start(seed=2)
    for played in play_late(learner, 250, seed=6):
        check(policy, played.decision)
    theta = learner.theta_hat
    if not isinstance(policy, RandomSparse):
        assert theta is not None
        if policy.kind != "epsilon-greedy":
            np.testing.assert_allclose(theta, THETA, atol=0.1)


@every_policy
def test_many_open_decisions_and_no_reward_at_all(make: Make) -> None:
    policy = make(SETS["ball"])
    learner = policy.start(seed=2)
    decisions = [learner.ask() for _ in range(60)]
    for decision in decisions:
        check(policy, decision)
    assert learner.support is None
    for decision in reversed(decisions):
        learner.tell(decision, reward_of(decision))
    play(learner, 30)
    if not isinstance(policy, RandomSparse):
        best = sb.sparse_argmax(policy.action_set, THETA, 2).action
        decision = next(d for d in (learner.ask() for _ in range(50)) if d.phase == "exploit")
        # The rare explorer knows little but what it exploited.
        assert float(decision.action @ best) > (0.8 if policy.kind == "epsilon-greedy" else 0.999)


@every_policy
def test_one_coordinate_and_no_sparsity_constraint(make: Make) -> None:
    policy = make(sb.LpBall(2))
    learner = policy.start(seed=0)
    play(learner, 30, theta=np.array([1.0, -1.0]))
    kind = type(policy)
    extra: dict[str, Any] = {"horizon": 5} if kind is ExploreThenCommit else {}
    single = kind(action_set=sb.LpBall(1), sparsity=1, **extra).start(seed=0)
    plays = play(single, 30, theta=np.array([-2.0]))
    assert {abs(float(p.decision.action[0])) for p in plays} == {1.0}


@every_policy
def test_wrong_parts_are_refused_when_composed(make: Make) -> None:
    policy = make(SETS["ball"])
    right = {
        key: value
        for key, value in policy.to_dict().items()
        if key not in ("kind", "action_set", "basis")
    }
    right["action_set"] = policy.action_set
    kind = type(policy)
    kind(**right)
    wrong: list[tuple[str, list[Any]]] = [
        ("action_set", [None, "ball", DIM]),
        ("sparsity", [0, -1, DIM + 1, 1.5, "2", None, True]),
        ("oracle", [None, 3, "magic"]),
    ]
    if not isinstance(policy, RandomSparse):
        wrong.append(("basis", [None, "x", np.eye(DIM + 1), np.zeros((DIM, DIM)), 2 * np.eye(DIM)]))
        wrong.append(("basis_seed", [-1, 1.5, "x", None]))
        wrong.append(("action_set", [SETS["ball"].restrict([0, 1])]))
    for name, values in wrong:
        for value in values:
            with pytest.raises(sb.SparseBanditsError):
                kind(**{**right, name: value})
    with pytest.raises(sb.CompositionError, match="Sorting is not exact"):
        kind(**{**right, "action_set": polytope(), "oracle": "top-h"})
    learner = policy.start()
    with pytest.raises(sb.InvalidValueError, match="dim 4, got 3"):
        learner.ask(action_set=sb.LpBall(3))
