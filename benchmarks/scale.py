"""The regret of SparseThompson among many coordinates, as ratios: what issue 14 asks for over d.

    OPENBLAS_NUM_THREADS=1 python benchmarks/scale.py [--trials 20] [--horizon 2000] [--large 5]
    git worktree add ../before 5678d70
    OPENBLAS_NUM_THREADS=1 python benchmarks/scale.py --against ../before/src --large 0

d = 1,000, H = 5, noise 0.5, against the same rule with every coordinate in one regression, or with
--against beside the policy of another release, which had nothing else; and
d = 10^5, H = 10, T = 20,000 against that rule on a random subset of H sqrt(T) items, which is told
T where the policy takes a horizon. theta* and the noise are the same for both. One trial of the
first takes minutes, of the second tens of minutes: --only WORD and --large 0 leave some out.
"""

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from ratios import Ratio

import sparsebandits as sb
from sparsebandits.validation import FloatArray

SIGMA = 0.5

Draw = Callable[[np.random.Generator, int], FloatArray]
Make = Callable[[int], sb.ActionSet]


class Dense(sb.SparseThompson):
    """Looks at every coordinate."""

    is_gated = False


def spiky(rng: np.random.Generator, dim: int) -> FloatArray:
    """2% are good, uniform on [0.5, 1]; the others are uniform on [-0.1, 0.1]."""
    theta = rng.uniform(-0.1, 0.1, dim)
    good = rng.choice(dim, dim // 50, replace=False)
    theta[good] = rng.uniform(0.5, 1.0, good.size)
    return theta


THETAS: dict[str, tuple[Draw, float]] = {
    "uniform": (lambda rng, dim: rng.uniform(-1.0, 1.0, dim), 0.75),
    "Gaussian": (lambda rng, dim: rng.standard_normal(dim), 0.75),
    "spiky": (spiky, 1.1),
}
"""How theta* is drawn, and the ratio that must be reached."""

SETS: dict[str, Make] = {
    "box": lambda dim: sb.Box(np.zeros(dim), np.ones(dim)),
    "l2": sb.LpBall,
}


def regret(policy: sb.Policy, theta: FloatArray, best: float, horizon: int, seed: int) -> float:
    """Return the regret of one life against an optimum of `best` a step."""
    learner = policy.start(seed=seed)
    lost = 0.0
    for off in (SIGMA * np.random.default_rng([seed, 1]).standard_normal(horizon)).tolist():
        decision = learner.ask()
        if hasattr(decision, "indices"):
            mean = float(theta[decision.indices] @ decision.values)
        else:  # of a release before
            mean = float(theta @ decision.action)
        lost += best - mean
        learner.tell(decision, mean + off)
    return lost


def optimum(X: sb.ActionSet, theta: FloatArray, sparsity: int) -> float:
    return float(sb.sparse_argmax(X, theta, sparsity).value)


def compared(what: str, pairs: list[tuple[float, float]], bound: float, note: str = "") -> Ratio:
    """Return the ratio of the mean regrets, with its standard error over the paired trials."""
    ours, theirs = np.array(pairs).T
    off = ours - ours.mean() / theirs.mean() * theirs
    error = float(off.std(ddof=1) / math.sqrt(off.size) / theirs.mean()) if off.size > 1 else np.nan
    note = f"[{off.size} trials, standard error {error:.2f}{note}]"
    return Ratio(what, ours.mean() / 1e3, theirs.mean() / 1e3, bound, False, note, "")


def life(policy: type[sb.SparseThompson], kind: str, name: str, trial: int, horizon: int) -> float:
    """Return the regret of one trial with d = 1,000."""
    X = SETS[name](1000)
    theta = THETAS[kind][0](np.random.default_rng([trial, 0]), X.dim)
    made = policy(action_set=X, sparsity=5)
    return regret(made, theta, optimum(X, theta, 5), horizon, trial)


def life_elsewhere(source: str, *arguments: object) -> float:
    """Return the same of the policy that the source at `source` has."""
    command = [sys.executable, __file__, "--life", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": os.path.abspath(source)}
    return float(json.loads(subprocess.check_output(command, env=environment, text=True)))


def among_a_thousand(kind: str, name: str, given: argparse.Namespace) -> Ratio:
    pairs = []
    for trial in range(given.first, given.first + given.trials):
        which = kind, name, trial, given.horizon
        other = life_elsewhere(given.against, *which) if given.against else life(Dense, *which)
        pairs.append((life(sb.SparseThompson, *which), other))
    beside = "the release before" if given.against else "dense"
    what = f"d=1,000, T={given.horizon:,}, {name}, {kind} / {beside}"
    return compared(what, pairs, THETAS[kind][1])


def against_a_subset(name: str, trials: int, horizon: int, dim: int = 10**5) -> Ratio:
    """Compare with who looks at H sqrt(T) items only, knowing T."""
    X, sparsity, pairs = SETS[name](dim), 10, []
    takes_horizon = "horizon" in {field.name for field in fields(sb.SparseThompson)}
    told: dict[str, Any] = {"horizon": horizon} if takes_horizon else {}
    for trial in range(trials):
        rng = np.random.default_rng([trial, 2])
        theta = rng.uniform(-1.0, 1.0, dim)
        best = optimum(X, theta, sparsity)
        some = np.sort(rng.choice(dim, int(sparsity * math.sqrt(horizon)), replace=False))
        subset = Dense(action_set=X.section(some), sparsity=sparsity, **told)
        whole = sb.SparseThompson(action_set=X, sparsity=sparsity)
        ours = regret(whole, theta, best, horizon, trial)
        pairs.append((ours, regret(subset, theta[some], best, horizon, trial)))
    note = "" if told else "; the subset's policy takes no horizon"
    what = f"d={dim:,}, T={horizon:,}, {name}, uniform / a random subset"
    return compared(what, pairs, 1.0, note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--trials", type=int, default=20, help="of each line with d = 1,000")
    parser.add_argument("--horizon", type=int, default=2000, help="of each line with d = 1,000")
    parser.add_argument("--large", type=int, default=5, help="trials of each line with d = 10^5")
    parser.add_argument("--large-horizon", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first trial")
    parser.add_argument("--against", help="the folder `src` of another release")
    parser.add_argument("--life", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help="lines of this set or theta: box, l2, spiky …")
    given = parser.parse_args()
    if given.life:
        kind, name, trial, horizon = given.life
        print(json.dumps(life(sb.SparseThompson, kind, name, int(trial), int(horizon))))
        return
    for name in SETS:
        for kind in THETAS if given.trials else ():
            if given.only in (name, kind, ""):
                print(among_a_thousand(kind, name, given), flush=True)
        if given.large and given.only in (name, "uniform", ""):
            print(against_a_subset(name, given.large, given.large_horizon), flush=True)


if __name__ == "__main__":
    main()
