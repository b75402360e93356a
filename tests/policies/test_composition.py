"""Parts that do not fit are refused when composed, and the remedy is named; own parts fit in."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.estimation import CONFIDENCE, ConfidenceBound, PaperBound, make_confidence
from sparsebandits.exploration import BASES, MatrixBasis
from sparsebandits.oracles import ORACLES
from sparsebandits.policies.schedules import SCHEDULES, lengths, make_schedule
from sparsebandits.validation import FloatArray
from tests.policies.examples import (
    DIM,
    FIRST_OF_EACH,
    THETA,
    adaptive,
    apsee,
    apsee_g,
    compact,
    ellipsoid,
    moving,
    play,
    polytope,
)


def test_apsee_on_a_correlated_ellipsoid_names_apsee_g() -> None:
    with pytest.raises(sb.CompositionError, match=r"Sorting is not exact.*APSEEG"):
        apsee(ellipsoid())
    with pytest.raises(sb.CompositionError, match="CompactAPSEEG"):
        apsee(polytope())
    with pytest.raises(sb.CompositionError, match="Sorting is not exact"):
        compact(oracle="top-h")


@pytest.mark.parametrize(
    "action_set", [polytope(), sb.Box(np.zeros(DIM), np.ones(DIM)), sb.LpBall(DIM, p=3.0)], ids=repr
)
def test_apsee_g_without_strong_convexity_names_the_compact_variant(
    action_set: sb.ActionSet,
) -> None:
    with pytest.raises(sb.CompositionError, match=r"CompactAPSEEG.*insist=True"):
        apsee_g(action_set)
    for policy in (apsee_g(action_set, insist=True), apsee_g(action_set, schedule="sqrt")):
        learner = policy.start(seed=0)
        for played in play(learner, 200):
            assert action_set.contains(played.decision.action)
        assert learner.support is not None


def test_a_moving_set_without_strong_convexity_names_the_slower_schedule() -> None:
    for make in (moving, lambda *given: moving(sb.LpBall(DIM)).start().ask(action_set=given[0])):
        with pytest.raises(sb.CompositionError, match=r"schedule='sqrt', or insist=True"):
            make(polytope())
    moving(sb.LpBall(DIM), insist=True).start().ask(action_set=polytope())
    with pytest.raises(sb.CompositionError, match="oracle='greedy' or 'exact'"):
        moving(polytope(), schedule="sqrt", oracle="top-h")
    learner = moving(sb.LpBall(DIM), schedule="sqrt", oracle="top-h").start()
    with pytest.raises(sb.CompositionError, match="Sorting is not exact"):
        learner.ask(action_set=polytope())


@pytest.mark.parametrize("oracle", ["swap", "auto"])
def test_the_gap_test_needs_an_oracle_that_measures_a_gap(oracle: str) -> None:
    for make in (apsee, apsee_g, moving):
        with pytest.raises(sb.CompositionError, match="The gap test needs"):
            make(oracle=oracle)
    assert compact(oracle=oracle).oracle == oracle
    assert moving(schedule="sqrt", oracle=oracle).oracle == oracle


def _all_named(text: str, names: Any) -> bool:
    return all(repr(name) in text for name in names)


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    tables: list[tuple[dict[str, Any], Any]] = [
        ({"confidence": "papr"}, CONFIDENCE),
        ({"schedule": "cubic"}, SCHEDULES),
        ({"basis": "fourier"}, BASES),
        ({"oracle": "oracle"}, ORACLES),
    ]
    for keywords, names in tables:
        for make in (apsee, apsee_g, compact):
            with pytest.raises(sb.InvalidValueError) as refusal:
                make(**keywords)
            assert _all_named(str(refusal.value), names)
            assert repr(next(iter(keywords.values()))) in str(refusal.value)
    for keywords, names in (tables[1], tables[3]):
        with pytest.raises(sb.InvalidValueError) as refusal:
            moving(**keywords)
        assert _all_named(str(refusal.value), names)


WRONG: list[tuple[str, list[Any]]] = [
    ("delta", [0.0, 1.0, -0.1, 2.0, "x", None, float("nan"), True]),
    ("sigma", [-1.0, "guess", None, float("nan"), float("inf"), [1.0], True]),
    ("sparsity", [0, -1, DIM + 1, 1.5, "2", None, True]),
    ("confidence_scale", [0.0, -1.0, float("nan"), float("inf"), "x", None]),
    ("action_set", [None, "ball", DIM]),
    ("schedule", [None, 3, ["linear"], "cubic"]),
    ("oracle", [None, 3, "magic", ["greedy"]]),
]
WRONG_PARTS: list[tuple[str, list[Any]]] = [
    ("basis", [None, "x", np.eye(DIM + 1), np.zeros((DIM, DIM)), 2 * np.eye(DIM)]),
    ("basis", [np.ones((DIM, DIM)) / DIM + np.eye(DIM) / 2, [[1.0]], float("nan")]),
    ("basis_seed", [-1, 1.5, "x", None]),
    ("confidence", [None, 3, "x", float, PaperBound(MatrixBasis(np.eye(2)), 0.05)]),
    ("confidence", [make_confidence("paper", apsee().exploration, 0.2)]),
]


@pytest.mark.parametrize(("name", "values"), WRONG + WRONG_PARTS)
def test_wrong_values_are_refused_when_composed(name: str, values: list[Any]) -> None:
    makers: list[Any] = [apsee, apsee_g, compact]
    if (name, values) in WRONG:
        makers.append(moving)
    for make in makers:
        policy = make()
        right = {"action_set": policy.action_set, "sparsity": 2}
        for value in values:
            with pytest.raises(sb.SparseBanditsError):
                type(policy)(**{**right, name: value})


def test_own_schedules_are_obeyed() -> None:
    def own(cycle: int) -> int:
        return 2 * cycle + 1

    learner = compact(schedule=own).start()
    counts = np.zeros(6, dtype=int)
    for played in play(learner, 200):
        if played.decision.phase == "exploit" and played.decision.cycle < 6:
            counts[played.decision.cycle] += 1
    assert counts.tolist() == [0, 3, 5, 7, 9, 11]
    moved = moving(schedule=own, confidence_scale=0.01, sigma=1e-6).start()
    phases = [p.decision.phase for p in play(moved, DIM + 4)]
    assert phases == ["explore"] * DIM + ["exploit"] * 3 + ["explore"]
    assert lengths(make_schedule(own), np.array([1, 4])).tolist() == [3, 9]
    with pytest.raises(sb.InvalidTypeError, match=r"schedule\(7\) must be an integer, got 3.5"):
        make_schedule(lambda cycle: cycle / 2)(7)


def test_a_schedule_of_nothing_explores_for_ever() -> None:
    learner = compact(schedule=lambda cycle: 0).start()
    assert {p.decision.phase for p in play(learner, 50)} == {"explore"}


def test_own_actions_are_explored_with() -> None:
    rows = np.array([[0.6, 0.8, 0, 0], [0.8, -0.6, 0, 0], [0, 0, 1.0, 0], [0, 0, 0.5, 0.5]])
    for basis in (rows, MatrixBasis(rows, "mine"), rows.tolist()):
        policy = apsee(basis=basis)
        learner = policy.start()
        explored = np.array([p.decision.action for p in play(learner, DIM)])
        np.testing.assert_array_equal(explored, rows)
        assert learner.theta_hat is not None
        np.testing.assert_allclose(learner.theta_hat, THETA, atol=1e-12)
    assert apsee(basis=MatrixBasis(rows, "mine")).exploration.name == "mine"


@dataclass(frozen=True)
class Impatient(ConfidenceBound):
    """An own bound, far too narrow: 1 / c^2."""

    name = "impatient"

    def radius(self, cycle: Any, size: int) -> FloatArray:
        return np.asarray(1.0 / np.asarray(cycle, dtype=float) ** 2)

    def top_h_threshold(self, cycle: Any, weights: Any = None) -> FloatArray:
        return self.radius(cycle, 1)

    def coordinate_radius(self, cycle: Any) -> FloatArray:
        return np.repeat(self.radius(cycle, 1)[..., None], self.basis.dim, axis=-1)


def test_own_bounds_decide_when_to_lock() -> None:
    policy = apsee(sigma=4.5, confidence=Impatient)
    learner = policy.start()
    # The gap is 0.5, so the first c with 4.5 / c^2 < 0.5 is 4.
    cycles = [p.decision.cycle for p in play(learner, 90) if p.decision.phase == "exploit"]
    assert cycles[0] == 4
    ready = Impatient(policy.exploration, 0.05)
    assert apsee(sigma=4.5, confidence=ready).test.unit_threshold(2) == pytest.approx(0.25)
    assert apsee_g(confidence=Impatient).test.unit_threshold(1) == pytest.approx(
        2 * ellipsoid().sparse_norm_bound(2)
    )


def test_the_papers_bound_is_the_same_by_name_by_class_and_as_an_object() -> None:
    named = apsee_g()
    bound = make_confidence("paper", named.exploration, 0.05)
    expected = 2 * ellipsoid().norm_bound * float(bound.radius(3, 2))
    for confidence in ("paper", PaperBound, bound):
        policy = apsee_g(confidence=confidence)
        assert float(policy.test.unit_threshold(3)) == pytest.approx(expected)


def test_thresholds_are_the_papers() -> None:
    """2 epsilon_c on the ball and 2 L_X epsilon_c in general, epsilon_c as printed."""
    cycles = np.array([1, 2, 10, 1000])
    h_1 = 2 * 0.3**2 * DIM
    epsilon = np.sqrt(h_1 * np.log(2 * DIM * cycles**2 / 0.05) / cycles)
    ball = apsee(sigma=0.3)
    np.testing.assert_allclose(0.3 * ball.test.unit_threshold(cycles), 2 * epsilon)
    long = apsee_g(sb.LpBall(DIM, radius=3.0), sigma=0.3)
    np.testing.assert_allclose(0.3 * long.test.unit_threshold(cycles), 6 * epsilon)
    half = apsee(sigma=0.3, confidence_scale=0.5)
    np.testing.assert_allclose(0.3 * half.test.unit_threshold(cycles), epsilon)
    moved = moving(sb.LpBall(DIM, radius=3.0), sigma=0.3, confidence_scale=0.5)
    for cycle, width in zip(cycles, epsilon, strict=True):
        assert 0.3 * float(moved.test.unit_threshold(cycle)) == pytest.approx(3 * width)
        wider = moved.test.unit_threshold(cycle, sb.LpBall(DIM, radius=6.0))
        assert 0.3 * float(wider) == pytest.approx(6 * width)


def test_estimating_sigma_costs_half_of_delta() -> None:
    estimated, given = apsee(sigma="estimate", delta=0.1), apsee(sigma=1.0, delta=0.05)
    assert estimated.bound.delta == given.bound.delta == 0.05


def test_random_bases_follow_their_seed() -> None:
    def rows(seed: int) -> FloatArray:
        return apsee(basis="block-gaussian", basis_seed=seed).exploration.actions

    np.testing.assert_array_equal(rows(1), rows(1))
    assert not np.array_equal(rows(1), rows(2))


def test_support_of_says_what_would_be_locked() -> None:
    assert apsee().support_of(np.array([0.1, -3.0, 2.0, 0.0])) == (1, 2)
    assert apsee(sparsity=DIM).support_of(np.array([0.1, 0.0, 0.0, 0.0])) == (0, 1, 2, 3)
    for make in FIRST_OF_EACH.values():
        policy = make()
        best = sb.sparse_argmax(policy.action_set, THETA, 2, "exact")
        assert policy.support_of(THETA) == best.support
        for wrong in (THETA[:2], np.full(DIM, np.nan), np.eye(DIM)):
            with pytest.raises(sb.SparseBanditsError, match="theta"):
                policy.support_of(wrong)
    with pytest.raises(sb.SparseBanditsError):
        apsee().support_of(np.array([1.0, 2.0]))


def test_parts_that_do_not_fit_in_a_file_say_the_same() -> None:
    with pytest.raises(sb.CompositionError, match="The gap test needs"):
        sb.Policy.from_dict({**apsee().to_dict(), "oracle": "swap"})
    with pytest.raises(sb.InvalidValueError, match="does not take the keys"):
        sb.Policy.from_dict({**apsee().to_dict(), "colour": "red"})


def test_policies_are_frozen() -> None:
    name = "sigma"
    for policy in (apsee(), moving(), adaptive("lin-ts"), adaptive("sparse-thompson")):
        with pytest.raises(AttributeError, match=re.escape("cannot assign to field 'sigma'")):
            setattr(policy, name, 3.0)


@pytest.mark.parametrize("kind", FIRST_OF_EACH)
def test_wrong_values_are_refused_by_every_adaptive_policy(kind: str) -> None:
    policy = FIRST_OF_EACH[kind]()
    right = {key: value for key, value in policy.to_dict().items() if key not in ("kind", "basis")}
    right["action_set"] = policy.action_set
    type(policy)(**right)
    shared = [wrong for wrong in WRONG if wrong[0] in ("sparsity", "action_set", "oracle")]
    own: list[tuple[str, list[Any]]] = [
        *(wrong for wrong in WRONG if wrong[0] in ("sigma", "delta", "schedule")),
        *(wrong for wrong in WRONG_PARTS if wrong[0] in ("basis", "basis_seed")),
        *((name, [0.0, -1.0, "x", None, float("nan")]) for name in ("scale", "ridge", "rate")),
        ("power", [0.0, 1.5, "x", None]),
        ("growth", [1.0, 0.5, "x", None, float("inf")]),
        ("tolerance", [-1.0, "x", None]),
        ("horizon", [0, -1, 1.5, "x"]),
        ("exploration_steps", [0, -1, 1.5, "x"]),
        ("starts", [1, 1.5, None]),
        ("sweeps", [-1, 1.5, None]),
        ("maximiser", ["best", None, 3]),
        ("radius", [0.0, -1.0, "wide", None]),
        ("theta_bound", [0.0, -1.0, "x"]),
    ]
    names = {name for name, _ in own}
    assert names & set(policy.to_dict()) or kind == "random-sparse"
    for name, values in [*shared, *(wrong for wrong in own if wrong[0] in policy.to_dict())]:
        for value in values:
            with pytest.raises(sb.SparseBanditsError):
                type(policy)(**{**right, name: value})
    if kind != "csar":
        with pytest.raises(sb.CompositionError, match="Sorting is not exact"):
            type(policy)(**{**right, "action_set": polytope(), "oracle": "top-h"})
