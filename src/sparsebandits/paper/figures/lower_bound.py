"""The lower bound of `docs/theory.md` beside measured regret: against d and against H."""

import numpy as np

from sparsebandits.action_sets import LpBall
from sparsebandits.environments import Gaussian, LinearEnvironment
from sparsebandits.environments.paper_setting import SIGMA
from sparsebandits.paper.claim import OURS, Claim
from sparsebandits.paper.experiment import Experiment, Outcome, Results, Size, setting_note
from sparsebandits.paper.exponents import LOG_SLACK, Exponent
from sparsebandits.paper.verdicts import judged_claim, within
from sparsebandits.plotting.figure import Figure, Panel, Series
from sparsebandits.policies import CompactAPSEEG, LinTS, Policy, SparseThompson
from sparsebandits.sweeps import Cell
from sparsebandits.theory import HardInstances
from sparsebandits.validation import FloatArray

STEPS, FEW = 1_000, 10
"""T, and the trials of each cell."""

BY_DIM = ((16, 4), (32, 4), (64, 4), (128, 4))
BY_SPARSITY = ((64, 1), (64, 4), (64, 16))
"""(d, H): one of the two varies."""

FACTOR = 40.0
"""The theorem's theta is so small that nobody learns it. Among 3 to 80 times it, this is the worst
for the best policy."""

POLICIES = {
    "thompson": "SparseThompson",
    "lin-ts": "LinTS, sigma told",
    "untested": "the paper's cycle, no gap test, c^2 steps",
}


def _policy(key: str, ball: LpBall, sparsity: int) -> Policy:
    if key == "thompson":
        return SparseThompson(action_set=ball, sparsity=sparsity)
    if key == "lin-ts":
        return LinTS(action_set=ball, sparsity=sparsity, sigma=SIGMA)
    return CompactAPSEEG(action_set=ball, sparsity=sparsity, schedule="quadratic", oracle="top-h")


def hard(dim: int, sparsity: int, horizon: int = STEPS) -> HardInstances:
    """Return the instances of the theorem."""
    return HardInstances(dim=dim, sparsity=sparsity, horizon=horizon, sigma=SIGMA)


def _cells(size: Size) -> list[Cell]:
    horizon = STEPS // 5 if size == "quick" else STEPS
    return [
        Cell(
            key=f"{key}-{dim}-{sparsity}",
            label=f"{label}, d = {dim}, H = {sparsity}",
            policy=_policy(key, LpBall(dim), sparsity),
            environment=LinearEnvironment(
                action_set=LpBall(dim),
                theta_star=FACTOR
                * hard(dim, sparsity, horizon).theta(np.zeros(sparsity, dtype=np.intp)),
                noise=Gaussian(SIGMA),
            ),
            horizon=horizon,
            trials=2 if size == "quick" else FEW,
        )
        for dim, sparsity in dict.fromkeys(BY_DIM + BY_SPARSITY)
        for key, label in POLICIES.items()
    ]


def final_regret(results: Results, key: str, dim: int, sparsity: int) -> FloatArray:
    """Return the regret at T, (trials,)."""
    return np.asarray(results[f"{key}-{dim}-{sparsity}"].regret[:, -1])


def _outcome(results: Results) -> Outcome:
    horizon = int(next(iter(results.values())).steps[-1])
    panels = (
        _panel(results, BY_DIM, 0, "d", "Against d, with H = 4", horizon),
        _panel(results, BY_SPARSITY, 1, "H", "Against H, with d = 64", horizon),
    )
    figure = Figure(
        id="lower-bound",
        label=OURS,
        title="Regret on hard instances, between both rates",
        panels=panels,
        notes=(
            f"{setting_note(list(results.values()))}; no gap test, so no confidence scale",
            f"l2 ball, T = {horizon:,}, sigma = {SIGMA:g}; theta* is {FACTOR:g} times the "
            "theorem's, near the worst for the best policy",
            "The rates are sigma sqrt(d H T) and sigma d sqrt(T), without a constant; the proven "
            "lower bound is a 90th of the first",
        ),
    )
    return Outcome(figures=(figure,), claims=(_floor(results, horizon), *_growth(results)))


