"""The video recommendation on real data: 20 genres of films, liked as critics liked them."""

from dataclasses import replace

from sparsebandits.comparison.field import RECOMMENDED
from sparsebandits.environments import film_recommendation
from sparsebandits.environments.films import FILMS_SHA256, film_box
from sparsebandits.environments.paper_setting import LONG, SHORT, SPARSITY, TRIALS
from sparsebandits.paper.claim import OURS
from sparsebandits.paper.experiment import Outcome, Results, Size
from sparsebandits.paper.geometry import COMPACT, Geometry
from sparsebandits.plotting.figure import Panel, regret_series
from sparsebandits.policies import CompactAPSEEG, LinTS, Policy, SparseThompson
from sparsebandits.sweeps import Cell

GEOMETRY = Geometry(
    id="video-real",
    label="subsec:video_recommendation",
    title="Real film scores: a box, 5 of 20 genres",
    about=(
        "Not in the paper: its application with preferences and noise from real data, the "
        "critics' scores of 17,004 films."
    ),
    action_set=film_box(),
    world=lambda _: film_recommendation(),
    policy=CompactAPSEEG,
    variants=(replace(COMPACT, label="the paper's compact APSEE-G, literal"),),
    rate=2 / 3,
    theorem="thm:regret_general_compact",
)

FEW = 3
"""Trials over the paper's long horizon of the policies that decide at every step."""


def beside() -> dict[str, Policy]:
    """Return what stands beside the paper's algorithm; none of them is told sigma."""
    X = GEOMETRY.action_set
    return {
        RECOMMENDED: SparseThompson(action_set=X, sparsity=SPARSITY),
        "LinTS": LinTS(action_set=X, sparsity=SPARSITY),
    }


def steps_and_trials(horizon: str, size: Size) -> tuple[int, int]:
    """Return for how long and how often the policies beside are run."""
    if size == "quick":
        return SHORT // 10, 4 if horizon == "short" else FEW
    if horizon == "short":
        return SHORT, TRIALS
    return (LONG, FEW) if size == "full" else (10 * SHORT, TRIALS)


def _cells(size: Size) -> list[Cell]:
    cells = GEOMETRY.cells(size)
    model = cells[0]
    for horizon in ("short", "long"):
        steps, trials = steps_and_trials(horizon, size)
        cells += [
            replace(
                model,
                key=f"{label}-{horizon}",
                label=label,
                policy=policy,
                trials=trials,
                horizon=steps,
            )
            for label, policy in beside().items()
        ]
    return cells


def _outcome(results: Results) -> Outcome:
    """Put the policies beside into the paper's panels; judge the theorem's rate alone."""
    (figure,) = GEOMETRY.figures(results)
    panels = tuple(
        _with(panel, results, "long" if panel.x_log else "short", exponent)
        for panel, exponent in zip(figure.panels, (0.0, GEOMETRY.rate, 1.0), strict=True)
    )
    long = results["LinTS-long"]
    note = (
        f"{RECOMMENDED} and LinTS estimate sigma; over the long horizon "
        f"{long.regret.shape[0]} trials of each up to T = {long.steps[-1]:,}"
    )
    # No figure of the paper shows these data, so that what is judged on them is ours.
    claims = (
        replace(claim, label=OURS)
        for claim in GEOMETRY.claims(results)
        if claim.label == GEOMETRY.theorem
    )
    return Outcome(
        figures=(replace(figure, id="video-real", panels=panels, notes=(*figure.notes, note)),),
        claims=tuple(claims),
    )


def _with(panel: Panel, results: Results, horizon: str, exponent: float) -> Panel:
    more = tuple(
        regret_series(results[f"{label}-{horizon}"], label, style, exponent)
        for style, label in enumerate(beside(), start=len(panel.series))
    )
    return replace(panel, series=(*panel.series, *more))


VIDEO_REAL = replace(
    GEOMETRY.experiment(),
    cells=_cells,
    outcome=_outcome,
    decisions=(
        "Data: Wikidata by way of movies.db in the wheel bokeh_sampledata 2026.1, CC0-1.0 by its "
        "licenses/datasets.json. The counts of films by genre and score ship with the package, "
        f"SHA-256 {FILMS_SHA256}, which is checked whenever they are read.",
        "theta* = (mean score of the genre - mean score of all films) / 50, the same in every "
        "trial; scores run from 0 to 100. A film with several genres counts in each. Music, the "
        "smallest of 21 genres, is left out.",
        "Noise: one residual, (score of a film - mean of its genre) / 50, resampled from the "
        "pooled residuals of all genres; so its mean is 0 and it does not depend on the action.",
        "The bound of the theorem is evaluated with the smallest sigma for which the resampled "
        "noise is sub-Gaussian, computed, not assumed.",
        "Beside the paper's algorithm: the recommended policy and textbook Thompson sampling.",
        "Greedy is exact on a box, so regret is against the exact optimum, alpha = 1.",
    ),
)
