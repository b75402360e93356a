"""Policies that decide at every step: against the linear algebra that they need, and over d.

    OPENBLAS_NUM_THREADS=1 python benchmarks/policies.py [--quick]

What SparseThompson must reach comes first; --quick stops there. Its regret over d is measured by
`scale.py`, which takes hours.
"""

import argparse
import gc
import itertools
import time
import tracemalloc
from collections.abc import Iterator

import numpy as np
from ask_tell import ask_tell_seconds, linucb_seconds
from decisions import Lanes, lane_seconds
from decisions import needed_algebra as needed_decisions
from ratios import Ratio, once

import sparsebandits as sb
from sparsebandits.policies.tape import Tape, normals
from sparsebandits.simulation.lanes_engine import DRAWS_AHEAD

DIM, SPARSITY, SIGMA, TRIALS, HORIZON = 20, 5, 0.5, 20, 20_000

BALL = sb.LpBall(DIM)

DIMS = (2, 3, 4, 6, 8, 10, 12, 13, 16, 20, 24)
STEPS, REPEATS = 24, 4


def needed_algebra(steps: int) -> None:
    """One square-root update, one sample and one oracle call per trial and step; no more.

    The rewards are made up and nothing is recorded; the normal draws are counted, because a sample
    needs them.
    """
    root = np.zeros((TRIALS, DIM, DIM))
    root[:] = np.eye(DIM)
    theta_hat = np.zeros((TRIALS, DIM))
    rewards = np.random.default_rng(1).standard_normal((steps, TRIALS))
    tape = Tape([np.random.default_rng(i) for i in range(TRIALS)], DIM, DRAWS_AHEAD, normals)
    lanes = np.arange(TRIALS)
    for step in range(steps):
        z = tape.next(lanes)
        theta = theta_hat + SIGMA * np.matmul(root, z[:, :, None])[:, :, 0]
        actions = sb.sparse_argmax_batch(BALL, theta, SPARSITY).actions
        shadow = np.matmul(actions[:, None, :], root)[:, 0]
        growth = 1.0 + np.einsum("nd,nd->n", shadow, shadow)
        gain = np.matmul(root, shadow[:, :, None])[:, :, 0]
        error = rewards[step] - np.einsum("nd,nd->n", actions, theta_hat)
        theta_hat += gain * (error / growth)[:, None]
        root -= gain[:, :, None] * (shadow / (growth + np.sqrt(growth))[:, None])[:, None, :]


# ---------------------------------------------------------------------- what must be reached


def thompson(action_set: sb.ActionSet) -> sb.SparseThompson:
    return sb.SparseThompson(action_set=action_set, sparsity=SPARSITY)


def cube(dim: int) -> sb.Box:
    return sb.Box(np.zeros(dim), np.ones(dim))


def dense_step_seconds(dim: int) -> float:
    """Return the CPU seconds of one dense rank-one update and one matrix-vector product."""
    rng = np.random.default_rng(0)
    matrix, vector, product = np.eye(dim), rng.standard_normal(dim), np.empty((dim, dim))

    def run() -> None:
        for _ in range(50):
            np.multiply.outer(vector, vector, out=product)
            np.subtract(matrix, product, out=matrix)
            matrix @ vector

    return min(once(run, time.process_time) for _ in range(3)) / 50


def learner_megabytes(dim: int) -> tuple[float, float]:
    """Return what a learner with a full core keeps beyond its set, and the most it ever took."""
    policy = thompson(sb.LpBall(dim))
    rng = np.random.default_rng(0)
    gc.collect()
    tracemalloc.start()
    learner = policy.start(seed=0)
    for _ in range(60):  # rewards of actions from elsewhere fill the core
        logged = np.zeros((1, dim))
        logged[0, rng.choice(dim, 10, replace=False)] = 0.3
        learner.warm_start(logged, rng.standard_normal(1))
    del logged
    for _ in range(100):
        decision = learner.ask()
        learner.tell(decision, float(rng.standard_normal()))
    gc.collect()
    kept, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return kept / 1e6, most / 1e6


def must_reach() -> Iterator[Ratio]:
    ball = thompson(BALL)
    mine, peer = ask_tell_seconds(ball, 5000), linucb_seconds(DIM)
    what = f"MABWiser LinUCB, {DIM} arms / ask + tell, d={DIM}, 5,000 asks"
    yield Ratio(what, mine, peer, 12, True, f"[{1 / mine:,.0f} decisions per second]")
    dense = dense_step_seconds(1000)
    for name, make in (("l2 ball", sb.LpBall), ("box", cube)):
        ours = ask_tell_seconds(thompson(make(1000)), 1000, before=200, repeats=2)
        what = f"ask + tell, {name}, d=1,000 / dense rank-one update and product"
        yield Ratio(what, ours, dense, 0.5, False)
    for name, make in (("l2 ball", sb.LpBall), ("box", cube)):
        few, many = (
            ask_tell_seconds(thompson(make(dim)), 400, before=100, repeats=2)
            for dim in (10**4, 10**6)
        )
        yield Ratio(f"ask + tell, {name}, d=10^6 / d=10^4", many, few, 2, False)
    kept, most = learner_megabytes(10**6)
    note = f"[{most:.0f} MB at most, with the logs it was fed by, a vector of d at a time]"
    what = "memory of a learner with a full core beyond its set, d=10^6 / 50 MB"
    yield Ratio(what, kept, 50.0, 1, False, note, "kB")
    due = Lanes(ball, TRIALS, 2000).play(2000)
    needed_decisions(ball, due)
    lanes = lane_seconds(ball, TRIALS, 2000, before=0, repeats=3) * TRIALS * 2000
    floor = min(once(lambda: needed_decisions(ball, due), time.process_time) for _ in range(3))
    made = sum(some.size for some in due)
    what = f"{TRIALS} lanes, d={DIM}, T=2,000 / the batched algebra of their decisions"
    yield Ratio(what, lanes, floor, 2, False, f"[{made:,} decisions of {TRIALS * 2000:,} steps]")
    alone = ask_tell_seconds(ball, 100, before=50, repeats=5)
    together = lane_seconds(ball, 1000, 100, before=50, repeats=1)
    what = f"one learner alone / one of 1,000 lanes, d={DIM}, steps 50 to 150"
    yield Ratio(what, together, alone, 8, True)


