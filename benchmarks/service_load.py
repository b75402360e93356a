"""Clients for `service.py`, in a process of their own: raw HTTP, so that they cost little.

Prints a line of JSON: requests per second and the quantiles of latency.
"""

import argparse
import asyncio
import json
import random
import time
from collections.abc import Callable
from typing import Any


class Connection:
    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._head = f"Host: x\r\nAuthorization: Bearer {token}\r\n"
        self.seconds: list[float] = []

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    async def send(self, method: str, path: str, body: Any) -> bytes:
        content = json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\n{self._head}Content-Length: {len(content)}\r\n\r\n"
        started = time.perf_counter()
        self._writer.write(head.encode() + content)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        place = answer.index(b"content-length:") + 15
        found = await self._reader.readexactly(int(answer[place : answer.index(b"\r\n", place)]))
        self.seconds.append(time.perf_counter() - started)
        assert answer[9:10] == b"2", (answer, found)
        return found

    def close(self) -> None:
        self._writer.close()


async def play(
    connection: Connection, keys: range, goes_on: Callable[[], bool], draw: random.Random
) -> int:
    """Ask and tell until it is over; return the number of pairs."""
    pairs = 0
    while goes_on():
        key = f"k{draw.choice(keys)}"
        answer = json.loads(await connection.send("POST", f"/v1/learners/{key}/ask", {}))
        number = answer["decisions"][0]["id"]
        path = f"/v1/learners/{key}/decisions/{number}/reward"
        await connection.send("PUT", path, {"reward": draw.random()})
        pairs += 1
    return pairs


def limit(options: argparse.Namespace) -> Callable[[], bool]:
    """Return what says whether to go on: for so many pairs of all clients, or for so long."""
    if options.pairs is not None:
        left = iter(range(options.pairs))
        return lambda: next(left, None) is not None
    until = time.perf_counter() + options.seconds
    return lambda: time.perf_counter() < until


async def populate(connection: Connection, keys: range, policy: Any, asks: bool) -> int:
    """Create learners, unless they exist, and ask each once; only the asks are timed."""
    if policy is not None:
        for key in keys:
            await connection.send("PUT", f"/v1/learners/k{key}", {"policy": policy, "seed": key})
    connection.seconds.clear()
    if asks:
        for key in keys:
            await connection.send("POST", f"/v1/learners/k{key}/ask", {})
    return len(keys)


async def run(options: argparse.Namespace) -> dict[str, float]:
    connections = [Connection(options.port, options.token) for _ in range(options.clients)]
    for connection in connections:
        await connection.open()
    started = time.perf_counter()
    if options.policy is None and not options.asks:
        goes_on = limit(options)
        work = [
            play(connection, range(options.first, options.first + options.learners), goes_on,
                 random.Random(place))
            for place, connection in enumerate(connections)
        ]  # fmt: skip
    else:
        policy = None if options.policy is None else json.loads(options.policy)
        last = options.first + options.learners
        work = [
            populate(connection, range(options.first + place, last, options.clients), policy,
                     options.asks)
            for place, connection in enumerate(connections)
        ]  # fmt: skip
    done = sum(await asyncio.gather(*work))
    elapsed = time.perf_counter() - started
    seconds = sorted(each for connection in connections for each in connection.seconds) or [0.0]
    for connection in connections:
        connection.close()
    return {
        "done": done,
        "rate": done / elapsed,
        "median": seconds[len(seconds) // 2],
        "p99": seconds[int(len(seconds) * 0.99)],
        "mean": sum(seconds) / len(seconds),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("token")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--learners", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--pairs", type=int, help="in the place of seconds")
    parser.add_argument("--policy")
    parser.add_argument("--asks", action="store_true")
    print(json.dumps(asyncio.run(run(parser.parse_args()))))


if __name__ == "__main__":
    main()
