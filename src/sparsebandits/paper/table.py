"""The table of experiments: what the command line takes, by id or by the paper's label."""

from sparsebandits.errors import InvalidValueError
from sparsebandits.paper.experiment import Experiment, figure_id
from sparsebandits.paper.figures.app_basis_actions import APP_BASIS_ACTIONS
from sparsebandits.paper.figures.app_support_recovery import APP_SUPPORT_RECOVERY
from sparsebandits.paper.figures.appendix_experiments import CASE1, CASE2, CASE3
from sparsebandits.paper.figures.around_the_lock import AROUND_THE_LOCK
from sparsebandits.paper.figures.case4 import CASE4
from sparsebandits.paper.figures.dimensions import DIMENSIONS
from sparsebandits.paper.figures.field import FIELD
from sparsebandits.paper.figures.lower_bound import LOWER_BOUND
from sparsebandits.paper.figures.robustness import ROBUST
from sparsebandits.paper.figures.time_varying import TIME_VARYING
from sparsebandits.paper.figures.video_real import VIDEO_REAL
from sparsebandits.paper.figures.video_rec import VIDEO_REC

EXPERIMENTS: dict[str, Experiment] = {
    experiment.id: experiment
    for experiment in (
        CASE4,
        APP_BASIS_ACTIONS,
        APP_SUPPORT_RECOVERY,
        CASE1,
        CASE2,
        CASE3,
        VIDEO_REC,
        VIDEO_REAL,
        TIME_VARYING,
        DIMENSIONS,
        FIELD,
        ROBUST,
        LOWER_BOUND,
        AROUND_THE_LOCK,
    )
}

LEMMAS = "lemmas"
"""Asks for the lemmas and propositions, which need no simulation of their own."""

IDS: tuple[str, ...] = (*EXPERIMENTS, LEMMAS)


def figure_ids(experiment: Experiment) -> list[str]:
    """Return the paper's figures that an experiment draws, as their files are called."""
    return [figure_id(label) for label in experiment.labels if label.startswith("fig:")]


def find_ids(name: str) -> list[str]:
    """Return the ids that a name stands for: an id, or a label with or without its "fig:".

    Examples
    --------
    >>> find_ids("case4"), find_ids("fig:appendix_experiments")
    (['ellipsoid'], ['l2-ball', 'l1.5-ball', 'l1-ball'])
    """
    if name in IDS:
        return [name]
    ids = [each.id for each in EXPERIMENTS.values() if figure_id(name) in figure_ids(each)]
    if not ids:
        labels = dict.fromkeys(label for each in EXPERIMENTS.values() for label in figure_ids(each))
        raise InvalidValueError(
            f"Unknown experiment {name!r}; known: {', '.join(IDS)}; and the paper's figures "
            f"{', '.join(labels)}."
        )
    return ids
