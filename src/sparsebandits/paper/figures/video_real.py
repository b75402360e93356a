"""The video recommendation on real data: 20 genres of films, liked as critics liked them."""

from dataclasses import replace

from sparsebandits.comparison.field import RECOMMENDED
from sparsebandits.environments import film_recommendation, video_recommendation
from sparsebandits.environments.films import FILMS_SHA256
from sparsebandits.paper.base import SHORT, SPARSITY, Experiment, Results
from sparsebandits.paper.claim import Claim
from sparsebandits.paper.figures.geometry import Geometry, Variant
from sparsebandits.plotting.figure import (
    Figure,
    Panel,
    Transform,
    cumulative,
    over_power,
    regret_series,
)
from sparsebandits.policies import CompactAPSEEG, LinTS, Policy
from sparsebandits.policies.thompson import SparseThompson
from sparsebandits.sweeps import Cell

GEOMETRY = Geometry(
    id="video-real",
    label="subsec:video_recommendation",
    title="Real film scores: a box, 5 of 20 genres",
    action_set=video_recommendation().action_set,
    environment=film_recommendation,
    policy=CompactAPSEEG,
    variants=(Variant(key="literal", label="the paper's compact APSEE-G, literal", changes={}),),
    rate=2 / 3,
    theorem="thm:regret_general_compact",
)


LONG_TRIALS = 3
"""Of the policies that decide at every step, over the long horizon."""


def _beside() -> dict[str, Policy]:
    """Return what stands beside the paper's algorithm; none of them is told sigma."""
    X = GEOMETRY.action_set
    return {
        RECOMMENDED: SparseThompson(action_set=X, sparsity=SPARSITY),
        "LinTS": LinTS(action_set=X, sparsity=SPARSITY),
    }


def cells(quick: bool) -> list[Cell]:
    """Return the paper's cells, and the same horizons with the policies beside it."""
    paper = GEOMETRY.cells(quick)
    by_key = {cell.key: cell for cell in paper}
    for horizon in ("short", "long"):
        model = by_key[f"literal-{horizon}"]
        for label, policy in _beside().items():
            trials = model.trials if horizon == "short" else min(model.trials, LONG_TRIALS)
            steps = min(model.horizon, SHORT // 10) if quick else model.horizon
            paper.append(
                replace(
                    model,
                    key=f"{label}-{horizon}",
                    label=label,
                    policy=policy,
                    trials=trials,
                    horizon=steps,
                )
            )
    return paper


def figures(results: Results, seed: int) -> list[Figure]:
    """Return the paper's three panels with the policies beside it."""
    (figure,) = GEOMETRY.figures(results, seed)
    transforms: tuple[Transform, ...] = (cumulative, over_power(GEOMETRY.rate), over_power(1.0))
    panels = tuple(
        _with(panel, results, "long" if panel.x_log else "short", transform)
        for panel, transform in zip(figure.panels, transforms, strict=True)
    )
    few = results["LinTS-long"].regret.shape[0]
    note = f"{RECOMMENDED} and LinTS estimate sigma; over the long horizon {few} trials of each"
    return [replace(figure, panels=panels, notes=(*figure.notes, note))]


def _with(panel: Panel, results: Results, horizon: str, transform: Transform) -> Panel:
    more = tuple(
        regret_series(results[f"{label}-{horizon}"], label, style, transform)
        for style, label in enumerate(_beside(), start=len(panel.series))
    )
    return replace(panel, series=(*panel.series, *more))


def claims(results: Results) -> list[Claim]:
    """Judge the theorem's rate alone: no figure of the paper shows these data."""
    return [claim for claim in GEOMETRY.claims(results) if claim.label == GEOMETRY.theorem]


VIDEO_REAL = Experiment(
    id="video-real",
    labels=("subsec:video_recommendation",),
    title=GEOMETRY.title,
    about=(
        "Not in the paper: its application with preferences and noise from real data, the "
        "critics' scores of 17,004 films."
    ),
    cells=cells,
    figures=figures,
    claims=claims,
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
