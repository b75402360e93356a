"""What the paper's experiments leave open, as it is chosen here (note 30)."""

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.environments.paper_setting import (
    DELTA,
    DIM,
    SIGMA,
    SPARSITY,
    paper_environment,
    random_ellipsoid,
)


def test_the_setting_of_the_experiments() -> None:
    """delta, the law of the ellipsoid, and theta* anew in each trial, for all policies alike."""
    assert (DIM, SPARSITY, SIGMA, DELTA) == (20, 5, 0.5, 0.05)
    first = np.array(random_ellipsoid().matrix)
    assert np.array_equal(first, np.array(random_ellipsoid(0).matrix))
    assert not np.allclose(first, np.array(random_ellipsoid(1).matrix))
    values = np.concatenate([np.linalg.eigvalsh(random_ellipsoid(s).matrix) for s in range(50)])
    assert 0.2 <= values.min() < 0.22
    assert 0.98 < values.max() <= 1
    # Uniform on [0.2, 1]: 1,000 values, 5 deviations of their mean.
    assert values.mean() == pytest.approx(0.6, abs=5 * 0.8 / np.sqrt(12 * 1000))
    ball = sb.LpBall(DIM)
    policies = [
        sb.APSEE(action_set=ball, sparsity=SPARSITY, sigma=SIGMA, delta=DELTA),
        sb.CompactAPSEEG(action_set=ball, sparsity=SPARSITY),
    ]
    runs = sb.simulate(policies, paper_environment(ball), 40, 3, 0)
    assert np.array_equal(runs[0].theta_star, runs[1].theta_star)
    assert len(np.unique(runs[0].theta_star, axis=0)) == 3
    assert np.abs(runs[0].theta_star).max() <= 1
