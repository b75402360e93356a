"""The statements of every bound, on simulated errors: how often is one ever false?

Each test has a fixed seed. Were a bound exactly as good as it claims, its test would fail with
probability at most 1e-6 (`FALSE_ALARM`).
"""

import numpy as np
import pytest

from sparsebandits.estimation import (
    CONFIDENCE,
    ConfidenceBound,
    make_confidence,
    sigma_upper,
    split_delta,
)
from sparsebandits.validation import BoolArray, FloatArray
from tests.estimation.simulation import BASES, CYCLES, RUNS, draw, errors, ever, most_allowed

DELTA = 0.1
H = 3
EVERY = np.arange(1, CYCLES + 1)

each_bound = pytest.mark.parametrize("name", list(CONFIDENCE))
each_basis = pytest.mark.parametrize("basis", list(BASES))
each_noise = pytest.mark.parametrize("noise", ["gaussian", "rademacher"])


def violations(
    bound: ConfidenceBound, error: FloatArray, scale: float = 1.0
) -> dict[str, BoolArray]:
    """Per run, whether each kind of statement is false at any cycle, with scaled widths."""
    size = np.sort(np.abs(error) / scale, axis=-1)[..., ::-1]
    norms = np.sqrt(np.cumsum(size**2, axis=-1))
    dim = size.shape[-1]
    found = {
        "coordinate": ever(np.abs(error) / scale > bound.coordinate_radius(EVERY)),
        # The worst signs of a pair add the moduli up; the worst pair has the two largest.
        "pair": ever(size[..., 0] + size[..., 1] > bound.top_h_threshold(EVERY)),
    }
    for s in (1, H, dim):
        found[f"radius({s})"] = ever(norms[..., s - 1] > bound.radius(EVERY, s))
    found["any"] = np.any(list(found.values()), axis=0)
    return found


@pytest.mark.each_value
@each_bound
@each_basis
@each_noise
def test_all_statements_hold_at_once(name: str, basis: str, noise: str) -> None:
    bound = make_confidence(name, BASES[basis], DELTA)
    found = violations(bound, errors(noise, basis))
    shares = ", ".join(f"{key} {share.mean():.4f}" for key, share in found.items())
    print(f"{name:10} {basis:10} {noise:10} ever violated: {shares}")
    assert found["any"].sum() <= most_allowed(RUNS, DELTA)


@pytest.mark.each_value
@each_bound
@each_basis
def test_differences_of_weighted_scores_hold(name: str, basis: str) -> None:
    weights = np.array([0.3, 1.0, 2.0, 0.0, 3.0, 0.5])
    bound = make_confidence(name, BASES[basis], DELTA)
    size = np.sort(weights * np.abs(errors("gaussian", basis)), axis=-1)
    found = ever(size[..., -1] + size[..., -2] > bound.top_h_threshold(EVERY, weights))
    print(f"{name} {basis} with weights: ever violated {found.mean():.4f}")
    assert found.sum() <= most_allowed(RUNS, DELTA)


@pytest.mark.parametrize(
    ("name", "shrunk"),
    [
        ("coordinate", 0.65),
        ("stitched", 0.65),
        ("mixture", 0.8),
        ("pairwise", 0.75),
        ("support", 0.75),
    ],
)
def test_the_sharper_bounds_are_sharp(name: str, shrunk: float) -> None:
    """Shrunk by a fifth to a third, each is false more often than it may be.

    So the coverage test has the power to notice such a mistake.
    """
    bound = make_confidence(name, BASES["standard"], DELTA)
    found = violations(bound, errors("gaussian", "standard"), shrunk)
    print(f"{name} times {shrunk}: ever violated {found['any'].mean():.3f}")
    assert found["any"].sum() > most_allowed(RUNS, DELTA)


@pytest.mark.parametrize("name", ["mixture", "pairwise"])
def test_what_pairwise_and_mixture_spend_is_not_wasted(name: str) -> None:
    """No more than a factor of 30 between delta and the share of runs seen to fail."""
    bound = make_confidence(name, BASES["standard"], DELTA)
    found = violations(bound, errors("gaussian", "standard"))
    assert found["any"].mean() > DELTA / 30


THETA = np.array([1.0, -0.9, 0.51, -0.50, 0.2, -0.5])
"""A near tie for the third place, with every sign."""


