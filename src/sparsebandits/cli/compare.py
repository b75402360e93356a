"""``sparsebandits compare``: any policies on any environment, on the same theta* and noise."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from sparsebandits.cli.output import json_option, open_console, print_table, progress_bars
from sparsebandits.cli.problem_file import check_keys, read_problem
from sparsebandits.descriptions import nearest
from sparsebandits.environments import (
    ENVIRONMENT_KEYS,
    LinearEnvironment,
    environment_from_dict,
)
from sparsebandits.errors import InvalidValueError
from sparsebandits.oracles import Limit, as_limit, sparse_argmax
from sparsebandits.policies import POLICIES, REFERENCES, Policy
from sparsebandits.policies.reader import read_policy
from sparsebandits.validation import as_integer

if TYPE_CHECKING:
    from sparsebandits.comparison.compare import Comparison
    from sparsebandits.comparison.field import Field
    from sparsebandits.comparison.scenarios import Scenario

_HORIZON, _TRIALS = 2_000, 20
_DEFAULT = "l2"
_WIDTH = 100

_EXAMPLE = f"""
\b
Without FILE and --scenario: the paper's setting on the l2 ball.
An environment in TOML (JSON has the same keys):
  sparsity = 1                              # or rules: a table [sparsity], at_most = ...
  horizon = 2000                            # optional, as is trials
  theta_star = [0.9, -0.2, 0.5]             # or {{kind = "uniform-cube"}}
  noise = {{kind = "gaussian", sigma = 0.5}}  # optional
  [action_set]
  kind = "box"
  lower = [0, 0, 0]
  upper = [1, 1, 1]

\b
Policies: {", ".join(list(POLICIES)[:6])},
  {", ".join(list(POLICIES)[6:])}
References, which see more than a learner does: {", ".join(REFERENCES)}
Keys are those of the Python class: --policy lin-ts:scale=0.7,ridge=0.1; sigma=known tells a policy
  the sub-Gaussian sigma of the noise.
