"""However a command ends: one line, a code that says why, nothing left behind.

Processes are real. Most are forked from one that has imported the package already, so that a case
takes milliseconds; the imports themselves and the start of workers are interrupted in their own.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import sparsebandits
from sparsebandits.cli.app import app
from sparsebandits.sweeps import sweep

SWEEP = """\
trials = {trials}
horizon = {horizon}
sparsity = 1
dim = 3
[[policies]]
kind = "random-sparse"
[[environments]]
action_set = {{ kind = "lp-ball" }}
theta_star = {{ kind = "uniform-cube" }}
"""
BOX = """\
sparsity = 1
{theta} = [0.9, -0.2, 0.5]
[action_set]
kind = "box"
lower = [0, 0, 0]
upper = [1, 1, 1]
"""

ONE_POLICY = ("compare", "compare.toml", "--policy", "random-sparse", "--workers", "1")
QUICK: dict[str, tuple[str, ...]] = {
    "compare": (*ONE_POLICY, "-T", "20", "--trials", "2"),
    "dashboard": ("dashboard", "done", "--no-open"),  # as serve
    "db": ("db", "check"),
    "plan": ("plan", "--l2", "4", "-H", "2"),
    "reproduce": ("reproduce", "--help"),  # its smallest experiment takes seconds
    "results": ("results", "done"),
    "serve": ("serve", "--port", "0"),  # ends only where it cannot say where it is
    "solve": ("solve", "solve.toml"),
    "sweep": ("sweep", "quick.toml", "--resume"),
    "token": ("token", "list"),
}
"""A run of every command that prints something, in milliseconds."""

LONG: dict[str, tuple[str, ...]] = {
    **QUICK,
    "compare": (*ONE_POLICY, "-T", "100000", "--trials", "50"),
    "reproduce": ("reproduce", "bases", "--workers", "1"),
    "sweep": ("sweep", "long.toml"),
}


@dataclass
class Ended:
    """The exit code of a command, and its lines on standard error."""

    code: int
    told: list[str]


# A case is run by a process that was forked from this one: it waits for the line that describes
# it, starts a session of its own as a terminal's foreground job has one, and becomes the command.
FORKS = """
import json, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import pandas, pyarrow.parquet, rich.progress, rich.table, scipy.stats
import sparsebandits.cli.app, sparsebandits.comparison.scenarios
import sparsebandits.comparison.sweep_folder, sparsebandits.paper.report
import sparsebandits.dashboard.file_app, sparsebandits.dashboard.sweep_pages
import sparsebandits.service.server
from sparsebandits.cli import main
for line in sys.stdin:
    case = json.loads(line)
    if "wait" in case:
        answer = os.waitstatus_to_exitcode(os.waitpid(case["wait"], 0)[1])
    else:
        answer = os.fork()
        if answer == 0:
            break
    sys.stdout.write(f"{answer}\\n")
    sys.stdout.flush()
else:
    os._exit(0)
os.setsid()
os.chdir(case["folder"])
if case["out"] is None:
    unread, out = os.pipe()
    os.close(unread)
else:
    out = os.open(case["out"], os.O_WRONLY | os.O_CREAT)