# ---------------------------------------------------------------------- over d


def action_sets(dim: int, sparsity: int) -> dict[str, sb.ActionSet]:
    """One set of every kind, none of them special."""
    rng = np.random.default_rng(dim)
    factor = rng.standard_normal((dim, dim))
    upper = rng.uniform(0.2, 1.0, dim)
    rows = np.vstack([np.eye(dim), -np.eye(dim), rng.uniform(0.0, 1.0, (3, dim))])
    points = np.zeros((200, dim))
    for point in points[1:]:
        point[rng.permutation(dim)[:sparsity]] = rng.standard_normal(sparsity)
    return {
        "lp ball": sb.LpBall(dim),
        "box": sb.Box(-upper, upper),
        "ellipsoid": sb.Ellipsoid(factor @ factor.T / dim + np.eye(dim)),
        "budget": sb.Budget(0.6 * np.sort(upper)[-sparsity:].sum(), upper),
        "polytope": sb.Polytope(rows, np.append(np.ones(2 * dim), np.full(3, sparsity / 3))),
        "finite set": sb.FiniteSet(points),
    }


def decision_and_certificate(action_set: sb.ActionSet, sparsity: int) -> tuple[float, float]:
    """Return the CPU seconds of a typical ask and tell, and of a certificate, of one young learner.

    A young learner decides anew at every step. The same run is made again and the least time of
    each step counts, because the speed of a shared machine wanders.
    """
    theta = np.random.default_rng(1).uniform(-1.0, 1.0, action_set.dim)
    steps, certificates = [], []
    for _ in range(REPEATS):
        learner = sb.SparseThompson(action_set=action_set, sparsity=sparsity).start(seed=0)
        noise = np.random.default_rng(2)

        def step(learner: sb.Learner = learner, noise: np.random.Generator = noise) -> None:
            decision = learner.ask()
            learner.tell(decision, float(theta @ decision.action + SIGMA * noise.standard_normal()))

        steps.append([once(step, time.process_time) for _ in range(STEPS)])
        certificates.append(once(learner.certificate, time.process_time))
    return float(np.median(np.min(steps, axis=0))), min(certificates)


def costs_over_dim() -> None:
    """Print what a decision costs over d on every kind of set: no cliffs; and a certificate."""
    sizes = {dim: min(5, (dim + 1) // 2) for dim in DIMS}
    costs = {
        (dim, kind): decision_and_certificate(action_set, sparsity)
        for dim, sparsity in sizes.items()
        for kind, action_set in action_sets(dim, sparsity).items()
    }
    for kind in action_sets(2, 1):
        for place, what in enumerate(("decision", "certificate")):
            curve = [costs[dim, kind][place] for dim in DIMS]
            steps = [
                (max(pair), min(pair), f"d={dim} and {following}")
                for pair, (dim, following) in zip(
                    itertools.pairwise(curve), itertools.pairwise(DIMS), strict=True
                )
            ]
            more, less, where = max(steps, key=lambda step: step[0] / step[1])
            print(
                f"     {what}, {kind}, ms over d: "
                + "  ".join(
                    f"{dim}: {1e3 * cost:.3g}" for dim, cost in zip(DIMS, curve, strict=True)
                )
            )
            if what == "decision":
                print(Ratio(f"largest step of that curve, {where}", more, less, 3, False))


def lin_ts() -> None:
    """Print LinTS against the algebra of its steps."""
    environment = sb.LinearEnvironment(
        action_set=BALL, theta_star=sb.UniformCube(), noise=sb.Gaussian(SIGMA)
    )
    policies = {
        "LinTS": sb.LinTS(action_set=BALL, sparsity=SPARSITY, sigma=SIGMA),
        "SparseThompson": sb.SparseThompson(action_set=BALL, sparsity=SPARSITY),
    }
    needed_algebra(200)
    times: dict[str, list[float]] = {"algebra": [], **{name: [] for name in policies}}
    for _ in range(3):
        # In turns, because the speed of a shared machine wanders.
        times["algebra"].append(once(lambda: needed_algebra(HORIZON)))
        for name, policy in policies.items():
            times[name].append(
                once(lambda policy=policy: sb.simulate(policy, environment, HORIZON, TRIALS))
            )
    floor = min(times["algebra"])
    linear, ours = min(times["LinTS"]), min(times["SparseThompson"])
    print(
        Ratio("LinTS, 20 trials, d=20, T=20,000 / needed linear algebra", linear, floor, 2, False)
    )
    print(
        f"     SparseThompson takes {ours / floor:.2f} times the same algebra: it decides rarely, "
        "and weighs 10 actions when it does (no bound was promised)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="only what must be reached")
    quick = parser.parse_args().quick
    for line in must_reach():
        print(line, flush=True)
    if not quick:
        lin_ts()
        costs_over_dim()


if __name__ == "__main__":
    main()
