"""The simulator and the learners against their floors and peers, as ratios of one run.

Floors and peers: NumPy drawing the same noise, the same policy driven step by step in a Python
loop, and MABWiser's LinUCB.
"""

import argparse
import tracemalloc

import numpy as np
from peers import ask_tell_seconds, linucb_seconds
from ratios import Ratio, once, seconds
from scipy.stats import ortho_group

import sparsebandits as sb

DIM, SPARSITY, HORIZON, TRIALS = 20, 5, 200_000, 20
LOOP_STEPS = 20_000


def environment(X: sb.ActionSet) -> sb.LinearEnvironment:
    return sb.LinearEnvironment(action_set=X, theta_star=sb.UniformCube(), noise=sb.Gaussian(0.5))


def loop_seconds(policy: sb.Policy, X: sb.ActionSet) -> float:
    """Time the step-by-step loop on a shorter horizon, scaled up to all steps."""
    rng = np.random.default_rng(0)
    theta, noise = rng.uniform(-1, 1, DIM), rng.normal(0.0, 0.5, LOOP_STEPS)
    best = X.value(theta)

    def loop() -> None:
        learner, regret = policy.start(seed=0), 0.0
        for drawn in noise:
            decision = learner.ask()
            mean = float(decision.action @ theta)
            regret += best - mean
            learner.tell(decision, mean + drawn)

    return once(loop) * HORIZON * TRIALS / LOOP_STEPS


def apsee(rng: np.random.Generator) -> list[Ratio]:
    X = sb.LpBall(DIM)
    policy = sb.APSEE(action_set=X, sparsity=SPARSITY, sigma=0.5, confidence_scale=0.02)
    ours = seconds(lambda: sb.simulate(policy, environment(X), HORIZON, TRIALS, seed=0), repeats=3)
    noise = np.empty((TRIALS, HORIZON))
    floor = seconds(lambda: rng.standard_normal(out=noise), repeats=3)
    what = f"APSEE, l2 ball, d={DIM}, H={SPARSITY}, T=2e5, {TRIALS} trials"
    literal = sb.APSEE(action_set=X, sparsity=SPARSITY, sigma=0.5)
    never = seconds(
        lambda: sb.simulate(literal, environment(X), HORIZON, TRIALS, seed=0), repeats=3
    )
    note = f"[never locked, all of it warm-up: {never / floor:.2f}x]"
    return [
        Ratio(f"{what} / drawing that noise", ours, floor, 4, False, note),
        Ratio(f"step by step / {what}", ours, loop_seconds(policy, X), 100, True),
    ]


def apsee_g(rng: np.random.Generator) -> Ratio:
    basis = ortho_group.rvs(DIM, random_state=rng)
    X = sb.Ellipsoid((basis * np.geomspace(0.2, 1, DIM)) @ basis.T)
    policy = sb.APSEEG(action_set=X, sparsity=SPARSITY, sigma=0.5, confidence_scale=0.02)
    ours = seconds(lambda: sb.simulate(policy, environment(X), HORIZON, TRIALS, seed=0), repeats=3)
    what = f"step by step / APSEE-G, ellipsoid, d={DIM}, H={SPARSITY}, T=2e5, {TRIALS} trials"
    return Ratio(what, ours, loop_seconds(policy, X), 100, True)


def one_cycle(make: str) -> list[str]:
    """One cycle from d = 10^4 to 10^6: time per coordinate, and peak memory in vectors."""
    lines = []
    for dim in (10**4, 10**5, 10**6):
        X: sb.ActionSet = (
            sb.LpBall(dim) if make == "l2 ball" else sb.Box(-np.ones(dim), np.ones(dim))
        )
        theta = np.linspace(-1, 1, dim)
        env = sb.LinearEnvironment(action_set=X, theta_star=theta, noise=sb.Gaussian(0.5))
        policy = sb.CompactAPSEEG(action_set=X, sparsity=10, oracle="top-h")

        def run(
            policy: sb.Policy = policy, env: sb.LinearEnvironment = env, dim: int = dim
        ) -> object:
            return sb.simulate(policy, env, horizon=dim + 1, trials=1, seed=0)

        spent = seconds(run, repeats=3)
        tracemalloc.start()
        run()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        lines.append(
            f"     one cycle, {make}, d={dim:>9,}: {spent * 1e9 / dim:7.1f} ns per coordinate, "
            f"peak {peak / (8 * dim):5.1f} vectors of d floats"
        )
    return lines


def ask_tell() -> Ratio:
    X = sb.LpBall(DIM)
    policy = sb.APSEE(action_set=X, sparsity=SPARSITY, sigma=0.5, confidence_scale=0.02)
    mine, peer = ask_tell_seconds(policy, 5000), linucb_seconds(DIM)
    what = f"MABWiser LinUCB predict + partial_fit, {DIM} arms / ask + tell, d={DIM}"
    return Ratio(what, mine, peer, 10, True, f"[{1 / mine:,.0f} decisions per second]")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    rng = np.random.default_rng(parser.parse_args().seed)
    for line in apsee(rng):
        print(line, flush=True)
    print(apsee_g(rng), flush=True)
    print(ask_tell(), flush=True)
    for make in ("l2 ball", "box"):
        print("\n".join(one_cycle(make)), flush=True)


if __name__ == "__main__":
    main()
