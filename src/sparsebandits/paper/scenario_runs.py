"""The field of one scenario: the cells to simulate, and their runs side by side."""

from collections.abc import Callable
from dataclasses import replace

from sparsebandits.comparison.compare import Comparison, compare_runs, comparison_cells
from sparsebandits.comparison.field import RECOMMENDED
from sparsebandits.comparison.scenarios import Scenario
from sparsebandits.paper.experiment import Results
from sparsebandits.sweeps import Cell


def scenario_cells(
    scenario: Scenario, horizon: int, trials: Callable[[str], int], prefix: str
) -> list[Cell]:
    """Return a cell of each policy with its number of trials; of those with 0 trials none."""
    policies, environment = scenario.field(horizon).policies, scenario.environment()
    cells = comparison_cells(policies, environment, horizon, 1, (horizon,), prefix=prefix)
    return [replace(cell, trials=trials(cell.label)) for cell in cells if trials(cell.label) > 0]


def scenario_comparison(scenario: Scenario, results: Results, prefix: str) -> Comparison:
    """Set the runs of a scenario side by side."""
    runs = {key.removeprefix(prefix): run for key, run in results.items() if key.startswith(prefix)}
    horizon = int(runs[RECOMMENDED].steps[-1])
    field = scenario.field(horizon)
    return compare_runs(
        {label: policy for label, policy in field.policies.items() if label in runs},
        scenario.environment(),
        runs,
        (horizon,),
        int(runs[RECOMMENDED].label["seed"]),
        reference=RECOMMENDED,
        left_out=field.left_out,
    )
