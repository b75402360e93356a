"""A reward told wrong and corrected: all is as if the right one had been told."""

from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies import Learner, Policy
from sparsebandits.policies.ledger import REMEMBERED
from sparsebandits.policies.saved_state import sealed
from tests.policies.examples import (
    DIM,
    FIRST_OF_EACH,
    Make,
    adaptive,
    assert_close,
    box,
    certify,
    ellipsoid,
    through_json,
)

MANY, WRONG = 150, 700.0

MAKERS: dict[str, Make] = {
    "ball": lambda: adaptive("sparse-thompson"),
    "box": lambda: adaptive("sparse-thompson", box()),
    "no-intercept": lambda: adaptive("sparse-thompson", ellipsoid(), intercept=False),
    "floor": lambda: adaptive("sparse-thompson", box(), guarantee=True),
    "fading": lambda: adaptive("sparse-thompson", half_life=9.0),
    "slowly-fading": lambda: adaptive("sparse-thompson", half_life=400.0),
    "context": lambda: adaptive("sparse-thompson", context=2),
    "context-fading": lambda: adaptive("sparse-thompson", box(), context=2, half_life=30.0),
    "gated": lambda: adaptive("sparse-thompson", sb.LpBall(MANY)),
    "gated-fading": lambda: adaptive("sparse-thompson", sb.LpBall(MANY), half_life=9.0),
    "gated-context": lambda: adaptive("sparse-thompson", sb.LpBall(MANY), context=2),
    "lin-ts": lambda: adaptive("lin-ts", intercept=True),
    "oful": lambda: adaptive("oful", starts=3, sweeps=2),
    "epsilon-greedy": lambda: adaptive("epsilon-greedy", rate=0.4),
}
every_maker = pytest.mark.parametrize("name", MAKERS)


def seen(policy: Policy, rng: np.random.Generator) -> Any:
    size = getattr(policy, "context", 0)
    return rng.standard_normal(size) if size else None


def pair(name: str, wrong: list[int], told: int = 18) -> tuple[Learner, Learner]:
    """Two learners of the same decisions: one is told some wrong rewards, and corrected."""
    learners = []
    for corrected in (True, False):
        rng = np.random.default_rng(4)
        learner = MAKERS[name]().start(seed=1)
        decisions = [learner.ask(context=seen(learner.policy, rng)) for _ in range(told)]
        rewards = 3.0 + rng.standard_normal(told)
        for place in rng.permutation(told):
            reward = WRONG if corrected and place in wrong else float(rewards[place])
            learner.tell(decisions[place], reward)
        if corrected:
            learner = through_json(learner)
            for place in wrong:
                learner.correct(decisions[place].id, float(rewards[place]))
        learners.append(learner)
    return learners[0], learners[1]


@every_maker
@pytest.mark.parametrize("wrong", [[17], [0], [5, 2, 11]], ids=["last", "first", "three"])
def test_a_corrected_reward_is_as_if_told_right(name: str, wrong: list[int]) -> None:
    corrected, right = pair(name, wrong)
    context = seen(right.policy, np.random.default_rng(8))
    # The next decision first: where the prior is learned, it is learned with a decision.
    one, two = corrected.ask(context=context), right.ask(context=context)
    np.testing.assert_allclose(one.action, two.action, rtol=1e-5, atol=1e-7)
    assert_close(corrected.theta_hat, right.theta_hat, rtol=1e-6, atol=1e-8)
    here, there = certify(corrected), certify(right)
    assert here.sigma == pytest.approx(there.sigma, rel=1e-6)
    assert here.replications == there.replications
    assert_close(here.deviation, there.deviation)


@every_maker
def test_it_goes_on_as_the_other_does(name: str) -> None:
    corrected, right = pair(name, [3, 4])
    for learner in (corrected, right):
        rng = np.random.default_rng(2)
        for _ in range(15):
            decision = learner.ask(context=seen(learner.policy, rng))
            learner.tell(decision, 3.0 + float(rng.standard_normal()))
    assert_close(corrected.theta_hat, right.theta_hat, rtol=1e-5, atol=1e-7)


@every_maker
def test_corrected_twice_and_back_again(name: str) -> None:
    once, _ = pair(name, [6])
    told = {record[0]: record[-1] for record in once.to_dict()["state"]["told_rewards"]}
    before = certify(once)
    once.correct(7, -50.0)
    assert once.certificate().sigma != before.sigma
    once.correct(7, told[7])
    assert once.certificate().sigma == pytest.approx(before.sigma, rel=1e-5)
    assert_close(certify(once).theta_hat, before.theta_hat, atol=1e-6)


def test_while_a_decision_is_held_its_rewards_are_corrected_too() -> None:
    """Rewards of a held action wait to be taken in together; one of them may be the wrong one."""
    learners = []
    for corrected in (True, False):
        learner, rng = MAKERS["ball"]().start(seed=0), np.random.default_rng(0)
        theta = np.array([1.0, 0.1, 0.0, -0.1])
        for _ in range(900):
            decision = learner.ask()
            learner.tell(decision, float(theta @ decision.action + 0.1 * rng.standard_normal()))
        assert learner.to_dict()["state"]["told"] > 0 or learner.to_dict()["state"]["left"] > 0
        decision = learner.ask()
        learner.tell(decision, WRONG if corrected else 0.9)
        if corrected:
            learner.correct(decision, 0.9)
        learners.append(learner)
    one, two = learners
    assert_close(one.theta_hat, two.theta_hat, rtol=1e-6, atol=1e-9)
    assert one.certificate().sigma == pytest.approx(two.certificate().sigma, rel=1e-6)
    assert one.to_dict()["state"]["left"] == 0  # what was decided by the wrong one is not held