def _panel(
    results: Results,
    cases: tuple[tuple[int, int], ...],
    axis: int,
    x_label: str,
    title: str,
    horizon: int,
) -> Panel:
    x = np.array([case[axis] for case in cases], dtype=float)
    series = []
    for style, (key, label) in enumerate(POLICIES.items()):
        found = np.array([final_regret(results, key, *case) for case in cases])  # (cases, trials)
        error = found.std(axis=1) / np.sqrt(max(found.shape[1] - 1, 1))
        mean = found.mean(axis=1)
        series.append(
            Series(label=label, x=x, y=mean, low=mean - error, high=mean + error, style=style)
        )
    rates = {
        "sigma sqrt(d H T)": [np.sqrt(dim * sparsity * horizon) for dim, sparsity in cases],
        "sigma d sqrt(T)": [dim * np.sqrt(horizon) for dim, _ in cases],
    }
    for style, (label, rate) in enumerate(rates.items(), len(series)):
        y = SIGMA * np.array(rate)
        series.append(Series(label=label, x=x, y=y, style=style, role="reference"))
    return Panel(
        title=title,
        x_label=x_label,
        y_label="regret at T (log scale)",
        series=tuple(series),
        x_log=True,
        y_log=True,
    )


# ---------------------------------------------------------------------- claims


def _floor(results: Results, horizon: int) -> Claim:
    """Judge the least of all measured figures, in units of the theorem's bound."""
    units = {
        (key, case): final_regret(results, key, *case) / hard(*case, horizon).rate
        for case in dict.fromkeys(BY_DIM + BY_SPARSITY)
        for key in POLICIES
    }
    (key, (dim, sparsity)), lowest = min(units.items(), key=lambda item: item[1].mean())
    judged = within(float(lowest.min()), float(lowest.max()), (1.0, np.inf), "a ratio")
    return Claim(
        id="lower-bound-floor",
        label=OURS,
        statement="No policy has less regret than sigma sqrt(d H T) / 90 on its hard instances.",
        experiment="lower-bound",
        measured=f"The least over policies, d and H is {lowest.mean():.1f} times that, from "
        f"{lowest.min():.1f} to {lowest.max():.1f} over the trials: {POLICIES[key]} at d = {dim}, "
        f"H = {sparsity}.",
        value=float(lowest.mean()),
        low=float(lowest.min()),
        high=float(lowest.max()),
        verdict=judged.verdict,
        otherwise=judged.otherwise,
        brief=f"{lowest.mean():.0f} times the bound at least",
    )


def _growth(results: Results) -> tuple[Claim, Claim]:
    """Judge whether the recommended policy grows no slower than proved and no faster than d."""
    claims = []
    for axis, name, cases, limits in (
        (0, "d", BY_DIM, (0.5, 1.0)),
        (1, "H", BY_SPARSITY, (0.0, 0.5)),
    ):
        samples = np.array([final_regret(results, "thompson", *case) for case in cases]).T
        x = np.array([case[axis] for case in cases], dtype=float)
        fitted = Exponent.of(samples, np.log(x))
        judged = fitted.judge(limits[0] - LOG_SLACK, limits[1] + LOG_SLACK)
        claims.append(
            judged_claim(
                fitted,
                judged,
                id=f"lower-bound-in-{name}",
                label=OURS,
                statement=f"In {name} the regret of the recommended policy grows between both "
                f"rates, that of sqrt(d H T) and that of d sqrt(T): {name}^{limits[0]:g} to "
                f"{name}^{limits[1]:g}.",
                experiment="lower-bound",
                measured=f"Exponent in {name} over {int(x[0])} to {int(x[-1])}: {fitted}.",
                brief=f"{name}^{fitted.value:.2f}",
            )
        )
    return claims[0], claims[1]


LOWER_BOUND = Experiment(
    id="lower-bound",
    labels=(OURS,),
    title="A lower bound for sparse actions",
    about="Not in the paper, which asks for it: what no policy can beat on the l2 ball, and the "
    "regret of the best ones on its hard instances, against d and against H (docs/theory.md).",
    cells=_cells,
    outcome=_outcome,
    ours=True,
)
