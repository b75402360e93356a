"""A sweep of seconds, as the text of a file and as what is in it."""

import tomllib
from typing import Any

TEXT = """\
# A small sweep.
seed = 5
trials = 7
horizon = 120
points = 12

[axes]
dim = [4, 6]
sparsity = [1, 3]
sigma = [0.1]

[[policies]]
kind = "sparse-thompson"

[[policies]]
label = "literal"
kind = "apsee"
sigma = "known"

[[environments]]
action_set = { kind = "lp-ball", p = 1.5 }
theta_star = { kind = "uniform-cube" }

[[environments]]
label = "unit box"
theta_star = { kind = "gap", gap = 0.2 }
[environments.action_set]
kind = "box"
lower = 0.0
upper = 1.0
[environments.noise]
kind = "rademacher"
"""


def small(**changes: Any) -> dict[str, Any]:
    """Return what the file holds, with other keys at the top; None takes one out."""
    data = {**tomllib.loads(TEXT), **changes}
    return {key: value for key, value in data.items() if value is not None}
