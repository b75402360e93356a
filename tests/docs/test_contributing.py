"""What CONTRIBUTING.md names exists, and its example keeps the contract of action sets."""

import re
import sys
import types
from functools import cache

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies.rule import Rule
from tests.docs.pages import ROOT, blocks

PAGE = ROOT / "CONTRIBUTING.md"
TEXT = PAGE.read_text(encoding="utf-8")
PROSE = re.sub(r"^ *```.*?^ *```$", "", TEXT, flags=re.MULTILINE | re.DOTALL)
CODE = sorted(set(re.findall(r"`([^`\n]+)`", PROSE)))

NEW = {"src/sparsebandits/action_sets/quarter_ball.py"}
"""What the reader is to make."""


def is_path(name: str) -> bool:
    return bool(re.fullmatch(r"[\w./-]+(\.py|\.md|/)", name))


@pytest.mark.parametrize("name", [name for name in CODE if is_path(name) and name not in NEW])
def test_every_path_exists(name: str) -> None:
    places = [ROOT / name, ROOT / "src" / name, ROOT / "src" / "sparsebandits" / name]
    tests = [ROOT / "tests" / name, ROOT / "src" / "sparsebandits" / "policies" / name]
    assert any(place.exists() for place in [*places, *tests])


@cache
def known_words() -> set[str]:
    """Return every name of the bases that a reader subclasses, and of the functions around."""
    bases = (sb.ActionSet, sb.Policy, Rule)
    words = {word for base in bases for word in dir(base)}
    for source in [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        text = source.read_text(encoding="utf-8")
        words |= set(re.findall(r"^ *(?:def|class) (\w+)", text, flags=re.MULTILINE))
        words |= set(re.findall(r"^([A-Z]\w+)\b.* = ", text, flags=re.MULTILINE))
    return words | {"__post_init__"}


@pytest.mark.parametrize("name", [name for name in CODE if re.fullmatch(r"\w+(\(.*\))?", name)])
def test_every_hook_exists(name: str) -> None:
    known = known_words() | {path.name for path in ROOT.iterdir()} | {"src", "tests", "kind"}
    assert name.split("(")[0] in known


def test_the_set_of_the_example_keeps_its_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the table too, so that it is read back from files."""
    module = types.ModuleType("quarter_ball")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    example, check = blocks(PAGE, "python")
    exec(example, vars(module))
    kind: type[sb.ActionSet] = vars(module)["QuarterBall"]
    monkeypatch.setitem(sb.ActionSet.kinds, kind.kind, kind)
    exec(check, vars(module))
    monkeypatch.setattr(kind, "axis_reach", lambda ball: (-np.ones(ball.dim), np.ones(ball.dim)))
    with pytest.raises(sb.testing.ContractError, match="axis_reach"):
        exec(check, vars(module))
