"""`fig:video_rec`: at most 5 of 20 genres, with airtimes in [0, 1]."""

from sparsebandits.environments import video_recommendation
from sparsebandits.paper.geometry import COMPACT, LINEAR, QUADRATIC, Geometry
from sparsebandits.policies import CompactAPSEEG

VIDEO_REC = Geometry(
    id="video",
    label="fig:video_rec",
    title="Video recommendation: a box, 5 of 20 genres, compact APSEE-G",
    about="The paper's application: recommend at most 5 genres at once, each with an intensity.",
    action_set=video_recommendation().action_set,
    policy=CompactAPSEEG,
    variants=(COMPACT, LINEAR, QUADRATIC),
    rate=2 / 3,
    theorem="thm:regret_general_compact",
    decisions=("Greedy is exact on a box, so regret is against the exact optimum, alpha = 1.",),
).experiment()
