"""What is an extra is asked for by its name, and only where it is used."""

import subprocess
import sys

WITHOUT = """
import sys
sys.modules["pyarrow"] = sys.modules["distributed"] = None  # as if they were not installed
from sparsebandits.errors import SweepError
from sparsebandits.sweeps import engine, run_cells, sweep
from tests.sweeps.small_cells import SEED, apsee, same_bits, whole
"""


def answer(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT + code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_cells_run_in_memory_without_any_extra() -> None:
    code = "print(same_bits(run_cells([apsee(trials=5)], SEED)['apsee'], whole(apsee(trials=5))))"
    assert answer(code) == "True\n"


def test_what_is_missing_is_named() -> None:
    code = """
try:
    sweep({}, "nowhere")
except SweepError as error:
    print(error)
engine.SMALL = 0.0
try:
    run_cells([apsee()], SEED, workers=2)
except SweepError as error:
    print(error)
"""
    table, workers = answer(code).splitlines()
    assert "pip install 'sparsebandits[sweep]'" in table
    assert "pip install sparsebandits[cluster]" in workers
