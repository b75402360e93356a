"""A refused call changes nothing: the state, and everything that follows, is as if never made."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies import Learner
from tests.policies.examples import (
    DIM,
    FIRST_OF_EACH,
    Make,
    adaptive,
    apsee,
    apsee_g,
    compact,
    moving,
    play,
    reward_of,
)

Call = Callable[[Learner], Any]

ONE_OF_EACH: list[Make] = [
    lambda: apsee(),
    lambda: apsee(use_all_data=True, basis="block-gaussian"),
    lambda: apsee_g(confidence_scale=0.2),
    lambda: compact(),
    lambda: moving(confidence_scale=0.05),
    lambda: moving(schedule="sqrt"),
    *FIRST_OF_EACH.values(),
]
NAMES = ["apsee", "all-data", "apsee-g", "compact", "moving", "moving-sqrt", *FIRST_OF_EACH]
one_of_each = pytest.mark.parametrize("make", ONE_OF_EACH, ids=NAMES)


def _told_twice(learner: Learner) -> None:
    learner.tell(1, 0.5)


def _last(learner: Learner) -> int:
    return learner.open_decisions[-1]


BAD_IDS: list[Any] = [0, -1, 10**9, "x", "2", None, 1.5, True, [1], np.float64(2.0), object()]
BAD_REWARDS: list[Any] = [
    float("nan"),
    float("inf"),
    -float("inf"),
    "1.5",
    b"1",
    "x",
    None,
    [1.0, 2.0],
    1j,
    10**400,
    {},
]
BAD_MASKS: list[Any] = [
    [],
    np.zeros(DIM, dtype=bool),
    np.ones(DIM + 1, dtype=bool),
    [True] * (DIM - 1),
    [DIM],
    [-1],
    [0, 0],
    "01",
    [0.5],
    7,
]
BAD_HORIZONS: list[Any] = [0, -3, 1.5, "x", True, float("nan")]
BAD_LOGS: list[tuple[Any, Any]] = [
    (np.eye(DIM), [1.0] * (DIM - 1)),
    (np.eye(DIM + 1), [1.0] * (DIM + 1)),
    (np.eye(DIM)[0], [1.0]),
    (np.eye(DIM), [1.0, 2.0, 3.0, np.nan]),
    (np.eye(DIM), [1.0, 2.0, 3.0, 1e200]),
    (np.vstack([np.eye(DIM), np.full(DIM, 0.3)]), [1.0, 2.0, 3.0, 4.0, 1e200]),
    (np.vstack([np.eye(DIM), np.full(DIM, 1e120)]), [1.0, 2.0, 3.0, 4.0, 5.0]),
    (np.full((1, DIM), np.inf), [1.0]),
    (np.zeros((0, DIM)), []),
    ("x", "y"),
    (None, None),
]


def _tell_id(number: Any) -> Call:
    return lambda learner: learner.tell(number, 0.5)


def _forget(number: Any) -> Call:
    return lambda learner: learner.forget(number)


def _tell_reward(reward: Any) -> Call:
    return lambda learner: learner.tell(_last(learner), reward)


def _ask(mask: Any) -> Call:
    return lambda learner: learner.ask(available=mask)


def _certify(horizon: Any) -> Call:
    return lambda learner: learner.certificate(horizon=horizon)


def _warm(logs: tuple[Any, Any]) -> Call:
    return lambda learner: learner.warm_start(*logs)


REFUSED: list[Call] = [
    _told_twice,
    *(_tell_id(number) for number in BAD_IDS),
    *(_forget(number) for number in [1, *BAD_IDS]),
    *(_tell_reward(reward) for reward in BAD_REWARDS),
    *(_ask(mask) for mask in BAD_MASKS),
    *(_certify(horizon) for horizon in BAD_HORIZONS),
    *(_warm(logs) for logs in BAD_LOGS),
]


@pytest.mark.each_value
@one_of_each
@pytest.mark.parametrize("steps", [1, DIM, 3 * DIM, 90])
def test_every_refused_call_leaves_the_learner_as_it_was(make: Make, steps: int) -> None:
    """Each moment is another one of the cycle: first step, end of it, before and after a lock."""
    disturbed, calm = make().start(seed=0), make().start(seed=0)
    for learner in (disturbed, calm):
        play(learner, steps)
        learner.ask()
        learner.ask()
    before = disturbed.to_dict()
    for number, call in enumerate(REFUSED):
        with pytest.raises(sb.SparseBanditsError):
            call(disturbed)
        assert disturbed.to_dict() == before, f"call {number} changed the state"
    # A reward in between shows whether a refused ask has estimated too early.
    for learner in (disturbed, calm):
        for identifier in learner.open_decisions:
            learner.tell(identifier, 0.3)
    for one, two in zip(play(disturbed, 30), play(calm, 30), strict=True):
        assert one.decision.id == two.decision.id
        assert one.decision.phase == two.decision.phase
        assert one.decision.action.tobytes() == two.decision.action.tobytes()
    assert disturbed.to_dict() == calm.to_dict()


@one_of_each
def test_the_message_says_what_is_wrong_with_the_id(make: Make) -> None:
    learner = make().start(seed=0)
    decision = learner.ask()
    learner.tell(decision, 1.0)
    closed: Any
    for closed in (decision, 1, np.int64(1)):
        with pytest.raises(sb.InvalidValueError, match="Decision 1 is closed"):
            learner.tell(closed, 1.0)
    with pytest.raises(sb.InvalidValueError, match="Decision 2 is unknown"):
        learner.tell(2, 1.0)
    lost = learner.ask()
    with pytest.raises(sb.InvalidValueError, match=r"drop the decision with forget\(2\)"):
        learner.tell(lost, float("nan"))
    learner.forget(lost)
    assert learner.open_decisions == ()
    with pytest.raises(sb.InvalidValueError, match="closed: its reward was told before, or"):
        learner.tell(lost, 1.0)


@one_of_each
def test_integers_booleans_and_scalars_of_numpy_are_rewards(make: Make) -> None:
    learner, plain = make().start(seed=0), make().start(seed=0)
    rewards: list[Any] = [1, True, np.float32(0.5), np.array(2.0), np.int64(3)]
    for reward in rewards:
        number: Any = np.int64(learner.ask().id)
        learner.tell(number, reward)
        plain.tell(plain.ask(), float(reward))
    assert learner.to_dict() == plain.to_dict()


def test_a_reward_too_large_for_least_squares_is_refused_with_all_data_too() -> None:
    """The arms and the Gram matrix take a reward both or neither."""
    policies: list[sb.Policy] = [apsee(), apsee(use_all_data=True), moving()]
    for policy in [*policies, *(make() for make in FIRST_OF_EACH.values())]:
        learner = policy.start(seed=0)
        decision = learner.ask()
        before = learner.to_dict()
        with pytest.raises(sb.InvalidValueError, match="change its unit"):
            learner.tell(decision, 1e150)
        assert learner.to_dict() == before
    with pytest.raises(sb.InvalidValueError, match="change the unit"):
        apsee(sb.LpBall(DIM, radius=1e120), basis="boundary", use_all_data=True)


@pytest.mark.parametrize("schedule", ["linear", "sqrt"])
@pytest.mark.parametrize("explored", [1, DIM, 3 * DIM + 2])
def test_sets_that_do_not_fit_are_refused_without_change(schedule: str, explored: int) -> None:
    """Also the set on which nothing can be explored, at the very end of an exploration."""
    policy = moving(sb.LpBall(DIM), schedule=schedule, confidence_scale=0.05)
    learner = policy.start(seed=0)
    decisions = [learner.ask() for _ in range(explored)]
    for decision in decisions[:-1]:
        learner.tell(decision, reward_of(decision))
    before = learner.to_dict()
    diagonal = sb.FiniteSet(np.vstack([np.zeros(DIM), np.full(DIM, 0.2)]))
    refused: list[Any] = [sb.LpBall(DIM + 1), "ball", 3, diagonal]
    if schedule == "linear":
        refused.append(sb.LpBall(DIM, p=1.0))
    for current in refused:
        with pytest.raises(sb.SparseBanditsError):
            learner.ask(action_set=current)
        assert learner.to_dict() == before
    partial = sb.LpBall(DIM).restrict([0, 1])
    with pytest.raises(sb.InvalidValueError, match="No coordinate is left"):
        learner.ask(available=[2, 3], action_set=partial)
    assert learner.to_dict() == before
    assert policy.action_set.contains(learner.ask().action)


@pytest.mark.parametrize("make", FIRST_OF_EACH.values(), ids=FIRST_OF_EACH)
@pytest.mark.parametrize("steps", [0, 1, 30])
def test_adaptive_learners_refuse_sets_and_draws_without_change(make: Make, steps: int) -> None:
    disturbed, calm = make().start(seed=0), make().start(seed=0)
    assert isinstance(disturbed, Learner)
    for learner in (disturbed, calm):
        play(learner, steps)
        learner.ask()
    before = disturbed.to_dict()
    wrong: list[Any] = [sb.LpBall(DIM + 1), "ball", 3, np.eye(DIM)]
    if isinstance(disturbed.policy, sb.CSAR):
        wrong.append(sb.LpBall(DIM))
    for current in wrong:
        with pytest.raises(sb.SparseBanditsError):
            disturbed.ask(action_set=current)
        assert disturbed.to_dict() == before
    own = disturbed.policy.action_set
    with pytest.raises(sb.InvalidValueError, match="No coordinate is left"):
        disturbed.ask(available=[2, 3], action_set=own.restrict([0, 1]))
    draws: list[Any] = [0, -1, 1.5, "x", True, None]
    for count in draws:
        with pytest.raises(sb.SparseBanditsError, match="draws"):
            disturbed.certificate(draws=count)
    assert disturbed.to_dict() == before
    for one, two in zip(play(disturbed, 10), play(calm, 10), strict=True):
        assert one.decision.action.tobytes() == two.decision.action.tobytes()
    assert disturbed.to_dict() == calm.to_dict()


class Failing(sb.Box):
    """A box whose solver breaks down."""

    def _respond(self, theta: Any, indices: Any) -> Any:
        raise sb.SolverError("out of order")

    def scores(self, theta: Any) -> Any:
        raise sb.SolverError("out of order")


@pytest.mark.parametrize("make", FIRST_OF_EACH.values(), ids=FIRST_OF_EACH)
@pytest.mark.parametrize("steps", [0, 1, DIM, 2 * DIM, 40])
def test_a_solver_that_breaks_down_in_a_step_leaves_the_learner_as_it_was(
    make: Make, steps: int
) -> None:
    """The generator goes back too: the next ask has the bits it would have had."""
    disturbed, calm = make().start(seed=0), make().start(seed=0)
    assert isinstance(disturbed, Learner)
    broken = Failing(np.full(DIM, -1.0), np.ones(DIM))
    for learner in (disturbed, calm):
        play(learner, steps)
    before = disturbed.to_dict()
    for _ in range(3):
        try:
            # A basis action may fit, and needs no solver.
            disturbed.forget(disturbed.ask(action_set=broken))
        except sb.SolverError:
            assert disturbed.to_dict() == before
            continue
        return
    for one, two in zip(play(disturbed, 12), play(calm, 12), strict=True):
        assert one.decision.action.tobytes() == two.decision.action.tobytes()
    assert disturbed.to_dict() == calm.to_dict()


def test_a_schedule_that_returns_nonsense_is_refused_and_not_obeyed() -> None:
    for steps, reason in ((0.5, "must be an integer"), (-1, "at least 0"), (True, "boolean")):

        def own(cycle: int, steps: Any = steps) -> Any:
            return 1 if cycle < 3 else steps

        learner = compact(schedule=own).start(seed=0)
        with pytest.raises(sb.SparseBanditsError, match=reason):
            play(learner, 40)
        with pytest.raises(sb.SparseBanditsError, match=r"schedule\(3\)"):
            learner.ask()


def test_a_regression_too_large_for_any_machine_is_refused_when_started() -> None:
    for kind in ("lin-ts", "estc"):
        needed = {"exploration_steps": 9} if kind == "estc" else {}
        policy = adaptive(kind, sb.LpBall(10**6), **needed)
        with pytest.raises(sb.CompositionError, match=r"1000000 x 1000000.*CompactAPSEEG"):
            policy.start(seed=0)


@pytest.mark.parametrize("seed", [-1, "x", 1.5, [1]])
def test_bad_seeds(seed: Any) -> None:
    for make in ONE_OF_EACH:
        with pytest.raises(sb.SparseBanditsError, match="seed"):
            make().start(seed)