# ---------------------------------------------------------------------- what cannot be corrected


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (3, "3 is open.*Tell it"),
        (4, "4 is not among the last 50 told.*or was forgotten"),
        *((wrong, "unknown") for wrong in (0, 99, -1, True, "1", None, 1.5)),
    ],
)
def test_only_told_rewards_can_be_corrected(number: Any, words: str) -> None:
    """1 and 2 were told, 3 is open, 4 forgotten."""
    learner = MAKERS["ball"]().start(seed=0)
    for _ in range(4):
        learner.ask()
    learner.tell_many([1, 2], [0.1, 0.2])
    learner.forget(4)
    before = learner.to_dict()
    with pytest.raises(sb.InvalidValueError, match=words):
        learner.correct(number, 0.3)
    assert learner.to_dict() == before


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), 1e200, "much", None])
@pytest.mark.parametrize("name", ["ball", "gated"])
def test_a_wrong_correction_changes_nothing(name: str, reward: Any) -> None:
    learner, _ = pair(name, [])
    before = learner.to_dict()
    with pytest.raises(sb.SparseBanditsError):
        learner.correct(5, reward)
    assert learner.to_dict() == before


@pytest.mark.parametrize("name", ["ball", "gated"])
def test_beyond_the_last_fifty_it_is_too_late(name: str) -> None:
    learner = MAKERS[name]().start(seed=0)
    decisions = [learner.ask() for _ in range(REMEMBERED + 5)]
    for decision in decisions:
        learner.tell(decision, 0.5)
    learner = through_json(learner)
    for number in (1, 5):
        with pytest.raises(sb.InvalidValueError, match=r"last 50 told.*by warm_start"):
            learner.correct(number, 0.1)
    learner.correct(6, 0.1)
    learner.correct(REMEMBERED + 5, 0.1)
    assert len(learner.to_dict()["state"]["told_rewards"]) == REMEMBERED


def test_the_last_fifty_are_those_told_last_not_those_decided_last() -> None:
    """A reward that comes very late can be corrected, in a saved learner too."""
    learner = MAKERS["ball"]().start(seed=0)
    late = learner.ask()
    for _ in range(REMEMBERED):
        learner.tell(learner.ask(), 0.5)
    learner.tell(late, 70.0)
    learner = through_json(learner)
    learner.tell(learner.ask(), 0.5)
    learner.correct(late, 0.7)
    with pytest.raises(sb.InvalidValueError, match="last 50 told"):
        learner.correct(2, 0.1)


CANNOT = sorted(set(FIRST_OF_EACH) - {maker().kind for maker in MAKERS.values()})


@pytest.mark.parametrize("kind", ["apsee", *CANNOT])
def test_who_decided_for_good_refuses_and_stays_as_it_was(kind: str) -> None:
    maker: Make = FIRST_OF_EACH.get(kind, lambda: adaptive("apsee", sigma=0.1))
    learner = maker().start(seed=0)
    for _ in range(2 * DIM):
        learner.tell(learner.ask(), 0.5)
    before = learner.to_dict()
    with pytest.raises(sb.CompositionError, match="cannot take a reward back"):
        learner.correct(2, 0.1)
    assert learner.to_dict() == before


@pytest.mark.parametrize(
    "record",
    [
        [99, [0], [0.5], -1, None, 0.1],  # not yet asked
        [1, [0], [0.5], -1, None, 0.1],  # twice
        [0, [0], [0.5], -1, None, 0.1],
        [2, [0], [0.5], -1, None, "much"],
        [2, [0], [0.5], -1, None, 1e200],
        [2, [0], [0.5], -1, [1.0], 0.1],  # a context that the policy does not have
        [2, [0, 9], [0.5, 0.5], -1, None, 0.1],
        [2, [0], [0.5], -1, None],
        None,
    ],
)
@pytest.mark.parametrize("name", ["ball", "gated"])
def test_forged_rewards_are_refused(name: str, record: Any) -> None:
    learner = MAKERS[name]().start(seed=0)
    learner.ask(count=3)
    learner.tell(1, 0.5)
    data = learner.to_dict()
    if name == "gated" and isinstance(record, list) and record[1] == [0, 9]:
        record = [2, [0, MANY], [0.5, 0.5], -1, None, 0.1]
    data["state"]["told_rewards"].append(record)
    with pytest.raises(sb.SparseBanditsError, match=r"told_rewards|reward must be smaller"):
        sb.Learner.from_dict(sealed(data["policy"], data["state"]))


@pytest.mark.parametrize("context", [None, [1.0], [1.0, 2.0, 3.0]])
def test_forged_contexts_are_refused(context: Any) -> None:
    learner = MAKERS["context"]().start(seed=0)
    learner.ask(context=[0.0, 1.0])
    data = learner.to_dict()
    data["state"]["open"][0][-1] = context
    with pytest.raises(sb.InvalidValueError, match="contexts of 2 numbers"):
        sb.Learner.from_dict(sealed(data["policy"], data["state"]))
