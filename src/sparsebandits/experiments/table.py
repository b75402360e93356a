"""The table of experiments, by the id that the command line takes."""

from sparsebandits.experiments.among_field import AMONG_FIELD
from sparsebandits.experiments.base import Experiment
from sparsebandits.experiments.bases import BASES
from sparsebandits.experiments.ellipsoid import ELLIPSOID
from sparsebandits.experiments.lp_balls import L1_BALL, L2_BALL, L15_BALL
from sparsebandits.experiments.robustness import ROBUST
from sparsebandits.experiments.support_recovery import SUPPORT_RECOVERY
from sparsebandits.experiments.time_varying import TIME_VARYING
from sparsebandits.experiments.video import VIDEO
from sparsebandits.experiments.video_real import VIDEO_REAL

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
