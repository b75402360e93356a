"""How a request is answered: JSON, or a problem (RFC 9457) that says what to do."""

from typing import Any

import msgspec

from sparsebandits.errors import SparseBanditsError

encode = msgspec.json.Encoder().encode
JSON, PROBLEM = "application/json", "application/problem+json"


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a request was refused."""

    type: str
    title: str
    status: int
    detail: str


class Answer(msgspec.Struct, frozen=True):
    """A status, a body, and seconds after which to try again."""

    status: int
    body: bytes
    content_type: str = JSON
    retry_after: int | None = None
    was_stored: bool = False


TITLES = {
    "malformed": (400, "The request is not what HTTP and JSON allow"),
    "no-token": (401, "A valid token is needed"),
    "narrow-token": (403, "The token does not reach so far"),
    "unknown-path": (404, "There is nothing at this address"),
    "unknown-learner": (404, "There is no such learner"),
    "unknown-decision": (404, "There is no such decision"),
    "wrong-method": (405, "This address does not take this method"),
    "learner-differs": (409, "The learner exists and is another"),
    "reward-differs": (409, "Another reward was told before"),
    "decision-closed": (409, "The decision is closed"),
    "removed": (410, "The learner was removed"),
    "too-slow": (408, "The body did not come"),
    "too-large": (413, "The body is too large"),
    "invalid": (422, "The request cannot be carried out"),
    "key-reused": (422, "The idempotency key was used for another request"),
    "internal": (500, "The server made a mistake"),
    "unavailable": (503, "The store cannot be reached now"),
    "damaged": (503, "What is stored is damaged"),
    "busy": (503, "Too many requests are waiting"),
    "stopping": (503, "The server is stopping"),
}
"""Every kind of problem: its status and title."""

_RETRY_AFTER = {"unavailable": 1, "busy": 1, "stopping": 1}


class RefusedError(SparseBanditsError):
    """A request that is answered with a problem and has changed nothing."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail

    @property
    def problem(self) -> Problem:
        """What is sent."""
        status, title = TITLES[self.kind]
        return Problem(
            type=f"urn:sparsebandits:{self.kind}", title=title, status=status, detail=self.detail
        )

    @property
    def answer(self) -> Answer:
        """What is sent, as an answer."""
        problem = self.problem
        retry_after = _RETRY_AFTER.get(self.kind)
        return Answer(problem.status, encode(problem), PROBLEM, retry_after)


def ok(body: Any, status: int = 200) -> Answer:
    """Return an answer with a JSON body."""
    return Answer(status, encode(body))
