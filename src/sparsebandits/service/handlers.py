"""What each operation does that is not the learner's own: rows, closed decisions, corrections."""

import asyncio
from itertools import takewhile

from sparsebandits.service import journal, learners, log
from sparsebandits.service.answers import RefusedError
from sparsebandits.service.log import Imported, Lived, Rewarded
from sparsebandits.service.operations import (
    Create,
    Expire,
    Forget,
    Import,
    Operation,
    Outcome,
    Peek,
    Remove,
    Tell,
)
from sparsebandits.service.residents import Resident
from sparsebandits.service.schemas import (
    learner_view,
)
from sparsebandits.service.unit_of_work import UnitOfWork
from sparsebandits.store import Event, LearnerRow
from sparsebandits.store.records import digest_of

_EXPIRED_AT_ONCE = 1000


async def prepare(unit: UnitOfWork, operation: Operation) -> Resident | Outcome:
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
        # A description of an earlier release lacks the keywords that are new: it means the default.
        same = digest == row.policy or new.policy.to_dict() == resident.lived.policy.to_dict()
        asked = (new.seed, new.reward_wait, new.default_reward)
        if not same or asked != (row.seed, row.reward_wait, row.default_reward):
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
    content = Imported(learners.to_bytes(new.learner), given, still_open, new.rewards)
    made.lived.learner = learners.from_bytes(made.lived.policy, content.state)
    made.lived.open = dict.fromkeys(still_open, unit.now)
    made.row.decisions, made.row.rewards = given, new.rewards
    journal.record(unit, made, log.IMPORT, None, content)
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
        journal.record(unit, resident, log.CORRECT, told.id, content)
    else:
        journal.record(unit, resident, log.REBUILD, told.id, content)
        committed = await unit.transaction.events(resident.row.id)
        events = [*committed, *resident.pending]
        policy, seed = resident.lived.policy, resident.row.seed
        resident.lived = await asyncio.to_thread(log.rebuild, policy, seed, events)
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
        journal.record(unit, resident, log.EXPIRE, number, Rewarded(reward))
    unit.counts["expired"] += len(ids)
    return Outcome(200, len(ids))
