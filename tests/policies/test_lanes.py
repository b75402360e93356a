"""Learners that act together: the bits of each alone, and refusals that touch nobody else."""

import json
import zlib
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies import Decision, binary
from sparsebandits.policies.lanes import ask_together, tell_together
from sparsebandits.policies.thompson_rule import ThompsonRule
from tests.policies.examples import FIRST_OF_EACH, through_json

BALL = sb.LpBall(6)
BOX = sb.Box(np.zeros(6), np.ones(6))


def thompson(action_set: sb.ActionSet = BALL, **more: Any) -> sb.SparseThompson:
    return sb.SparseThompson(action_set=action_set, sparsity=2, **more)


@pytest.mark.parametrize(
    "policy",
    [
        thompson(),
        thompson(BOX),
        thompson(half_life=20),
        thompson(context=2),
        thompson(prior_mean=0.3, prior_scale=0.5),
        thompson(BOX, guarantee=True),
        sb.OFUL(action_set=BALL, sparsity=2),
    ],
    ids=lambda policy: ",".join(f"{k}" for k in ("half_life", "context", "prior_scale", "guarantee")
                                if getattr(policy, k, None)) or policy.kind,
)  # fmt: skip
def test_together_is_one_by_one_bit_for_bit(policy: sb.Policy) -> None:
    """With holds of several lengths, late rewards, availability and learners that come back."""
    rng = np.random.default_rng(0)
    together, alone = ([policy.start(seed) for seed in range(6)] for _ in range(2))
    size = getattr(policy, "context", 0)
    young = 6 if size else 4  # who has a context knows no logs
    for learner, twin in zip(together[young:], alone[young:], strict=True):
        logged, rewards = rng.uniform(0, 0.3, (80, 6)), rng.standard_normal(80)
        learner.warm_start(logged, rewards)
        twin.warm_start(logged, rewards)
    for step in range(40):
        if step == 20:
            together[2] = sb.Learner.from_bytes(together[2].to_bytes(), policy)
        chosen = rng.permutation(6)[: rng.integers(2, 7)].tolist()
        offer = [0, 2, 5] if step % 9 == 4 else None
        seen = [rng.standard_normal(size) if size else None for _ in chosen]
        made = ask_together([together[lane] for lane in chosen], offer, seen)
        for lane, decision, z in zip(chosen, made, seen, strict=True):
            assert isinstance(decision, Decision)
            other = alone[lane].ask(offer, context=z)
            assert decision.action.tobytes() == other.action.tobytes()
            assert (decision.id, decision.phase) == (other.id, other.phase)
        single = int(rng.integers(6))  # one is asked by itself in between
        z = rng.standard_normal(size) if size else None
        made_alone = (each[single].ask(context=z).action.tobytes() for each in (together, alone))
        assert len(set(made_alone)) == 1
        told = [
            lane
            for lane in range(6)
            if alone[lane].open_decisions and (step % 3 or rng.random() < 0.4)
        ]
        ids = [int(rng.choice(alone[lane].open_decisions)) for lane in told]
        rewards = rng.standard_normal(len(told)).tolist()
        assert tell_together([together[lane] for lane in told], ids, rewards) == [None] * len(told)
        for lane, number, reward in zip(told, ids, rewards, strict=True):
            alone[lane].tell(number, reward)
    for learner, twin in zip(together, alone, strict=True):
        assert learner.to_dict() == twin.to_dict()


def test_all_lanes_decide_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    lanes: list[int] = []
    choose = ThompsonRule.choose

    def counted(rule: ThompsonRule, current: sb.ActionSet) -> Any:
        lanes.append(rule.lanes)
        return choose(rule, current)

    monkeypatch.setattr(ThompsonRule, "choose", counted)
    policy = thompson()
    ask_together([policy.start(seed) for seed in range(5)])
    assert lanes == [5]


def test_what_fails_together_is_done_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    choose = ThompsonRule.choose

    def failing(rule: ThompsonRule, current: sb.ActionSet) -> Any:
        actions = choose(rule, current)
        if rule.lanes > 1:
            raise sb.InvalidValueError("after it has drawn")
        return actions

    policy = thompson()
    together, alone = ([policy.start(seed) for seed in range(3)] for _ in range(2))
    monkeypatch.setattr(ThompsonRule, "choose", failing)
    assert all(isinstance(made, Decision) for made in ask_together(together))
    for learner, twin in zip(together, alone, strict=True):
        twin.ask()
        assert learner.to_dict() == twin.to_dict()


def test_who_refuses_is_as_before_and_the_others_go_on() -> None:
    policy = thompson(context=1)
    together, alone = ([policy.start(seed) for seed in range(3)] for _ in range(2))
    first, wrong, third = ask_together(together, None, [[0.5], [0.5, 1.0], [2.0]])
    assert isinstance(first, Decision)
    assert isinstance(third, Decision)
    assert isinstance(wrong, sb.InvalidValueError)
    assert first.action.tobytes() == alone[0].ask(context=[0.5]).action.tobytes()
    assert third.action.tobytes() == alone[2].ask(context=[2.0]).action.tobytes()
    refusals = tell_together(together, [1, 1, 1], [0.5, 0.5, float("nan")])
    alone[0].tell(1, 0.5)
    assert refusals[0] is None
    assert "unknown" in str(refusals[1])
    assert "finite" in str(refusals[2])
    for learner, twin in zip(together, alone, strict=True):
        assert learner.to_dict() == twin.to_dict()


