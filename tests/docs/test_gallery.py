"""The programs of the gallery run, in their quick form, and show what they say."""

import re
import shutil
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from tests.docs.pages import ROOT

PROGRAMS = sorted((ROOT / "examples").glob("plot_*.py"))
_QUICK = re.compile(r"^([A-Z_]+ = ).*?  # quick: (\w+)$", flags=re.MULTILINE)
"""A size, and in a comment the smaller one that `make test` takes."""


def run(text: str, name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], list[int]]:
    """Run a program and return its names, and how many axes of each figure hold something."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    drawn: list[int] = []

    def show() -> None:
        for number in plt.get_fignums():
            axes = plt.figure(number).axes
            drawn.append(sum(a.has_data() for a in axes))
        plt.close("all")

    monkeypatch.setattr(plt, "show", show)
    module = types.ModuleType(name)  # what is defined there can be pickled
    monkeypatch.setitem(sys.modules, name, module)
    for base in (sb.ActionSet, sb.Policy):  # what a program adds is not there for other tests
        monkeypatch.setattr(base, "kinds", dict(base.kinds))
    try:
        exec(compile(text, name, "exec"), vars(module))
    finally:
        plt.close("all")
    return vars(module), drawn


def regret_at_end(names: dict[str, Any]) -> list[float]:
    return [float(run.regret[:, -1].mean()) for run in names["runs"]]


CHECKS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "the_paper": lambda names: (
        regret_at_end(names)[0] == regret_at_end(names)[1] > 4 * regret_at_end(names)[3]
    ),
    "films": lambda names: bool(
        (names["slates"].sum(axis=1) <= 3.25 + 1e-9).all()
        and ((names["slates"] > 0).sum(axis=1) <= 5).all()
        and names["slates"][names["slates"] > 0].min() >= 0.5
        and (names["slates"][6::7, names["genres"].index("Horror")] == 0).all()
    ),
    "marketing": lambda names: bool(
        ((names["booked"] > 0).sum(axis=1) <= 6).all()
        and (names["booked"].sum(axis=1) <= 30 + 1e-9).all()
        and names["booked"][names["booked"] > 0].min() >= 1
        and (names["earned"][0] >= names["earned"][1] - 1e-9).all()
    ),
    "formulation": lambda names: bool(
        names["settled"].is_exact
        and np.isclose(names["settled"].action.sum(), 1.0)
        and names["settled"].action[0] >= 0.4
        and len(names["settled"].support) <= 5
    ),
    "portfolio": lambda names: bool(
        names["best"].is_exact
        and names["counts"].max() <= 3
        and np.allclose(names["held"].sum(axis=1), 1.0)
        and names["held"][names["held"] > 0].min() >= 0.02 - 1e-12
    ),
    "catalogue": lambda names: bool(
        names["earned"]["told last year's popularity"].mean()
        > names["earned"]["told nothing"].mean()
        > 10 * names["worth"].mean()
    ),
    "many_users": lambda names: all((lines[:, -1] > 0).all() for lines in names["regret"].values()),
    "certificates": lambda names: bool(
        names["locked_at"] is not None and names["policy"].support_of(names["theta"]) == (0, 1)
    ),
    "your_own": lambda names: names["broken_promise"].startswith("The best response"),
    "to_the_service": lambda names: (
        len(names["earned"]) == names["AT_HOME"] + names["SERVED"]
        and names["back"].open_decisions == ()
        and names["ended"] == 0
        and (shutil.which("chromium") is None or names["picture"].startswith(b"\x89PNG"))
    ),
}
"""What each program claims, as far as its quick form can show it."""


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_a_program_runs_and_draws(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text, cut = _QUICK.subn(r"\1\2", program.read_text(encoding="utf-8"))
    assert cut, "no size has a quick form"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        names, drawn = run(text, program.stem, monkeypatch)
    assert drawn
    assert all(drawn)
    assert CHECKS[program.stem.split("_", 2)[2]](names)


def test_there_are_ten_programs() -> None:
    assert [program.stem.split("_", 2)[2] for program in PROGRAMS] == list(CHECKS)
