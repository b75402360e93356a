"""A learner that was saved, or pickled, and read back continues bit for bit."""

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies import Decision, Learner
from tests.policies.examples import (
    DIM,
    THETA,
    Make,
    adaptive,
    apsee,
    apsee_g,
    moving,
    one_of_each_kind,
    play,
    through_json,
)


def wander(learner: Learner, rng: np.random.Generator, steps: int) -> Iterator[Decision]:
    """Ask with and without masks, tell in any order, forget, and now and then bring in logs."""
    for _ in range(steps):
        move = rng.random()
        if move < 0.4 or not learner.open_decisions:
            yield learner.ask()
        elif move < 0.5:
            yield learner.ask(available=np.arange(DIM) != rng.integers(DIM))
        elif move < 0.97:
            number = int(rng.choice(learner.open_decisions))
            learner.tell(number, float(rng.standard_normal()))
        elif move < 0.98:
            learner.forget(learner.open_decisions[0])
        else:
            logged = np.eye(DIM)[rng.integers(DIM, size=3)] * rng.choice([0.5, 1.0])
            learner.warm_start(logged, logged @ THETA)


def same(one: Decision, two: Decision) -> bool:
    return (one.id, one.phase, one.cycle) == (two.id, two.phase, two.cycle) and (
        one.action.tobytes() == two.action.tobytes()
    )


@one_of_each_kind
def test_a_learner_read_back_continues_bit_for_bit(make: Make) -> None:
    """Saved at random moments, again and again, beside one that never was."""
    straight, saved = make().start(seed=3), make().start(seed=3)
    one, two = np.random.default_rng(11), np.random.default_rng(11)
    when = np.random.default_rng(12)
    for _ in range(25):
        steps = int(when.integers(1, 20))
        left = list(wander(straight, one, steps))
        right = list(wander(saved, two, steps))
        assert all(map(same, left, right))
        assert len(left) == len(right)
        read = through_json(saved)
        assert read.to_dict() == saved.to_dict()
        assert read.open_decisions == saved.open_decisions
        assert read.support == saved.support
        assert repr(read.certificate(horizon=9)) == repr(saved.certificate(horizon=9))
        saved = read
    assert straight.to_dict() == saved.to_dict()
    assert straight.open_decisions


@pytest.mark.parametrize("make", [lambda: apsee(), lambda: apsee_g(confidence_scale=0.2)])
def test_saved_on_every_step_through_the_lock(make: Make) -> None:
    straight, saved = make().start(), make().start()
    for _ in range(150):
        saved = through_json(saved)
        one, two = play(straight, 1)[0], play(saved, 1)[0]
        assert same(one.decision, two.decision)
        assert not two.decision.action.flags.writeable
    assert straight.support is not None
    assert saved.support == straight.support
    np.testing.assert_array_equal(saved.estimate_in_use, straight.estimate_in_use)


def test_pickles_of_releases_before_the_ledger_go_on() -> None:
    """They have what is open and what was told beside each other, under these names."""
    learner = adaptive("lin-ts").start(seed=0)
    learner.tell(learner.ask(), 0.5)
    learner.ask()
    state = {**learner.__getstate__()}
    ledger = state.pop("_ledger")
    before = {"_next_id": ledger.next_id, "_open": ledger.open, "_told": ledger.told}
    twin = Learner.__new__(Learner)
    twin.__setstate__(copy.deepcopy({**state, **before}))
    assert twin.to_dict() == learner.to_dict()
    learner.tell(2, 0.1)
    twin.tell(2, 0.1)
    assert same(learner.ask(), twin.ask())


def test_own_functions_and_objects_cannot_be_saved_and_say_so() -> None:
    def own(cycle: int) -> int:
        return 2 * cycle

    bound = apsee(confidence="pairwise").bound
    unsaved: list[sb.Policy] = [
        adaptive("pege", schedule=own),
        apsee(schedule=own),
        apsee(confidence=bound),
        apsee(confidence=type(bound)),
        moving(schedule=own),
    ]
    for policy in unsaved:
        learner = policy.start(seed=0)
        play(learner, 20)
        with pytest.raises(sb.InvalidTypeError, match="cannot be saved"):
            learner.to_dict()
        play(learner, 20)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("half_life", [None, 4.0])
@pytest.mark.parametrize("context", [0, 1])
@pytest.mark.parametrize("dim", [5, 150])
def test_a_believed_scale_in_any_unit_is_saved(
    unit: float, half_life: float | None, context: int, dim: int
) -> None:
    """Where rewards are far smaller than was believed the prior is lost in what is known."""
    policy = sb.SparseThompson(
        action_set=sb.LpBall(dim), sparsity=2, prior_scale=1.0, context=context, half_life=half_life
    )
    learner, rng = policy.start(seed=0), np.random.default_rng(0)
    for _ in range(30):
        decision = learner.ask(context=[0.5] * context if context else None)
        learner.tell(decision, unit * float(decision.action[0] + rng.standard_normal()))
        assert through_json(learner).to_dict() == learner.to_dict()


@pytest.mark.parametrize("keywords", [{"prior_mean": 0.3}, {"prior_mean": 0.3, "prior_scale": 0.7}])
def test_a_pickled_learner_goes_on_bit_for_bit(keywords: dict[str, Any]) -> None:
    """Also where one number stands for all coordinates."""
    policy = sb.SparseThompson(action_set=sb.LpBall(13), sparsity=9, **keywords)
    straight = policy.start(seed=0)
    pickled, rng = pickle.loads(pickle.dumps(straight)), np.random.default_rng(0)
    for _ in range(20):
        logged, earned = rng.standard_normal((3, 13)), rng.standard_normal(3)
        for learner in (straight, pickled):
            learner.warm_start(logged, earned)
            learner.tell(learner.ask(), float(earned[0]))
        assert pickled.to_dict() == straight.to_dict()
