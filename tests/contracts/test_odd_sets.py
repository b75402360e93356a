"""Sets and rules at the edge of having an action at all, as somebody outside would try them."""

import json
from collections.abc import Callable

import numpy as np
import pytest

import sparsebandits as sb

ROWS = np.vstack([np.eye(3), -np.eye(3)])
SIDES = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
THETA = np.array([1.0, -0.5, 0.3])

# A set, H or rules, and the best value for THETA, by hand.
ODD: dict[str, tuple[sb.ActionSet, int | sb.Supports, float]] = {
    "one action": (sb.Budget(1.0, [1.0, 0.0, 0.0], spend_all=True), 1, 1.0),
    "one point": (sb.FiniteSet([[1.0, 0.0, 2.0]]), 2, 1.6),
    "one coordinate is fixed": (
        sb.Polytope(ROWS, SIDES, equalities=([[1, 0, 0]], [0.5])),
        2,
        0.5 + 0.3,
    ),
    "H = d": (sb.Budget(1.5, [0.6, 0.7, 0.8], 0.2, True), 3, 0.6 + 0.3 * 0.7 - 0.5 * 0.2),
    "H = 1": (sb.Budget(0.5, [0.6, 0.7, 0.8], 0.2, True), 1, 0.5),
    "an upper bound of 0": (sb.Budget(1.0, [0.6, 0.0, 0.8], 0.2), 2, 0.6 + 0.3 * 0.4),
    "doses are upper bounds": (
        sb.Budget(1.0, [0.6, 0.3, 0.4], [0.6, 0.3, 0.4], True),
        2,
        0.6 + 0.3 * 0.4,
    ),
    "a group of which none": (
        sb.Budget(1.0, [0.6, 0.3, 0.4]),
        sb.Supports(at_most=2, groups={(0, 1): 0}),
        0.3 * 0.4,
    ),
    "nothing may be on": (sb.LpBall(3), sb.Supports(at_most=2, groups={(0, 1, 2): 0}), 0.0),
}


@pytest.mark.parametrize("name", ODD)
def test_it_is_played(name: str) -> None:
    X, sparsity, value = ODD[name]
    best = sb.sparse_argmax(X, THETA, sparsity, "exact", runner_up=True)
    assert best.is_exact
    assert best.value == pytest.approx(value)
    for guarantee in (False, True):
        policy = sb.SparseThompson(action_set=X, sparsity=sparsity, guarantee=guarantee)
        learner = policy.start(seed=0)
        for decision in learner.ask(count=3):
            assert X.contains(decision.action)
            assert decision.action @ THETA <= value + 1e-9
            learner.tell(decision, 1.0)
        assert X.contains(sb.Learner.from_dict(learner.to_dict()).ask().action)


MIX = sb.Budget(1.0, [0.6, 0.3, 0.4], names=["tv", "radio", "web"])
REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "more always on than H": (
        lambda: sb.sparse_argmax(MIX, THETA, sb.Supports(at_most=1, always=(0, 1))),
        "at least 2, what is always on, got 1",
    ),
    "always, and never together": (
        lambda: sb.sparse_argmax(
            MIX, THETA, sb.Supports(at_most=2, always=(0, 1), never_together=[(0, 1)])
        ),
        r"2 of the group \['tv', 'radio'\] are always on, of which at most 1",
    ),
    "more than can be used": (
        lambda: sb.sparse_argmax(
            sb.Budget(1.0, [0.6, 0.0, 0.0], 0.1), THETA, sb.Supports(at_most=3, at_least=2)
        ),
        "1 coordinates can be used",
    ),
    "more than can be spent": (
        lambda: sb.Budget(2.0, [0.6, 0.3, 0.4], spend_all=True),
        "must be spent, and the upper bounds of all coordinates add up to 1.3",
    ),
    "more than H can take": (
        lambda: sb.SparseThompson(
            action_set=sb.Budget(1.2, [0.6, 0.5, 0.4], spend_all=True), sparsity=2
        ),
        "must be spent, and the upper bounds of the 2 largest coordinates add up to 1.1",
    ),
    "a text for a switch": (
        lambda: sb.Budget(1.0, [0.6, 0.5], spend_all=json.loads('"false"')),
        "spend_all must be True or False, got 'false'",
    ),
    "doses that leave a gap": (
        lambda: sb.Budget(0.5, [0.3, 0.3], [0.3, 0.3], True),
        "the least doses leave gaps",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_action_is_refused_with_the_reason(name: str) -> None:
    make, reason = REFUSED[name]
    with pytest.raises(sb.SparseBanditsError, match=reason):
        make()
