"""Run policies in an environment over many trials, with shared randomness."""

import time
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from sparsebandits.environments import LinearEnvironment
from sparsebandits.errors import CompositionError, InvalidTypeError
from sparsebandits.oracles import limit_label
from sparsebandits.policies import Policy
from sparsebandits.simulation import blockwise_engine, phase_engine
from sparsebandits.simulation.lanes_engine import run_lanes
from sparsebandits.simulation.record import Recorder, Run, log_spaced_steps
from sparsebandits.simulation.regret import Benchmark
from sparsebandits.simulation.streams import Stream, stream
from sparsebandits.validation import as_choice, as_integer, describe

Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all), over all trials and policies."""

Engine = Callable[..., None]
"""Fills a recorder."""


@overload
def simulate(
    policy: Policy,
    environment: LinearEnvironment,
    horizon: int,
    trials: int,
    seed: int = 0,
    benchmark: str = "exact",
    *,
    alpha: float = 1.0,
    points: int = 200,
    checkpoints: Sequence[int] = (),
    track_support: bool = False,
    first_trial: int = 0,
    engine: str = "auto",
    progress: Progress | None = None,
) -> Run: ...


@overload
def simulate(
    policy: Sequence[Policy],
    environment: LinearEnvironment,
    horizon: int,
    trials: int,
    seed: int = 0,
    benchmark: str = "exact",
    *,
    alpha: float = 1.0,
    points: int = 200,
    checkpoints: Sequence[int] = (),
    track_support: bool = False,
    first_trial: int = 0,
    engine: str = "auto",
    progress: Progress | None = None,
) -> list[Run]: ...


def simulate(
    policy: Policy | Sequence[Policy],
    environment: LinearEnvironment,
    horizon: int,
    trials: int,
    seed: int = 0,
    benchmark: str = "exact",
    *,
    alpha: float = 1.0,
    points: int = 200,
    checkpoints: Sequence[int] = (),
    track_support: bool = False,
    first_trial: int = 0,
    engine: str = "auto",
    progress: Progress | None = None,
) -> Run | list[Run]:
    """Simulate one policy, or several on the same theta* and the same noise.

    Trial i has the same bits whatever the number of trials, the block size or the workers. The
    j-th exploration pull of trial i has the same noise under every policy, and so has the j-th
    exploitation pull. Memory does not grow with the horizon.

    Parameters
    ----------
    policy : Policy or sequence of Policy
        A sequence gives a list of runs.
    environment : LinearEnvironment
    horizon : int
        T.
    trials : int
    seed : int
    benchmark : {"exact", "greedy"}
        What regret is measured against: the exact optimum, or the greedy solution on theta*.
    alpha : float
        Multiplies the benchmark, for the alpha-regret of `eqn:def of a-regret`.
    points : int
        How many log-spaced steps are recorded.
    checkpoints : sequence of int
        Steps that are recorded besides those.
    track_support : bool
        Whether to record how much of the true support each estimate finds.
    first_trial : int
        The number of the first trial, to split one simulation over several calls.
    engine : {"auto", "lanes"}
        "auto" takes blocks of cycles at once where that applies, and whole phases on moving sets;
        "lanes" goes step by step.
    progress : function of (done, total), optional

    Examples
    --------
    >>> import sparsebandits as sb
    >>> ball = sb.LpBall(dim=4)
    >>> env = sb.LinearEnvironment(action_set=ball, theta_star=[1.0, 0.1, 0.0, -0.1])
    >>> policy = sb.APSEE(action_set=ball, sparsity=1, sigma=0.5, confidence="mixture")
    >>> run = sb.simulate(policy, env, horizon=20_000, trials=5, seed=0)
    >>> run.regret.shape[0], run.locked_share, bool(run.support_correct.all())
    (5, 1.0, True)
    """
    policies = [policy] if isinstance(policy, Policy) else list(policy)
    trials = as_integer("trials", trials, minimum=1)
    first_trial = as_integer("first_trial", first_trial, minimum=0)
    seed = as_integer("seed", seed, minimum=0)
    as_choice("engine", engine, ("auto", "lanes"))
    measured = Benchmark(benchmark, alpha)
    steps = log_spaced_steps(horizon, points, checkpoints)
    for each in policies:
        _check(each, environment)
    done, total = 0, len(policies) * trials * int(steps[-1])

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, total)

    numbers = np.arange(first_trial, first_trial + trials)
    runs = []
    for each in policies:
        started = time.perf_counter()
        streams = [stream(seed, int(i), Stream.PARAMETER) for i in numbers]
        theta = np.array([environment.draw_theta(rng, each.sparsity) for rng in streams])
        recorder = Recorder(steps, theta, track_support=track_support)
        run = _fastest(each, environment) if engine == "auto" else run_lanes
        run(each, environment, theta, measured, seed, numbers, recorder, advance)
        label = _label(each, measured, int(steps[-1]), trials, seed)
        runs.append(recorder.finish(label, time.perf_counter() - started))
    return runs[0] if isinstance(policy, Policy) else runs


def _fastest(policy: Policy, environment: LinearEnvironment) -> Engine:
    """Return the engine that does most at once."""
    if blockwise_engine.can_run(policy, environment):
        return blockwise_engine.run_blockwise
    if phase_engine.can_run(policy, environment):
        return phase_engine.run_phases
    return run_lanes


def _check(policy: Policy, environment: LinearEnvironment) -> None:
    if not isinstance(policy, Policy):
        raise InvalidTypeError(f"policy must be a policy such as sb.APSEE, got {describe(policy)}.")
    if not isinstance(environment, LinearEnvironment):
        raise InvalidTypeError(
            f"environment must be a LinearEnvironment, got {describe(environment)}."
        )
    if environment.action_sets.is_fixed and policy.action_set != environment.action_set:
        raise CompositionError(
            f"The policy acts on {policy.action_set!r} and the environment on "
            f"{environment.action_set!r}; give both the same set."
        )
    size = getattr(policy, "context", 0)
    given = 0 if environment.contexts is None else environment.contexts.size
    if size not in (0, given):
        raise CompositionError(
            f"The policy decides by a context of {size} numbers and the environment has "
            f"{given or 'none'}; give it contexts=GaussianContexts({size})."
        )


def _label(
    policy: Policy, benchmark: Benchmark, horizon: int, trials: int, seed: int
) -> dict[str, Any]:
    return {
        "policy": policy.kind,
        "sparsity": limit_label(policy.sparsity),
        "confidence": str(getattr(policy, "confidence", "none")),
        "confidence_scale": getattr(policy, "confidence_scale", None),
        "benchmark": str(benchmark),
        "alpha": benchmark.alpha,
        "horizon": horizon,
        "trials": trials,
        "seed": seed,
    }
