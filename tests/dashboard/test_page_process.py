"""Pages are computed beside the server, in a process of their own that never outlives it."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import sparsebandits as sb
from tests.dashboard.logs import write_log
from tests.dashboard.visitors import Visitors
from tests.service.servers import Farm, Server


def workers(server: Server) -> list[int]:
    """The processes that a server has started."""
    listed = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text()
    return [int(pid) for pid in listed.split()]


def spent(pid: int) -> float:
    """Processor time of a process so far, in ticks."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def gone(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 10
    while not gone(pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_server_computes_no_page(visitors: Visitors) -> None:
    server = visitors.server
    assert workers(server) == []  # nobody has looked
    ball = sb.SparseThompson(action_set=sb.LpBall(20), sparsity=3)
    write_log(server.store, "busy", ball, lambda number, action: float(action.sum()), 3000)
    client = visitors.enter()
    [worker] = workers(server)
    command = Path(f"/proc/{worker}/cmdline").read_text()
    assert server.store.rpartition("/")[2] not in command  # its address may have a password
    client.get("/")
    before = {pid: spent(pid) for pid in (server.pid, worker)}
    for path in ("", "/health", "/decisions", "/what-if", "/decisions.csv"):
        assert client.get(f"/learners/busy{path}").status_code == 200
    server_ticks, worker_ticks = (spent(pid) - before[pid] for pid in (server.pid, worker))
    assert server_ticks < worker_ticks / 4
    assert os.getpriority(os.PRIO_PROCESS, worker) > os.getpriority(os.PRIO_PROCESS, server.pid)


def test_a_worker_that_dies_is_replaced(visitors: Visitors) -> None:
    client = visitors.enter()
    assert client.get("/").status_code == 200
    [first] = workers(visitors.server)
    os.kill(first, signal.SIGSTOP)
    page = client.build_request("GET", "/")
    with client.stream("GET", "/login"):  # the server answers all the same
        pass
    os.kill(first, signal.SIGKILL)
    wait_until_gone(first)
    statuses = [client.send(page).status_code for _ in range(2)]
    assert statuses[-1] == 200
    assert set(statuses) <= {200, 503}
    assert workers(visitors.server) != [first]


def test_no_worker_outlives_its_server(nursery: "subprocess.Popen[str]", tmp_path: Path) -> None:
    for end in (signal.SIGKILL, signal.SIGTERM):
        farm = Farm(nursery, tmp_path)
        server = farm.serve(f"sqlite:///{tmp_path / 'store.db'}", pages=True)
        client = Visitors(server).client("")
        assert re.search("Token", client.get("/login").text)
        [worker] = workers(server)
        client.close()
        server.send(end)
        server.wait()
        wait_until_gone(worker)
