"""The regret of SparseThompson, beside LinTS that is told sigma, and beside another release.

    python benchmarks/regret.py [--trials 250] [--seed 0] [--long] [--sets l2,box]
    git worktree add ../before 5678d70
    python benchmarks/regret.py --against ../before/src --sets l2,l1.5,l1,box --trials 500

A set is named as in `sparsebandits compare --scenario`; `l2+heavy` is the same with a theta* whose
entries are Student's t with 2 degrees of freedom. Short budgets on a box (at most 5 of d on); with
--long also T = 2,000 and 20,000 on the sets named, anytime and told T. With --against the anytime
policy is played by that source too, on the same theta* and noise: ratios of means, paired, and of
medians. --without-intercept tells the policy what is so here and what that release assumed: that
doing nothing earns 0. Mean and standard error; theta* uniform on [-1, 1]^d, noise N(0, 0.5^2).
"""

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import sparsebandits as sb
from sparsebandits.comparison.scenarios import SCENARIOS

SETS = "l2,l1.5,l1,box"
HORIZONS = (2_000, 20_000)
HEAVY = "+heavy"


@dataclass(frozen=True)
class HeavyTheta(sb.ThetaSampler):
    """Most entries are near 0, and some are very large."""

    kind = "heavy-theta"

    def _draw(self, rng: np.random.Generator, dim: int, sparsity: int) -> np.ndarray:
        return 0.5 * rng.standard_t(2, dim)


def regret(
    policy: sb.Policy, world: sb.LinearEnvironment, steps: int, asked: argparse.Namespace
) -> np.ndarray:
    run = sb.simulate(policy, world, steps, asked.trials, seed=asked.seed, points=2)
    return run.regret[:, -1]


def shown(last: np.ndarray) -> str:
    return f"{last.mean():.1f} ± {last.std(ddof=1) / last.size**0.5:.1f}"


def played(key: str, steps: int, asked: argparse.Namespace, **keywords: Any) -> np.ndarray:
    """Return the regret of SparseThompson in a scenario, one number per trial."""
    scenario = SCENARIOS[key.removesuffix(HEAVY)]
    world = scenario.environment()
    if key.endswith(HEAVY):
        world = sb.LinearEnvironment(
            action_set=world.action_set, theta_star=HeavyTheta(), noise=world.noise
        )
    policy = sb.SparseThompson(action_set=world.action_set, sparsity=scenario.sparsity, **keywords)
    return regret(policy, world, steps, asked)


def short_budgets(asked: argparse.Namespace) -> None:
    for dim in (20, 50):
        box = sb.Box(np.zeros(dim), np.ones(dim))
        world = sb.LinearEnvironment(action_set=box, theta_star=sb.UniformCube())
        policies = {
            "SparseThompson": sb.SparseThompson(action_set=box, sparsity=5),
            "LinTS, sigma told": sb.LinTS(action_set=box, sparsity=5, sigma=0.5),
        }
        for name, policy in policies.items():
            cells = [shown(regret(policy, world, steps, asked)) for steps in (20, 50, 100, 200)]
            print(
                f"box, d = {dim}, after 20 / 50 / 100 / 200, {name}: {' / '.join(cells)}",
                flush=True,
            )


def compared(key: str, asked: argparse.Namespace) -> None:
    """Print ratios to the regret that the source at `asked.against` has on the same trials."""
    for steps in asked.steps:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "regret.npy"
            command = [sys.executable, __file__, "--save", str(file), "--sets", key]
            command += ["--trials", str(asked.trials), "--seed", str(asked.seed)]
            command += ["--horizon", str(steps)]
            environment = {**os.environ, "PYTHONPATH": str(Path(asked.against).resolve())}
            subprocess.run(command, env=environment, check=True)
            before = np.load(file)
        now = played(key, steps, asked, intercept=not asked.without_intercept)
        ratio = now.mean() / before.mean()
        error = (now - ratio * before).std(ddof=1) / now.size**0.5 / before.mean()
        medians = np.median(now) / np.median(before)
        print(
            f"{key}, T = {steps:,}: {shown(now)}, before {shown(before)}: {ratio:.3f} ± "
            f"{error:.3f}, medians {medians:.3f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=250)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--against", help="the folder `src` of another release")
    parser.add_argument(
        "--without-intercept", action="store_true", help="as a release that had no baseline"
    )
    parser.add_argument("--steps", type=int, nargs="*", default=HORIZONS, help="with --against")
    parser.add_argument("--save", help=argparse.SUPPRESS)
    parser.add_argument("--horizon", type=int, default=HORIZONS[-1], help=argparse.SUPPRESS)
    asked = parser.parse_args()
    keys = asked.sets.split(",")
    if asked.save:
        np.save(asked.save, played(keys[0], asked.horizon, asked))
        return
    if asked.against:
        for key in keys:
            compared(key, asked)
        return
    short_budgets(asked)
    for key in keys if asked.long else ():
        has = not asked.without_intercept
        anytime = [shown(played(key, steps, asked, intercept=has)) for steps in HORIZONS]
        told = [
            shown(played(key, steps, asked, intercept=has, horizon=steps)) for steps in HORIZONS
        ]
        print(
            f"{key}, T = 2,000 / 20,000, SparseThompson: {' / '.join(anytime)}; told T: "
            f"{' / '.join(told)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
