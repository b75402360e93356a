"""A client with the ask and tell of a learner, over HTTP; repeated until answered, counted once."""

import asyncio
import random
import time
import uuid
from collections.abc import Sequence
from typing import Any, Self

from sparsebandits.errors import SparseBanditsError
from sparsebandits.policies import Learner, Policy
from sparsebandits.service import messages
from sparsebandits.service.messages import Message, ServiceError, Told

try:
    import httpx
except ModuleNotFoundError as missing:  # the one module of the extra that a client needs
    raise SparseBanditsError(
        "sb.Client needs httpx; install it with: pip install 'sparsebandits[service]'"
    ) from missing

__all__ = ["AsyncClient", "Client", "RemoteLearner", "ServiceError"]

_SHORTEST, _LONGEST = 0.05, 2.0
"""Seconds between two tries, at first and at most."""


class Client:
    """A connection to a server of `sparsebandits serve`; it may be used by several threads.

    Parameters
    ----------
    url : str
        Such as "http://127.0.0.1:8000".
    token : str
    patience : float
        Seconds for which a request is repeated while the server cannot be reached.

    Examples
    --------
    ::

        with sb.Client("http://127.0.0.1:8000", token) as client:
            learner = client.learner("spring-campaign")
            learner.create(policy, seed=0)
            decision = learner.ask()
            learner.tell(decision, 0.7)
    """

    def __init__(self, url: str, token: str, *, patience: float = 30.0) -> None:
        self._http = httpx.Client(base_url=url, headers=_headers(token), timeout=patience)
        self._patience = patience

    def learner(self, key: str) -> "RemoteLearner":
        """Return the learner of a key; nothing is sent yet."""
        return RemoteLearner(self, key)

    def send(self, message: Message) -> Any:
        """Send a message until it is answered, and return what the answer says."""
        tries = _Tries(message, self._patience)
        while True:
            answer: httpx.Response | httpx.TransportError
            try:
                answer = self._http.request(**tries.request)
            except httpx.TransportError as error:
                answer = error
            if tries.is_final(answer):
                return tries.read(answer)
            time.sleep(tries.pause)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class AsyncClient:
    """`Client` for asyncio: what its learners return is awaited.

    Examples
    --------
    ::

        async with AsyncClient("http://127.0.0.1:8000", token) as client:
            decision = await client.learner("spring-campaign").ask()
    """

    def __init__(self, url: str, token: str, *, patience: float = 30.0) -> None:
        self._http = httpx.AsyncClient(base_url=url, headers=_headers(token), timeout=patience)
        self._patience = patience

    def learner(self, key: str) -> "RemoteLearner":
        """Return the learner of a key; nothing is sent yet."""
        return RemoteLearner(self, key)

    async def send(self, message: Message) -> Any:
        """Send a message until it is answered, and return what the answer says."""
        tries = _Tries(message, self._patience)
        while True:
            answer: httpx.Response | httpx.TransportError
            try:
                answer = await self._http.request(**tries.request)
            except httpx.TransportError as error:
                answer = error
            if tries.is_final(answer):
                return tries.read(answer)
            await asyncio.sleep(tries.pause)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


def _headers(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


class _Tries:
    """One message under way: the same key at every try, longer pauses, an end to patience."""

    def __init__(self, message: Message, patience: float) -> None:
        self._message = message
        self._deadline = time.monotonic() + patience
        self._longest = _SHORTEST
        self.pause = 0.0
        self.request: dict[str, Any] = {"method": message.method, "url": message.path}
        if message.body is not None:
            self.request["json"] = message.body
        if message.method == "POST":
            self.request["headers"] = {"Idempotency-Key": uuid.uuid4().hex}

    def is_final(self, answer: "httpx.Response | httpx.TransportError") -> bool:
        """Whether to go no further: it is answered, or patience is at its end."""
        asked = 0.0
        if isinstance(answer, httpx.Response):
            waits = answer.headers.get("retry-after", "")
            if not (answer.status_code in (502, 504) or (answer.status_code == 503 and waits)):
                return True
            asked = float(waits) if waits.isdigit() else 0.0
        self.pause = max(asked, self._longest * random.uniform(0.5, 1.0))
        self._longest = min(2 * self._longest, _LONGEST)
        return time.monotonic() + self.pause > self._deadline

    def read(self, answer: "httpx.Response | httpx.TransportError") -> Any:
        """Return what the last answer says."""
        if isinstance(answer, httpx.Response):
            return self._message.read(answer.status_code, answer.content)
        raise ServiceError(503, "unreachable", f"The server does not answer: {answer!r}.")


class RemoteLearner:
    """A learner on a server; refusals are raised as `ServiceError`.

    Of an `AsyncClient` every call returns an awaitable of what is said here.
    """

    def __init__(self, client: Client | AsyncClient, key: str) -> None:
        self._send = client.send
        self.key = key

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.key!r})"

    def create(
        self,
        policy: Policy,
        seed: int = 0,
        *,
        reward_wait: float | None = None,
        default_reward: float | None = None,
    ) -> Any:
        """Make the learner and return it in short; that it exists just so is no error."""
        return self._send(messages.create(self.key, policy, seed, reward_wait, default_reward))

    def ask(
        self,
        available: Any = None,
        context: Sequence[float] | None = None,
        count: int | None = None,
    ) -> Any:
        """Return the next `RemoteDecision`, or with `count` a list of so many.

        `available` is a mask, indices or names.
        """
        return self._send(messages.ask(self.key, available, context, count))

    def tell(self, decision: Told, reward: float) -> Any:
        """Tell the reward of a decision; the same again does nothing."""
        return self._send(messages.tell(self.key, decision, reward, correct=False))

    def correct(self, decision: Told, reward: float) -> Any:
        """Replace the reward of a decision."""
        return self._send(messages.tell(self.key, decision, reward, correct=True))

    def forget(self, decision: Told) -> Any:
        """Close a decision whose reward will never come."""
        return self._send(messages.forget(self.key, decision))

    def warm_start(self, actions: Any, rewards: Any) -> Any:
        """Learn from logged pairs."""
        return self._send(messages.observe(self.key, actions, rewards))

    def info(self) -> Any:
        """Return the learner in short, a dict."""
        return self._send(messages.look(self.key))

    def certificate(self) -> Any:
        """Return how sure the learner is, a dict."""
        return self._send(messages.look(self.key, "/certificate"))

    def posterior(self) -> Any:
        """Return what is believed of each coordinate, a dict."""
        return self._send(messages.look(self.key, "/posterior"))

    def history(self, after: int = 0) -> Any:
        """Return a page of the log, a dict; its "next" is the `after` of the next page."""
        return self._send(messages.look(self.key, f"/history?after={after}"))

    def export(self) -> Any:
        """Return the `Learner` itself, to go on with here, bit for bit."""
        return self._send(messages.export(self.key))

    def import_from(self, learner: Learner) -> Any:
        """Let the server go on with a learner, under this key."""
        return self._send(messages.import_learner(self.key, learner))

    def remove(self, *, purge: bool = False) -> Any:
        """Remove the learner; `purge` deletes it for good."""
        return self._send(messages.remove(self.key, purge))
