"""What a client sends and how it reads the answer, whichever way it is sent."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np

from sparsebandits.action_sets import AllBut
from sparsebandits.errors import SparseBanditsError
from sparsebandits.policies import Decision, Learner, Policy
from sparsebandits.validation import FloatArray, brief_repr, read_only


class ServiceError(SparseBanditsError):
    """The server has refused a request, or cannot be reached.

    Attributes
    ----------
    status : int
        Of HTTP.
    kind : str
        The last word of the problem's type, such as "unknown-learner".

    Examples
    --------
    >>> import sparsebandits as sb
    >>> with sb.Client("http://127.0.0.1:9", "a token", patience=0.0) as client:
    ...     try:
    ...         client.learner("spring-campaign").ask()
    ...     except sb.ServiceError as error:
    ...         print(error.status, error.kind)
    503 unreachable
    """

    def __init__(self, status: int, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind

    @classmethod
    def of(cls, status: int, body: bytes) -> "ServiceError":
        """Read a problem; a proxy in between may have sent anything."""
        try:
            problem = json.loads(body)
            return cls(status, problem["type"].rpartition(":")[2], problem["detail"])
        except (ValueError, LookupError, TypeError, AttributeError):
            return cls(status, "unknown", f"The server answered {status}: {body[:200]!r}")


@dataclass(frozen=True, eq=False)
class RemoteDecision:
    """A decision from a server; see `Decision`.

    Attributes
    ----------
    id : int
    action : (dim,) array
        Read-only.
    named : dict
        The non-zeros, by the names of the coordinates, or by their indices as texts.
    phase : str
    cycle : int
    asked_at : str
        In UTC.
    """

    __repr__ = brief_repr

    id: int
    action: FloatArray
    named: Mapping[str, float]
    phase: str
    cycle: int
    asked_at: str


Told = Decision | RemoteDecision | int


@dataclass(frozen=True)
class Message:
    """A request, and how its answer is read."""

    method: str
    path: str
    body: Any = None
    parse: Callable[[Any], Any] = lambda answer: answer

    def read(self, status: int, content: bytes) -> Any:
        """Return what a 2xx says; raise what anything else says."""
        if not 200 <= status < 300:
            raise ServiceError.of(status, content)
        return self.parse(json.loads(content))


def _path(key: str, rest: str = "") -> str:
    return f"/v1/learners/{quote(key, safe='')}{rest}"


def create(
    key: str,
    policy: Policy,
    seed: int,
    reward_wait: float | None,
    default_reward: float | None,
) -> Message:
    """Make a learner."""
    body = {
        "policy": policy.to_dict(),
        "seed": seed,
        "reward_wait": reward_wait,
        "default_reward": default_reward,
    }
    return Message("PUT", _path(key), body)


def ask(
    key: str,
    available: Any,
    context: Sequence[float] | None,
    count: int | None,
) -> Message:
    """Ask for a decision, or for a list of `count`."""
    body: dict[str, Any] = {"count": 1 if count is None else count}
    if available is not None:
        body["available"] = (
            {"all_but": list(available.coordinates)}
            if isinstance(available, AllBut)
            else np.asarray(available).tolist()
        )
    if context is not None:
        body["context"] = np.asarray(context, dtype=float).tolist()

    def parse(answer: Any) -> Any:
        decisions = [_decision(entry, answer["dim"]) for entry in answer["decisions"]]
        return decisions[0] if count is None else decisions

    return Message("POST", _path(key, "/ask"), body, parse)


def _decision(entry: Mapping[str, Any], dim: int) -> RemoteDecision:
    action = np.zeros(dim)
    action[entry["indices"]] = list(entry["action"].values())
    return RemoteDecision(
        id=entry["id"],
        action=read_only(action),
        named=entry["action"],
        phase=entry["phase"],
        cycle=entry["cycle"],
        asked_at=entry["asked_at"],
    )


def tell(key: str, decision: Told, reward: float, correct: bool) -> Message:
    """Tell the reward of a decision."""
    end = "?correct=true" if correct else ""
    rest = f"/decisions/{_number(decision)}/reward{end}"
    return Message("PUT", _path(key, rest), {"reward": reward}, lambda answer: None)


def forget(key: str, decision: Told) -> Message:
    """Close a decision."""
    rest = f"/decisions/{_number(decision)}"
    return Message("DELETE", _path(key, rest), None, lambda answer: None)


def _number(decision: Told) -> int:
    return decision if isinstance(decision, int) else decision.id


def observe(key: str, actions: Any, rewards: Any) -> Message:
    """Learn from logged pairs."""
    body = {"actions": np.asarray(actions).tolist(), "rewards": np.asarray(rewards).tolist()}
    return Message("POST", _path(key, "/observe"), body, lambda answer: None)


def look(key: str, rest: str = "") -> Message:
    """Read something of a learner."""
    return Message("GET", _path(key, rest))


def export(key: str) -> Message:
    """Fetch the whole learner."""
    return Message("GET", _path(key, "/export"), None, Learner.from_dict)


def remove(key: str, purge: bool) -> Message:
    """Remove a learner."""
    end = "?purge=true" if purge else ""
    return Message("DELETE", _path(key, end), None, lambda answer: None)


def import_learner(key: str, learner: Learner) -> Message:
    """Send a learner to the server."""
    return Message("POST", "/v1/import", {"key": key, "learner": learner.to_dict()})