"""


@click.command(epilog=_EXAMPLE)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--scenario", metavar="NAME", help="A named setting; --list shows them.")
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="NAME[:KEY=VALUE,...]",
    help="Repeatable; the first is what others are measured by.  [default: the whole field]",
)
@click.option("--horizon", "-T", type=int, help="Steps.  [default: the setting's, or 2000]")
@click.option("--trials", type=int, help="[default: the setting's, or 20]")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--workers", type=int, default=2, show_default=True, help="Processes.")
@click.option("--out", type=click.Path(path_type=Path), help="The figure: .svg, .png or .pdf.")
@json_option
@click.option("--list", "as_list", is_flag=True, help="Show the scenarios and stop.")
def compare(
    file: Path | None,
    scenario: str | None,
    policies: tuple[str, ...],
    horizon: int | None,
    trials: int | None,
    seed: int,
    workers: int,
    out: Path | None,
    as_json: bool,
    as_list: bool,
) -> None:
    """Run policies side by side on the same theta* and noise: regret, differences, times.

    Without --policy: the recommended policy first, then the baselines of the field, the paper's
    algorithm, and references that see more.
    """
    if as_list:
        _list(as_json)
        return
    setting = _setting(file, scenario)
    steps = as_integer("horizon", setting.horizons[0] if horizon is None else horizon, minimum=1)
    count = setting.trials if trials is None else trials
    if out is not None:
        from sparsebandits.plotting.draw import figure_format

        figure_format(out)
    field = named_policies(policies, setting, steps) if policies else setting.field(steps)
    comparison = replace(
        _run(field.policies, setting.environment(), steps, count, seed, workers),
        left_out=field.left_out,
    )
    best = _best_support(comparison.environment, setting.sparsity)
    title = f"{setting.name}: {setting.about}" if file is None else setting.name
    if out is not None:
        from sparsebandits.plotting.draw import save
        from sparsebandits.plotting.regret_curves import comparison_figure

        save(comparison_figure(comparison, title=title), out)
    if as_json:
        name = setting.name if file is None else None
        record = {"scenario": name, "best_support": best, **comparison.to_dict()}
        click.echo(json.dumps(record))
        return
    console = open_console(_WIDTH)
    print_table(console, comparison.table(title), bold=comparison.reference)
    if best is not None:
        console.print(f"- S*: {', '.join(best) or 'nothing'}, the best support for theta*.")
    for label, reason in field.left_out.items():
        console.print(f"- Left out: {label}: {reason}")
    if out is not None:
        console.print(f"Figure: {out}")


# ---------------------------------------------------------------------- what is played


def _setting(file: Path | None, name: str | None) -> "Scenario":
    from sparsebandits.comparison.scenarios import SCENARIOS

    if file is not None:
        if name is not None:
            raise InvalidValueError(f"Give a file or a scenario, got {file} and --scenario {name}.")
        return _from_file(file)
    name = name or _DEFAULT
    if name not in SCENARIOS:
        raise InvalidValueError(f"Unknown scenario {name!r}; {nearest(name, SCENARIOS)}")
    return SCENARIOS[name]


def _from_file(file: Path) -> "Scenario":
    from sparsebandits.comparison.scenarios import Scenario

    data = read_problem(file)
    sets = "action_sets" if "action_sets" in data else "action_set"
    known = ("sparsity", "horizon", "trials", *ENVIRONMENT_KEYS)
    check_keys(file, data, known, needed=(sets, "sparsity", "theta_star"))
    environment = environment_from_dict({key: data[key] for key in ENVIRONMENT_KEYS if key in data})
    return Scenario(
        name=file.name,
        about="from a file",
        environment=lambda: environment,
        sparsity=as_limit(data["sparsity"], environment.action_set),
        horizons=(data.get("horizon", _HORIZON),),
        trials=data.get("trials", _TRIALS),
    )


def named_policies(texts: tuple[str, ...], setting: "Scenario", horizon: int) -> "Field":
    """Build the policies that the options name."""
    from sparsebandits.comparison.field import Field

    policies: dict[str, Policy] = {}
    environment = setting.environment()
    for text in texts:
        if text in policies:
            raise InvalidValueError(f"--policy {text} is given twice; once is enough.")
        policies[text] = read_policy(
            text,
            action_set=environment.action_set,
            sparsity=setting.sparsity,
            horizon=horizon,
            sigma=environment.sigma,
        )
    return Field(policies=policies, left_out={})


def _run(
    policies: Mapping[str, Policy],
    environment: LinearEnvironment,
    horizon: int,
    trials: int,
    seed: int,
    workers: int,
) -> "Comparison":
    from rich.console import Console

    from sparsebandits.comparison.compare import compare as run

    with progress_bars(Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(f"{len(policies)} policies", total=None)

        def show(done: int, total: int) -> None:
            bars.update(bar, completed=float(done), total=float(total))

        try:
            return run(policies, environment, horizon, trials, seed, workers=workers, progress=show)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("Nothing was written.") from None


def _best_support(environment: LinearEnvironment, sparsity: Limit) -> list[str] | None:
    """Return the best support by name, where there are names and one theta* on one set."""
    names, theta = environment.names, environment.theta_star
    moves = environment.contexts is not None or not environment.action_sets.is_fixed
    if names is None or moves or not isinstance(theta, np.ndarray):
        return None
    return [names[i] for i in sparse_argmax(environment.action_set, theta, sparsity).support]


def _list(as_json: bool) -> None:
    from sparsebandits.comparison.scenarios import SCENARIOS
    from sparsebandits.comparison.text_table import TextTable

    records = [
        {
            "name": scenario.name,
            "about": scenario.about,
            "dim": scenario.environment().dim,
            "sparsity": scenario.sparsity,
            "horizons": list(scenario.horizons),
            "trials": scenario.trials,
        }
        for scenario in SCENARIOS.values()
    ]
    if as_json:
        click.echo(json.dumps(records))
        return
    headings = ("scenario", "what", "d", "H", "T", "trials")
    rows = tuple(
        tuple(
            ", ".join(f"{step:,}" for step in value) if isinstance(value, list) else str(value)
            for value in record.values()
        )
        for record in records
    )
    print_table(open_console(_WIDTH), TextTable(title="", headings=headings, rows=rows))
