"""Moments, tails and reproducibility of every noise."""

import json
import math
import pickle
import tracemalloc
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from scipy import stats

import sparsebandits as sb
from sparsebandits.environments import (
    NOISES,
    Gaussian,
    Heteroscedastic,
    Noise,
    Rademacher,
    StudentT,
    UniformNoise,
)
from sparsebandits.validation import FloatArray
from tests.environments.examples import HEAVY, NOISE_EXAMPLES, SUB_GAUSSIAN

_DRAWS = 400_000
# At 5 standard errors a right noise fails a check with probability below 6e-7; the seeds are fixed.
_ERRORS = 5.0
each_noise = pytest.mark.parametrize("noise", NOISE_EXAMPLES, ids=repr)


def mgf_excess(draws: FloatArray, sigma: float, slope: float) -> float:
    """E exp(lambda eta) minus its bound (`ass:noise`) at lambda sigma = slope, in errors."""
    moments = np.exp(slope / sigma * draws)
    error = moments.std() / math.sqrt(draws.size)
    return float((moments.mean() - math.exp(slope**2 / 2)) / error)


def test_every_registered_noise_has_examples() -> None:
    assert {noise.kind for noise in NOISE_EXAMPLES} == set(NOISES)
    assert all(NOISES[noise.kind] is type(noise) for noise in NOISE_EXAMPLES)


@pytest.mark.parametrize("noise", [*SUB_GAUSSIAN, StudentT(0.5, degrees=9.0)], ids=repr)
def test_mean_and_standard_deviation(noise: Noise) -> None:
    draws = noise.draw(np.random.default_rng(1), _DRAWS)
    assert abs(draws.mean()) <= _ERRORS * draws.std() / math.sqrt(_DRAWS)
    squares = draws**2
    error = max(float(squares.std()), 1e-12) / math.sqrt(_DRAWS)
    assert abs(squares.mean() - noise.standard_deviation**2) <= _ERRORS * error


@pytest.mark.parametrize("noise", SUB_GAUSSIAN, ids=repr)
@pytest.mark.parametrize("slope", [-1.5, -1.0, -0.3, 0.3, 1.0, 1.5])
def test_sigma_bounds_the_moment_generating_function(noise: Noise, slope: float) -> None:
    draws = noise.draw(np.random.default_rng(2), _DRAWS)
    assert noise.is_sub_gaussian
    assert mgf_excess(draws, noise.sigma, slope) <= _ERRORS


def test_the_check_sees_a_sigma_that_is_a_little_too_small() -> None:
    draws = Gaussian(0.5).draw(np.random.default_rng(2), _DRAWS)
    assert mgf_excess(draws, 0.48, 1.0) > _ERRORS


@pytest.mark.parametrize("noise", HEAVY, ids=repr)
def test_student_t_breaks_the_assumption(noise: StudentT) -> None:
    assert noise.sigma == math.inf
    assert not noise.is_sub_gaussian
    draws = noise.draw(np.random.default_rng(3), _DRAWS)
    # With sigma = 0.5 the chance that any of so many draws is beyond 6 is at most 1e-25.
    assert np.abs(draws).max() > 6.0
    assert np.exp(2.0 * np.clip(draws, -50, 50)).mean() > 10 * math.exp(0.5)


def test_distributions() -> None:
    # Each Kolmogorov-Smirnov test has a false-alarm probability of 1e-6.
    cases: list[tuple[Noise, Any]] = [
        (Gaussian(0.7), stats.norm(scale=0.7)),
        (UniformNoise(0.6), stats.uniform(-0.6, 1.2)),
        (Heteroscedastic(0.4), stats.norm(scale=0.4)),
        (StudentT(0.5, 4.0), stats.t(4.0, scale=0.5 / math.sqrt(2.0))),
        (StudentT(0.5, 1.5), stats.t(1.5, scale=0.5)),
    ]
    for noise, expected in cases:
        draws = noise.draw(np.random.default_rng(4), 50_000)
        assert stats.kstest(draws, expected.cdf).pvalue > 1e-6
    assert set(Rademacher(0.4).draw(np.random.default_rng(4), 100)) == {-0.4, 0.4}
    assert StudentT(0.5, 4.0).standard_deviation == 0.5
    assert StudentT(0.5, 2.0).standard_deviation == math.inf


@each_noise
def test_one_call_or_many_give_the_same_bits(noise: Noise) -> None:
    together = noise.draw(np.random.default_rng(5), 1000)
    rng = np.random.default_rng(5)
    apart = np.concatenate([noise.draw(rng, size) for size in (1, 1, 3, 5, 7, 0, 483, 500)])
    assert together.tobytes() == apart.tobytes()
    rng = np.random.default_rng(5)
    shaped = [noise.draw(rng, (2, 50)), noise.draw(rng, (9, 100))]
    assert together.tobytes() == b"".join(part.tobytes() for part in shaped)


@each_noise
def test_drawing_into_a_buffer_gives_the_same_bits(noise: Noise) -> None:
    buffer = np.full((12, 50), np.nan)
    rng = np.random.default_rng(6)
    noise.draw_into(rng, buffer[1:5])
    noise.draw_into(rng, buffer[5])
    assert buffer[1:6].tobytes() == noise.draw(np.random.default_rng(6), 250).tobytes()
    assert np.isnan(buffer[0]).all()
    assert np.isnan(buffer[6:]).all()


@pytest.mark.parametrize("noise", SUB_GAUSSIAN, ids=repr)
def test_drawing_into_a_buffer_allocates_nothing(noise: Noise) -> None:
    buffer, rng = np.empty(100_000), np.random.default_rng(7)
    tracemalloc.start()
    noise.draw_into(rng, buffer)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < buffer.nbytes / 4


