"""What each operation does to a learner, to its row, and to its log."""

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from sparsebandits.errors import SparseBanditsError
from sparsebandits.service import learners, log
from sparsebandits.service.answers import RefusedError
from sparsebandits.service.learners import Choice, Pair
from sparsebandits.service.log import Asked, Content, Imported, Lived, Observed, Rewarded
from sparsebandits.service.operations import (
    Ask,
    Create,
    Expire,
    Forget,
    Import,
    Observe,
    Operation,
    Outcome,
    Peek,
    Remove,
    Tell,
)
from sparsebandits.service.residents import Resident
from sparsebandits.service.schemas import (
    DecisionView,
    action_view,
    availability,
    learner_view,
    nonzeros,
)
from sparsebandits.service.times import as_text
from sparsebandits.service.unit_of_work import UnitOfWork
from sparsebandits.store import Event, LearnerRow
from sparsebandits.store.records import digest_of

Result = Outcome | RefusedError
_EXPIRED_AT_ONCE = 1000
_LONG = 0.5
"""Seconds for which nobody notices that the server does nothing else."""


async def carry_out(unit: UnitOfWork, jobs: Sequence[Sequence[Operation]]) -> list[list[Result]]:
    """Carry out the operations of every job, those on one learner in the order of the jobs."""
    waiting: dict[str, deque[tuple[int, int, Operation]]] = defaultdict(deque)
    for job, operations in enumerate(jobs):
        for place, operation in enumerate(operations):
            waiting[operation.key].append((job, place, operation))
    results: list[dict[int, Result]] = [{} for _ in jobs]
    while waiting:
        # One operation of each learner: none of them depends on another.
        turn = [queue.popleft() for queue in waiting.values()]
        waiting = {key: queue for key, queue in waiting.items() if queue}
        done = await _round(unit, [operation for _, _, operation in turn])
        for (job, place, _), result in zip(turn, done, strict=True):
            results[job][place] = result
    return [[found[place] for place in range(len(found))] for found in results]


async def _round(unit: UnitOfWork, operations: Sequence[Operation]) -> list[Result]:
    """Carry out operations on different learners; what learners compute is done in one place."""
    results: list[Result | None] = []
    work: list[tuple[Resident, Operation]] = []
    for operation in operations:
        try:
            prepared = await _prepare(unit, operation)
        except RefusedError as refusal:
            results.append(refusal)
            continue
        if isinstance(prepared, Outcome):
            results.append(prepared)
        else:
            results.append(None)
            work.append((prepared, operation))
    computed = iter(_record(unit, work, await _compute(work)))
    return [next(computed) if result is None else result for result in results]


async def _compute(work: Sequence[tuple[Resident, Operation]]) -> list[Any]:
    """Let learners work here, or beside the loop that speaks HTTP where it will take long."""
    started = time.perf_counter()
    steps = [(resident.lived, operation) for resident, operation in work]
    if sum(resident.pace for resident, _ in work) < _LONG:
        found = perform(steps)
    else:
        found = await asyncio.to_thread(perform, steps)
    for resident, _ in work:
        resident.pace = (time.perf_counter() - started) / len(work)
    return found


def perform(work: Sequence[tuple[Lived, Operation]]) -> list[Any]:
    """Let each learner do its operation and return what came of it, or the error that refused it.

    The learners are all different, so those of one policy can be computed together, as lanes.
    """
    return [_perform(lived, operation) for lived, operation in work]


def _perform(lived: Lived, operation: Operation) -> Any:
    learner = lived.learner
    try:
        match operation:
            case Ask(available=available, context=context, count=count):
                allowed = availability(available, lived.policy.action_set)
                choices = learners.ask(learner, allowed, context, count)
                return Asked(choices, allowed, context)
            case Tell(id=id, reward=reward):
                learner.tell(id, reward)
                return Rewarded(reward)
            case Forget(id=id):
                learner.forget(id)
                return Rewarded(None)
            case Observe(actions=actions, rewards=rewards):
                pairs = [
                    Pair(*nonzeros(action, lived.policy.action_set), reward)
                    for action, reward in zip(actions, rewards, strict=True)
                ]
                learners.observe(learner, pairs)
                return Observed(pairs)
    except SparseBanditsError as error:
        if isinstance(operation, Ask) and operation.count > 1:
            raise  # it may have come half the way: start again from the log
        return RefusedError("invalid", str(error))
    raise AssertionError(operation)


# ---------------------------------------------------------------------- before the learner acts


