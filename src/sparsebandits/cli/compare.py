"""``sparsebandits compare``: any policies on any environment, on the same theta* and noise."""

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparsebandits.cli.policy_option import read_policy
from sparsebandits.cli.problem_file import read_problem
from sparsebandits.environments import LinearEnvironment, environment_from_dict
from sparsebandits.errors import InvalidValueError
from sparsebandits.policies import POLICIES, REFERENCES, Policy

if TYPE_CHECKING:
    from sparsebandits.comparison.compare import Comparison
    from sparsebandits.comparison.tables import Table

_ENVIRONMENT = ("action_set", "action_sets", "theta_star", "noise", "names", "delay")
_HORIZON, _TRIALS = 2_000, 20
_DEFAULT = "l2"
_WIDTH = 100

_EXAMPLE = f"""
\b
Without FILE and --scenario: the paper's setting on the l2 ball.
An environment in TOML (JSON has the same keys):
  sparsity = 1
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
Keys are those of the Python class: --policy lin-ts:scale=0.7,ridge=0.1
"""


@dataclass(frozen=True, kw_only=True)
class _Setting:
    """What is played: from a scenario or from a file."""

    title: str
    environment: LinearEnvironment
    sparsity: int
    horizon: int
    trials: int
    scenario: str | None = None


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
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
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
    setting = _setting(file, scenario, horizon, trials)
    if out is not None:
        from sparsebandits.plotting.draw import figure_format

        figure_format(out)
    chosen, left_out = _policies(policies, setting)
    found = _run(chosen, left_out, setting, seed, workers)
    if out is not None:
        from sparsebandits.plotting.draw import save
        from sparsebandits.plotting.regret_curves import comparison_figure

        save(comparison_figure(found, title=setting.title), out)
    if as_json:
        click.echo(json.dumps({"scenario": setting.scenario, **found.to_dict()}))
        return
    _print(found.table(setting.title), found, out)


# ---------------------------------------------------------------------- what is played


def _setting(
    file: Path | None, scenario: str | None, horizon: int | None, trials: int | None
) -> _Setting:
    if file is not None and scenario is not None:
        raise InvalidValueError(f"Give a file or a scenario, got {file} and --scenario {scenario}.")
    if file is not None:
        return _from_file(file, horizon, trials)
    from sparsebandits.comparison.scenarios import SCENARIOS

    name = scenario or _DEFAULT
    if name not in SCENARIOS:
        close = difflib.get_close_matches(name, SCENARIOS, n=1, cutoff=0.5)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise InvalidValueError(f"Unknown scenario {name!r}.{hint} Known: {', '.join(SCENARIOS)}.")
    one = SCENARIOS[name]
    return _Setting(
        title=f"{name}: {one.about}",
        environment=one.environment(),
        sparsity=one.sparsity,
        horizon=one.horizons[0] if horizon is None else horizon,
        trials=one.trials if trials is None else trials,
        scenario=name,
    )


def _from_file(file: Path, horizon: int | None, trials: int | None) -> _Setting:
    data = read_problem(file)
    keys = ("sparsity", "horizon", "trials", *_ENVIRONMENT)
    unknown = sorted(set(data) - set(keys))
    if unknown:
        raise InvalidValueError(f"{file} has the unknown key {unknown[0]!r}; known: {keys}.")
    if "theta_star" not in data or not {"action_set", "action_sets"} & set(data):
        missing = "theta_star" if "theta_star" not in data else "action_set"
        raise InvalidValueError(
            f"{file} lacks the key {missing!r}; see sparsebandits compare --help."
        )
    if "sparsity" not in data:
        raise InvalidValueError(f"{file} lacks the key 'sparsity': the most non-zeros allowed.")
    environment = environment_from_dict({key: data[key] for key in _ENVIRONMENT if key in data})
    return _Setting(
        title=file.name,
        environment=environment,
        sparsity=data["sparsity"],
        horizon=data.get("horizon", _HORIZON) if horizon is None else horizon,
        trials=data.get("trials", _TRIALS) if trials is None else trials,
    )


def _policies(
    texts: tuple[str, ...], setting: _Setting
) -> tuple[dict[str, Policy], Mapping[str, str]]:
    from sparsebandits.comparison.scenarios import SCENARIOS, field_of
    from sparsebandits.validation import as_integer

    horizon = as_integer("horizon", setting.horizon, minimum=1)
    if texts:
        repeated = sorted({text for text in texts if texts.count(text) > 1})
        if repeated:
            raise InvalidValueError(f"--policy {repeated[0]} is given twice; once is enough.")
        made = {
            text: read_policy(text, setting.environment, setting.sparsity, horizon)
            for text in texts
        }
        return made, {}
    if setting.scenario is not None:
        field = SCENARIOS[setting.scenario].field(horizon)
    else:
        field = field_of(setting.environment, setting.sparsity, horizon)
    return field.policies, field.left_out


def _run(
    policies: dict[str, Policy],
    left_out: Mapping[str, str],
    setting: _Setting,
    seed: int,
    workers: int,
) -> "Comparison":
    from dataclasses import replace

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from sparsebandits.comparison.compare import compare as run

    console = Console(stderr=True)
    percent = TextColumn("{task.percentage:>3.0f}%")
    columns = (TextColumn("{task.description}"), BarColumn(), percent, TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        bar = bars.add_task(f"{len(policies)} policies", total=None)

        def show(done: int, total: int) -> None:
            bars.update(bar, completed=float(done), total=float(total))

        try:
            found = run(
                policies,
                setting.environment,
                setting.horizon,
                setting.trials,
                seed,
                workers=workers,
                progress=show,
            )
        except KeyboardInterrupt:
            bars.stop()
            console.print("Interrupted. Nothing was written.")
            raise SystemExit(130) from None
    return replace(found, left_out=left_out)


# ---------------------------------------------------------------------- what a person reads


def _print(table: "Table", found: "Comparison", out: Path | None) -> None:
    from rich.console import Console
    from rich.table import Table as Grid

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDTH)
    grid = Grid(title=table.title, title_justify="left", box=None, pad_edge=False)
    grid.padding = (0, 1, 0, 0)
    for number, heading in enumerate(table.headings):
        grid.add_column(heading, justify="left" if number < table.words else "right")
    for row in table.rows:
        style = "bold" if row[0] == found.reference else None
        grid.add_row(*row, style=style)
    console.print(grid)
    console.print()
    for note in table.notes:
        console.print(f"- {note}")
    for label, why in found.left_out.items():
        console.print(f"- Left out: {label}: {why}")
    if out is not None:
        console.print(f"Figure: {out}")


def _list(as_json: bool) -> None:
    from rich.console import Console
    from rich.table import Table as Grid

    from sparsebandits.comparison.scenarios import SCENARIOS

    if as_json:
        records: list[dict[str, Any]] = [
            {
                "name": one.name,
                "about": one.about,
                "dim": one.environment().dim,
                "sparsity": one.sparsity,
                "horizons": list(one.horizons),
                "trials": one.trials,
            }
            for one in SCENARIOS.values()
        ]
        click.echo(json.dumps(records))
        return
    grid = Grid(box=None, pad_edge=False)
    for heading in ("scenario", "what", "d", "H", "T", "trials"):
        grid.add_column(heading, justify="left" if heading in ("scenario", "what") else "right")
    for one in SCENARIOS.values():
        grid.add_row(
            one.name,
            one.about,
            str(one.environment().dim),
            str(one.sparsity),
            ", ".join(f"{horizon:,}" for horizon in one.horizons),
            str(one.trials),
        )
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDTH)
    console.print(grid)
