"""What a learner pays that is told the support: the figures of `docs/regret.md`.

    python benchmarks/told_support.py [--trials 2000]

The 5 largest of 20 coordinates uniform on [-1, 1], the unit l2 ball on them, sigma = 0.5 and told.
Two phases: every axis m times, to the side where the estimate of it points, then theta_hat for all
the rest. m is the best one for T, so T is told too. Beside it Thompson sampling with v = 1, and
(H - 1) sigma sqrt(2 T), which was once taken for a floor.
"""

import argparse

import numpy as np

import sparsebandits as sb
from sparsebandits.environments import ThetaSampler
from sparsebandits.validation import FloatArray

DIM, SPARSITY, SIGMA = 20, 5, 0.5


def largest(rng: np.random.Generator, trials: int) -> FloatArray:
    """Draw theta* on its support, (trials, H)."""
    theta = rng.uniform(-1, 1, (trials, DIM))
    order = np.argsort(-np.abs(theta), axis=1)[:, :SPARSITY]
    return np.take_along_axis(theta, order, axis=1)


def two_phases(theta: FloatArray, pulls: int, horizon: int, rng: np.random.Generator) -> FloatArray:
    """Return the regret of `pulls` rounds of axes and then of committing, (trials,)."""
    best = np.linalg.norm(theta, axis=1)
    total, earned = np.zeros_like(theta), np.zeros(len(theta))
    for _ in range(pulls):
        side = np.where(total < 0, -1.0, 1.0)  # the first pull goes up
        earned += (side * theta).sum(axis=1)
        total += theta + SIGMA * side * rng.standard_normal(theta.shape)
    estimate = total / pulls
    committed = (theta * estimate).sum(axis=1) / np.linalg.norm(estimate, axis=1)
    explored = pulls * SPARSITY
    return explored * best - earned + (horizon - explored) * (best - committed)


class Support(ThetaSampler):
    """theta* on its support, as the sampler of an environment."""

    kind = "support"

    def _draw(self, rng: np.random.Generator, dim: int, sparsity: int) -> FloatArray:
        return largest(rng, 1)[0]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=2000)
    trials = parser.parse_args().trials
    ball = sb.LpBall(SPARSITY)
    sampling = sb.LinTS(action_set=ball, sparsity=SPARSITY, sigma=SIGMA)
    environment = sb.LinearEnvironment(
        action_set=ball, theta_star=Support(), noise=sb.Gaussian(SIGMA)
    )
    for horizon in (2_000, 20_000):
        rows = {}
        for pulls in np.unique(np.rint(np.geomspace(4, 80, 25)).astype(int)):
            rng = np.random.default_rng(0)
            rows[int(pulls)] = two_phases(largest(rng, trials), int(pulls), horizon, rng)
        pulls, regret = min(rows.items(), key=lambda row: float(row[1].mean()))
        thompson = sb.simulate(sampling, environment, horizon, min(trials, 100), seed=0)
        root = (SPARSITY - 1) * SIGMA * np.sqrt(2 * horizon)
        for name, values in (
            (f"two phases, {pulls} pulls of each axis", regret),
            ("LinTS, v = 1", thompson.regret[:, -1]),
        ):
            error = values.std(ddof=1) / np.sqrt(values.size)
            print(f"T = {horizon:6,}  {name:35s} {values.mean():6.1f} ± {error:.1f}")
        print(f"T = {horizon:6,}  {'(H - 1) sigma sqrt(2 T)':35s} {root:6.1f}")


if __name__ == "__main__":
    main()
