"""``sparsebandits plan``: whether the support can be locked in time, and what to use if not."""

import json
import math
from pathlib import Path
from typing import Any

import click
import numpy as np

from sparsebandits.action_sets import ActionSet, Box, LpBall
from sparsebandits.cli.output import json_option, open_console
from sparsebandits.cli.problem_file import PROBLEM_KEYS, check_keys, named_set, read_problem
from sparsebandits.environments import AdversarialTheta, StandardTheta, ThetaSampler, UniformCube
from sparsebandits.environments.paper_setting import DIM, SPARSITY
from sparsebandits.errors import InvalidValueError
from sparsebandits.exploration import BASES
from sparsebandits.theory import Plan
from sparsebandits.theory import plan as make_plan
from sparsebandits.theory.advice import readable, share
from sparsebandits.validation import as_integer

_PRIORS: dict[str, ThetaSampler] = {
    "uniform": UniformCube(),
    "standard": StandardTheta(),
    "adversarial": AdversarialTheta(),
}

_WIDTH = 80

_EXAMPLE = """
\b
Without options: the paper's setting.
A set from a file, in TOML (JSON has the same keys), or a file made for solve:
  [action_set]
  kind = "box"
  lower = [0, 0, 0]
  upper = [1, 1, 1]
"""


@click.command(epilog=_EXAMPLE)
@click.option(
    "--set", "file", type=click.Path(path_type=Path), help="An action set in JSON or TOML."
)
@click.option("--l2", type=int, metavar="D", help="The unit l2 ball.  [default: D = 20]")
@click.option("--box", type=int, metavar="D", help="The box [0, 1]^D.")
@click.option("--l1", type=int, metavar="D", help="The unit l1 ball.")
@click.option("--lp", type=(int, float), metavar="D P", help="The unit lp ball.")
@click.option("--sparsity", "-H", type=int, help="H.  [default: the file's, or 5]")
@click.option("--sigma", type=float, default=0.5, show_default=True, help="Noise level.")
@click.option("--delta", type=float, default=0.05, show_default=True, help="May fail so often.")
@click.option("--horizon", "-T", type=int, default=2000, show_default=True, help="Steps.")
@click.option("--gap", type=float, help="The gap of theta*; drawn from the prior if left out.")
@click.option(
    "--prior",
    type=click.Choice(tuple(_PRIORS)),
    default="uniform",
    show_default=True,
    help="Where theta* comes from.",
)
@click.option(
    "--basis",
    type=click.Choice(tuple(BASES)),
    default="standard",
    show_default=True,
    help="Exploration actions.",
)
@click.option("--seed", type=int, default=0, show_default=True)
@json_option
def plan(
    file: Path | None,
    l2: int | None,
    box: int | None,
    l1: int | None,
    lp: tuple[int, float] | None,
    sparsity: int | None,
    sigma: float,
    delta: float,
    horizon: int,
    gap: float | None,
    prior: str,
    basis: str,
    seed: int,
    as_json: bool,
) -> None:
    """Say whether the support can be locked within the horizon, and what to use if not."""
    given = {"--set": file, "--l2": l2, "--box": box, "--l1": l1, "--lp": lp}
    named = [option for option, value in given.items() if value is not None]
    if len(named) > 1:
        raise InvalidValueError(f"Give one action set, got {' and '.join(named)}.")
    action_set, from_file = _read(file) if file else (_named_set(l2, box, l1, lp), None)
    if sparsity is None:
        sparsity = min(SPARSITY, action_set.dim) if from_file is None else from_file
    source = _PRIORS[prior]
    allowed = make_plan(action_set, sparsity, sigma, delta, horizon, gap, source, basis, seed)
    if as_json:
        click.echo(json.dumps(allowed.to_dict()))
    else:
        _print(allowed)


def _named_set(
    l2: int | None, box: int | None, l1: int | None, lp: tuple[int, float] | None
) -> ActionSet:
    if box is not None:
        dim = as_integer("dim", box, minimum=1)
        return Box(np.zeros(dim), np.ones(dim))
    if l1 is not None:
        return LpBall(l1, p=1.0)
    return LpBall(DIM if l2 is None else l2) if lp is None else LpBall(lp[0], p=lp[1])


