"""The table of experiments, by the id that the command line takes."""

from sparsebandits.paper.base import Experiment
from sparsebandits.paper.figures.among_field import AMONG_FIELD
from sparsebandits.paper.figures.bases import BASES
from sparsebandits.paper.figures.ellipsoid import ELLIPSOID
from sparsebandits.paper.figures.lp_balls import L1_BALL, L2_BALL, L15_BALL
from sparsebandits.paper.figures.robustness import ROBUST
from sparsebandits.paper.figures.support_recovery import SUPPORT_RECOVERY
from sparsebandits.paper.figures.time_varying import TIME_VARYING
from sparsebandits.paper.figures.video import VIDEO
from sparsebandits.paper.figures.video_real import VIDEO_REAL

EXPERIMENTS: dict[str, Experiment] = {
    experiment.id: experiment
    for experiment in (
        ELLIPSOID,
        BASES,
        SUPPORT_RECOVERY,
        L2_BALL,
        L15_BALL,
        L1_BALL,
        VIDEO,
        VIDEO_REAL,
        TIME_VARYING,
        AMONG_FIELD,
        ROBUST,
    )
}
