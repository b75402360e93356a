"""The films: the extract as it ships, and theta* and noise recomputed from its lines."""

import json
import math
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.environments import (
    GENRES_SHOWN,
    Empirical,
    environment_from_dict,
    film_recommendation,
    films,
)
from sparsebandits.validation import FloatArray

EXTRACT = resources.files("sparsebandits.environments") / "data" / "films.csv"


def slow_scores() -> dict[str, list[int]]:
    """Every score of every genre written out, one entry per film."""
    scores: dict[str, list[int]] = {}
    for line in EXTRACT.read_text().splitlines()[1:]:
        genre, score, count = line.split(",")
        scores.setdefault(genre, []).extend([int(score)] * int(count))
    return scores


def theta_of(env: sb.LinearEnvironment) -> FloatArray:
    assert isinstance(env.theta_star, np.ndarray)
    return env.theta_star


def test_the_extract_holds_17004_films_of_20_genres_sorted() -> None:
    scores = slow_scores()
    assert len(scores.pop("All films")) == 17_004
    assert len(scores) == 20
    assert "Music" not in scores
    assert sum(map(len, scores.values())) == 35_389
    assert min(scores, key=lambda genre: len(scores[genre])) == "History"
    lines = [line.split(",") for line in EXTRACT.read_text().splitlines()[1:]]
    keys = [(genre, int(score)) for genre, score, _ in lines]
    assert keys == sorted(set(keys))
    assert all(0 <= score <= 100 for _, score in keys)
    assert all(int(count) > 0 for _, _, count in lines)


def test_theta_is_the_deviation_of_the_genre_means() -> None:
    scores, env = slow_scores(), film_recommendation()
    every = scores.pop("All films")
    assert env.names == tuple(scores) == tuple(sorted(scores))
    for genre, entry in zip(env.names, theta_of(env), strict=True):
        mean = sum(scores[genre]) / len(scores[genre])
        assert entry == pytest.approx((mean - sum(every) / len(every)) / 50, abs=1e-14)


def test_theta_runs_from_horror_to_documentary() -> None:
    env = film_recommendation()
    theta = theta_of(env)
    assert env.names is not None
    assert env.names[int(theta.argmax())] == "Documentary"
    assert env.names[int(theta.argmin())] == "Horror"
    assert theta.max() == pytest.approx(0.41, abs=0.005)
    assert theta.min() == pytest.approx(-0.20, abs=0.005)
    assert env.action_set == sb.Box(np.zeros(20), np.ones(20), names=env.names)
    assert list(env.names) == [each for each in slow_scores() if each != films.ALL_FILMS]
    assert (theta > 0).sum() > GENRES_SHOWN


def test_the_noise_is_the_pool_of_residuals() -> None:
    scores, noise = slow_scores(), film_recommendation().noise
    del scores["All films"]
    pool: list[float] = []
    spreads = {}
    for genre, given in scores.items():
        mean = sum(given) / len(given)
        residuals = [(score - mean) / 50 for score in given]
        spreads[genre] = float(np.std(residuals))
        pool += residuals
    assert isinstance(noise, Empirical)
    assert noise.counts is not None
    repeated = np.repeat(noise.values, noise.counts)
    np.testing.assert_allclose(np.sort(repeated), np.sort(pool), atol=1e-14)
    assert math.fsum(repeated) / repeated.size == pytest.approx(0, abs=1e-14)
    assert noise.standard_deviation == pytest.approx(float(np.std(pool)), rel=1e-12)
    # The noise of the paper has 0.5.
    assert noise.standard_deviation == pytest.approx(0.540, abs=0.0005)
    assert noise.sigma == pytest.approx(0.5524, abs=0.0001)
    assert min(spreads.values()) == pytest.approx(0.353, abs=0.0005)
    assert max(spreads.values()) == pytest.approx(0.572, abs=0.0005)
    assert max(spreads, key=lambda genre: spreads[genre]) == "Mystery"


def test_rewards_are_theta_and_resampled_films() -> None:
    env = film_recommendation()
    assert env.names is not None
    session = env.start(seed=0, sparsity=GENRES_SHOWN)
    page = np.isin(env.names, ["Documentary", "War"]).astype(float)
    rewards = np.array([session.pull(page) for _ in range(4000)])
    assert session.mean(page) == pytest.approx(float(theta_of(env) @ page), abs=1e-14)
    # 5 standard errors, a false alarm of 6e-7; the seed is fixed.
    error = env.noise.standard_deviation / math.sqrt(rewards.size)
    assert abs(rewards.mean() - session.mean(page)) < 5 * error


def test_the_environment_is_the_same_every_time_and_after_a_round_trip() -> None:
    env = film_recommendation()
    assert env == film_recommendation()
    assert environment_from_dict(json.loads(json.dumps(env.to_dict(), allow_nan=False))) == env
    assert len(repr(env)) < 200


def test_a_damaged_extract_is_refused() -> None:
    content = EXTRACT.read_bytes()
    assert films.read_counts(content).keys() == films.film_counts().keys()
    for damaged in (content[:-20], content.replace(b"Horror,0,", b"Horror,0,1", 1), b""):
        with pytest.raises(
            sb.InvalidValueError, match=r"is damaged: its SHA-256 is .* was expected"
        ):
            films.read_counts(damaged)


def test_line_ends_of_windows_do_no_harm() -> None:
    read = films.read_counts(EXTRACT.read_bytes().replace(b"\n", b"\r\n"))
    assert int(read["All films"].sum()) == 17_004


def test_a_missing_extract_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def nowhere(package: str) -> Path:
        return tmp_path

    monkeypatch.setattr(resources, "files", nowhere)
    with pytest.raises(sb.InvalidValueError, match=r"films\.csv is missing; install sparsebandits"):
        film_recommendation()


def test_the_provenance_states_the_hash() -> None:
    stated = (resources.files("sparsebandits.environments") / "data" / "films.md").read_text()
    assert films.FILMS_SHA256 in stated
    assert "CC0-1.0" in stated
    assert "bokeh_sampledata" in stated


def test_nothing_is_read_before_it_is_asked_for() -> None:
    code = (
        "import importlib.resources as r\n"
        "def refuse(package): raise AssertionError(package)\n"
        "r.files = refuse\n"
        "import sparsebandits, sparsebandits.paper.table\n"
    )
    done: Any = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
