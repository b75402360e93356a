"""The paper's example: a page with videos of at most 5 among 20 genres."""

import numpy as np

from sparsebandits.action_sets import Box
from sparsebandits.environments.linear import LinearEnvironment
from sparsebandits.environments.noise import Gaussian
from sparsebandits.environments.parameters import UniformCube

GENRES = (
    "Sports",
    "News",
    "Gaming",
    "Music",
    "Comedy",
    "Drama",
    "Documentary",
    "Science",
    "Technology",
    "Cooking",
    "Travel",
    "Fashion",
    "Fitness",
    "Education",
    "History",
    "Nature",
    "Animation",
    "Crafts",
    "Cars",
    "Finance",
)
"""What the coordinates stand for; the paper names the first four."""

GENRES_SHOWN = 5
"""H, the number of genres that fit on the page."""


def video_recommendation() -> LinearEnvironment:
    """Return the recommendation system of `subsec:video_recommendation`.

    x_i in [0, 1] is the airtime of genre i and theta*_i in [-1, 1] how much the user likes it; at
    most H = 5 (`GENRES_SHOWN`) genres are shown at once. The reward has noise N(0, 0.5^2).

    Examples
    --------
    >>> import numpy as np
    >>> from sparsebandits.environments import GENRES_SHOWN, video_recommendation
    >>> env = video_recommendation()
    >>> session = env.start(seed=0, sparsity=GENRES_SHOWN)
    >>> page = np.isin(env.names, ["Sports", "Music"]).astype(float)
    >>> print(round(session.mean(page), 3), round(session.pull(page), 3))
    0.137 0.54
    """
    dim = len(GENRES)
    return LinearEnvironment(
        action_set=Box(np.zeros(dim), np.ones(dim)),
        theta_star=UniformCube(1.0),
        noise=Gaussian(0.5),
        names=GENRES,
    )
