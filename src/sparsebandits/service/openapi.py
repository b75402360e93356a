"""The description of the interface, written from the table of calls."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from sparsebandits.policies import Policy
from sparsebandits.service import schemas
from sparsebandits.service.answers import JSON, PROBLEM, Problem
from sparsebandits.version import __version__

if TYPE_CHECKING:
    from sparsebandits.service.call import Call

_ALWAYS = (401, 403, 503)
_WITH_INPUT = (408, 413, 422)
_PARAMETERS: dict[str, dict[str, Any]] = {
    "key": {"type": "string", "pattern": schemas.KEY_PATTERN},
    "id": {"type": "integer", "minimum": 1, "maximum": schemas.LARGEST_SEED},
    "prefix": {"type": "string", "pattern": schemas.KEY_PATTERN},
    "after": {"type": "integer", "minimum": 0, "maximum": schemas.LARGEST_SEED},
    "after_key": {"type": "string", "pattern": schemas.KEY_PATTERN},
    "limit": {"type": "integer", "minimum": 0, "maximum": 1000},
    "purge": {"type": "boolean"},
    "correct": {"type": "boolean"},
}
_POLICY = {
    "kind": "sparse-thompson",
    "action_set": {"kind": "box", "lower": [0, 0, 0], "upper": [1, 1, 1]},
    "sparsity": 1,
}
_EXAMPLES: dict[type, Any] = {
    schemas.CreateBody: {"policy": _POLICY, "seed": 0},
    schemas.AskBody: {"count": 1, "available": {"all_but": [1]}},
    schemas.RewardBody: {"reward": 0.7},
    schemas.ObserveBody: {"actions": [{"0": 1.0}, [0, 0, 1]], "rewards": [0.2, 0.9]},
    schemas.AskManyBody: {"asks": [{"learner": "spring-campaign"}]},
    schemas.TellManyBody: {"tells": [{"learner": "spring-campaign", "id": 1, "reward": 0.7}]},
    schemas.SolveBody: {
        "action_set": {"kind": "lp-ball", "dim": 3, "p": 2},
        "theta": [0.5, -1, 0.1],
        "sparsity": {"at_most": 2, "never_together": [[0, 1]]},
    },
}


@cache
def _examples() -> dict[type, Any]:
    """Return an example of every body; that of an import is a learner as it is saved."""
    saved = Policy.from_dict(_POLICY).start(0).to_dict()
    return {**_EXAMPLES, schemas.ImportBody: {"key": "autumn-campaign", "learner": saved}}


def describe_api(calls: Sequence["Call"]) -> dict[str, Any]:
    """Return the OpenAPI description."""
    bodies = [call.body for call in calls if call.body is not None]
    _, components = msgspec.json.schema_components(
        [*bodies, Problem], ref_template="#/components/schemas/{name}"
    )
    paths: dict[str, dict[str, Any]] = {}
    for call in calls:
        paths.setdefault(call.path, {})[call.method.lower()] = _operation(call)
    return {
        "openapi": "3.1.0",
        "info": {"title": "sparsebandits", "version": __version__},
        "paths": paths,
        "security": [{"token": []}],
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(call: "Call") -> dict[str, Any]:
    statuses = {*call.statuses, *_ALWAYS, *(_WITH_INPUT if "{" in call.path or call.body else ())}
    if call.query:
        statuses.add(422)
    described: dict[str, Any] = {
        "operationId": call.name.replace(" ", "_"),
        "summary": call.about,
        "description": f"Needs a token of scope {call.scope}.",
        "parameters": _parameters(call),
        "responses": {str(status): _response(status) for status in sorted(statuses)},
    }
    if call.body is not None:
        content: dict[str, Any] = {"schema": {"$ref": f"#/components/schemas/{call.body.__name__}"}}
        content["example"] = _examples()[call.body]
        is_needed = call.body is not schemas.AskBody
        described["requestBody"] = {"required": is_needed, "content": {JSON: content}}
    return described


def _parameters(call: "Call") -> list[dict[str, Any]]:
    in_path = [name for name in ("key", "id") if f"{{{name}}}" in call.path]
    found = [
        {"name": name, "in": "path", "required": True, "schema": _PARAMETERS[name]}
        for name in in_path
    ]
    for name in call.query:
        schema = "after_key" if name == "after" and call.name == "list learners" else name
        found.append({"name": name, "in": "query", "schema": _PARAMETERS[schema]})
    if call.method == "POST":
        found.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "description": "The same key and body again: the same answer, counted once.",
                "schema": {"type": "string", "pattern": "^[!-~]{1,200}$"},
            }
        )
    return found


def _response(status: int) -> dict[str, Any]:
    if status < 300:
        return {"description": "Done.", "content": {JSON: {"schema": {"type": "object"}}}}
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": "Refused.", "content": {PROBLEM: {"schema": schema}}}