def test_logs_without_what_was_seen_are_refused_by_who_has_a_context() -> None:
    with pytest.raises(sb.CompositionError, match="ask with each context"):
        thompson(context=1).start(0).warm_start(np.eye(6), np.ones(6))


def test_learners_must_be_distinct_and_of_one_policy() -> None:
    policy = thompson()
    learner = policy.start(0)
    with pytest.raises(sb.InvalidValueError, match="twice"):
        ask_together([learner, learner])
    with pytest.raises(sb.InvalidValueError, match="share one policy"):
        ask_together([learner, thompson().start(0)])


def test_bytes_hold_everything_with_the_policy_or_without() -> None:
    policy = thompson(BOX)
    learner = policy.start(0)
    for step in range(60):
        learner.tell(learner.ask(), float(np.sin(step)))
    saved = learner.to_dict()
    apart = learner.to_bytes(with_policy=False)
    assert sb.Learner.from_bytes(learner.to_bytes()).to_dict() == saved
    shared = sb.Learner.from_bytes(apart, policy)
    assert shared.policy is policy
    assert shared.to_dict() == saved
    before = zlib.compress(json.dumps(saved).encode())  # as it was written before
    assert len(apart) < len(before)
    assert sb.Learner.from_bytes(before).to_dict() == saved
    with pytest.raises(sb.InvalidValueError, match="give the policy"):
        sb.Learner.from_bytes(apart)
    for harmed in (apart[:-1], apart[:30] + bytes([apart[30] ^ 1]) + apart[31:]):
        with pytest.raises(sb.InvalidValueError, match="damaged"):
            sb.Learner.from_bytes(harmed, policy)


def test_the_binary_form_is_lossless() -> None:
    value = {
        "packed": "AAAAAAAA8D8AAAAAAAAAQAAAAAAAAAhA" * 2,
        "text": "not base64 at all, but long enough to be looked at",
        "almost": "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo",  # without its padding
        "floats": [0.1, -0.0, 5e-324, 1.7976931348623157e308, 2.0],
        "mixed": [1, 2.0, 3, 4.0, 5],
        "deep": [[0.5] * 4, [], [0.5], {"a": None, "b": [True, False, 1.0, 2.0]}],
        "large": 2**127,
    }
    read = binary.decode(binary.encode(value))
    assert json.dumps(read) == json.dumps(value)


def test_an_action_that_was_altered_is_what_is_learned_from() -> None:
    policy = thompson()
    learner, log = policy.start(0), policy.start(0)
    decision = learner.ask()
    learner.replace_action(decision, [1], [0.5])
    learner.tell(decision, 0.7)
    log.ask()
    log.warm_start([[0, 0.5, 0, 0, 0, 0]], [0.7])
    assert learner.theta_hat is not None
    np.testing.assert_array_equal(learner.theta_hat, log.theta_hat)
    with pytest.raises(sb.InvalidValueError, match="closed"):
        learner.replace_action(decision, [1], [0.5])
    with pytest.raises(sb.InvalidValueError, match=r"0\.\.5"):
        learner.replace_action(learner.ask(), [6], [0.5])
    with pytest.raises(sb.InvalidValueError, match="allowed by a sparsity of 2, got non-zeros"):
        learner.replace_action(learner.ask(), [0, 1, 2, 3], [0.1, 0.1, 0.1, 0.1])


@pytest.mark.parametrize("kind", FIRST_OF_EACH)
def test_a_learner_with_an_altered_action_is_saved(kind: str) -> None:
    learner = FIRST_OF_EACH[kind]().start(0)
    for _ in range(3):
        learner.replace_action(learner.ask(), [1], [0.25])
    read = through_json(learner)
    for number in learner.open_decisions:
        learner.tell(number, 0.5)
        read.tell(number, 0.5)
    assert read.to_dict() == learner.to_dict()


def test_an_exploration_that_was_of_another_action_is_none_but_for_rounding() -> None:
    policy = sb.APSEE(action_set=sb.LpBall(3), sparsity=1, sigma=0.1)
    straight, altered = policy.start(), policy.start()
    for learner in (straight, altered):
        for _ in range(3):
            learner.ask()
    axis = straight.ask().indices.tolist()
    for number in (1, 2, 3):
        altered.replace_action(number, [number - 1], [1 - 1e-15])  # made by another machine
    assert altered.ask().indices.tolist() == axis
    straight.tell_many([1, 2, 3], [0.5, -1.0, 0.2])
    altered.tell_many([1, 2, 3], [0.5, -1.0, 0.2])
    np.testing.assert_array_equal(altered.theta_hat, straight.theta_hat)
    altered.replace_action(4, [2], [0.3])
    altered.tell(4, 1e6)
    np.testing.assert_array_equal(altered.theta_hat, straight.theta_hat)