async def _prepare(unit: UnitOfWork, operation: Operation) -> Resident | Outcome:
    """Return the learner that is to act, or the outcome where none has to."""
    resident = await unit.resident(operation.key)
    match operation:
        case Create():
            return await _create(unit, operation, resident)
        case Import():
            return await _import(unit, operation, resident)
    if resident is None:
        raise RefusedError(
            "unknown-learner",
            f"There is no learner {operation.key!r}; create it by PUT /v1/learners/{{key}}.",
        )
    if isinstance(operation, Remove):
        return await _remove(unit, operation, resident)
    even_removed = isinstance(operation, Peek) and operation.even_removed
    if resident.row.removed_at is not None and not even_removed:
        raise _removed(resident.row)
    match operation:
        case Peek(view=view):
            return Outcome(200, view(resident.lived, resident.row))
        case Tell() if operation.id not in resident.lived.open:
            return await _tell_closed(unit, operation, resident)
        case Forget() if operation.id not in resident.lived.open:
            return await _forget_closed(unit, operation, resident)
        case Expire():
            return _expire(unit, resident)
    return resident


def _removed(row: LearnerRow) -> RefusedError:
    return RefusedError(
        "removed",
        f"The learner {row.key!r} was removed; it can be exported, or deleted for good by "
        "DELETE with ?purge=true.",
    )


async def _create(unit: UnitOfWork, new: Create, resident: Resident | None) -> Outcome:
    digest = digest_of(new.body)
    if resident is not None:
        row = resident.row
        if row.removed_at is not None:
            raise _removed(row)
        asked = (digest, new.seed, new.reward_wait, new.default_reward)
        if asked != (row.policy, row.seed, row.reward_wait, row.default_reward):
            raise RefusedError(
                "learner-differs",
                f"The learner {new.key!r} exists with another policy, seed or reward_wait; "
                "take another key.",
            )
        return Outcome(200, learner_view(resident.lived, row))
    row = LearnerRow(
        id=0,
        key=new.key,
        policy=digest,
        seed=new.seed,
        reward_wait=new.reward_wait,
        default_reward=new.default_reward,
        created_at=unit.now,
        last_at=unit.now,
    )
    row.id = await unit.transaction.create(row, new.body)
    policy = unit.residents.keep_policy(digest, new.policy)
    made = Resident(row, Lived(policy, policy.start(new.seed)))
    unit.residents.put(made)
    unit.touch(made)
    unit.rows[new.key] = row
    return Outcome(201, learner_view(made.lived, row))


async def _import(unit: UnitOfWork, new: Import, resident: Resident | None) -> Outcome:
    if resident is not None:
        raise RefusedError(
            "learner-differs", f"The learner {new.key!r} exists; import it under another key."
        )
    await _create(unit, Create(new.key, new.learner.policy, new.body, 0, None, None), None)
    made = unit.touched[new.key]
    given, still_open = learners.decisions_given(new.learner), list(new.learner.open_decisions)
    made.lived.learner = new.learner
    made.lived.open = dict.fromkeys(still_open, unit.now)
    made.row.decisions = given
    content = Imported(learners.to_bytes(new.learner), given, still_open)
    _log(unit, made, log.IMPORT, None, content)
    return Outcome(201, learner_view(made.lived, made.row))


async def _remove(unit: UnitOfWork, operation: Remove, resident: Resident) -> Outcome:
    row = resident.row
    if operation.purge:
        await unit.transaction.purge(row.id, f"/v1/learners/{row.key}/")
        unit.touched.pop(row.key)
        unit.gone.add(row.key)
        unit.rows.pop(row.key, None)
        return Outcome(200, {"key": row.key, "state": "purged"})
    if row.removed_at is None:
        row.removed_at = unit.now
        await unit.transaction.update([row])
    return Outcome(200, {"key": row.key, "state": "removed"})


async def _closing(unit: UnitOfWork, resident: Resident, number: int) -> Event:
    """Return how a decision that is not open was closed."""
    for event in reversed(resident.pending):
        if event.decision == number and event.kind != log.ASK:
            return event
    found = None
    if 0 < number <= resident.row.decisions:
        found = await unit.transaction.closing(resident.row.id, number)
        if found is None:  # in its former life
            raise RefusedError(
                "decision-closed", f"Decision {number} was closed before the learner was imported."
            )
    if found is None:
        raise RefusedError(
            "unknown-decision", f"Decision {number} was never given out by {resident.row.key!r}."
        )
    return found


async def _tell_closed(unit: UnitOfWork, told: Tell, resident: Resident) -> Outcome:
    closing = await _closing(unit, resident, told.id)
    before = log.reward_of(closing)
    is_late = closing.kind == log.EXPIRE
    if before == told.reward and not is_late:
        return Outcome(200, {"id": told.id, "reward": told.reward, "state": "unchanged"})
    if not (told.correct or is_late):
        if before is None:
            raise RefusedError(
                "decision-closed",
                f"Decision {told.id} was forgotten; ?correct=true tells its reward all the same.",
            )
        raise RefusedError(
            "reward-differs",
            f"Decision {told.id} has another reward by now; ?correct=true replaces it.",
        )
    resident.row.rewards += before is None
    unit.counts["late"] += is_late
    content = Rewarded(told.reward)
    if learners.try_correct(resident.lived.learner, told.id, told.reward):
        _log(unit, resident, log.CORRECT, told.id, content)
    else:
        _log(unit, resident, log.REBUILD, told.id, content)
        committed = await unit.transaction.events(resident.row.id)
        resident.lived = log.rebuild(
            resident.lived.policy, resident.row.seed, [*committed, *resident.pending]
        )
        resident.saved_at = -(2**62)  # a snapshot now: later loads must not look so far back
    return Outcome(
        200, {"id": told.id, "reward": told.reward, "state": "late" if is_late else "corrected"}
    )


