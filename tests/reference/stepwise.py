"""A simulation as one would write it first: trial by trial, step by step, by ask and tell."""

from collections.abc import Sequence

import numpy as np

import sparsebandits as sb
from sparsebandits.policies import Decision
from sparsebandits.simulation.lanes_engine import Mailbox
from sparsebandits.simulation.record import Recorder, Run, found_share, log_spaced_steps
from sparsebandits.simulation.regret import Benchmark
from sparsebandits.simulation.streams import Stream, learner_seed, stream
from sparsebandits.validation import FloatArray

PURPOSES = {"explore": Stream.EXPLORATION_NOISE, "exploit": Stream.EXPLOITATION_NOISE}


def simulate_stepwise(
    policy: sb.Policy,
    environment: sb.LinearEnvironment,
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
) -> Run:
    """What `sb.simulate` must give."""
    steps = log_spaced_steps(horizon, points, checkpoints)
    numbers = range(first_trial, first_trial + trials)
    streams = [stream(seed, number, Stream.PARAMETER) for number in numbers]
    thetas = np.array([environment.draw_theta(rng, policy.sparsity) for rng in streams])
    recorder = Recorder(steps, thetas, track_support=track_support)
    for trial, (number, theta) in enumerate(zip(numbers, thetas, strict=True)):
        _run_trial(
            policy, environment, theta, Benchmark(benchmark, alpha), seed, number, trial, recorder
        )
    return recorder.finish({})


def _run_trial(
    policy: sb.Policy,
    environment: sb.LinearEnvironment,
    theta: FloatArray,
    benchmark: Benchmark,
    seed: int,
    number: int,
    trial: int,
    recorder: Recorder,
) -> None:
    noise = environment.noise
    generators = {phase: stream(seed, number, purpose) for phase, purpose in PURPOSES.items()}
    learner = policy.start(learner_seed(seed, number))
    mailbox: Mailbox[tuple[Decision, float]] = Mailbox(environment, seed, number)
    fixed, seeing = environment.action_sets.is_fixed, bool(getattr(policy, "context", 0))
    first = stream(seed, number, Stream.CONTEXT), stream(seed, number, Stream.DRIFT)
    course = environment.course(theta[None], policy.sparsity, [first[0]], [first[1]])
    best, best_support = benchmark.best(environment.action_set, theta[None], policy.sparsity)
    recorder.optimum[trial] = best[0] if fixed and environment.is_steady else np.nan
    total, hits, place = 0.0, 0, 0
    for step in range(1, int(recorder.steps[-1]) + 1):
        moment = course.next()
        theta, central = moment.theta[0], moment.central[0]
        seen = moment.contexts[0] if seeing and moment.contexts is not None else None
        current = environment.action_sets.at(step - 1)  # X_1 is at(0)
        best, best_support = benchmark.best(current, theta[None], policy.sparsity)
        decision = learner.ask(action_set=None if fixed else current, context=seen)
        if learner.support is not None and np.isnan(recorder.locked_at[trial]):
            # The test was made on what was known before this step.
            recorder.locked_at[trial] = step - 1
            recorder.support_correct[trial] = learner.support == policy.support_of(central)
        action = decision.action
        mean = float(np.einsum("nd,nd->n", action[None], theta[None])[0])  # as in lanes
        total += float(best[0]) - mean
        hits += int(((action != 0) == best_support[0]).all())
        drawn = noise.draw(generators[decision.phase], 1)[0]
        if noise.depends_on_action:
            drawn *= float(noise.scale_of(action))
        mailbox.post(step, (decision, mean + float(moment.baseline[0]) + drawn))
        for told, reward in mailbox.arrivals(step):
            learner.tell(told, reward)
        if recorder.steps[place] == step:
            recorder.regret[trial, place] = total
            recorder.optimal_share[trial, place] = hits / step
            estimate = learner.estimate_in_use
            if estimate is not None:
                error = np.linalg.norm((estimate - central)[None], axis=1)  # the bits of the lanes
                recorder.theta_error[trial, place] = float(error[0])
                if recorder.overlap is not None:
                    recorder.overlap[trial, place] = found_share(policy, central, estimate)
            place += 1
