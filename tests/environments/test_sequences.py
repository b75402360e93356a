"""What every sequence X_t promises, and the plain ones."""

import json
import pickle
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.environments import (
    SEQUENCES,
    ActionSetSequence,
    Alternating,
    FixedSet,
)
from sparsebandits.environments.sequences import Recent
from tests.environments.examples import SEQUENCE_EXAMPLES

each_sequence = pytest.mark.parametrize("sequence", SEQUENCE_EXAMPLES, ids=repr)
_STEPS = [*range(40), 3000, 9_999, 10**9]


def fresh(sequence: ActionSetSequence) -> ActionSetSequence:
    return ActionSetSequence.from_dict(json.loads(json.dumps(sequence.to_dict())))


def test_every_registered_sequence_has_examples() -> None:
    assert {sequence.kind for sequence in SEQUENCE_EXAMPLES} == set(SEQUENCES)


@each_sequence
def test_any_order_gives_the_same_sets(sequence: ActionSetSequence) -> None:
    forward = {step: fresh(sequence).at(step).to_dict() for step in _STEPS}
    shuffled = fresh(sequence)
    for step in np.random.default_rng(0).permutation(_STEPS * 2):
        assert shuffled.at(step).to_dict() == forward[int(step)]


@each_sequence
def test_bounds_hold_at_every_step(sequence: ActionSetSequence) -> None:
    rng = np.random.default_rng(1)
    for step in _STEPS:
        current = sequence.at(step)
        assert current.dim == sequence.dim == sequence.base.dim
        assert current.available.any()
        assert current.norm_bound <= sequence.norm_bound * (1 + 1e-12)
        longest = np.linalg.norm(current.best_response(rng.standard_normal((50, current.dim))))
        assert longest <= np.sqrt(50) * sequence.norm_bound * (1 + 1e-9)
        for sparsity in range(1, sequence.dim + 1):
            bound = sequence.sparse_norm_bound(sparsity)
            assert current.sparse_norm_bound(sparsity) <= bound * (1 + 1e-12)
        assert current.is_strongly_convex or not sequence.is_strongly_convex


@each_sequence
def test_only_a_fixed_set_does_not_move(sequence: ActionSetSequence) -> None:
    moves = any(sequence.at(step) != sequence.at(0) for step in range(1, 40))
    assert moves != sequence.is_fixed


@each_sequence
def test_round_trips(sequence: ActionSetSequence) -> None:
    sequence.at(3)
    for copy in (fresh(sequence), pickle.loads(pickle.dumps(sequence))):
        assert type(copy) is type(sequence)
        assert copy == sequence
        assert hash(copy) == hash(sequence)
        for step in _STEPS:
            assert copy.at(step) == sequence.at(step)
    assert all(sequence != other for other in SEQUENCE_EXAMPLES if other is not sequence)


@each_sequence
def test_the_step_is_checked_and_the_repr_short(sequence: ActionSetSequence) -> None:
    for step, error in ((-1, sb.InvalidValueError), (0.5, sb.InvalidTypeError)):
        wrong: Any = step
        with pytest.raises(error, match="step must be"):
            sequence.at(wrong)
    assert repr(sequence).startswith(type(sequence).__name__ + "(")
    assert len(repr(sequence)) < 130


def test_a_fixed_set_is_the_set_itself() -> None:
    ball = sb.LpBall(3)
    assert FixedSet(ball).at(0) is ball
    assert FixedSet(ball).at(17) is ball


def test_alternating_takes_turns_and_bounds_by_the_largest() -> None:
    sets = [sb.LpBall(4), sb.LpBall(4, p=np.inf, radius=0.9), sb.LpBall(4, p=1.5, radius=1.1)]
    sequence = Alternating(sets)
    assert [sequence.at(step) for step in range(7)] == [*sets, *sets, sets[0]]
    assert sequence.base is sets[1]
    assert sequence.norm_bound == pytest.approx(1.8)
    assert sequence.sparse_norm_bound(1) == pytest.approx(1.1)
    assert not sequence.is_strongly_convex
    assert Alternating([sets[0], sets[2]]).is_strongly_convex


def test_recent_keeps_what_was_asked_for_last() -> None:
    recent, built = Recent(), list[int]()

    def ask(key: int) -> sb.ActionSet:
        def build() -> sb.ActionSet:
            built.append(key)
            return sb.LpBall(2)

        return recent.get(key, build)

    first = ask(0)
    for key in range(1, 64):
        ask(key)
        assert ask(0) is first
    ask(64)
    assert ask(0) is first
    assert built == list(range(65))
    ask(1)
    assert built[-1] == 1


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ([], "non-empty list of action sets"),
        (sb.LpBall(3), "non-empty list of action sets"),
        ([sb.LpBall(3), "ball"], r"sets\[1\] must be an action set"),
        ([sb.LpBall(3), sb.LpBall(4)], r"got 3 in sets\[0\] and 4 in sets\[1\]"),
    ],
)
def test_alternating_checks_its_list(sets: Any, message: str) -> None:
    with pytest.raises(sb.SparseBanditsError, match=message):
        Alternating(sets)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("fixed", "A sequence must be a table"),
        ({"kind": "drifting"}, "A sequence must be of kind 'fixed', .* got 'drifting'"),
        ({"kind": "fixed"}, "does not take the keys"),
        ({"kind": "fixed", "action_set": 3}, "An action set must be a table"),
        ({"kind": "alternating", "sets": 3}, "non-empty list"),
        ({"kind": "alternating", "sets": [{"kind": "blob"}]}, "got 'blob'"),
    ],
)
def test_unreadable_descriptions_are_refused(data: Any, message: str) -> None:
    with pytest.raises(sb.SparseBanditsError, match=message):
        ActionSetSequence.from_dict(data)


def test_a_set_is_needed() -> None:
    wrong: Any = [1.0, 2.0]
    with pytest.raises(sb.InvalidTypeError, match="action_set must be an action set"):
        FixedSet(wrong)
