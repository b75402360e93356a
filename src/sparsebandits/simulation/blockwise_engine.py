"""The cycle over whole arrays of cycles: the time of drawing the exploration noise.

The paper's estimator uses exploration rewards only, so theta_hat_c of every cycle follows from one
cumulative sum of rewards, before any action of the cycles is known. Gap tests, best responses and
regret are then array operations over (trial, cycle). Estimates, locks and actions have the bits of
`CycleRule`; the regret is summed up in another order.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebandits.environments import LinearEnvironment, Noise
from sparsebandits.estimation.arms import added_squares
from sparsebandits.exploration import Basis
from sparsebandits.policies import CyclePolicy, Policy
from sparsebandits.policies.gap_test import GapTest
from sparsebandits.policies.schedules import lengths
from sparsebandits.simulation.record import Recorder, found_share
from sparsebandits.simulation.regret import Benchmark
from sparsebandits.simulation.streams import Stream, stream
from sparsebandits.validation import BoolArray, FloatArray, IntArray

_BLOCK = 2**17
"""Numbers per block of (trials, cycles, dim): the working set stays near the cache."""

_GROUP_CYCLES = 64
"""A group of trials is small enough for blocks of this many cycles."""


def can_run(policy: Policy, environment: LinearEnvironment) -> bool:
    """Whether this engine applies: a cycle on a fixed basis that discards exploitation rewards."""
    return (
        isinstance(policy, CyclePolicy)
        and not (policy.cycle.keeps_all or policy.cycle.forever)
        and environment.action_sets.is_fixed
        and environment.delay is None
        and environment.is_plain
    )


def run_blockwise(
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
    size = max(1, _BLOCK // (_GROUP_CYCLES * policy.action_set.dim))
    for first in range(0, theta.shape[0], size):
        trials = np.arange(first, min(first + size, theta.shape[0]))
        generators = [stream(seed, int(i), Stream.EXPLORATION_NOISE) for i in numbers[trials]]
        group = _Group(policy, environment, theta[trials], benchmark, generators, recorder, trials)
        group.run(progress)


@dataclass
class _Block:
    """Cycles first..first+count-1 of the trials still running."""

    cycles: IntArray  # (m,)
    lanes: IntArray  # (n,) positions within the group
    estimates: FloatArray  # (n, m, d): theta_hat_c
    errors: FloatArray  # (n, m, d): theta_hat_c - theta*
    squares: FloatArray | None  # (n, m): squared deviations within the actions


@dataclass
class _Course:
    """How the cycles of a block went, all (n, m)."""

    steps: IntArray  # exploitation steps
    ends: IntArray  # the last step of the cycle
    regret: FloatArray  # of one exploitation step
    totals: FloatArray  # cumulative regret at the end
    optimal: BoolArray  # whether exploitation uses the benchmark's support
    hits: IntArray  # cumulative steps that did, at the end


class _Group:
    def __init__(
        self,
        policy: CyclePolicy,
        environment: LinearEnvironment,
        theta: FloatArray,
        benchmark: Benchmark,
        generators: list[np.random.Generator],
        recorder: Recorder,
        trials: IntArray,
    ) -> None:
        n, dim = theta.shape
        self.policy, self.theta, self.recorder, self.trials = policy, theta, recorder, trials
        cycle = policy.cycle
        assert cycle.basis is not None
        self.basis, self.test, self.oracle = cycle.basis, cycle.test, cycle.oracle
        self.schedule = cycle.schedule
        self.dim = dim
        self.horizon = int(recorder.steps[-1])
        self.noise = environment.noise
        self.generators = generators
        self.noise_scale = _action_scales(self.noise, self.basis)
        self.optimum, self.best_support = benchmark.best(policy.action_set, theta, policy.sparsity)
        recorder.optimum[trials] = self.optimum
        self.means = _mean_rewards(self.basis, theta)
        # Regret of the first k exploration actions of a cycle, k = 0..d.
        self.prefix = np.zeros((n, dim + 1))
        np.cumsum(self.optimum[:, None] - self.means, axis=1, out=self.prefix[:, 1:])
        # How many of those use exactly the benchmark's support.
        self.prefix_hits = np.zeros((n, dim + 1), dtype=np.intp)
        same = _same_supports(self.basis, self.best_support)
        np.cumsum(same, axis=1, out=self.prefix_hits[:, 1:])
        self.hits = np.zeros(n, dtype=np.intp)
        self.sums = np.zeros((n, dim))
        estimates_sigma = self.test is not None and isinstance(self.test.sigma, str)
        self.squares = np.zeros((n, dim)) if estimates_sigma else None
        self.lock_cycle = np.full(n, 0 if self.test is None else np.iinfo(np.intp).max)
        self.supports = np.full((n, policy.sparsity), -1, dtype=np.intp)
        self.clock = np.zeros(n, dtype=np.intp)
        self.total = np.zeros(n)
        self.last_error = np.full((n, dim), np.nan)

    def run(self, progress: Callable[[int], None]) -> None:
        first, lanes = 1, np.arange(self.trials.size)
        while lanes.size:
            count = max(1, _BLOCK // (lanes.size * self.dim))
            # No more cycles than the shortest cycles could need to reach the horizon.
            left = -(-(self.horizon - int(self.clock[lanes].min())) // self.dim)
            cycles = np.arange(first, first + min(count, left))
            before = self.clock[lanes].copy()
            self._advance(self._explore(cycles, lanes))
            progress(int((np.minimum(self.clock[lanes], self.horizon) - before).sum()))
            first += cycles.size
            lanes = lanes[self.clock[lanes] < self.horizon]

    def _explore(self, cycles: IntArray, lanes: IntArray) -> _Block:
        """Draw the rewards of d pulls per cycle; means of all cycles so far; least squares."""
        rewards = np.empty((lanes.size, cycles.size, self.dim))
        for row, lane in enumerate(lanes):
            self.noise.draw_into(self.generators[lane], rewards[row])
        if self.noise_scale is not None:
            rewards *= self.noise_scale
        rewards += self.means[lanes, None]
        given = None if self.squares is None else rewards.copy()
        # One after the other, as a learner adds them.
        rewards[:, 0] += self.sums[lanes]
        sums = np.cumsum(rewards, axis=1, out=rewards)
        self.sums[lanes] = sums[:, -1]
        squares = None
        if self.squares is not None and given is not None:
            added = added_squares(cycles[:, None], given, sums)
            added[:, 0] += self.squares[lanes]
            np.cumsum(added, axis=1, out=added)
            self.squares[lanes] = added[:, -1]
            squares = added.sum(axis=-1)
        sums /= cycles[:, None]
        estimates = self.basis.estimate(sums)  # eqn:sparse-PEE-ols
        return _Block(cycles, lanes, estimates, estimates - self.theta[lanes, None], squares)

    def _advance(self, block: _Block) -> None:
        if self.test is not None:
            self._lock(block, self.test)
        regret, optimal = self._exploitation(block)
        planned = lengths(self.schedule, block.cycles)
        exploits = block.cycles >= self.lock_cycle[block.lanes, None]
        steps = np.where(exploits, planned, 0)  # (n, m)
        ends = self.clock[block.lanes, None] + np.cumsum(self.dim + steps, axis=1)
        per_cycle = self.prefix[block.lanes, -1:] + steps * regret
        # One after the other, so that the size of a block changes no bit.
        per_cycle[:, 0] += self.total[block.lanes]
        totals = np.cumsum(per_cycle, axis=1)
        hits = self.hits[block.lanes, None] + np.cumsum(
            self.prefix_hits[block.lanes, -1:] + steps * optimal, axis=1
        )
        course = _Course(steps, ends, regret, totals, optimal, hits)
        for row in range(block.lanes.size):
            self._record(row, block, course)
        self.clock[block.lanes] = ends[:, -1]
        self.total[block.lanes] = totals[:, -1]
        self.hits[block.lanes] = hits[:, -1]
        self.last_error[block.lanes] = block.errors[:, -1]

    def _lock(self, block: _Block, test: GapTest) -> None:
        """Find the first cycle whose gap test passes, for the trials not locked yet."""
        waiting = np.flatnonzero(self.lock_cycle[block.lanes] > block.cycles[-1])
        if not waiting.size:
            return
        lanes = block.lanes[waiting]
        supports, gaps = test.verify(block.estimates[waiting].reshape(-1, self.dim))
        shape = (waiting.size, block.cycles.size)
        squares = 0.0 if block.squares is None else block.squares[waiting]
        sigma = test.sigma_bound(squares, self.dim * (block.cycles - 1), block.cycles)
        passed = test.passes(gaps.reshape(shape), sigma, block.cycles)
        hit = np.flatnonzero(passed.any(axis=1))
        when = passed[hit].argmax(axis=1)
        self.lock_cycle[lanes[hit]] = block.cycles[when]
        self.supports[lanes[hit]] = supports.reshape(*shape, -1)[hit, when]
        truth = test.verify(self.theta[lanes[hit]])[0] if hit.size else supports[:0]
        right = (self.supports[lanes[hit]] == truth).all(axis=1)
        at = self.clock[lanes[hit]] + self.dim * (when + 1)
        in_time = at < self.horizon  # the test is made before the step that follows
        self.recorder.locked_at[self.trials[lanes[hit]]] = np.where(in_time, at, np.nan)
        self.recorder.support_correct[self.trials[lanes[hit]]] = right & in_time

    def _exploitation(self, block: _Block) -> tuple[FloatArray, BoolArray]:
        """Regret of one exploitation step in each cycle, (n, m), and whether its support is best.

        0 and False where there is none.
        """
        regret = np.zeros((block.lanes.size, block.cycles.size))
        optimal = np.zeros(regret.shape, dtype=np.bool_)
        rows, places = np.nonzero(block.cycles >= self.lock_cycle[block.lanes, None])
        if not rows.size:
            return regret, optimal
        lanes = block.lanes[rows]
        estimates, action_set = block.estimates[rows, places], self.policy.action_set
        if self.test is not None:
            actions, _ = action_set.respond_on(estimates, self.supports[lanes])
        else:
            actions = self.oracle.actions(estimates, action_set)
        earned = np.einsum("nd,nd->n", actions, self.theta[lanes])
        regret[rows, places] = self.optimum[lanes] - earned
        optimal[rows, places] = ((actions != 0) == self.best_support[lanes]).all(axis=1)
        return regret, optimal

    def _record(self, row: int, block: _Block, course: "_Course") -> None:
        """Read off what is recorded at the steps that fall into this block, for one trial."""
        lane, ends, grid = block.lanes[row], course.ends[row], self.recorder.steps
        span = np.searchsorted(grid, (self.clock[lane], ends[-1]), side="right")
        here = (self.trials[lane], slice(*span))
        recorded = grid[here[1]]
        if not recorded.size:
            return
        place = np.searchsorted(ends, recorded, side="left")
        steps = course.steps[row, place]
        offset = recorded - (ends[place] - self.dim - steps)
        explored, exploited = np.minimum(offset, self.dim), np.maximum(offset - self.dim, 0)

        def read(prefix: Any, per_step: Any, totals: Any) -> Any:
            # What was summed up before this cycle, in its exploration, and in its exploitation.
            before = totals[row, place] - prefix[lane, -1] - steps * per_step[row, place]
            return before + prefix[lane, explored] + exploited * per_step[row, place]

        self.recorder.regret[here] = read(self.prefix, course.regret, course.totals)
        hits = read(self.prefix_hits, course.optimal, course.hits)
        self.recorder.optimal_share[here] = hits / recorded
        # The estimate behind the action of that step: of this cycle, or of the one before.
        in_use = place - (offset <= self.dim)
        errors, last = block.errors[row], self.last_error[[lane]]  # place -1: the block before
        norms = np.append(np.linalg.norm(errors, axis=-1), np.linalg.norm(last, axis=-1))
        self.recorder.theta_error[here] = norms[in_use]
        if self.recorder.overlap is not None:
            theta, known = self.theta[lane], np.concatenate([errors, last])[in_use]
            self.recorder.overlap[here] = [
                np.nan if np.isnan(error[0]) else found_share(self.policy, theta, theta + error)
                for error in known
            ]


def _same_supports(basis: Basis, best: BoolArray) -> BoolArray:
    """Return whether b_k uses exactly the coordinates of a row of `best`, (n, dim)."""
    if basis.dim**2 <= _BLOCK:
        return np.asarray(((basis.actions != 0) == best[:, None, :]).all(axis=2))
    # In high dimension, by the columns of M of that support: all b_k that use them, and no more.
    same = np.zeros(best.shape, dtype=np.bool_)
    for row, chosen in enumerate(best):
        places = np.flatnonzero(chosen)
        using = np.full(basis.dim, places.size > 0)
        for place in places:
            axis = np.zeros(basis.dim)
            axis[place] = 1.0
            using &= basis.predict(axis) != 0
        for k in np.flatnonzero(using):
            same[row, k] = basis.support(int(k)).size == places.size
    return same


def _mean_rewards(basis: Basis, theta: FloatArray) -> FloatArray:
    """b_k·theta for every k, (n, dim), summed up as the step-by-step engine does."""
    if basis.dim**2 > _BLOCK:
        return basis.predict(theta)
    rows = [np.broadcast_to(action, theta.shape) for action in basis.actions]
    return np.stack([np.einsum("nd,nd->n", row, theta) for row in rows], axis=1)


def _action_scales(noise: Noise, basis: Basis) -> FloatArray | None:
    """How the noise of each exploration action is scaled; None where it is not."""
    if not noise.depends_on_action:
        return None
    return np.array([float(noise.scale_of(basis.action(k))) for k in range(basis.dim)])
