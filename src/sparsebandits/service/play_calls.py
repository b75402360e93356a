"""Calls by which learners are played: ask, tell, forget, observe; one learner or many."""

from collections.abc import Callable, Sequence

from sparsebandits.service import schemas
from sparsebandits.service.answers import Answer, RefusedError, ok
from sparsebandits.service.call import Service, run
from sparsebandits.service.context import Context
from sparsebandits.service.operations import Ask, Forget, Observe, Result, Tell
from sparsebandits.validation import as_reward


async def ask(service: Service, context: Context) -> Answer:
    """Ask for decisions to play."""
    body: schemas.AskBody = context.body
    operation = Ask(context.key, body.available, body.context, body.count)
    return await run(service, context, [operation])


async def tell(service: Service, context: Context) -> Answer:
    """Tell the reward of a decision; the same again 200, another 409 unless correct=true."""
    reward = as_reward(context.body.reward)
    operation = Tell(context.key, context.id, reward, context.flag("correct"))
    return await run(service, context, [operation])


async def forget(service: Service, context: Context) -> Answer:
    """Close a decision whose reward will never come."""
    return await run(service, context, [Forget(context.key, context.id)])


async def observe(service: Service, context: Context) -> Answer:
    """Learn from logged pairs that were never asked for."""
    body: schemas.ObserveBody = context.body
    if len(body.actions) != len(body.rewards):
        raise RefusedError(
            "invalid",
            f"actions and rewards must be equally many, got {len(body.actions)} and "
            f"{len(body.rewards)}.",
        )
    return await run(service, context, [Observe(context.key, body.actions, body.rewards)])


async def ask_many(service: Service, context: Context) -> Answer:
    """Ask many learners."""
    body: schemas.AskManyBody = context.body
    _check_total(sum(item.count for item in body.asks))
    context.caller.need("play", [item.learner for item in body.asks])
    operations = [Ask(item.learner, item.available, item.context, item.count) for item in body.asks]
    return await run(service, context, operations, _listed("decisions"))


async def tell_many(service: Service, context: Context) -> Answer:
    """Tell many learners rewards."""
    body: schemas.TellManyBody = context.body
    context.caller.need("play", [item.learner for item in body.tells])
    operations = [
        Tell(item.learner, item.id, as_reward(item.reward), item.correct) for item in body.tells
    ]
    return await run(service, context, operations, _listed("state"))


def _check_total(count: int) -> None:
    if count > schemas.LARGEST_COUNT:
        raise RefusedError(
            "invalid", f"Ask for up to {schemas.LARGEST_COUNT} decisions at once, got {count}."
        )


def _listed(name: str) -> Callable[[Sequence[Result]], Answer]:
    """Answer a request of many operations, each by its result or the problem."""

    def compose(results: Sequence[Result]) -> Answer:
        answers = [
            {"status": result.problem.status, "problem": result.problem}
            if isinstance(result, RefusedError)
            else {"status": result.status, name: result.body[name]}
            for result in results
        ]
        return ok({"answers": answers})

    return compose
