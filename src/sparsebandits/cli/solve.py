"""``sparsebandits solve``: the best H-sparse action for a set and a theta from a file."""

import json
import math
from pathlib import Path
from typing import Any

import click
import numpy as np

from sparsebandits.action_sets import ACTION_SETS, ActionSet
from sparsebandits.cli.output import json_option, open_console
from sparsebandits.cli.problem_file import (
    PROBLEM_KEYS,
    check_keys,
    named_set,
    read_problem,
    theta_of,
)
from sparsebandits.errors import InvalidValueError
from sparsebandits.oracles import ORACLES, Solution, sparse_argmax

_WIDTH = 80

_EXAMPLE = f"""
\b
A problem in TOML (JSON has the same keys):
  theta = [0.9, -0.2, 0.5]                 # or by name: {{Sports = 0.9, Music = 0.5}}
  sparsity = 2                             # or rules, as a table [sparsity] below:
                                           # at_most, at_least, blocks, groups, always,
                                           # never_together; groups = [[["News", "Music"], 1]]
  names = ["Sports", "News", "Music"]      # optional
  [action_set]
  kind = "box"                             # {", ".join(ACTION_SETS)}
  lower = [0, 0, 0]
  upper = [1, 1, 1]
"""


@click.command(epilog=_EXAMPLE)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--sparsity", "-H", type=int, help="At most this many non-zeros; overrides the file.")
@click.option("--method", type=click.Choice(ORACLES), help="The oracle; overrides the file.")
@click.option("--time-limit", type=float, help="Seconds after which 'exact' stops.")
@json_option
def solve(
    file: Path, sparsity: int | None, method: str | None, time_limit: float | None, as_json: bool
) -> None:
    """Find the action with at most H non-zeros that earns most, and say how sure that is."""
    problem = read_problem(file)
    check_keys(file, problem, PROBLEM_KEYS, needed=("action_set", "theta"))
    at_most = problem.get("sparsity") if sparsity is None else sparsity
    if at_most is None:
        raise InvalidValueError(f"{file} lacks the key 'sparsity'; add it or pass --sparsity H.")
    action_set = named_set(file, problem)
    theta = theta_of(problem["theta"], action_set)
    chosen = method or problem.get("method", "auto")
    answer = sparse_argmax(action_set, theta, at_most, chosen, time_limit=time_limit)
    if as_json:
        click.echo(json.dumps(_record(answer, action_set.names)))
    else:
        _print_table(action_set, np.asarray(theta, dtype=float), answer)


def _finite_or_none(number: float) -> float | None:
    # JSON has neither NaN nor infinity.
    return number if math.isfinite(number) else None


def _record(answer: Solution, names: tuple[str, ...] | None) -> dict[str, Any]:
    labels = {i: str(i) if names is None else names[i] for i in answer.support}
    return {
        "support": list(answer.support),
        "named": {label: float(answer.action[i]) for i, label in labels.items()},
        "action": answer.action.tolist(),
        "value": answer.value,
        "upper_bound": answer.upper_bound,
        "is_exact": answer.is_exact,
        "gap": _finite_or_none(answer.gap),
        "step_gaps": [_finite_or_none(gap) for gap in answer.step_gaps.tolist()],
        "method": answer.method,
        "warning": answer.warning,
    }


def _print_table(action_set: ActionSet, theta: Any, answer: Solution) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(repr(action_set)), title_justify="left")
    headings = ["coordinate", "name", "theta", "action", "earns"]
    names = action_set.names
    shown = headings if names else [heading for heading in headings if heading != "name"]
    for heading in shown:
        table.add_column(heading, justify="left" if heading == "name" else "right")
    for i in answer.support:
        cells = {
            "coordinate": str(i),
            "name": names[i] if names else "",
            "theta": f"{theta[i]:.6g}",
            "action": f"{answer.action[i]:.6g}",
            "earns": f"{theta[i] * answer.action[i] + 0.0:.6g}",
        }
        table.add_row(*(cells[heading] for heading in shown))
    console = open_console(_WIDTH)
    console.print(table)
    sure = "proven optimal" if answer.is_exact else f"at most {answer.upper_bound:.6g} is possible"
    console.print(f"value {answer.value:.6g}, {sure} (method {answer.method})")
    if answer.warning is not None:
        console.print(answer.warning)
    if not math.isnan(answer.gap):
        console.print(f"gap {answer.gap:.6g}")
