"""The paper's recommendation system."""

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.environments import (
    GENRES,
    GENRES_SHOWN,
    Gaussian,
    UniformCube,
    video_recommendation,
)


def test_it_is_the_papers_setting() -> None:
    env = video_recommendation()
    assert env.action_set == sb.Box(np.zeros(20), np.ones(20))
    assert env.theta_star == UniformCube(1.0)
    assert env.noise == Gaussian(0.5)
    assert GENRES_SHOWN == 5


def test_genres_have_names() -> None:
    env = video_recommendation()
    assert env.names == GENRES
    assert len(set(GENRES)) == 20
    assert GENRES[:4] == ("Sports", "News", "Gaming", "Music")


def test_a_page_of_six_genres_or_negative_airtime_is_refused() -> None:
    session = video_recommendation().start(seed=0, sparsity=GENRES_SHOWN)
    page = np.zeros(20)
    page[:5] = 1.0
    session.pull(page)
    page[5] = 0.5
    with pytest.raises(sb.InvalidValueError, match="at most H = 5"):
        session.pull(page)
    with pytest.raises(sb.InvalidValueError, match="not in Box"):
        session.pull(-np.eye(20)[0])
