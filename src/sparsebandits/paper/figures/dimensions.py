"""How regret depends on d and on H: the paper's order is d sqrt(T), with no H in it."""

from collections.abc import Callable

import numpy as np

from sparsebandits.action_sets import LpBall
from sparsebandits.environments import GapTheta, Gaussian, LinearEnvironment
from sparsebandits.environments.paper_setting import DELTA, SIGMA
from sparsebandits.paper.claim import CHANGED, Claim
from sparsebandits.paper.experiment import Experiment, Outcome, Results, Size, setting_note
from sparsebandits.paper.exponents import LOG_SLACK, Exponent, power_exponent
from sparsebandits.paper.locks import Locks
from sparsebandits.paper.verdicts import Share, judged_claim, with_change
from sparsebandits.plotting.figure import Figure, Panel, Series, mean_series
from sparsebandits.policies import APSEE, CompactAPSEEG
from sparsebandits.simulation import Run
from sparsebandits.sweeps import Cell
from sparsebandits.validation import FloatArray

DIMS, SPARSITIES, WIDE = (8, 16, 32, 64), (2, 4, 8, 16), 32
"""The sweep over d has H = d/4; the one over H has d = 32."""

GAP, QUIET, HORIZON, TRIALS = 0.2, 0.01, 2_000_000, 50
"""A gap and a noise level with which the literal test passes within 50 cycles for every d."""

