"""Any policy, one decision at a time through ask and tell: slow, general, and the reference."""

from collections.abc import Callable

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.environments import LinearEnvironment
from sparsebandits.errors import CompositionError
from sparsebandits.policies import AdaptiveLearner, Decision, Learner, Policy
from sparsebandits.policies.time_varying import TimeVaryingLearner
from sparsebandits.simulation.delayed_rewards import Mailbox
from sparsebandits.simulation.record import Recorder, found_share
from sparsebandits.simulation.regret import Benchmark
from sparsebandits.simulation.streams import Stream, learner_seed, stream
from sparsebandits.validation import FloatArray, IntArray

_NOISE_BLOCK = 4096


class _NoiseTape:
    """The noise of one phase of one trial, in the order of its pulls."""

    def __init__(self, environment: LinearEnvironment, rng: np.random.Generator) -> None:
        self._noise, self._rng = environment.noise, rng
        self._buffer = np.empty(_NOISE_BLOCK)
        self._used = _NOISE_BLOCK

    def next(self, action: FloatArray) -> float:
        if self._used == _NOISE_BLOCK:
            self._noise.draw_into(self._rng, self._buffer)
            self._used = 0
        self._used += 1
        drawn = float(self._buffer[self._used - 1])
        if self._noise.depends_on_action:
            return drawn * float(self._noise.scale_of(action))
        return drawn


def run_stepwise(
    policy: Policy,
    environment: LinearEnvironment,
    theta: FloatArray,
    benchmark: Benchmark,
    seed: int,
    numbers: IntArray,
    recorder: Recorder,
    progress: Callable[[int], None],
) -> None:
    """Fill the recorder trial by trial; theta is (trials, dim), numbers name their streams."""
    for row, number in enumerate(numbers):
        _run_trial(policy, environment, theta[row], benchmark, seed, row, int(number), recorder)
        progress(int(recorder.steps[-1]))


def _run_trial(
    policy: Policy,
    environment: LinearEnvironment,
    theta: FloatArray,
    benchmark: Benchmark,
    seed: int,
    trial: int,
    number: int,
    recorder: Recorder,
) -> None:
    tapes = {
        "explore": _NoiseTape(environment, stream(seed, number, Stream.EXPLORATION_NOISE)),
        "exploit": _NoiseTape(environment, stream(seed, number, Stream.EXPLOITATION_NOISE)),
    }
    learner = policy.start(learner_seed(seed, number))
    mailbox: Mailbox[tuple[Decision, float]] = Mailbox(environment, seed, number)
    fixed = environment.action_sets.is_fixed

    best, wanted = benchmark.best(environment.action_set, theta[None], policy.sparsity)
    recorder.optimum[trial] = best[0] if fixed else np.nan
    total, hits, place = 0.0, 0, 0
    for step in range(1, int(recorder.steps[-1]) + 1):
        if fixed:
            decision = learner.ask()
        else:
            current = environment.action_sets.at(step - 1)  # X_1 is at(0)
            best, wanted = benchmark.best(current, theta[None], policy.sparsity)
            decision = _ask_on(learner, current)
        if learner.support is not None and np.isnan(recorder.locked_at[trial]):
            # The test was made on what was known before this step.
            recorder.locked_at[trial] = step - 1
            truth = policy.support_of(theta)
            recorder.support_correct[trial] = learner.support == truth
        mean = float(np.einsum("nd,nd->n", decision.action[None], theta[None])[0])  # as in lanes
        total += float(best[0]) - mean
        hits += int(((decision.action != 0) == wanted[0]).all())
        mailbox.post(step, (decision, mean + tapes[decision.phase].next(decision.action)))
        for told, reward in mailbox.arrivals(step):
            learner.tell(told, reward)
        if recorder.steps[place] == step:
            recorder.regret[trial, place] = total
            recorder.optimal_share[trial, place] = hits / step
            estimate = learner.estimate_in_use
            if estimate is not None:
                error = np.linalg.norm((estimate - theta)[None], axis=1)  # the bits of the lanes
                recorder.theta_error[trial, place] = float(error[0])
                if recorder.overlap is not None:
                    recorder.overlap[trial, place] = found_share(policy, theta, estimate)
            place += 1


def _ask_on(learner: Learner, current: ActionSet) -> Decision:
    """Ask a learner for an action on the set of this step."""
    if isinstance(learner, (TimeVaryingLearner, AdaptiveLearner)):
        return learner.ask(action_set=current)
    decision = learner.ask(available=current.available)
    if not current.contains(decision.action):
        raise CompositionError(
            f"{type(learner.policy).__name__} knows one set with items that come and go; its "
            f"action is outside the set {current!r} of this step. Use SparseThompson."
        )
    return decision
