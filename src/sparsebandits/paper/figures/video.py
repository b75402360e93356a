"""`fig:video_rec`: at most 5 of 20 genres, with airtimes in [0, 1]."""

from sparsebandits.environments import video_recommendation
from sparsebandits.paper.base import Experiment
from sparsebandits.paper.figures.geometry import Geometry, Variant
from sparsebandits.policies import CompactAPSEEG

GEOMETRY = Geometry(
    id="video",
    label="fig:video_rec",
    title="Video recommendation: a box, 5 of 20 genres, compact APSEE-G",
    action_set=video_recommendation().action_set,
    policy=CompactAPSEEG,
    variants=(Variant(key="literal", label="literal, floor(sqrt(c)) steps", changes={}),),
    rate=2 / 3,
    theorem="thm:regret_general_compact",
)

VIDEO = Experiment(
    id="video",
    labels=("fig:video_rec",),
    title=GEOMETRY.title,
    about="The paper's application: recommend at most 5 genres at once, each with an intensity.",
    cells=GEOMETRY.cells,
    figures=GEOMETRY.figures,
    claims=GEOMETRY.claims,
    decisions=("Greedy is exact on a box, so regret is against the exact optimum, alpha = 1.",),
)
