"""Moving sets, all trials side by side and a whole phase of the cycle at a time.

The choices are those of `CycleRule`; rewards are summed up phase by phase, so that the estimates
agree with a learner's up to rounding.
"""

from collections.abc import Callable, Sequence

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.environments import LinearEnvironment, Noise
from sparsebandits.oracles import distinct_sets
from sparsebandits.policies import CyclePolicy, Policy
from sparsebandits.policies.phase_rule import PhaseRule
from sparsebandits.simulation.noise_tape import NoiseTape
from sparsebandits.simulation.record import Recorder, found_share
from sparsebandits.simulation.regret import Benchmark
from sparsebandits.simulation.streams import Stream, stream
from sparsebandits.validation import BoolArray, FloatArray, IntArray

_STEPS = 256
"""The longest piece of a phase. It does not depend on the trials: neither may the bits of one."""

_DRAWN = 1024
"""Numbers that are drawn ahead for each lane."""

_KEPT = 1024
"""Sets whose optimum is kept."""


def can_run(policy: Policy, environment: LinearEnvironment) -> bool:
    """Whether this engine applies: a cycle on the current set, prompt rewards, no baseline."""
    return (
        isinstance(policy, CyclePolicy)
        and policy.cycle.basis is None
        and not policy.cycle.intercept
        and environment.delay is None
        and environment.is_plain
    )


def run_phases(
    policy: Policy,
    environment: LinearEnvironment,
    theta: FloatArray,
    benchmark: Benchmark,
    seed: int,
    numbers: IntArray,
    recorder: Recorder,
    progress: Callable[[int], None],
) -> None:
    """Fill the recorder for all trials; theta is (trials, dim), numbers name their streams."""
    assert isinstance(policy, CyclePolicy)
    rule = PhaseRule(policy.cycle, numbers.size)
    noises = _PhaseNoise(environment.noise, seed, numbers)
    optima = _Optima(benchmark, theta, policy.sparsity)
    sequence, horizon = environment.action_sets, int(recorder.steps[-1])
    if sequence.is_fixed:
        recorder.optimum[:] = benchmark.earnings(sequence.base, theta, policy.sparsity)
    total, hits, step = np.zeros(numbers.size), np.zeros(numbers.size, dtype=np.intp), 0
    while step < horizon:
        steps = min(rule.start_phase(), _STEPS, horizon - step)
        sets = [sequence.at(step + i) for i in range(steps)]  # X_1 is at(0)
        actions, pulls = rule.choose_phase(sets)
        means = np.einsum("tnd,nd->tn", actions, theta)
        best, supports = optima.of(sets)
        rule.learn_phase(actions, means + noises.next(pulls >= 0, actions))
        # One after the other, so that the length of a piece changes no bit.
        regret = np.cumsum(np.concatenate([total[None], best - means]), axis=0)
        same = ((actions != 0) == supports).all(axis=2)
        found = hits + np.cumsum(same, axis=0)
        span = slice(*np.searchsorted(recorder.steps, (step, step + steps), side="right"))
        places = recorder.steps[span] - step
        if places.size:
            recorder.regret[:, span] = regret[places].T
            recorder.optimal_share[:, span] = (found[places - 1] / recorder.steps[span, None]).T
            _record_estimates(rule, policy, theta, recorder, span)
        total, hits, step = regret[-1], found[-1], step + steps
        progress(steps * numbers.size)


def _record_estimates(
    rule: PhaseRule, policy: Policy, theta: FloatArray, recorder: Recorder, span: slice
) -> None:
    """Record the error of the plan, which is the same throughout a phase."""
    estimate = rule.estimate_in_use
    if estimate is None:
        return
    recorder.theta_error[:, span] = np.linalg.norm(estimate - theta, axis=1)[:, None]
    if recorder.overlap is not None:
        shares = [found_share(policy, *pair) for pair in zip(theta, estimate, strict=True)]
        recorder.overlap[:, span] = np.array(shares)[:, None]


class _PhaseNoise:
    """The noise of every trial, in the order of its explorations and its exploitations."""

    def __init__(self, noise: Noise, seed: int, numbers: IntArray) -> None:
        self._noise = noise
        purposes = (Stream.EXPLOITATION_NOISE, Stream.EXPLORATION_NOISE)
        self._tapes = [
            [NoiseTape(noise, stream(seed, int(i), purpose), _DRAWN) for i in numbers]
            for purpose in purposes
        ]

    def next(self, exploring: BoolArray, actions: FloatArray) -> FloatArray:
        """Return the noise on the rewards of a phase, (steps, lanes)."""
        noise = np.empty(exploring.shape)
        for tapes, pulled in zip(self._tapes, (~exploring, exploring), strict=True):
            if pulled.all():
                return self._scaled(
                    np.stack([tape.take(len(pulled)) for tape in tapes], 1), actions
                )
            if pulled.any():
                for lane, count in enumerate(np.count_nonzero(pulled, axis=0)):
                    noise[pulled[:, lane], lane] = tapes[lane].take(int(count))
        return self._scaled(noise, actions)

    def _scaled(self, noise: FloatArray, actions: FloatArray) -> FloatArray:
        return noise * self._noise.scale_of(actions) if self._noise.depends_on_action else noise


class _Optima:
    """The benchmark of every trial on the sets of the steps, worked out once for each set."""

    def __init__(self, benchmark: Benchmark, theta: FloatArray, sparsity: int) -> None:
        self._benchmark, self._theta, self._sparsity = benchmark, theta, sparsity
        # The set is kept too: as long as it lives no other has its id.
        self._kept: dict[int, tuple[ActionSet, FloatArray, BoolArray]] = {}

    def of(self, sets: Sequence[ActionSet]) -> tuple[FloatArray, BoolArray]:
        """Return the earnings, (steps, trials), and the supports, (steps, trials, dim)."""
        different, places = distinct_sets(sets)
        new = [X for X in different if id(X) not in self._kept]
        if new:
            if len(self._kept) + len(new) > _KEPT:
                self._kept, new = {}, different
            earnings, supports = self._benchmark.best_on_each(new, self._theta, self._sparsity)
            for X, value, support in zip(new, earnings, supports, strict=True):
                self._kept[id(X)] = X, value, support
        known = [self._kept[id(X)] for X in different]
        values, chosen = (np.array([each[i] for each in known]) for i in (1, 2))
        return values[places], chosen[places]