def wrong_locks(
    bound: ConfidenceBound, error: FloatArray, scale: float, theta: FloatArray = THETA
) -> tuple[int, int]:
    """How many runs lock, and how many of them lock a wrong set the first time."""
    size = np.abs(theta + error)
    order = np.sort(size, axis=-1)[..., ::-1]
    passed = order[..., H - 1] - order[..., H] > scale * bound.top_h_threshold(EVERY)
    locked = passed.any(axis=1)
    first = passed.argmax(axis=1)
    right = np.abs(theta) >= np.sort(np.abs(theta))[-H]
    chosen = size[np.arange(len(size)), first]
    top = chosen >= np.sort(chosen, axis=-1)[:, [-H]]
    return int(locked.sum()), int((locked & (top != right).any(axis=1)).sum())


@pytest.mark.each_value
@each_bound
@each_basis
@each_noise
def test_a_wrong_set_is_hardly_ever_locked(name: str, basis: str, noise: str) -> None:
    bound = make_confidence(name, BASES[basis], DELTA)
    locked, wrong = wrong_locks(bound, errors(noise, basis), 1.0)
    print(f"{name} {basis} {noise}: {locked} of {RUNS} runs lock, {wrong} wrongly")
    assert wrong <= most_allowed(RUNS, DELTA)


@pytest.mark.parametrize("name", ["coordinate", "stitched", "mixture", "pairwise", "support"])
def test_a_clear_gap_is_locked_and_rightly(name: str) -> None:
    bound = make_confidence(name, BASES["standard"], DELTA)
    clear = np.array([1.6, -1.5, 1.3, -0.5, 0.2, -0.4])
    locked, wrong = wrong_locks(bound, errors("gaussian", "standard"), 1.0, clear)
    assert locked > 0.99 * RUNS
    assert wrong <= most_allowed(RUNS, DELTA)


def test_the_lock_test_has_power() -> None:
    bound = make_confidence("pairwise", BASES["standard"], DELTA)
    _, wrong = wrong_locks(bound, errors("gaussian", "standard"), 0.4)
    assert wrong > most_allowed(RUNS, DELTA)


@pytest.mark.parametrize("by_cycle", [True, False])
def test_sigma_is_ever_above_its_bound_in_few_runs(by_cycle: bool) -> None:
    dim, cycles, runs = 5, 150, 4000
    squares = within_squares(draw("gaussian", np.random.default_rng(31), (runs, cycles, dim)))
    nu = dim * np.arange(cycles)
    upper = sigma_upper(squares, nu, DELTA, look=np.arange(cycles) if by_cycle else None)
    failed = int(ever(upper < 1.0).sum())
    print(f"by_cycle={by_cycle}: sigma above its bound in {failed / runs:.4f} of runs")
    assert failed <= most_allowed(runs, DELTA)
    assert not by_cycle or failed > runs * DELTA / 10
    assert np.isinf(upper[:, 0]).all()
    assert upper[:, -1].max() < 1.3
    assert ever(0.8 * upper < 1.0).sum() > most_allowed(runs, DELTA)


def within_squares(rewards: FloatArray) -> FloatArray:
    """Pooled within-arm sums of squares after each cycle, (runs, cycles)."""
    counts = np.arange(1, rewards.shape[1] + 1)[:, None]
    means = rewards.cumsum(axis=1) / counts
    return np.asarray(((rewards**2).cumsum(axis=1) - counts * means**2).sum(axis=-1)).clip(min=0.0)


@pytest.mark.parametrize("name", ["mixture", "pairwise"])
def test_with_sigma_estimated_delta_still_holds(name: str) -> None:
    sigma, basis = 0.5, BASES["correlated"]
    rng = np.random.default_rng(32)
    noise = sigma * draw("gaussian", rng, (RUNS, CYCLES, basis.dim))
    for_theta, for_sigma = split_delta(DELTA, "estimate")
    look = np.arange(CYCLES)
    upper = sigma_upper(within_squares(noise), basis.dim * look, for_sigma, look=look)
    error = basis.estimate(noise.cumsum(axis=1) / EVERY[:, None])
    bound = make_confidence(name, basis, for_theta)
    found = violations(bound, error / upper[..., None])["any"] | ever(upper < sigma)
    print(f"{name}, sigma estimated: ever violated {found.mean():.4f}")
    assert found.sum() <= most_allowed(RUNS, DELTA)
