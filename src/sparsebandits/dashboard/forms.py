"""What forms do: ask, tell and forget through the service's own operations; make a learner."""

import asyncio
import json
from collections.abc import Callable

from fastapi import Request, Response

from sparsebandits.dashboard import new_learner
from sparsebandits.dashboard.access import Visit
from sparsebandits.errors import SparseBanditsError
from sparsebandits.service import learner_calls, schemas
from sparsebandits.service.answers import Answer, RefusedError
from sparsebandits.service.call import Service
from sparsebandits.service.context import Context, as_key
from sparsebandits.service.groups import Job, single
from sparsebandits.service.operations import Ask, Forget, Operation, Tell
from sparsebandits.validation import as_reward


class Forms:
    """The forms of a service."""

    def __init__(self, service: Callable[[], Service]) -> None:
        self._service = service

    async def _carry_out(self, visit: Visit, operation: Operation, said: str) -> Response:
        """Carry out an operation, and go back to the decisions with what came of it."""
        answer = await self._service().engine.submit(Job([operation], single))
        return visit.go_to(f"/learners/{visit.key}/decisions", _outcome(answer, said))

    async def ask(self, visit: Visit) -> Response:
        """Ask for a decision."""
        numbers = visit.form.get("context", "").replace(",", " ").split()
        context = [_number("An entry of the context", text) for text in numbers] or None
        operation = Ask(visit.key, None, context, 1)
        return await self._carry_out(visit, operation, "A decision was given out.")

    async def tell(self, visit: Visit) -> Response:
        """Tell the reward of a decision, or another in its place."""
        number = _id(visit.form.get("id", ""))
        reward = as_reward(_number("The reward", visit.form.get("reward", "")))
        operation = Tell(visit.key, number, reward, "correct" in visit.form)
        return await self._carry_out(
            visit, operation, f"Decision {number} has the reward {reward:g}."
        )

    async def forget(self, visit: Visit) -> Response:
        """Close a decision whose reward will never come."""
        number = _id(visit.form.get("id", ""))
        operation = Forget(visit.key, number)
        return await self._carry_out(visit, operation, f"Decision {number} is forgotten.")

    # ------------------------------------------------------------------ a new learner

    async def show_new(self, visit: Visit) -> Response:
        """Show the form for a new learner."""
        return self._new_page(visit, new_learner.DEFAULTS)

    def _new_page(
        self,
        visit: Visit,
        values: dict[str, str],
        new: new_learner.NewLearner | None = None,
        problem: str = "",
        made: bool = False,
    ) -> Response:
        address = address_of(visit.request)
        return visit.page(
            "new.html",
            status=422 if problem else 201 if made else 200,
            values=values,
            new=new,
            problem=problem,
            made=made,
            sets=new_learner.SETS,
            kinds=new_learner.KINDS,
            curl="" if new is None else new_learner.curl_lines(new, address),
            python="" if new is None else new_learner.python_lines(new, address),
        )

    async def make(self, visit: Visit) -> Response:
        """Show what a new learner would do first, and make it where that is wanted."""
        values = {name: visit.form.get(name, usual) for name, usual in new_learner.DEFAULTS.items()}
        service = self._service()
        try:
            key = as_key(values["key"].strip())
            visit.session.caller.need("admin", [key])
            max_dim = service.settings.max_dim
            new = await asyncio.to_thread(new_learner.read_form, values, max_dim)
            if visit.form.get("do") != "make":
                return self._new_page(visit, values, new)
            body = schemas.CreateBody(
                policy=new.policy.to_dict(),
                seed=new.seed,
                reward_wait=new.reward_wait,
                default_reward=new.default_reward,
            )
            # The call finds the key where a PUT has it.
            visit.request.scope["path_params"] = {"key": key}
            answer = await learner_calls.create(
                service, Context(visit.request, visit.session.caller, body)
            )
            _outcome(answer, "")
        except RefusedError as refusal:
            if refusal.problem.status == 403:
                raise
            return self._new_page(visit, values, problem=refusal.detail)
        except (SparseBanditsError, OverflowError, MemoryError) as error:
            return self._new_page(visit, values, problem=str(error))
        return self._new_page(visit, values, new, made=True)


def _outcome(answer: Answer, said: str) -> str:
    """Return what is said of an answer; one that refuses is raised."""
    if answer.status < 400:
        return said
    problem = json.loads(answer.body)
    detail, is_told, _ = problem["detail"].partition("; ?correct=true")
    if is_told:  # what to do in a form, and not in an address
        detail += "; to tell this one all the same, tick 'in the place of one told before'."
    raise RefusedError(problem["type"].rpartition(":")[2], detail)


def _id(text: str) -> int:
    if not (text.strip().isascii() and text.strip().isdigit() and len(text) < 20):
        raise RefusedError("unknown-decision", "A decision's number is a whole number from 1.")
    return min(int(text), schemas.LARGEST_SEED)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise RefusedError("invalid", f"{name} must be a number, got {text[:40]!r}.") from None


def address_of(request: Request) -> str:
    """Return where the browser has found this server."""
    return f"{request.url.scheme}://{request.url.netloc}"