def _read(file: Path) -> tuple[ActionSet, Any]:
    """Return the set in a file, and H if the file has one."""
    data = read_problem(file)
    if "kind" in data:
        return ActionSet.from_dict(data), None
    check_keys(file, data, PROBLEM_KEYS, needed=("action_set",))
    return named_set(file, data), data.get("sparsity")


# ---------------------------------------------------------------------- what a person reads


def _print(plan: Plan) -> None:
    from rich.table import Table

    console = open_console(_WIDTH)
    console.print(f"{plan.action_set}, at most H = {plan.sparsity} of d = {plan.dim} non-zero")
    if plan.names is not None:
        console.print(f"coordinates: {', '.join(plan.names)}")
    if plan.rules is not None:
        console.print(f"rules: {plan.rules}")
    console.print(
        f"sigma = {plan.sigma:g}, delta = {plan.delta:g}, T = {plan.horizon:,} steps, "
        f"theta* from the prior '{plan.prior}'\n"
    )
    facts = Table(show_header=False, box=None, pad_edge=False)
    facts.add_column(no_wrap=True)
    facts.add_column(justify="right", no_wrap=True)
    facts.add_column()
    for row in _facts(plan):
        facts.add_row(*row)
    console.print(facts)
    console.print()
    console.print(_locks(plan))
    console.print()
    advice = Table.grid(padding=(0, 1))
    for sentence in plan.advice:
        advice.add_row("-", sentence)
    console.print(advice)


def _facts(plan: Plan) -> list[tuple[str, str, str]]:
    low, high = readable(plan.gap_low), readable(plan.gap_high)
    drawn = f"median; 10% {low}, 90% {high} of {plan.draws:,} draws"
    vacuous = " (says nothing)" if plan.regret_bound >= plan.largest_regret else ""
    rows = [
        ("exploration basis", plan.basis, f"lambda_0 {plan.lambda_0:.3g}, tr B {plan.trace:.3g}"),
        ("h_1", readable(plan.h_1), "2 sigma^2 tr B / lambda_0^2"),
        ("explorations in T", f"{plan.cycles:,}", f"cycles of {plan.dim} steps"),
        ("epsilon_c then", readable(plan.epsilon_c), "the paper's bound on the error of theta"),
        ("gap of theta*", readable(plan.gap_median), "as given" if plan.gap_is_given else drawn),
        ("C_0", readable(plan.warmup_cycles), "cycles of warm-up by lemma:C_0"),
        ("regret bound at T", readable(plan.regret_bound), f"{plan.theorem}{vacuous}"),
        ("largest possible", readable(plan.largest_regret), "2 L_max |theta*| T"),
        ("only exploring", readable(plan.exploring_regret), "median regret if nothing is locked"),
    ]
    if plan.compact_bound != plan.regret_bound:
        compact = readable(plan.compact_bound)
        rows.insert(7, ("CompactAPSEEG's", compact, "thm:regret_general_compact"))
    if plan.alpha is None or plan.gamma is None:
        rows.append(("gamma, alpha", "unknown", "no lower bound for this set"))
    else:
        remark = "sorting is exact" if plan.alpha == 1 else "for every theta"
        rows.append(("gamma, alpha", f"{plan.gamma:.3g}, {plan.alpha:.3g}", remark))
    return rows


def _locks(plan: Plan) -> Any:
    from rich.table import Table

    table = Table(title=f"The gap test ({plan.oracle} gap)", title_justify="left")
    table.add_column("confidence")
    headings = ["gap needed at T", "locks at step", f"{share(1 - plan.delta)} sure by"]
    if not plan.gap_is_given:
        headings.append("locked by T")
    for heading in headings:
        table.add_column(heading, justify="right")
    for lock in plan.locks:
        cells = [readable(lock.threshold), _step(lock.lock_step), _step(lock.sure_step)]
        if not plan.gap_is_given:
            cells.append(share(lock.lock_share))
        table.add_row(lock.confidence, *cells)
    return table


def _step(step: float) -> str:
    return "never" if math.isinf(step) else readable(step)
