"""Samplers of theta*: gaps, ranges, uniformity, reproducibility."""

import json
import math
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import sparsebandits as sb
from sparsebandits.environments import (
    PARAMETERS,
    AdversarialTheta,
    GapTheta,
    SparseTheta,
    StandardTheta,
    ThetaSampler,
    UniformCube,
)
from sparsebandits.validation import FloatArray
from tests.environments.examples import SAMPLER_EXAMPLES

each_sampler = pytest.mark.parametrize("sampler", SAMPLER_EXAMPLES, ids=repr)
few = settings(max_examples=60, deadline=None)


def descending(theta: FloatArray) -> FloatArray:
    return np.sort(np.abs(theta))[::-1]


def gap_of(theta: FloatArray, sparsity: int) -> float:
    sizes = descending(theta)
    return float(sizes[sparsity - 1] - sizes[sparsity])


def test_every_registered_sampler_has_examples() -> None:
    assert {sampler.kind for sampler in SAMPLER_EXAMPLES} == set(PARAMETERS)
    assert all(PARAMETERS[sampler.kind] is type(sampler) for sampler in SAMPLER_EXAMPLES)


@each_sampler
@pytest.mark.parametrize(("dim", "sparsity"), [(20, 5), (4, 1), (4, 4), (4, 3)])
def test_draws_are_reproducible_and_differ(sampler: ThetaSampler, dim: int, sparsity: int) -> None:
    first, again = (sampler.draw(np.random.default_rng(3), dim, sparsity) for _ in range(2))
    assert first.shape == (dim,)
    assert first.dtype == np.float64
    assert np.isfinite(first).all()
    assert first.tobytes() == again.tobytes()
    rng = np.random.default_rng(3)
    assert len({sampler.draw(rng, dim, sparsity).tobytes() for _ in range(20)}) > 5


@given(
    seed=st.integers(0, 2**32 - 1),
    dim=st.integers(2, 40),
    share=st.floats(0, 1),
    gap=st.floats(1e-3, 0.45),
    level=st.sampled_from([0.0, 0.1, 0.5]),
)
@few
def test_the_pair_has_exactly_the_gap(
    seed: int, dim: int, share: float, gap: float, level: float
) -> None:
    sparsity = 1 + int(share * (dim - 2))
    rng = np.random.default_rng(seed)
    standard = StandardTheta(gap, level=level).draw(rng, dim, sparsity)
    adversarial = AdversarialTheta(gap, level=level).draw(rng, dim, sparsity)
    assert gap_of(standard, sparsity) == pytest.approx(gap, abs=1e-12)
    assert gap_of(adversarial, sparsity) == gap_of(standard, sparsity)
    both = slice(sparsity - 1, sparsity + 1)
    assert (descending(standard)[both] == descending(adversarial)[both]).all()


def test_the_pair_of_the_papers_figure() -> None:
    rng = np.random.default_rng(0)
    standard = descending(StandardTheta(0.1).draw(rng, 20, 5))
    adversarial = descending(AdversarialTheta(0.1).draw(rng, 20, 5))
    assert (standard > 0).all()
    assert standard[0] == 1.0
    # Well separated: both sides in even steps, as wide as d, H and the cube allow.
    assert np.allclose(np.diff(standard[:5]), -0.1)
    assert np.allclose(np.diff(standard[5:]), -0.5 / 15)
    # Nearly identical: within 0.001 of the two sides of the gap, and no two alike.
    assert adversarial[0] - adversarial[4] == pytest.approx(0.001)
    assert adversarial[5] - adversarial[19] == pytest.approx(0.001)
    assert np.unique(adversarial).size == 20


def test_level_zero_leaves_exactly_h_non_zeros() -> None:
    rng = np.random.default_rng(0)
    for sampler in (StandardTheta(0.2, level=0.0), AdversarialTheta(0.2, level=0.0)):
        theta = sampler.draw(rng, 20, 5)
        assert np.count_nonzero(theta) == 5
        assert gap_of(theta, 5) == 0.2
        assert not np.signbit(theta[theta == 0]).any()


@given(
    seed=st.integers(0, 2**32 - 1),
    dim=st.integers(2, 40),
    share=st.floats(0, 1),
    gap=st.floats(1e-6, 0.99),
    half_width=st.sampled_from([1.0, 0.3, 7.0]),
)
@few
def test_gap_theta_moves_only_the_gap(
    seed: int, dim: int, share: float, gap: float, half_width: float
) -> None:
    sparsity = 1 + int(share * (dim - 2))
    drawn = UniformCube(half_width).draw(np.random.default_rng(seed), dim, sparsity)
    sampler = GapTheta(gap * half_width, half_width=half_width)
    theta = sampler.draw(np.random.default_rng(seed), dim, sparsity)
    assert gap_of(theta, sparsity) == pytest.approx(gap * half_width, abs=1e-12)
    assert np.abs(theta).max() <= half_width
    assert (np.signbit(theta) == np.signbit(drawn)).all()
    order = np.argsort(-np.abs(drawn), kind="stable")
    assert (np.diff(np.abs(theta[order])) <= 1e-15).all()


def test_gap_theta_stays_close_when_the_gap_is_close() -> None:
    drawn = UniformCube().draw(np.random.default_rng(2), 20, 5)
    nearly = GapTheta(gap_of(drawn, 5) + 0.01).draw(np.random.default_rng(2), 20, 5)
    np.testing.assert_allclose(nearly, drawn, atol=0.006)


