"""Decisions that are tried at the same time, and rewards that are told together."""

from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.estimation import RidgeLanes
from sparsebandits.estimation.core_ridge import CoreRidge
from sparsebandits.policies import Learner
from sparsebandits.policies.core_rule import CoreRule
from sparsebandits.policies.gate import Gate
from sparsebandits.validation import FloatArray
from tests.policies.examples import DIM, FIRST_OF_EACH, Make, ellipsoid, reward_of, through_json

MANY, SIZE = 150, 8

SETS: dict[str, sb.ActionSet] = {
    "ball": sb.LpBall(20),
    "box": sb.Box(np.zeros(20), np.ones(20)),
    "l1": sb.LpBall(20, p=1.0),
    "ellipsoid": ellipsoid(6),
    "gated": sb.LpBall(MANY),
}
every_set = pytest.mark.parametrize("name", SETS)


def thompson(name: str, **keywords: Any) -> sb.SparseThompson:
    return sb.SparseThompson(action_set=SETS[name], sparsity=3, **keywords)


def taught(learner: Learner, batches: int, seed: int = 0, count: int = SIZE) -> None:
    """Ask in batches, and tell what they earn."""
    rng = np.random.default_rng(seed)
    theta = rng.uniform(-1, 1, learner.policy.action_set.dim)
    for _ in range(batches):
        decisions = learner.ask(count=count)
        rewards = [
            float(1.0 + theta @ decision.action + 0.3 * rng.standard_normal())
            for decision in decisions
        ]
        learner.tell_many(decisions, rewards)


@every_set
@pytest.mark.parametrize("batches", [0, 1, 4])
def test_a_batch_is_of_different_actions(name: str, batches: int) -> None:
    """Where a set has corners its best one is soon known, and played more than once."""
    if batches == 4 and name in ("box", "l1"):
        return
    learner = thompson(name).start(seed=0)
    taught(learner, batches)
    decisions = learner.ask(count=SIZE)
    actions = np.array([decision.action for decision in decisions])
    assert len(np.unique(actions.round(9), axis=0)) >= SIZE - 1
    for action in actions:
        assert SETS[name].contains(action)
        assert np.count_nonzero(action) <= 3
    first = decisions[0].id
    assert [decision.id for decision in decisions] == list(range(first, first + SIZE))
    assert learner.open_decisions == tuple(range(first, first + SIZE))


