"""The setting of the paper's experiments (`sec:numerical experiments`)."""

import numpy as np

from sparsebandits.action_sets import ActionSet, Ellipsoid
from sparsebandits.environments.linear import LinearEnvironment
from sparsebandits.environments.noise import Gaussian, Noise
from sparsebandits.environments.parameters import ThetaSampler, UniformCube
from sparsebandits.validation import FloatArray

DIM, SPARSITY, SIGMA, DELTA = 20, 5, 0.5, 0.05
"""d, H, sigma and delta; delta is ours, the paper names none."""

SHORT, LONG, TRIALS = 2_000, 200_000, 20
"""The paper's two horizons and its number of trials."""


def paper_environment(
    action_set: ActionSet,
    theta: FloatArray | ThetaSampler | None = None,
    noise: Noise | None = None,
) -> LinearEnvironment:
    """Return theta* uniform on [-1, 1]^d anew in each trial and noise N(0, 0.5^2), unless given.

    Examples
    --------
    >>> from sparsebandits.action_sets import LpBall
    >>> paper_environment(LpBall(DIM)).sigma
    0.5
    """
    return LinearEnvironment(
        action_set=action_set,
        theta_star=UniformCube() if theta is None else theta,
        noise=Gaussian(SIGMA) if noise is None else noise,
    )


def random_ellipsoid(seed: int = 0) -> Ellipsoid:
    """Draw a positive definite matrix with random axes and eigenvalues uniform on [0.2, 1].

    The paper says "randomly generated positive definite matrix with lambda_max <= 1" and no more.
    """
    rng = np.random.default_rng(seed)
    axes = _random_axes(rng, DIM)
    matrix = (axes * rng.uniform(0.2, 1.0, DIM)) @ axes.T
    return Ellipsoid((matrix + matrix.T) / 2)


def random_matrix(rng: np.random.Generator, dim: int, condition: float) -> FloatArray:
    """Draw A with lambda_max = 1 and the given condition number, its axes uniformly turned."""
    axes = _random_axes(rng, dim)
    return np.asarray((axes * np.geomspace(1 / condition, 1, dim)) @ axes.T)


def _random_axes(rng: np.random.Generator, dim: int) -> FloatArray:
    """Draw an orthogonal matrix, uniformly: the signs of R fixed make Q unique."""
    axes, triangle = np.linalg.qr(rng.standard_normal((dim, dim)))
    return np.asarray(axes * np.sign(np.diag(triangle)))