def test_only_heteroscedastic_noise_depends_on_the_action() -> None:
    actions = np.random.default_rng(8).standard_normal((3, 2, 4))
    for noise in NOISE_EXAMPLES:
        scale = noise.scale_of(actions)
        assert scale.shape == (3, 2)
        assert noise.scale_of(actions[0, 0]).shape == ()
        assert noise.depends_on_action == isinstance(noise, Heteroscedastic)
        assert noise.depends_on_action or (scale == 1).all()


def test_heteroscedastic_scale_is_its_formula_and_never_above_one() -> None:
    noise = Heteroscedastic(0.5, norm_bound=2.0, floor=0.3)
    actions = np.random.default_rng(9).standard_normal((200, 5))
    scales = noise.scale_of(actions)
    for action, scale in zip(actions, scales, strict=True):
        length = math.sqrt(sum(entry**2 for entry in action))
        assert scale == pytest.approx(0.3 + 0.7 * min(1.0, length / 2.0), rel=1e-14)
    assert scales.max() == 1.0
    assert noise.scale_of(np.zeros(5)) == 0.3


@pytest.mark.parametrize("dim", [1, 5, 20, 300])
def test_a_rows_scale_does_not_depend_on_the_rows_beside_it(dim: int) -> None:
    noise = Heteroscedastic(0.5, norm_bound=100.0)
    actions = np.random.default_rng(10).standard_normal((7, 6, dim))
    together = noise.scale_of(actions)
    assert noise.scale_of(np.asfortranarray(actions)).tobytes() == together.tobytes()
    for place in np.ndindex(7, 6):
        assert noise.scale_of(actions[place]) == together[place]


@each_noise
def test_round_trips(noise: Noise) -> None:
    read = Noise.from_dict(json.loads(json.dumps(noise.to_dict(), allow_nan=False)))
    for copy in (read, pickle.loads(pickle.dumps(noise))):
        assert type(copy) is type(noise)
        assert copy == noise
        assert hash(copy) == hash(noise)
        same = [one.draw(np.random.default_rng(11), 9).tobytes() for one in (noise, copy)]
        assert same[0] == same[1]


@each_noise
def test_noises_are_frozen(noise: Noise) -> None:
    for name in ("sigma", "scale", "anything"):
        with pytest.raises(FrozenInstanceError):
            setattr(noise, name, 1.0)


def test_no_noise_at_all() -> None:
    for noise in (Gaussian(0), UniformNoise(0), Rademacher(0), Heteroscedastic(0)):
        assert not noise.draw(np.random.default_rng(0), 5).any()
        assert noise.sigma == 0


@pytest.mark.parametrize("wrong", [-1.0, math.nan, math.inf, "0.5", None, True])
def test_scales_are_checked(wrong: Any) -> None:
    for make, name in (
        (Gaussian, "sigma"),
        (UniformNoise, "half_width"),
        (Rademacher, "scale"),
        (Heteroscedastic, "sigma"),
        (StudentT, "scale"),
    ):
        with pytest.raises(sb.SparseBanditsError, match=name):
            make(wrong)


def test_other_arguments_are_checked() -> None:
    with pytest.raises(sb.InvalidValueError, match="norm_bound must be positive, got 0"):
        Heteroscedastic(0.5, norm_bound=0.0)
    for floor in (-0.1, 1.1):
        with pytest.raises(sb.InvalidValueError, match=r"floor must lie in \[0, 1\]"):
            Heteroscedastic(0.5, floor=floor)
    with pytest.raises(sb.InvalidValueError, match="degrees must be above 1"):
        StudentT(0.5, degrees=1.0)
    with pytest.raises(sb.InvalidValueError, match="scale must be positive"):
        StudentT(0.0)


def test_a_seed_is_no_generator_and_a_list_no_buffer() -> None:
    seed: Any = 0
    with pytest.raises(sb.InvalidTypeError, match=r"rng must be a numpy\.random\.Generator, got 0"):
        Gaussian(0.5).draw(seed, 3)
    rng = np.random.default_rng(0)
    frozen = np.zeros(3)
    frozen.setflags(write=False)
    bad_types: list[Any] = [[0.0], np.zeros(3, dtype=np.float32), np.zeros(3, dtype=np.int64)]
    for noise in NOISE_EXAMPLES:
        for buffer in bad_types:
            with pytest.raises(sb.InvalidTypeError, match="out must be a float64 array"):
                noise.draw_into(rng, buffer)
        for strided in (np.zeros((4, 4))[:, 1], np.zeros((4, 4), order="F"), frozen):
            with pytest.raises(sb.InvalidValueError, match="writeable and C-contiguous"):
                noise.draw_into(rng, strided)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, "A noise must be a table of keys"),
        ({"sigma": 1.0}, "A noise must be of kind 'gaussian', .* got None"),
        ({"kind": "cauchy"}, "got 'cauchy'"),
        ({"kind": ["gaussian"]}, "A noise must be of kind"),
        ({"kind": "gaussian"}, r"'gaussian' does not take the keys \[\]"),
        ({"kind": "uniform", "sigma": 1.0, "half_width": 1.0}, "does not take the keys"),
        ({"kind": "gaussian", "sigma": "big"}, "sigma must be a number"),
    ],
)
def test_unreadable_descriptions_are_refused(data: Any, message: str) -> None:
    with pytest.raises(sb.SparseBanditsError, match=message):
        Noise.from_dict(data)
