"""What if: the same as asking the oracle about a changed set; the learner stays as it is."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.dashboard.what_if import (
    Comparison,
    Option,
    Question,
    budget_of,
    compare,
    in_words,
    read_question,
)
from sparsebandits.dashboard.words import number

NAMES = ["tv", "radio", "print", "search", "social"]
THETA = np.array([0.9, 0.7, 0.1, 0.5, -0.4])
MIX = sb.Budget(total=2.0, upper=[1.0] * 5, names=NAMES)


def taught(policy: sb.Policy, context: int = 0) -> sb.Learner:
    rng = np.random.default_rng(0)
    learner = policy.start(0)
    for _ in range(60):
        z = rng.normal(size=context)
        decision = learner.ask(context=z if context else None)
        shift = decision.action[0] * z[0] if context else 0.0
        learner.tell(decision, float(1.0 + decision.action @ THETA + shift + 0.1 * rng.normal()))
    return learner


def by_hand(theta: np.ndarray, at_most: int, total: float, off: set[int]) -> float:
    """Return the best value on {0 <= x <= 1, sum x <= total}, over all supports."""
    values = []
    for support in itertools.combinations(sorted(set(range(5)) - off), at_most):
        best = sorted((max(theta[i], 0.0) for i in support), reverse=True)
        doses = [min(1.0, max(0.0, total - place)) for place in range(len(best))]
        values.append(sum(map(math.prod, zip(best, doses, strict=True))))
    return max(values)


@pytest.mark.parametrize(
    ("question", "at_most", "total", "off"),
    [
        (Question(), 2, 2.0, set()),
        (Question(sparsity=3), 3, 2.0, set()),
        (Question(off=("tv", 3)), 2, 2.0, {0, 3}),
        (Question(budget=0.5), 2, 0.5, set()),
        (Question(sparsity=1, off=("tv",), budget=5.0), 1, 5.0, {0}),
    ],
)
def test_it_is_the_best_of_the_changed_set(
    question: Question, at_most: int, total: float, off: set[int]
) -> None:
    learner = taught(sb.SparseThompson(action_set=MIX, sparsity=2))
    before = learner.to_dict()
    found = compare(learner, question)
    assert learner.to_dict() == before
    assert found is not None
    theta = learner.theta_hat
    assert theta is not None
    assert found.instead.value == pytest.approx(by_hand(theta, at_most, total, off))
    assert found.today.value == pytest.approx(by_hand(theta, 2, 2.0, set()))
    assert found.instead.is_proven
    assert len(found.instead.doses) <= at_most
    assert not {name for name, _ in found.instead.doses} & {NAMES[i] for i in off}
    assert found.difference == found.instead.value - found.today.value
    assert found.low <= found.difference + 0.05
    assert found.high >= found.difference - 0.05
    thetas = learner.thetas_drawn(200)
    assert thetas is not None
    gains = [theta @ (found.instead.action - found.today.action) for theta in thetas[1:]]
    assert found.low == pytest.approx(np.quantile(gains, 0.025))
    if found.difference == 0:
        assert in_words(found).startswith("It makes no difference")
    else:  # as much less as the interval says
        less = f"{number(-found.high)} to {number(-found.low)} less)."
        assert in_words(found).endswith(less)


def test_small_rewards_make_a_difference_too() -> None:
    small = Option(doses=(), value=1e-12, is_proven=True, upper_bound=1e-12, method="",
                   action=np.zeros(1))  # fmt: skip
    large = replace(small, value=3e-12)
    found = Comparison(today=small, instead=large, difference=2e-12)
    assert in_words(found).startswith("By the estimate it earns 2e-12 more per decision")


def test_rules_contexts_and_sets_without_a_budget() -> None:
    rules = sb.Supports(at_most=2, never_together=[("tv", "radio")])
    ruled = compare(taught(sb.SparseThompson(action_set=MIX, sparsity=rules)), Question(sparsity=1))
    assert ruled is not None
    assert {name for name, _ in ruled.today.doses} != {"tv", "radio"}
    assert len(ruled.instead.doses) == 1

    learner = taught(sb.SparseThompson(action_set=MIX, sparsity=1, context=1), 1)
    away, towards = (compare(learner, Question(context=(z,))) for z in (-2.0, 2.0))
    assert away is not None
    assert towards is not None
    assert towards.today.doses[0][0] == "tv"
    assert away.today.doses[0][0] != "tv"

    assert budget_of(MIX) == ("total budget", 2.0)
    assert budget_of(sb.LpBall(3, radius=0.5)) == ("radius", 0.5)
    box = sb.SparseThompson(action_set=sb.Box([0] * 5, [1] * 5), sparsity=2)
    assert budget_of(box.action_set) is None
    assert (
        compare(sb.APSEE(action_set=sb.LpBall(5), sparsity=2, sigma=1).start(0), Question()) is None
    )
    with pytest.raises(sb.SparseBanditsError, match="no budget"):
        compare(taught(box), Question(budget=1.0))
    with pytest.raises(sb.SparseBanditsError):
        compare(taught(box), Question(sparsity=9))


def test_a_question_is_read_from_a_form() -> None:
    given = {"sparsity": " 2 ", "budget": "", "off_more": "print, 4", "context": "0.5; -1"}
    with pytest.raises(sb.SparseBanditsError, match="context must be a number"):
        read_question(given, [], MIX)
    asked = read_question({**given, "context": "0.5, -1"}, ["tv"], MIX)
    assert asked == Question(sparsity=2, off=("tv", "print", 4), context=(0.5, -1.0))
    for wrong in ({"sparsity": "two"}, {"budget": "much"}):
        with pytest.raises(sb.SparseBanditsError, match="number"):
            read_question(wrong, [], MIX)
