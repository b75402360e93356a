"""The regret of SparseThompson in `docs/measured.md`, beside LinTS that is told sigma.

    python benchmarks/regret.py [--trials 250] [--seed 0] [--long]

Short budgets on a box (at most 5 of d on); with --long also T = 2,000 and 20,000 on four sets. Mean
and standard error; theta* uniform on [-1, 1]^d, noise N(0, 0.5^2).
"""

import argparse

import numpy as np

import sparsebandits as sb
from sparsebandits.comparison.scenarios import SCENARIOS


def regret(
    policy: sb.Policy, world: sb.LinearEnvironment, steps: int, asked: argparse.Namespace
) -> str:
    run = sb.simulate(policy, world, steps, asked.trials, seed=asked.seed, points=2)
    last = run.regret[:, -1]
    return f"{last.mean():.1f} ± {last.std(ddof=1) / last.size**0.5:.1f}"


def policies(box: sb.ActionSet, sparsity: int) -> dict[str, sb.Policy]:
    return {
        "SparseThompson": sb.SparseThompson(action_set=box, sparsity=sparsity),
        "LinTS, sigma told": sb.LinTS(action_set=box, sparsity=sparsity, sigma=0.5),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=250)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--long", action="store_true")
    asked = parser.parse_args()
    for dim in (20, 50):
        box = sb.Box(np.zeros(dim), np.ones(dim))
        world = sb.LinearEnvironment(action_set=box, theta_star=sb.UniformCube())
        for name, policy in policies(box, 5).items():
            cells = [regret(policy, world, steps, asked) for steps in (20, 50, 100, 200)]
            print(
                f"box, d = {dim}, after 20 / 50 / 100 / 200, {name}: {' / '.join(cells)}",
                flush=True,
            )
    for key in ("l2", "l1.5", "l1", "box") if asked.long else ():
        world = SCENARIOS[key].environment()
        policy = policies(world.action_set, SCENARIOS[key].sparsity)["SparseThompson"]
        cells = [regret(policy, world, steps, asked) for steps in (2_000, 20_000)]
        print(f"{key}, T = 2,000 / 20,000, SparseThompson: {' / '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
