"""What is an extra is asked for by its name, and only where it is used."""

from tests.sweeps.processes import PATIENCE, started

CODE = """
import sys
sys.modules["pyarrow"] = sys.modules["distributed"] = None  # as if they were not installed
from sparsebandits.errors import SweepError
from sparsebandits.sweeps import engine, run_cells, sweep
from tests.sweeps.small_cells import SEED, apsee, same_bits, whole

print(same_bits(run_cells([apsee(trials=5)], SEED)["apsee"], whole(apsee(trials=5))))
engine.SMALL = 0.0
for ask in (lambda: sweep({}, "nowhere"), lambda: run_cells([apsee()], SEED, workers=2)):
    try:
        ask()
    except SweepError as error:
        print(error)
"""


def test_cells_run_in_memory_and_the_rest_says_what_it_needs() -> None:
    with started("-c", CODE) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    runs, table, workers = out.splitlines()
    assert runs == "True"
    assert "pip install 'sparsebandits[sweep]'" in table
    assert "pip install sparsebandits[cluster]" in workers