def test_without_a_next_element_there_is_no_gap() -> None:
    drawn = UniformCube().draw(np.random.default_rng(2), 5, 5)
    assert (GapTheta(0.5).draw(np.random.default_rng(2), 5, 5) == drawn).all()
    assert descending(StandardTheta(0.1).draw(np.random.default_rng(2), 3, 3)) == pytest.approx(
        [1.0, 0.8, 0.6]
    )


def test_the_cube_is_uniform() -> None:
    rng = np.random.default_rng(4)
    draws = np.array([UniformCube(2.0).draw(rng, 3, 1) for _ in range(5000)])
    assert np.abs(draws).max() <= 2.0
    # Each of the 3 Kolmogorov-Smirnov tests has a false-alarm probability of 1e-6.
    for column in draws.T:
        assert stats.kstest(column, stats.uniform(-2.0, 4.0).cdf).pvalue > 1e-6


@pytest.mark.parametrize(
    "sampler", [StandardTheta(0.1), AdversarialTheta(0.1), GapTheta(0.1), SparseTheta(2)], ids=repr
)
def test_every_support_and_sign_is_equally_likely(sampler: ThetaSampler) -> None:
    rng = np.random.default_rng(5)
    draws = np.array([sampler.draw(rng, 5, 2) for _ in range(4000)])
    top = np.sort(np.argsort(-np.abs(draws), axis=1)[:, :2], axis=1)
    _, counts = np.unique(top @ [10, 1], return_counts=True)
    assert counts.size == 10
    # False-alarm probabilities of 1e-6: chi-square over the 10 supports, 5 errors for the signs.
    assert stats.chisquare(counts).pvalue > 1e-6
    signs = np.sign(draws)
    for i in range(5):
        used = signs[signs[:, i] != 0, i]
        assert abs(used.mean()) < 5 / math.sqrt(used.size)
    assert abs((signs[:, 0] * signs[:, 1]).mean()) < 5 / math.sqrt(4000)


def test_the_order_within_the_support_is_random_too() -> None:
    rng = np.random.default_rng(6)
    largest = [int(np.abs(StandardTheta(0.1).draw(rng, 4, 3)).argmax()) for _ in range(2000)]
    # A false-alarm probability of 1e-6.
    assert stats.chisquare(np.bincount(largest, minlength=4)).pvalue > 1e-6


def test_sparse_theta() -> None:
    rng = np.random.default_rng(7)
    draws = np.array(
        [SparseTheta(3, smallest=0.5, half_width=2.0).draw(rng, 9, 1) for _ in range(2000)]
    )
    assert (np.count_nonzero(draws, axis=1) == 3).all()
    sizes = np.abs(draws[draws != 0])
    # A false-alarm probability of 1e-6.
    assert stats.kstest(sizes, stats.uniform(0.5, 1.5).cdf).pvalue > 1e-6
    assert np.count_nonzero(SparseTheta(9).draw(rng, 9, 1)) == 9
    with pytest.raises(sb.InvalidValueError, match="nonzeros must be at most dim = 9, got 10"):
        SparseTheta(10).draw(rng, 9, 1)


@each_sampler
def test_round_trips(sampler: ThetaSampler) -> None:
    copy = ThetaSampler.from_dict(json.loads(json.dumps(sampler.to_dict())))
    assert type(copy) is type(sampler)
    assert copy == sampler
    assert hash(copy) == hash(sampler)
    draws = [one.draw(np.random.default_rng(8), 20, 5).tobytes() for one in (sampler, copy)]
    assert draws[0] == draws[1]


@each_sampler
def test_samplers_are_frozen_and_check_what_they_draw(sampler: ThetaSampler) -> None:
    for name in ("kind", "gap", "half_width"):
        with pytest.raises(FrozenInstanceError):
            setattr(sampler, name, 1.0)
    rng = np.random.default_rng(0)
    for dim, sparsity in ((0, 1), (5, 6), (5, 0)):
        with pytest.raises(sb.InvalidValueError, match=r"dim|sparsity"):
            sampler.draw(rng, dim, sparsity)
    seed: Any = 0
    with pytest.raises(sb.InvalidTypeError, match="rng must be"):
        sampler.draw(seed, 5, 2)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: UniformCube(0.0), "half_width must be positive"),
        (lambda: UniformCube(math.nan), "half_width must be a finite number"),
        (lambda: StandardTheta(0.0), "gap must be positive"),
        (lambda: StandardTheta(0.5, level=0.5), "largest must exceed level"),
        (lambda: StandardTheta(0.1, level=-0.1), "level must be non-negative"),
        (lambda: StandardTheta(0.1, largest=math.inf), "largest must be a finite number"),
        (lambda: AdversarialTheta(-0.1), "gap must be positive"),
        (lambda: AdversarialTheta(0.1, level=0.2, spread=0.2), "spread must be below level"),
        (lambda: AdversarialTheta(0.1, spread=-1.0), "spread must be non-negative"),
        (lambda: SparseTheta(0), "nonzeros must be at least 1"),
        (lambda: SparseTheta(2, smallest=2.0), "smallest must not exceed half_width"),
        (lambda: SparseTheta(2, smallest=-1.0), "smallest must be non-negative"),
        (lambda: GapTheta(1.0), "gap must be below half_width"),
        (lambda: GapTheta(0.0), "gap must be positive"),
        (
            lambda: ThetaSampler.from_dict({"kind": "cube"}),
            "A parameter must be of kind 'uniform-cu",
        ),
        (lambda: ThetaSampler.from_dict({"kind": "gap", "width": 1}), "does not take the keys"),
    ],
)
def test_arguments_are_checked(build: Callable[[], ThetaSampler], message: str) -> None:
    with pytest.raises(sb.InvalidValueError, match=message):
        build()
