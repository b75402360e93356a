"""Carry out the operations of a group in rounds, one operation of each learner in each.

What the learners of a round compute is done in one place, `perform`.
"""

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Sequence

from sparsebandits.errors import SparseBanditsError
from sparsebandits.oracles import unproven_answers
from sparsebandits.policies import Decision
from sparsebandits.policies.lanes import ask_together, tell_together
from sparsebandits.service import journal, learners, log
from sparsebandits.service.answers import RefusedError
from sparsebandits.service.handlers import prepare
from sparsebandits.service.learners import Choice, Pair
from sparsebandits.service.log import Asked, Lived, Observed, Rewarded
from sparsebandits.service.operations import (
    Ask,
    Forget,
    Observe,
    Operation,
    Outcome,
    Result,
    Tell,
)
from sparsebandits.service.residents import Resident
from sparsebandits.service.schemas import (
    DecisionView,
    Offer,
    action_view,
    availability,
    nonzeros,
)
from sparsebandits.service.times import as_text
from sparsebandits.service.unit_of_work import UnitOfWork

Done = Asked | Rewarded | Observed | RefusedError
"""What came of an operation: what is written to the log, or why nothing is."""

_LONG = 0.2
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
            prepared = await prepare(unit, operation)
        except RefusedError as refusal:
            results.append(refusal)
            continue
        if isinstance(prepared, Outcome):
            results.append(prepared)
        else:
            results.append(None)
            work.append((prepared, operation))
    computed = iter(_answers(unit, work, await _compute(unit, work)))
    return [next(computed) if result is None else result for result in results]


async def _compute(unit: UnitOfWork, work: Sequence[tuple[Resident, Operation]]) -> list[Done]:
    """Let learners work here, or beside the loop that speaks HTTP where it may take long.

    It may when a policy is at work for the first time: its set may have tables to build, its
    oracle a solver to load.
    """
    if not work:
        return []
    steps = [(resident.lived, operation) for resident, operation in work]
    policies = [resident.row.policy for resident, _ in work]
    started = time.perf_counter()
    with unproven_answers() as unproven:
        if sum(map(unit.residents.pace, policies)) < _LONG:
            found = perform(steps)
        else:
            found = await asyncio.to_thread(perform, steps)
    unit.counts["unproven"] += unproven.count
    seconds = (time.perf_counter() - started) / len(work)
    for policy in set(policies):
        unit.residents.note_pace(policy, seconds)
    return found


def perform(work: Sequence[tuple[Lived, Operation]]) -> list[Done]:
    """Let each learner do its operation and return what came of it, or the error that refused it.

    The learners are all different: those of one policy that are asked alike, or told, are computed
    together, as lanes of one rule.
    """
    if len(work) == 1:
        return [_perform(*work[0])]
    found: list[Done | None] = [None] * len(work)
    asks: dict[tuple[int, str], list[tuple[int, Offer]]] = defaultdict(list)
    tells: dict[int, list[int]] = defaultdict(list)
    for place, (lived, operation) in enumerate(work):
        match operation:
            case Ask(available=available, count=1):
                try:
                    allowed = availability(available, lived.policy.action_set)
                except SparseBanditsError as error:
                    found[place] = RefusedError("invalid", str(error))
                    continue
                asks[id(lived.policy), repr(allowed)].append((place, allowed))
            case Tell():
                tells[id(lived.policy)].append(place)
            case _:
                found[place] = _perform(lived, operation)
    for alike in asks.values():
        answers = _ask_together([work[place] for place, _ in alike], alike[0][1])
        for (place, _), done in zip(alike, answers, strict=True):
            found[place] = done
    for places in tells.values():
        answers = _tell_together([work[place] for place in places])
        for place, done in zip(places, answers, strict=True):
            found[place] = done
    return [done for done in found if done is not None]


def _ask_together(work: Sequence[tuple[Lived, Operation]], allowed: Offer) -> list[Done]:
    contexts = [operation.context if isinstance(operation, Ask) else None for _, operation in work]
    decisions = ask_together([lived.learner for lived, _ in work], allowed, contexts)
    return [
        Asked.of([learners.choice_of(decision)], allowed, context)
        if isinstance(decision, Decision)
        else RefusedError("invalid", str(decision))
        for decision, context in zip(decisions, contexts, strict=True)
    ]


def _tell_together(work: Sequence[tuple[Lived, Operation]]) -> list[Done]:
    told = [(lived, operation) for lived, operation in work if isinstance(operation, Tell)]
    refusals = tell_together(
        [lived.learner for lived, _ in told],
        [operation.id for _, operation in told],
        [operation.reward for _, operation in told],
    )
    return [
        Rewarded(operation.reward) if refusal is None else RefusedError("invalid", str(refusal))
        for (_, operation), refusal in zip(told, refusals, strict=True)
    ]


def _perform(lived: Lived, operation: Operation) -> Done:
    """Do what a learner does by itself."""
    learner = lived.learner
    try:
        match operation:
            case Ask(available=available, context=context, count=count):
                allowed = availability(available, lived.policy.action_set)
                choices = learners.ask(learner, allowed, context, count)
                return Asked.of(choices, allowed, context)
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


def _answers(
    unit: UnitOfWork, work: Sequence[tuple[Resident, Operation]], computed: Sequence[Done]
) -> list[Result]:
    results: list[Result] = []
    for (resident, operation), content in zip(work, computed, strict=True):
        if isinstance(content, RefusedError):
            results.append(content)
            continue
        match operation, content:
            case Ask(), Asked():
                first = resident.row.decisions + 1
                event = journal.record(unit, resident, log.ASK, first, content)
                names = resident.lived.policy.action_set.names
                views = [
                    _decision_view(number, choice, names, event.at)
                    for number, choice in enumerate(content.choices, start=first)
                ]
                results.append(
                    Outcome(200, {"decisions": views, "dim": resident.lived.policy.action_set.dim})
                )
            case Tell(id=id), Rewarded(reward=reward):
                journal.record(unit, resident, log.TELL, id, content)
                results.append(Outcome(200, {"id": id, "reward": reward, "state": "told"}))
            case Forget(id=id), _:
                journal.record(unit, resident, log.FORGET, id, content)
                results.append(Outcome(200, {"id": id, "state": "forgotten"}))
            case Observe(), Observed(pairs=pairs):
                journal.record(unit, resident, log.OBSERVE, None, content)
                results.append(Outcome(200, {"observed": len(pairs)}))
    return results


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
