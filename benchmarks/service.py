"""The service as ratios of one run: rate, latency, durability, size, start; and beside Optuna.

Run with ``python benchmarks/service.py``, on a machine that does nothing else. Optuna is asked for
in an environment of its own: ``--optuna PYTHON`` names an interpreter that has optuna and grpcio.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ratios import Ratio

import sparsebandits as sb

HERE = Path(__file__).parent
POLICY = sb.SparseThompson(action_set=sb.LpBall(dim=20), sparsity=5).to_dict()
ROUNDS, PAIRS, SECONDS = 5, 3000, 8.0

SERVE = """
import json, sys
from sparsebandits.service.server import listen, run
from sparsebandits.service.settings import Settings
bound = listen("127.0.0.1", 0)
ready = lambda: print(bound.getsockname()[1], flush=True)
run(Settings(**json.loads(sys.argv[1])), bound, ready=ready, log_requests=False)
"""

CONSTANT = """
import sys
import uvicorn
from fastapi import FastAPI
from sparsebandits.service.server import listen
app = FastAPI()
action = {"6": 0.38711915, "9": -0.37566631, "12": -0.69023306, "14": -0.36987421, "19": 0.30949147}
decision = {"id": 1, "action": action, "phase": "exploit", "asked_at": "2026-01-01T00:00:00Z"}
@app.post("/v1/learners/{key}/ask")
async def ask(key: str):
    return {"decisions": [decision]}
@app.put("/v1/learners/{key}/decisions/{number}/reward")
async def tell(key: str, number: int):
    return {"id": 1, "reward": 0.7, "state": "told"}
bound = listen("127.0.0.1", 0)
print(bound.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False)).run(sockets=[bound])
"""

OPTUNA = """
import sys, threading, time
import optuna
from optuna.storages import GrpcStorageProxy, RDBStorage, run_grpc_proxy_server
optuna.logging.set_verbosity(optuna.logging.ERROR)
file, port, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
if sys.argv[4] == "serve":
    run_grpc_proxy_server(RDBStorage(f"sqlite:///{file}"), host="127.0.0.1", port=port)
box = {f"x{i}": optuna.distributions.FloatDistribution(0.0, 1.0) for i in range(20)}
proxy = GrpcStorageProxy(host="127.0.0.1", port=port)
proxy.wait_server_ready(timeout=60)
sampler = optuna.samplers.RandomSampler(seed=0)  # the least that a sampler can cost
study = optuna.create_study(storage=proxy, sampler=sampler)
pairs, until = [], time.perf_counter() + seconds
def play():
    while time.perf_counter() < until:
        trial = study.ask(box)
        study.tell(trial, 0.5)
        pairs.append(1)
threads = [threading.Thread(target=play) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(pairs) / seconds)
"""


@dataclass(frozen=True)
class Server:
    pid: int
    port: int
    token: str
    start: float

    @property
    def megabytes(self) -> float:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    @property
    def cpu(self) -> float:
        """The seconds that it has computed: a busy machine changes them little."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def running(code: str, *arguments: str, token: str = "") -> Iterator[Server]:
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        yield Server(process.pid, port, token, time.perf_counter() - started)
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def serving(folder: str, name: str, **settings: Any) -> Iterator[Server]:
    url = f"sqlite:///{folder}/{name}.db"
    token = asyncio.run(new_token(url))
    with running(SERVE, json.dumps({"store": url, **settings}), token=token) as server:
        yield server


async def new_token(url: str) -> str:
    from sparsebandits.service.auth import make_token
    from sparsebandits.store import open_store

    store = open_store(url)
    await store.prepare()
    token, row = make_token("admin")
    async with store.transaction() as transaction:
        await transaction.add_token(row)
    await store.close()
    return token


def load(server: Server, *options: object) -> dict[str, float]:
    command = [sys.executable, HERE / "service_load.py", server.port, server.token or "x", *options]
    before = server.cpu
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
    answer: dict[str, float] = json.loads(done.stdout)
    return {**answer, "cpu": (server.cpu - before) / answer["done"]}


def create(
    server: Server, learners: int, first: int = 0, *, asks: bool = False
) -> dict[str, float]:
    options = ["--first", first, "--learners", learners, "--policy", json.dumps(POLICY)]
    return load(server, *options, *(["--asks"] if asks else []))


def ask_each(server: Server, learners: int, first: int = 0) -> dict[str, float]:
    """Ask learners that exist, each once."""
    return load(server, "--first", first, "--learners", learners, "--asks")