PAIRS = tuple(dict.fromkeys([(d, d // 4) for d in DIMS] + [(WIDE, h) for h in SPARSITIES]))

KINDS = {
    "literal": f"literal, noise {QUIET:g}",
    "no-test": f"no gap test, c steps, noise {SIGMA:g}",
}


def _cells(size: Size) -> list[Cell]:
    cells = []
    for dim, sparsity in PAIRS:
        ball = LpBall(dim)
        policies = {
            "literal": APSEE(action_set=ball, sparsity=sparsity, sigma=QUIET, delta=DELTA),
            "no-test": CompactAPSEEG(action_set=ball, sparsity=sparsity, schedule="linear"),
        }
        for kind, noise in (("literal", QUIET), ("no-test", SIGMA)):
            cells.append(
                Cell(
                    key=f"{kind}-{dim}-{sparsity}",
                    label=f"{KINDS[kind]}, d = {dim}, H = {sparsity}",
                    policy=policies[kind],
                    environment=LinearEnvironment(
                        action_set=ball, theta_star=GapTheta(GAP), noise=Gaussian(noise)
                    ),
                    horizon=HORIZON // 100 if size == "quick" else HORIZON,
                    trials=4 if size == "quick" else TRIALS,
                    points=2,
                )
            )
    return cells


def per_length(run: Run, sparsity: int | None = None) -> FloatArray:
    """R_T / (sqrt(T) ||theta*||), or with ||theta*(S*)|| for supports of that size, (trials,).

    In the theorem's factor ||theta*|| + 1/||theta*|| the second term carries the noise level, which
    is too low here for it to count.
    """
    sizes = -np.sort(-np.abs(run.theta_star), axis=1)[:, :sparsity]
    norm = np.linalg.norm(sizes, axis=1)
    return np.asarray(run.regret[:, -1] / norm / np.sqrt(float(run.steps[-1])))


def _outcome(results: Results) -> Outcome:
    over_d = [(d, d // 4) for d in DIMS]
    over_h = [(WIDE, h) for h in SPARSITIES]
    panels = (
        _panel(results, over_d, "Over d, with H = d/4", lambda d, h: d, lambda d, h: d),
        _panel(results, over_h, f"Over H, with d = {WIDE}", lambda d, h: h, lambda d, h: WIDE),
    )
    first = results["literal-8-2"]
    figure = Figure(
        id="dimensions",
        label="thm:regret_adaptive",
        title="Regret on the l2 ball over d and H",
        panels=panels,
        notes=(
            setting_note([first]),
            f"R_T / (sqrt(T) ||theta*||) at T = {first.steps[-1]:,}; theta* with a gap of {GAP:g}",
            f"The literal algorithm (confidence scale 1) with noise {QUIET:g}, so that it locks",
        ),
    )
    return Outcome(figures=(figure,), claims=(_over_d(results, over_d), _over_h(results, over_h)))


def _panel(
    results: Results,
    pairs: list[tuple[int, int]],
    title: str,
    place: Callable[[int, int], int],
    order: Callable[[int, int], int],
) -> Panel:
    x = np.array([place(*pair) for pair in pairs], dtype=float)
    series = []
    for style, (kind, label) in enumerate(KINDS.items()):
        runs = [results[f"{kind}-{d}-{h}"] for d, h in pairs]
        values = np.array([per_length(run) for run in runs]).T
        series.append(mean_series(x, values, label, style))
    start = float(series[0].y[0]) / order(*pairs[0])
    rate = np.array([order(*pair) for pair in pairs]) * start
    series.append(
        Series(label="the paper's order, d", x=x, y=rate, style=len(series), role="reference")
    )
    return Panel(
        title=title,
        x_label="d" if place(1, 2) == 1 else "H",
        y_label="regret / (sqrt(T) ||theta*||)",
        series=tuple(series),
    )


def _fits(
    results: Results, pairs: list[tuple[int, int]], place: int, on_support: bool = False
) -> dict[str, Exponent]:
    """Fit the exponent of the normalised regret over d (place 0) or H (place 1), by kind."""
    fits = {}
    for kind in KINDS:
        samples = []
        for pair in pairs:
            run = results[f"{kind}-{pair[0]}-{pair[1]}"]
            samples.append(per_length(run, pair[1] if on_support else None))
        fits[kind] = power_exponent([float(pair[place]) for pair in pairs], samples)
    return fits


def _over_d(results: Results, pairs: list[tuple[int, int]]) -> Claim:
    fits = _fits(results, pairs, 0)
    judged = fits["literal"].judge(1 - LOG_SLACK, 1 + LOG_SLACK)
    return judged_claim(
        fits["literal"],
        judged,
        id="dimensions-d",
        label="thm:regret_adaptive",
        statement="The regret is linear in d: of order ||theta*|| d sqrt(T), the theorem's second "
        "term being small with the noise.",
        experiment="dimensions",
        measured=f"R_T / ||theta*|| grows like d to the power of {fits['literal']} for "
        f"{KINDS['literal']}{_locks(results, pairs)}, from d = {DIMS[0]} to "
        f"{DIMS[-1]} with H = d/4; {fits['no-test']} for {KINDS['no-test']}.",
        brief=f"exponent {fits['literal'].value:.2f} in d",
    )


def _over_h(results: Results, pairs: list[tuple[int, int]]) -> Claim:
    printed, changed = _fits(results, pairs, 1), _fits(results, pairs, 1, on_support=True)
    limits = (-LOG_SLACK, LOG_SLACK)
    judged = with_change(printed["literal"].judge(*limits), changed["literal"].judge(*limits))
    needed = judged.verdict == CHANGED
    chosen = changed["literal"] if needed else printed["literal"]
    return judged_claim(
        chosen,
        judged,
        id="dimensions-h",
        label="thm:regret_adaptive",
        statement="H does not enter: R_T / (||theta*|| d sqrt(T)) stays where it is as H grows.",
        experiment="dimensions",
        measured=f"That quotient grows like H to the power of {printed['literal']} for "
        f"{KINDS['literal']}{_locks(results, pairs)}, from H = {SPARSITIES[0]} to "
        f"{SPARSITIES[-1]} with d = {WIDE}; with ||theta*(S*)|| in the place of ||theta*||, "
        f"{changed['literal']}; {printed['no-test']} and {changed['no-test']} for "
        f"{KINDS['no-test']}.",
        brief=f"exponent {printed['literal'].value:.2f} in H; {changed['literal'].value:.2f} in "
        "units of ||theta*(S*)||",
        change="||theta*(S*)||, which grows with H, in the place of ||theta*||" if needed else "",
    )


def _locks(results: Results, pairs: list[tuple[int, int]]) -> str:
    each = [Locks.of(results[f"literal-{d}-{h}"]) for d, h in pairs]
    locked, wrong = (
        Share(sum(part.count for part in parts), sum(part.runs for part in parts))
        for parts in ([locks.locked for locks in each], [locks.wrong for locks in each])
    )
    return Locks(locked, wrong, can_lock=True).note


DIMENSIONS = Experiment(
    id="dimensions",
    labels=("thm:regret_adaptive",),
    title="How regret depends on d and H",
    about="The paper states the order d sqrt(T) and plots one d and one H: a sweep of both.",
    cells=_cells,
    outcome=_outcome,
    decisions=(
        "theta* is drawn with a gap of 0.2 and the noise is 0.01, so that the literal algorithm "
        "locks for every d; beside it the variant without a gap test at the paper's noise.",
        "||theta*|| is divided out trial by trial: on a cube theta* is longer where d is larger. "
        "The theorem's other factor, 1/||theta*||, comes with the square of the noise level.",
    ),
)
