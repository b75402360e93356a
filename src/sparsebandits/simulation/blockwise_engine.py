"""The cycle over whole arrays of cycles: the time of drawing the exploration noise.

The paper's estimator uses exploration rewards only, so theta_hat_c of every cycle follows from one
cumulative sum of rewards, before any action of the cycles is known. Gap tests, best responses and
regret are then array operations over (trial, cycle). Estimates, locks and actions have the bits of
`CycleRule`; the regret is summed up in another order.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sparsebandits.environments import LinearEnvironment, Noise
from sparsebandits.estimation.arms import added_squares
from sparsebandits.exploration import Basis
from sparsebandits.policies import CyclePolicy, Policy
from sparsebandits.policies.gap_test import GapTest
from sparsebandits.policies.schedules import lengths
from sparsebandits.simulation.noise_tape import NoiseTape
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
        and environment.is_steady
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
        tapes = [
            NoiseTape(environment.noise, stream(seed, int(i), Stream.EXPLORATION_NOISE))
            for i in numbers[trials]
        ]
        group = _Group(policy, environment, theta[trials], benchmark, tapes, recorder, trials)
        group.run(progress)
        for locked in group.locked_groups:
            locked.run(progress)


@dataclass
class _Block:
    """Cycles first..first+count-1 of the trials still running."""

    cycles: IntArray  # (m,)
    lanes: IntArray  # (n,) positions within the group
    estimates: FloatArray  # (n, m, d): theta_hat_c
    errors: FloatArray  # (n, m, d): theta_hat_c - theta*
    squares: FloatArray | None  # (n, m): squared deviations within the actions
    noise: FloatArray | None  # (n, m, arms): as drawn, where it may have to be given back
    sums: FloatArray | None  # (n, m, arms): of the rewards after each cycle, likewise
    last: IntArray  # (n,): the place of the last cycle that counts


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
    """Trials that explore the same `arms`, all of them until a lock leaves fewer to explore."""

    def __init__(
        self,
        policy: CyclePolicy,
        environment: LinearEnvironment,
        theta: FloatArray,
        benchmark: Benchmark,
        tapes: list[NoiseTape],
        recorder: Recorder,
        trials: IntArray,
        arms: IntArray | None = None,
    ) -> None:
        n, dim = theta.shape
        self.policy, self.theta, self.recorder, self.trials = policy, theta, recorder, trials
        cycle = policy.cycle
        assert cycle.basis is not None
        self.basis, self.test, self.oracle = cycle.basis, cycle.test, cycle.oracle
        self.schedule = cycle.schedule
        self.waiting = cycle.waiting
        self.dim, self.first = dim, 1
        self.arms = np.arange(self.basis.count) if arms is None else arms
        self.pulls = self.arms.size  # explorations of a cycle
        self.rest: FloatArray | None = None  # (n, count): means of what is explored no longer
        self.cut = cycle.explores_locked and arms is None
        self.locked_groups: list[_Group] = []
        self.make = partial(_Group, policy, environment, benchmark=benchmark, recorder=recorder)
        self.horizon = int(recorder.steps[-1])
        self.tapes = tapes
        self.noise_scale = _action_scales(environment.noise, self.basis, self.arms)
        self.optimum, self.best_support = benchmark.best(policy.action_set, theta, policy.sparsity)
        recorder.optimum[trials] = self.optimum
        self.means = _mean_rewards(self.basis, theta)[:, self.arms]
        self.baseline = environment.baseline
        # The first reward, from which the others are measured where a baseline is reckoned with.
        self.anchor: FloatArray | None = np.full(n, np.nan) if cycle.intercept else None
        # Regret of the first k exploration actions of a cycle, k = 0..pulls.
        self.prefix = np.zeros((n, self.pulls + 1))
        np.cumsum(self.optimum[:, None] - self.means, axis=1, out=self.prefix[:, 1:])
        # How many of those use exactly the benchmark's support.
        self.prefix_hits = np.zeros((n, self.pulls + 1), dtype=np.intp)
        same = _same_supports(self.basis, self.best_support)[:, self.arms]
        np.cumsum(same, axis=1, out=self.prefix_hits[:, 1:])
        self.hits = np.zeros(n, dtype=np.intp)
        self.sums = np.zeros((n, self.pulls))
        # Once the support is locked, sigma is needed no longer.
        given = 0.0 if self.test is None or arms is not None else self.test.sigma
        estimates_sigma = isinstance(given, str)
        self.squares = np.zeros((n, self.pulls)) if estimates_sigma else None
        self.lock_cycle = np.full(n, 0 if self.test is None else np.iinfo(np.intp).max)
        self.supports = np.full((n, policy.sparsity), -1, dtype=np.intp)
        self.clock = np.zeros(n, dtype=np.intp)
        self.total = np.zeros(n)
        self.last_error = np.full((n, dim), np.nan)

    def run(self, progress: Callable[[int], None]) -> None:
        lanes = np.flatnonzero(self.clock < self.horizon)
        while lanes.size:
            count = max(1, _BLOCK // (lanes.size * self.dim))
            # No more cycles than the shortest cycles could need to reach the horizon.
            left = -(-(self.horizon - int(self.clock[lanes].min())) // self.pulls)
            cycles = np.arange(self.first, self.first + min(count, left))
            before = self.clock[lanes].copy()
            block = self._explore(cycles, lanes)
            self._advance(block)
            progress(int((np.minimum(self.clock[lanes], self.horizon) - before).sum()))
            self.first += cycles.size
            stays = self.clock[lanes] < self.horizon
            if self.cut:
                locked = self.lock_cycle[lanes] <= cycles[-1]
                for row in np.flatnonzero(stays & locked):
                    self.locked_groups.append(self._on_locked(int(row), block))
                stays &= ~locked
            lanes = lanes[stays]

    def _explore(self, cycles: IntArray, lanes: IntArray) -> _Block:
        """Draw the rewards of each cycle; means of all cycles so far; least squares."""
        rewards = np.empty((lanes.size, cycles.size, self.pulls))
        for row, lane in enumerate(lanes):
            self.tapes[lane].fill(rewards[row])
        noise = rewards.copy() if self.cut else None
        if self.noise_scale is not None:
            rewards *= self.noise_scale
        rewards += (self.means[lanes] + self.baseline)[:, None]
        if self.anchor is not None:
            new = lanes[np.isnan(self.anchor[lanes])]
            if new.size:  # in the first cycle, so that all are
                self.anchor[new] = rewards[:, 0, 0]
            rewards -= self.anchor[lanes, None, None]
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
        kept = sums.copy() if self.cut else None
        sums /= cycles[:, None]
        if self.rest is not None:
            means = np.repeat(self.rest[lanes, None], cycles.size, axis=1)
            means[:, :, self.arms] = sums
            sums = means
        estimates = self.basis.estimate(sums)  # eqn:sparse-PEE-ols
        errors = estimates - self.theta[lanes, None]
        last = np.full(lanes.size, cycles.size - 1)
        return _Block(cycles, lanes, estimates, errors, squares, noise, kept, last)

    def _on_locked(self, row: int, block: _Block) -> "_Group":
        """Return the rest of a trial whose support is locked, which explores fewer actions."""
        lane, last = block.lanes[row], int(block.last[row])
        assert block.noise is not None
        assert block.sums is not None
        self.tapes[lane].give_back(block.noise[row, last + 1 :])
        support = self.supports[lane]
        arms = np.flatnonzero(self.policy.cycle.explored(support))
        group: _Group = self.make(
            theta=self.theta[[lane]],
            tapes=[self.tapes[lane]],
            trials=self.trials[[lane]],
            arms=arms,
        )
        group.first = int(block.cycles[last]) + 1
        group.rest = block.sums[[row], last] / block.cycles[last]
        group.sums = block.sums[[row], last][:, arms]
        if self.anchor is not None:
            group.anchor = self.anchor[[lane]]
        for name in ("lock_cycle", "supports", "clock", "total", "hits", "last_error"):
            getattr(group, name)[0] = getattr(self, name)[lane]
        return group

    def _advance(self, block: _Block) -> None:
        if self.test is not None:
            self._lock(block, self.test)
        regret, optimal = self._exploitation(block)
        planned = lengths(self.schedule, block.cycles)
        exploits = block.cycles >= self.lock_cycle[block.lanes, None]
        waiting = 0 if self.waiting is None else lengths(self.waiting, block.cycles)
        steps = np.where(exploits, planned, waiting)  # (n, m)
        ends = self.clock[block.lanes, None] + np.cumsum(self.pulls + steps, axis=1)
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
        at = np.arange(block.lanes.size), block.last
        self.clock[block.lanes] = ends[at]
        self.total[block.lanes] = totals[at]
        self.hits[block.lanes] = hits[at]
        self.last_error[block.lanes] = block.errors[at]

    def _lock(self, block: _Block, test: GapTest) -> None:
        """Find the first cycle whose gap test passes, for the trials not locked yet."""
        waiting = np.flatnonzero(self.lock_cycle[block.lanes] > block.cycles[-1])
        if not waiting.size:
            return
        lanes = block.lanes[waiting]
        supports, gaps = test.verify(block.estimates[waiting].reshape(-1, self.dim))
        shape = (waiting.size, block.cycles.size)
        squares = 0.0 if block.squares is None else block.squares[waiting]
        sigma = test.sigma_bound(squares, self.pulls * (block.cycles - 1), block.cycles)
        passed = test.passes(gaps.reshape(shape), sigma, block.cycles)
        hit = np.flatnonzero(passed.any(axis=1))
        when = passed[hit].argmax(axis=1)
        self.lock_cycle[lanes[hit]] = block.cycles[when]
        self.supports[lanes[hit]] = supports.reshape(*shape, -1)[hit, when]
        if self.cut:
            block.last[waiting[hit]] = when
        truth = test.verify(self.theta[lanes[hit]])[0] if hit.size else supports[:0]
        right = (self.supports[lanes[hit]] == truth).all(axis=1)
        at = self.clock[lanes[hit]] + self.pulls * (when + 1)
        if self.waiting is not None:
            spent = np.cumsum(lengths(self.waiting, block.cycles))
            at += (spent - lengths(self.waiting, block.cycles))[when]
        in_time = at < self.horizon  # the test is made before the step that follows
        self.recorder.locked_at[self.trials[lanes[hit]]] = np.where(in_time, at, np.nan)
        self.recorder.support_correct[self.trials[lanes[hit]]] = right & in_time

    def _exploitation(self, block: _Block) -> tuple[FloatArray, BoolArray]:
        """Regret of one exploitation step in each cycle, (n, m), and whether its support is best.

        0 and False where there is none.
        """
        regret = np.zeros((block.lanes.size, block.cycles.size))
        optimal = np.zeros(regret.shape, dtype=np.bool_)
        locked = block.cycles >= self.lock_cycle[block.lanes, None]
        for on_support in (True, False):
            chosen = locked if on_support else ~locked
            if not on_support and self.waiting is None:
                break
            rows, places = np.nonzero(chosen & (np.arange(locked.shape[1]) <= block.last[:, None]))
            if not rows.size:
                continue
            lanes = block.lanes[rows]
            estimates, action_set = block.estimates[rows, places], self.policy.action_set
            if on_support and self.test is not None:
                actions, _ = action_set.respond_on(estimates, self.supports[lanes])
            else:
                actions = self.oracle.actions(estimates, action_set)
            earned = np.einsum("nd,nd->n", actions, self.theta[lanes])
            regret[rows, places] = self.optimum[lanes] - earned
            optimal[rows, places] = ((actions != 0) == self.best_support[lanes]).all(axis=1)
        return regret, optimal

    def _record(self, row: int, block: _Block, course: "_Course") -> None:
        """Read off what is recorded at the steps that fall into this block, for one trial."""
        lane, grid = block.lanes[row], self.recorder.steps
        ends = course.ends[row, : block.last[row] + 1]
        span = np.searchsorted(grid, (self.clock[lane], ends[-1]), side="right")
        here = (self.trials[lane], slice(*span))
        recorded = grid[here[1]]
        if not recorded.size:
            return
        place = np.searchsorted(ends, recorded, side="left")
        steps = course.steps[row, place]
        offset = recorded - (ends[place] - self.pulls - steps)
        explored, exploited = np.minimum(offset, self.pulls), np.maximum(offset - self.pulls, 0)

        def read(prefix: Any, per_step: Any, totals: Any) -> Any:
            # What was summed up before this cycle, in its exploration, and in its exploitation.
            before = totals[row, place] - prefix[lane, -1] - steps * per_step[row, place]
            return before + prefix[lane, explored] + exploited * per_step[row, place]

        self.recorder.regret[here] = read(self.prefix, course.regret, course.totals)
        hits = read(self.prefix_hits, course.optimal, course.hits)
        self.recorder.optimal_share[here] = hits / recorded
        # The estimate behind the action of that step: of this cycle, or of the one before.
        in_use = place - (offset <= self.pulls)
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
    """Return whether b_k uses exactly the coordinates of a row of `best`, (n, count)."""
    if basis.dim**2 <= _BLOCK:
        return np.asarray(((basis.actions != 0) == best[:, None, :]).all(axis=2))
    # In high dimension, by the columns of M of that support: all b_k that use them, and no more.
    same = np.zeros((len(best), basis.count), dtype=np.bool_)
    for row, chosen in enumerate(best):
        places = np.flatnonzero(chosen)
        # Only an origin uses none at all.
        using = (np.arange(basis.count) >= basis.dim) | (places.size > 0)
        for place in places:
            axis = np.zeros(basis.dim)
            axis[place] = 1.0
            using &= basis.predict(axis) != 0
        for k in np.flatnonzero(using):
            same[row, k] = basis.support(int(k)).size == places.size
    return same


def _mean_rewards(basis: Basis, theta: FloatArray) -> FloatArray:
    """b_k·theta for every k, (n, count), summed up as the step-by-step engine does."""
    if basis.dim**2 > _BLOCK:
        return basis.predict(theta)
    rows = [np.broadcast_to(action, theta.shape) for action in basis.actions]
    return np.stack([np.einsum("nd,nd->n", row, theta) for row in rows], axis=1)


def _action_scales(noise: Noise, basis: Basis, arms: IntArray) -> FloatArray | None:
    """How the noise of each exploration action is scaled; None where it is not."""
    if not noise.depends_on_action:
        return None
    return np.array([float(noise.scale_of(basis.action(int(k)))) for k in arms])
