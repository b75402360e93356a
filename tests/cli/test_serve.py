"""`serve`, `token` and `db`, as commands in processes of their own."""

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import httpx
import pytest

import sparsebandits as sb
from sparsebandits.cli.service_extra import without_password
from tests.cli.in_process import run
from tests.service.playing import ask, create, exported, kind_of, tell

CODE = "from sparsebandits_command import main; main()"
PATIENCE = 60.0
ROOT = Path(__file__).parents[2]


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OPENBLAS_NUM_THREADS": "1"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@contextmanager
def serving(
    *arguments: str, code: str = CODE
) -> Iterator[tuple["subprocess.Popen[str]", list[str]]]:
    """Run `serve` on a free port, and give the lines that it prints at its start."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, "serve", "--port", "0", *arguments],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline()]
            while lines[-1] and not lines[-1].startswith("Try: "):
                lines.append(process.stdout.readline())
            yield process, lines
        finally:
            with suppress(ProcessLookupError):
                process.kill()


def test_serve_with_no_argument_says_where_it_is_and_how_to_begin() -> None:
    with serving() as (process, lines):
        address, token_line, pages, example = lines
        assert re.fullmatch(
            r"Serving http://127.0.0.1:\d+ from sqlite:///sparsebandits.db\n", address
        )
        token = token_line.split()[-1]
        curl = example.removeprefix("Try: ").strip()
        done = subprocess.run(curl, shell=True, capture_output=True, text=True, check=True)
        assert json.loads(done.stdout) == {"learners": [], "next": None}
        url = address.split()[1]
        assert pages == f"Look at it in a browser: {url}/\n"
        assert "Log in" in httpx.get(f"{url}/", follow_redirects=True).text
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}) as client:
            create(client)
            ask(client)
        other = run("token", "create", "--scope", "read")
        assert re.fullmatch(r"sb_[0-9a-f]{12}_[\w-]{43}\n", other.stdout)
        with httpx.Client(
            base_url=url, headers={"Authorization": f"Bearer {other.stdout.strip()}"}
        ) as client:
            assert client.get("/v1/learners/a").status_code == 200
            assert client.post("/v1/learners/a/ask", json={}).status_code == 403
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
        assert process.stderr is not None
        *lines, last = process.stderr.read().splitlines()
        assert last == "sparsebandits: Interrupted. What was answered is stored."
        assert {json.loads(line)["call"] for line in lines} >= {"create", "ask", "show"}
    with serving("--quiet") as (process, lines):
        assert len(lines) == 3  # the token was shown once
        assert "$TOKEN" in lines[2]


def test_sigterm_finishes_what_was_accepted_and_exits_0() -> None:
    with serving("--quiet") as (process, lines):
        url, token = lines[0].split()[1], lines[1].split()[-1]
        answered: list[int] = []

        def play() -> None:
            with (
                suppress(httpx.TransportError),  # when nothing is accepted any more
                httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}) as client,
            ):
                create(client)
                while True:
                    answer = client.post("/v1/learners/a/ask", json={})
                    if answer.status_code == 200:
                        answered.append(answer.json()["decisions"][0]["id"])

        threads = [threading.Thread(target=play) for _ in range(4)]
        for thread in threads:
            thread.start()
        while len(answered) < 20:
            time.sleep(0.01)
        started = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert time.monotonic() - started < 10
        for thread in threads:
            thread.join(PATIENCE)
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert len(set(answered)) == len(answered)
    with sqlite3.connect("sparsebandits.db") as db:
        [decisions] = db.execute("SELECT decisions FROM learners").fetchone()
    assert set(answered) <= set(range(1, decisions + 1))
    db.close()


def test_sigterm_ends_a_server_whose_store_keeps_answers_back() -> None:
    """As a database that hangs does; whoever waits is told to come again."""
    hurried = "from sparsebandits.service import server; server._FAREWELL, server._LAST = 1, 2.0; "
    with serving("--quiet", code=hurried + CODE) as (process, lines):
        url, token = lines[0].split()[1], lines[1].split()[-1]
        headers = {"Authorization": f"Bearer {token}"}
        with (
            httpx.Client(base_url=url, headers=headers, timeout=PATIENCE) as client,
            closing(sqlite3.connect("sparsebandits.db")) as db,
            ThreadPoolExecutor(1) as pool,
        ):
            create(client)
            db.execute("BEGIN IMMEDIATE")  # is waited for 5 seconds
            waiting = pool.submit(client.post, "/v1/learners/a/ask", json={})
            time.sleep(0.3)
            started = time.monotonic()
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
            assert time.monotonic() - started < 4
            answer = waiting.result()
        assert (kind_of(answer), answer.headers["retry-after"]) == ("stopping", "1")
        assert process.stderr is not None
        said = process.stderr.read()
        assert "Traceback" not in said
        assert said.endswith("was left unanswered.\n")


def refused(*arguments: str) -> str:
    done = run(*arguments)
    assert done.returncode == 2, done
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    return line


def test_what_serve_refuses() -> None:
    assert "token create" in refused("serve", "--host", "0.0.0.0")
    assert "sqlite:///FILE" in refused("serve", "--store", "mysql://u:secret@h/x")
    assert "cannot be opened" in refused("serve", "--store", "sqlite:////no/such/x.db")
    Path("text.db").write_text("no database " * 1000)
    assert "damaged" in refused("serve", "--store", "sqlite:///text.db")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert "take another --port" in refused("serve", "--port", port)
        assert json.loads(run("token", "list", "--json").stdout) == []  # none that nobody was shown
    with sqlite3.connect("sparsebandits.db") as db:
        db.execute("INSERT INTO schema_version VALUES (99)")
    db.close()
    assert "newer than this release" in refused("serve")


def test_a_read_only_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import sparsebandits.service.server

    assert sparsebandits.service.server  # loaded while its files can be read
    with tempfile.TemporaryDirectory() as folder:  # pytest's are closed to other users
        monkeypatch.chdir(folder)
        assert run("token", "create", "--scope", "admin").returncode == 0
        Path(folder).chmod(0o555)
        Path("sparsebandits.db").chmod(0o444)
        user = os.geteuid()
        if user == 0:  # root may write everything, so somebody else has to try
            os.seteuid(65534)
        try:
            assert "readonly" in refused("serve")
        finally:
            os.seteuid(user)
            monkeypatch.undo()
            Path(folder).chmod(0o700)


def test_tokens_are_listed_and_revoked() -> None:
    made = run(
        "token", "create", "--scope", "play", "--prefix", "x", "--name", "shop", "--days", "2"
    )
    [listed] = json.loads(run("token", "list", "--json").stdout)
    assert (listed["scope"], listed["prefix"], listed["name"]) == ("play", "x", "shop")
    assert listed["state"] == "valid"
    assert listed["id"] in made.stdout
    assert made.stdout.split("_", 2)[2].strip() not in json.dumps(listed)
    assert run("token", "revoke", listed["id"]).returncode == 0
    assert "revoked" in run("token", "list").stdout
    assert "no valid token" in refused("token", "revoke", listed["id"])
    assert "Missing option" in refused("token", "create")


def test_a_backup_of_a_running_server_is_restored() -> None:
    with serving("--quiet") as (_, lines):
        url, token = lines[0].split()[1], lines[1].split()[-1]
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}) as client:
            create(client)
            for _ in range(3):
                [decision] = ask(client)
                tell(client, decision["id"], 0.5)
            before = exported(client)
            done = run("db", "backup", "copy.db")
            assert done.stdout == "copy.db: 1 learners, 6 events\n"
            ask(client)
    assert "name a new file" in refused("db", "backup", "copy.db")
    assert "must be empty" in refused("db", "restore", "copy.db")
    new = ("--store", "sqlite:///new.db")
    assert run("db", "restore", *new, "copy.db").returncode == 0
    checked = run("db", "check", *new, "--json")
    assert json.loads(checked.stdout) == {"learners": 1, "problems": []}
    assert run("db", "upgrade", *new).stdout == "schema version 1 -> 1\n"
    with (
        serving("--quiet", *new) as (_, lines),
        sb.Client(lines[0].split()[1], token) as client,
    ):
        assert client.learner("a").export().to_dict() == before
    with sqlite3.connect("new.db") as db:
        db.execute("DELETE FROM events WHERE sequence = 3")
    db.close()
    damaged = run("db", "check", *new)
    assert damaged.returncode == 1
    assert "1 problems" in damaged.stdout


def test_a_backup_that_was_killed_is_none(folder: Path) -> None:
    """Nor is anything of it in the way of the next one."""
    with serving("--quiet") as (_, lines):
        url, token = lines[0].split()[1], lines[1].split()[-1]
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}) as client:
            create(client)
            ask(client)
    killed = (
        "import os\nfrom sparsebandits.store import copying\ncopy = copying._copy\n"
        "async def dies(source, target, table, *rest):\n"
        "    count = await copy(source, target, table, *rest)\n"
        "    return count if table != 'events' else os.kill(os.getpid(), 9)\n"
        f"copying._copy = dies\n{CODE}"
    )
    command = [sys.executable, "-c", killed, "db", "backup", "copy.db"]
    assert subprocess.run(command, env=ENVIRONMENT, check=False).returncode == -signal.SIGKILL
    assert [path.name for path in folder.glob("copy.db.part*")] != []
    assert not (folder / "copy.db").exists()
    assert run("db", "backup", "copy.db").stdout == "copy.db: 1 learners, 1 events\n"
    assert [path.name for path in folder.glob("copy.db*")] == ["copy.db"]


def test_a_password_is_not_shown() -> None:
    assert without_password("postgresql://a:b@h/d") == "postgresql://a:***@h/d"
    assert without_password("sqlite:///x.db") == "sqlite:///x.db"


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "sparsebandits.service.server", raising=False)
    assert "pip install 'sparsebandits[service]'" in refused("serve")
