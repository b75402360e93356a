"""What `import sparsebandits` offers, and what it loads."""

import json
import subprocess
import sys

import pytest

import sparsebandits as sb

LOADED = """
import json, sys
import sparsebandits as sb
{more}
files = {{name.split(".")[0]: getattr(module, "__file__", None) or ""
          for name, module in list(sys.modules.items()) if "." not in name}}
others = sorted(name for name, file in files.items() if "site-packages" in file)
rooms = sorted(name for name in sys.modules if name.startswith("sparsebandits.")
               and name.count(".") == 1)
print(json.dumps([others, rooms]))
"""


def loaded(more: str = "") -> tuple[set[str], set[str]]:
    """Return the installed packages and our rooms that a fresh process has loaded."""
    command = [sys.executable, "-c", LOADED.format(more=more)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    others, rooms = json.loads(done.stdout)
    return set(others), set(rooms)


def test_every_public_name_is_there() -> None:
    for name in sb.__all__:
        assert getattr(sb, name) is not None
    assert set(sb.__all__) <= set(dir(sb))
    with pytest.raises(AttributeError, match="no attribute 'comparee'"):
        getattr(sb, "compar" + "ee")


def test_the_import_is_light_and_functions_bring_their_room_when_asked_for() -> None:
    allowed = {"numpy", "scipy", "highspy", "charset_normalizer"}  # NumPy takes it where it is
    others, rooms = loaded()
    assert {name for name in others if not name.startswith("_")} <= allowed
    assert not rooms & {"sparsebandits.comparison", "sparsebandits.sweeps", "sparsebandits.paper"}
    others, rooms = loaded("sb.compare, sb.sweep")
    assert {"sparsebandits.comparison", "sparsebandits.sweeps"} <= rooms
    assert {name for name in others if not name.startswith("_")} <= allowed


def test_functions_that_come_late_are_the_real_ones() -> None:
    from sparsebandits.comparison.compare import compare
    from sparsebandits.sweeps import sweep

    assert sb.compare is compare
    assert sb.sweep is sweep