async def _forget_closed(unit: UnitOfWork, operation: Forget, resident: Resident) -> Outcome:
    closing = await _closing(unit, resident, operation.id)
    if log.reward_of(closing) is None:
        return Outcome(200, {"id": operation.id, "state": "forgotten"})
    raise RefusedError(
        "decision-closed", f"Decision {operation.id} has its reward; it cannot be forgotten."
    )


def _expire(unit: UnitOfWork, resident: Resident) -> Outcome:
    """Give decisions that were waited for long enough their default reward, or forget them."""
    wait = resident.row.reward_wait
    if wait is None:
        return Outcome(200, 0)
    oldest = takewhile(lambda item: item[1] + wait <= unit.now, resident.lived.open.items())
    ids = [number for number, _ in oldest][:_EXPIRED_AT_ONCE]
    reward = resident.row.default_reward
    for number in ids:
        if reward is None:
            resident.lived.learner.forget(number)
        else:
            resident.lived.learner.tell(number, reward)
        _log(unit, resident, log.EXPIRE, number, Rewarded(reward))
    unit.counts["expired"] += len(ids)
    return Outcome(200, len(ids))


# ---------------------------------------------------------------------- after the learner acted


def _record(
    unit: UnitOfWork, work: Sequence[tuple[Resident, Operation]], computed: Sequence[Any]
) -> list[Result]:
    results: list[Result] = []
    for (resident, operation), content in zip(work, computed, strict=True):
        if isinstance(content, RefusedError):
            results.append(content)
            continue
        match operation, content:
            case Ask(), Asked():
                first = resident.row.decisions + 1
                event = _log(unit, resident, log.ASK, first, content)
                names = resident.lived.policy.action_set.names
                views = [
                    _decision_view(number, choice, names, event.at)
                    for number, choice in enumerate(content.choices, start=first)
                ]
                results.append(
                    Outcome(200, {"decisions": views, "dim": resident.lived.policy.action_set.dim})
                )
            case Tell(id=id), Rewarded(reward=reward):
                _log(unit, resident, log.TELL, id, content)
                results.append(Outcome(200, {"id": id, "reward": reward, "state": "told"}))
            case Forget(id=id), _:
                _log(unit, resident, log.FORGET, id, content)
                results.append(Outcome(200, {"id": id, "state": "forgotten"}))
            case Observe(), Observed(pairs=pairs):
                _log(unit, resident, log.OBSERVE, None, content)
                results.append(Outcome(200, {"observed": len(pairs)}))
    return results


def _log(
    unit: UnitOfWork, resident: Resident, kind: str, decision: int | None, content: Content
) -> Event:
    """Write an event that the learner has lived through, and what follows for its row."""
    row, lived = resident.row, resident.lived
    row.head += 1
    row.last_at = max(row.last_at, unit.now)  # a clock that is set back does not reorder the log
    event = Event(
        learner=row.id,
        sequence=row.head,
        kind=kind,
        at=row.last_at,
        decision=decision,
        body=log.write(content),
    )
    resident.pending.append(event)
    lived.sequence = row.head
    if isinstance(content, Asked):
        assert decision is not None
        lived.open.update(
            dict.fromkeys(range(decision, decision + len(content.choices)), row.last_at)
        )
        row.decisions += len(content.choices)
        unit.counts["decisions"] += len(content.choices)
    elif isinstance(content, Rewarded) and kind not in (log.CORRECT, log.REBUILD):
        assert decision is not None
        del lived.open[decision]
        row.rewards += content.reward is not None
        unit.counts["rewards"] += kind == log.TELL
    elif isinstance(content, Observed):
        row.rewards += len(content.pairs)
        unit.counts["observed"] += len(content.pairs)
    row.open = len(lived.open)
    oldest = next(iter(lived.open.values()), None)
    due = None if row.reward_wait is None or oldest is None else oldest + row.reward_wait
    row.next_due = due
    return event


def _decision_view(
    number: int, choice: Choice, names: Sequence[str] | None, at: float
) -> DecisionView:
    return DecisionView(
        id=number,
        action=action_view(choice.indices, choice.values, names),
        indices=choice.indices,
        phase=choice.phase,
        cycle=choice.cycle,
        asked_at=as_text(at),
    )