def side_by_side(
    measures: dict[str, Callable[[], dict[str, float]]],
) -> dict[str, dict[str, float]]:
    """Return the median of each figure over rounds in which all take turns."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in measures}
    for _ in range(ROUNDS):
        for name, measure in measures.items():
            found[name].append(measure())
    return {
        name: {key: statistics.median(each[key] for each in rounds) for key in rounds[0]}
        for name, rounds in found.items()
    }


def faster(what: str, ours: float, theirs: float, bound: float, note: str = "") -> Ratio:
    """Compare rates by the time that each pair takes."""
    return Ratio(what, 1 / ours, 1 / theirs, bound, at_least=True, note=note)


def rates() -> list[Ratio]:
    """Compare rates. The one learner is played on from round to round, as a busy one is.

    The more a learner knows, the longer it holds a decision, and the less asking it costs; of a
    thousand none comes that far. What lanes save is seen beside one that is new in each round: a
    line of its own, which depends on `PAIRS`, since by them it ages.
    """
    turns, pairs = itertools.count(1000), ("--pairs", PAIRS)
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(folder, "durable") as durable,
        serving(folder, "fragile", synchronous="OFF") as fragile,
        running(CONSTANT) as constant,
    ):
        create(durable, 1000 + ROUNDS)
        create(fragile, 1)
        found = side_by_side(
            {
                "constant": lambda: load(constant, *pairs),
                "one": lambda: load(durable, *pairs),
                "fragile": lambda: load(fragile, *pairs),
                "new": lambda: load(durable, *pairs, "--first", next(turns)),
                "thousand": lambda: load(durable, *pairs, "--learners", 1000),
            }
        )
    one, rate = found["one"], {name: figures["rate"] for name, figures in found.items()}
    cpu = {name: figures["cpu"] for name, figures in found.items()}
    slow = Ratio("p99 of a request / the median", one["p99"], one["median"], 10, at_least=False)

    def by_cpu(ours: str, theirs: str) -> str:
        return f"by the server's CPU {cpu[theirs] / cpu[ours]:.2f}x"

    shown = f"{one['rate']:.0f} pairs/s; {by_cpu('one', 'constant')}"
    many, young = rate["thousand"], f"1,000 learners / 1 in its first {PAIRS:,} pairs"
    return [
        faster("ask + reward, 64 clients / a constant", rate["one"], rate["constant"], 0.5, shown),
        slow,
        faster("1,000 learners / 1", many, rate["one"], 1.5, by_cpu("thousand", "one")),
        faster(young, many, rate["new"], 1.5, by_cpu("thousand", "new")),
        faster("durable / not durable", rate["one"], rate["fragile"], 0.7),
    ]


def sizes(many: int) -> list[Ratio]:
    """Compare 1,000 learners, all in memory, with many of which few are, in turns."""
    resident, few, slices = 1000, [], []
    starts: dict[str, list[float]] = {"empty": [], "many": []}
    with tempfile.TemporaryDirectory() as folder:
        with serving(folder, "many", resident=resident) as server:
            base = server.megabytes
            for first in range(0, many, 10_000):
                create(server, min(10_000, many - first), first)
            kept_back = many - 1000 * ROUNDS
            ask_each(server, kept_back)
            for turn in range(ROUNDS):
                with serving(folder, f"few-{turn}", resident=resident) as small:
                    few.append(create(small, 1000, asks=True)["mean"])
                slices.append(ask_each(server, 1000, kept_back + 1000 * turn)["mean"])
            used = server.megabytes
        for _ in range(ROUNDS):
            for name, found in starts.items():
                with serving(folder, name, resident=resident) as server:
                    found.append(server.start)
    note = f"{used:.0f} MB with {resident} resident, {base:.0f} MB with none"
    among, start = (statistics.median(each) for each in (slices, starts["many"]))
    return [
        Ratio(f"an ask among {many:,} learners / among 1,000", among, statistics.median(few), 2,
              at_least=False, note=note),
        Ratio(f"start with {many:,} learners / with none", start,
              statistics.median(starts["empty"]), 5, at_least=False),
    ]  # fmt: skip


def beside_optuna(python: str) -> list[Ratio]:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder, serving(folder, "ours") as server:
        create(server, 1)
        arguments = [python, "-c", OPTUNA, f"{folder}/optuna.db", port, str(SECONDS)]
        proxy = subprocess.Popen([*arguments, "serve"])
        try:
            theirs = float(subprocess.check_output([*arguments, "play"], text=True))
        finally:
            proxy.kill()
            proxy.wait()
        ours = load(server, "--clients", 8, "--seconds", SECONDS)["rate"]
    note = f"{theirs:.1f} trials/s with its random sampler"
    return [faster("ask + tell, 8 clients / Optuna's gRPC proxy on SQLite", ours, theirs, 10, note)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--optuna", metavar="PYTHON", help="an interpreter with optuna and grpcio")
    parser.add_argument("--learners", type=int, default=100_000)
    parser.add_argument("--only", choices=["rates", "optuna", "sizes"], help="one part of it")
    options = parser.parse_args()
    parts: dict[str, Callable[[], list[Ratio]]] = {
        "rates": rates,
        "optuna": lambda: beside_optuna(options.optuna),
        "sizes": lambda: sizes(options.learners),
    }
    for name, measure in parts.items():
        if options.only not in (None, name):
            continue
        if name == "optuna" and not options.optuna:
            print("---- Optuna was not asked: name an interpreter that has it by --optuna")
            continue
        for line in measure():
            print(line, flush=True)
        print(f"     (load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)", flush=True)


if __name__ == "__main__":
    main()