os.dup2(out, 1)
os.dup2(os.open(case["told"], os.O_WRONLY | os.O_CREAT), 2)
os.environ["TMPDIR"] = case["temporary"]
sys.argv[1:] = case["arguments"]
os.close(os.open(case["ready"], os.O_WRONLY | os.O_CREAT))
main()
"""


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(sparsebandits.__file__).parents[1]), **more}


class Forks:
    """A process that has imported the package, and forks into commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0
        self.process = subprocess.Popen(
            [sys.executable, "-c", FORKS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )

    def _ask(self, **case: Any) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def start(self, arguments: tuple[str, ...], out: str | None) -> tuple[int, Path]:
        """Start a command that writes to the file `out`, or to a pipe that nobody reads."""
        self.count += 1
        home = self.folder / f"case-{self.count}"
        (home / "tmp").mkdir(parents=True)
        for text in self.folder.glob("*.*"):
            (home / text.name).write_text(text.read_text())
        (home / "done").symlink_to(self.folder / "done")
        (home / "quick-results").symlink_to(self.folder / "done")
        process = self._ask(
            arguments=arguments,
            out=out,
            folder=str(home),
            told=str(home / "told"),
            ready=str(home / "ready"),
            temporary=str(home / "tmp"),
        )
        while not (home / "ready").exists():  # what comes before is not the command's
            time.sleep(0.001)
        return process, home

    def end(self, process: int, home: Path) -> Ended:
        code = self._ask(wait=process)
        assert list((home / "tmp").iterdir()) == []
        return Ended(code, (home / "told").read_text().splitlines())


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    folder = tmp_path_factory.mktemp("endings")
    (folder / "compare.toml").write_text(BOX.format(theta="theta_star"))
    (folder / "solve.toml").write_text(BOX.format(theta="theta"))
    (folder / "quick.toml").write_text(SWEEP.format(trials=2, horizon=20))
    (folder / "long.toml").write_text(SWEEP.format(trials=200, horizon=100_000))
    sweep(folder / "quick.toml", folder / "done")
    made = Forks(folder)
    yield made
    made.process.communicate(timeout=10)
    assert made.process.returncode == 0


def test_every_command_has_an_example_here() -> None:
    assert set(QUICK) == set(LONG) == set(app.commands)


@pytest.mark.parametrize("command", app.commands)
def test_a_full_disk_is_one_line_and_code_2(forks: Forks, command: str) -> None:
    ended = forks.end(*forks.start(QUICK[command], "/dev/full"))
    assert ended.told == [
        "sparsebandits: Cannot read or write the output: No space left on device."
    ]
    assert ended.code == 2


@pytest.mark.parametrize("command", app.commands)
def test_a_closed_pipe_ends_quietly(forks: Forks, command: str) -> None:
    assert forks.end(*forks.start(QUICK[command], None)) == Ended(0, [])


@pytest.mark.parametrize(
    "delay",
    [
        0.05,
        pytest.param(0.2, marks=pytest.mark.thorough),
        0.5,
        pytest.param(1.0, marks=pytest.mark.thorough),
    ],
)
def test_ctrl_c_is_one_line_and_code_130(forks: Forks, delay: float) -> None:
    cases = {name: forks.start(LONG[name], "/dev/null") for name in app.commands}
    time.sleep(delay)
    for process, _ in cases.values():
        os.killpg(process, signal.SIGINT)
    for name, (process, home) in cases.items():
        ended = forks.end(process, home)
        if LONG[name] is QUICK[name] and ended.code == 0:
            assert ended.told == []  # it was over before
            continue
        assert ended.code == 130, ended
        assert len(ended.told) == 1, (name, ended)
        assert ended.told[0].startswith("sparsebandits: Interrupted.")


def test_standard_error_may_be_full_too(forks: Forks) -> None:
    process, home = forks.start((*QUICK["solve"], "--sparsity", "9"), "/dev/null")
    assert forks.end(process, home).code == 2
    command = [sys.executable, "-c", START.replace("sys.stderr.", "sys.stdout."), "nope"]
    with Path("/dev/full").open("w") as full:
        assert subprocess.run(command, stderr=full, env=environment(), check=False).returncode == 2


# The byte says that Python itself has started: what comes before is not ours.
START = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.stderr.write(".")
sys.stderr.flush()
from sparsebandits_command import main
main()
"""


def started(tmp_path: Path, *arguments: str) -> subprocess.Popen[str]:
    (tmp_path / "tmp").mkdir(exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-c", START, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=tmp_path,
        env=environment(TMPDIR=str(tmp_path / "tmp")),
    )
    assert process.stderr is not None
    assert process.stderr.read(1) == "."
    return process


def interrupted(process: subprocess.Popen[str], tmp_path: Path) -> str:
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=30)
    assert process.returncode == 130, told
    assert list((tmp_path / "tmp").iterdir()) == []
    return told


@pytest.mark.parametrize("delay", [0.05, 0.2])
def test_ctrl_c_while_the_package_is_imported(tmp_path: Path, delay: float) -> None:
    process = started(tmp_path, "plan")
    time.sleep(delay)
    assert interrupted(process, tmp_path) == "sparsebandits: Interrupted.\n"


# Ctrl-C comes when a thread of a pool runs, and before the pool knows of it.
IN_A_START = """
import os, signal, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # as the entry point does
from concurrent.futures import ThreadPoolExecutor
from sparsebandits.cli.process import guarded
name = "_start_new_thread" if hasattr(threading, "_start_new_thread") else "_start_joinable_thread"
real = getattr(threading, name)
def interrupted_start(function, *rest, **more):
    started = real(function, *rest, **more)
    if pool_is_up:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
    return started
pool_is_up = False
setattr(threading, name, interrupted_start)
with guarded():
    pool = ThreadPoolExecutor(1)
    pool_is_up = True
    pool.submit(time.sleep, 0)
    time.sleep(30)
"""


def test_ctrl_c_while_a_thread_starts() -> None:
    command = [sys.executable, "-c", IN_A_START]
    ended = subprocess.run(
        command, capture_output=True, text=True, env=environment(), check=False, timeout=20
    )
    assert (ended.returncode, ended.stderr) == (130, "sparsebandits: Interrupted.\n")


def children(process: int) -> list[str]:
    return [
        (Path("/proc") / child / "cmdline").read_text()
        for task in Path(f"/proc/{process}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the workers in /proc")
def test_ctrl_c_while_workers_start(tmp_path: Path) -> None:
    """A terminal sends it to the workers too, in the middle of their imports."""
    (tmp_path / "compare.toml").write_text(BOX.format(theta="theta_star"))
    long = ("compare.toml", "--policy", "lin-ts", "--policy", "oful", "--trials", "500")
    process = started(tmp_path, "compare", *long, "--workers", "2", "-T", "20000")
    deadline = time.monotonic() + 30
    while not any("spawn_main" in command for command in children(process.pid)):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(0.1)
    told = interrupted(process, tmp_path)
    assert told == "sparsebandits: Interrupted. Nothing was written.\n"


@pytest.mark.parametrize("command", [None, *app.commands])
def test_help_prints_no_marks_of_click(command: str | None) -> None:
    from click.testing import CliRunner

    arguments = ["--help"] if command is None else [command, "--help"]
    shown = CliRunner().invoke(app, arguments).output
    assert shown.startswith("Usage: ")
    assert "\\b" not in shown
    assert "\b" not in shown


HUGE = "1" + "0" * 20


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("solve", "huge.toml"), "dim must be at most 100,000,000, got 1000000000000."),
        (("solve", "digits.toml"), "digits.toml is not valid TOML"),
        (("solve", "deep.json"), "The input is nested too deeply."),
        (("plan", "--l2", HUGE), f"dim must be at most 100,000,000, got {HUGE}."),
        (("plan", "--box", "1000000000000"), "dim must be at most"),
        (("plan", "-T", HUGE), "horizon must be at most 1,000,000,000,000,000, got"),
        ((*ONE_POLICY, "-T", HUGE), "horizon must be at most"),
        ((*ONE_POLICY, "--trials", HUGE), "trials must be at most 1,000,000,000, got"),
        (("compare", "--workers", HUGE), "workers must be at most 10,000, got"),
        (("compare", "--nope"), "No such option '--nope'. See sparsebandits compare --help."),
        (("nope",), "No such command 'nope'. See sparsebandits --help."),
    ],
)
def test_absurd_input_is_one_line_and_code_2(
    forks: Forks, arguments: tuple[str, ...], words: str
) -> None:
    (forks.folder / "huge.toml").write_text(
        'theta = [1.0]\nsparsity = 1\naction_set = { kind = "lp-ball", dim = 1000000000000 }'
    )
    (forks.folder / "digits.toml").write_text("sparsity = " + "9" * 5000)
    (forks.folder / "deep.json").write_text("[" * 100_000)
    process, home = forks.start(arguments, "/dev/null")
    ended = forks.end(process, home)
    assert ended.code == 2
    [line] = ended.told
    assert line.startswith("sparsebandits: ")
    assert words in line


def test_an_array_too_large_for_memory_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import numpy as np

    from sparsebandits.cli import app as commands

    def refuses(*arguments: object, **keywords: object) -> None:
        np.zeros(2**56)

    monkeypatch.setattr("sparsebandits.cli.plan.make_plan", refuses)
    with pytest.raises(SystemExit) as ended:
        commands.run(["plan"])
    assert ended.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("sparsebandits: Not enough memory for a problem of this size (Unable")
