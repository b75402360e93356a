"""Every snippet on the pages for readers runs as it stands there, and every call exists."""

import re
import sys
import types
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner

import sparsebandits as sb
from sparsebandits.cli.app import app
from tests.docs.pages import NAMES, PAGES, ROOT, blocks, calls

every_page = pytest.mark.parametrize("page", PAGES, ids=NAMES)
CALLS = [(page, call) for page in PAGES for call in calls(page)]
every_call = pytest.mark.parametrize(
    ("page", "call"), CALLS, ids=[f"{page.name}: {' '.join(call)}" for page, call in CALLS]
)


def smaller(study: str) -> str:
    """Cut the sizes of a sweep, so that what takes minutes takes a moment."""
    study = re.sub(r"^trials = \d+", "trials = 2", study, flags=re.MULTILINE)
    study = re.sub(r"^horizon = \d+", "horizon = 20", study, flags=re.MULTILINE)
    study = study.replace("checkpoints = [1000]", "checkpoints = [10]")
    return study.replace("dim = [20, 100]", "dim = [20]")


def run_page(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run the Python of a page from top to bottom; the TOML on it is the file it speaks of."""
    monkeypatch.chdir(folder)
    for text in blocks(page, "toml"):
        (folder / "study.toml").write_text(smaller(text), encoding="utf-8")
    module = types.ModuleType("page")  # what is defined on the page can be pickled
    monkeypatch.setitem(sys.modules, module.__name__, module)
    namespace: dict[str, Any] = vars(module)
    for number, text in enumerate(blocks(page, "python")):
        exec(compile(text, f"{page.name}, block {number + 1}", "exec"), namespace)
    return namespace


@pytest.mark.parametrize(
    "page",
    # One needs a server (tests/service), and two are run below.
    [page for page in PAGES if page.name not in ("service.md", "README.md", "tour.md")],
    ids=lambda page: page.name,
)
def test_the_python_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_page(page, tmp_path, monkeypatch)


def test_the_pages_have_snippets() -> None:
    assert {page.name for page in PAGES if blocks(page, "python")} >= {
        "README.md",
        "tour.md",
        "sweeps.md",
    }
    assert {name for _, [name, *_] in CALLS} >= {"solve", "plan", "compare", "sweep", "results"}


def test_the_ten_lines_of_the_readme_learn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = run_page(ROOT / "README.md", tmp_path, monkeypatch)
    learner = names["learner"]
    assert isinstance(learner, sb.Learner)
    best = sb.sparse_argmax(names["airtime"], names["taste"], 5)
    assert learner.ask().action @ names["taste"] > 0.5 * best.value


def test_what_the_tour_shows_is_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = ROOT / "docs" / "tour.md"
    monkeypatch.setattr("builtins.print", lambda *shown: said.extend(shown))
    said: list[object] = []
    names = run_page(page, tmp_path, monkeypatch)
    assert names["best"].is_exact
    for text in blocks(page, "python"):
        for expression in re.findall(r"^sb\.sparse_argmax.*\.gap", text, flags=re.MULTILINE):
            assert np.isfinite(eval(expression, names))
    [shown] = re.findall(r"named\)  # (\{.*\})", page.read_text(encoding="utf-8"))
    assert shown == str(said[0])


@every_call
def test_every_call_names_a_command_and_options_that_exist(page: Path, call: list[str]) -> None:
    name, *arguments = call
    command = app.commands[name]
    if "..." in arguments or arguments == []:
        return  # the command is only named
    with command.make_context(name, arguments) as parsed:
        assert isinstance(parsed, click.Context)


@every_page
def test_every_make_target_exists(page: Path) -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    named = re.findall(r"(?:^    |`)make ([\w-]+)", page.read_text(), flags=re.MULTILINE)
    assert set(named) <= set(targets)


def test_the_measurement_of_the_page_on_scaling_runs() -> None:
    page = PAGES[NAMES.index("docs/scaling.md")]
    [script] = re.findall(r"<<'END'\n(.*?)\nEND", page.read_text(), flags=re.DOTALL)
    for size, less in {"1000": "30", "20_000, 100": "200, 2", "2_000, 4": "30, 1"}.items():
        assert size in script
        script = script.replace(size, less)
    exec(script, {})


def test_the_call_that_is_cheap_runs() -> None:
    done = CliRunner().invoke(app, ["plan"])
    assert done.exit_code == 0, done.output
    assert "The gap test" in done.output