def test_where_one_action_is_best_a_batch_repeats_it() -> None:
    """Distinct where there are distinct good ones, and not for the sake of it."""
    X = sb.FiniteSet(np.vstack([np.zeros(DIM), np.eye(DIM)]))
    learner = sb.SparseThompson(action_set=X, sparsity=1).start(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(400):
        decision = learner.ask()
        learner.tell(decision, float(decision.action[0] + 0.01 * rng.standard_normal()))
    for decision in learner.ask(count=SIZE):
        assert decision.indices.tolist() == [0]


@every_set
def test_what_is_pending_is_not_learned_from(name: str) -> None:
    """V grows for the batch alone; b, theta_hat and sigma stay what the rewards say."""
    learner = thompson(name).start(seed=0)
    taught(learner, 3)
    learner.ask(count=1)  # takes in what was told
    if isinstance(rule := learner._rule, CoreRule):
        rule.cores[0].gate = Gate(rule.policy.sparsity, least=0.0, most=0.0)  # no slot is given
    before, certificate = learner.to_dict()["state"], learner.certificate()
    learner.ask(count=SIZE)
    after, again = learner.to_dict()["state"], learner.certificate()
    changed = {key for key in before if before[key] != after[key]}
    assert changed <= {"next_id", "open", "generator", "aged", "ids"}
    assert again.sigma == certificate.sigma
    assert again.replications == certificate.replications == 3 * SIZE


@pytest.mark.parametrize("name", ["ball", "gated"])
def test_a_batch_tells_more_for_knowing_what_is_pending(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """log det(I + X X') of the actions X, against batches made without that: 12 seeds, paired.

    Measured: more in every one of the seeds; 10 of 12 would be chance with probability 0.02.
    """

    def told(seed: int) -> float:
        learner = thompson(name).start(seed=seed)
        taught(learner, 1, seed)
        batch = np.array([decision.action for decision in learner.ask(count=SIZE)])
        return float(np.linalg.slogdet(np.eye(SIZE) + batch @ batch.T)[1])

    aware = np.array([told(seed) for seed in range(12)])
    for kind in (RidgeLanes, CoreRidge):
        monkeypatch.setattr(kind, "imagine", lambda *arguments: None)
    blind = np.array([told(seed) for seed in range(12)])
    assert (aware > blind).sum() >= 10


@every_set
def test_a_batch_of_a_saved_learner_has_the_same_bits(name: str) -> None:
    learner = thompson(name, half_life=50.0).start(seed=0)
    taught(learner, 2)
    again = through_json(learner)
    for _ in range(2):
        ours, theirs = learner.ask(count=5), again.ask(count=5)
        for one, two in zip(ours, theirs, strict=True):
            assert one.action.tobytes() == two.action.tobytes()
    assert again.to_dict() == learner.to_dict()
    rewards = [0.1 * number for number in learner.open_decisions]
    for twin in (learner, again):
        twin.tell_many(twin.open_decisions, rewards)
    assert again.to_dict() == learner.to_dict()


@pytest.mark.parametrize("make", FIRST_OF_EACH.values(), ids=FIRST_OF_EACH)
def test_every_policy_can_be_asked_in_batches(make: Make) -> None:
    learner = make().start(seed=0)
    decisions = learner.ask(count=5)
    assert [decision.id for decision in decisions] == [1, 2, 3, 4, 5]
    learner.tell_many([decision.id for decision in decisions], [reward_of(d) for d in decisions])
    assert learner.open_decisions == ()


@pytest.mark.parametrize("count", [0, -1, 1.5, "3", True, None])
def test_a_wrong_count_is_refused(count: Any) -> None:
    learner = thompson("ball").start(seed=0)
    before = learner.to_dict()
    if count is None:
        assert not isinstance(learner.ask(count=count), list)
        return
    with pytest.raises(sb.SparseBanditsError, match="count"):
        learner.ask(count=count)
    assert learner.to_dict() == before


@pytest.mark.parametrize("name", ["ball", "box"])
def test_a_batch_that_fails_leaves_the_learner_as_it_was(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = thompson(name, half_life=30.0).start(seed=0)
    taught(learner, 2)
    decision = learner.ask()
    learner.tell(decision, 0.3)
    before, calls = learner.to_dict(), 0
    best = sb.oracles.SparseOracle.actions

    def failing(self: Any, *arguments: Any) -> FloatArray:
        nonlocal calls
        calls += 1
        if calls > 7:
            raise KeyboardInterrupt
        return best(self, *arguments)

    monkeypatch.setattr(sb.oracles.SparseOracle, "actions", failing)
    with pytest.raises(KeyboardInterrupt):
        learner.ask(count=SIZE)
    monkeypatch.undo()
    assert learner.to_dict() == before


# ---------------------------------------------------------------------- rewards told together


@pytest.mark.parametrize(
    ("numbers", "rewards"),
    [
        ([1, 2, 3], [0.1, 0.2, float("nan")]),
        ([1, 2, 3], [0.1, float("inf"), 0.2]),
        ([1, 2, 3], [0.1, 0.2, 1e200]),
        ([1, 2, 3], [0.1, 0.2, "much"]),
        ([1, 2], [0.1]),
        ([1], [0.1, 0.2]),
        ([1, 2, 2], [0.1, 0.2, 0.3]),
        ([1, 2, 9], [0.1, 0.2, 0.3]),
        ([4, 1, 2], [0.1, 0.2, 0.3]),
        ([1, True], [0.1, 0.2]),
    ],
)
@pytest.mark.parametrize("name", ["ball", "gated"])
def test_all_rewards_are_told_or_none(name: str, numbers: Any, rewards: Any) -> None:
    """Decision 4 was told before."""
    learner = thompson(name).start(seed=0)
    learner.ask(count=4)
    learner.tell(4, 0.5)
    before = learner.to_dict()
    with pytest.raises(sb.SparseBanditsError):
        learner.tell_many(numbers, rewards)
    assert learner.to_dict() == before
    assert learner.open_decisions == (1, 2, 3)
    learner.tell_many([], [])
    assert learner.to_dict() == before


@every_set
def test_told_together_is_told_one_by_one(name: str) -> None:
    one, two = (thompson(name).start(seed=0) for _ in range(2))
    for learner in (one, two):
        learner.ask(count=6)
    rewards = np.random.default_rng(0).standard_normal(6).tolist()
    one.tell_many([3, 1, 2, 6, 5, 4], rewards)
    for number, reward in zip([3, 1, 2, 6, 5, 4], rewards, strict=True):
        two.tell(number, reward)
    assert one.to_dict() == two.to_dict()


# ---------------------------------------------------------------------- what batches cost


def regret_in_batches(name: str, count: int, decisions: int, trials: int) -> float:
    """The mean regret of `decisions` decisions, asked so many at a time."""
    X, total = SETS[name], 0.0
    for trial in range(trials):
        rng = np.random.default_rng([7, trial])
        theta = rng.uniform(-1, 1, X.dim)
        best = sb.sparse_argmax(X, theta, 5, "exact").value
        learner = sb.SparseThompson(action_set=X, sparsity=5).start(seed=trial)
        for _ in range(decisions // count):
            batch = [learner.ask()] if count == 1 else learner.ask(count=count)
            means = [float(theta @ decision.action) for decision in batch]
            noise = 0.5 * rng.standard_normal(count)
            learner.tell_many(batch, (means + noise).tolist())
            total += best * count - sum(means)
    return total / trials


def test_eight_at_a_time_cost_little_more_than_one() -> None:
    """A smaller form of the test below: 4 trials of 240 decisions, half more is granted."""
    together, alone = (regret_in_batches("box", count, 240, 4) for count in (8, 1))
    assert together <= 1.5 * alone


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["ball", "box"])
def test_eight_at_a_time_cost_at_most_a_third_more_than_one(name: str) -> None:
    together, alone = (regret_in_batches(name, count, 2000, 20) for count in (8, 1))
    assert together <= 1.3 * alone
