"""Any policy, all trials side by side: its rule with one lane of arrays per trial."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from sparsebandits.environments import LinearEnvironment
from sparsebandits.policies import Policy
from sparsebandits.policies.rule import InformedRule, Rule
from sparsebandits.policies.tape import Tape
from sparsebandits.simulation.record import Recorder, found_share
from sparsebandits.simulation.regret import Benchmark
from sparsebandits.simulation.streams import Stream, learner_seed, stream
from sparsebandits.validation import BoolArray, FloatArray, IntArray

Parcel = TypeVar("Parcel")

_NOISE_BLOCK = 1024

_DELAY_BLOCK = 4096

DRAWS_AHEAD = 64
"""Rows of random numbers that are drawn ahead for each lane."""

_PROGRESS = 64
"""Steps between two reports of progress."""


class NoiseTapes:
    """The noise of every trial, in the order of its exploration and its exploitation pulls."""

    def __init__(self, environment: LinearEnvironment, seed: int, numbers: IntArray) -> None:
        self._noise = environment.noise
        purposes = (Stream.EXPLOITATION_NOISE, Stream.EXPLORATION_NOISE)
        generators = [[stream(seed, int(i), purpose) for i in numbers] for purpose in purposes]
        self._tapes = [Tape(lanes, 1, _NOISE_BLOCK, self._draw) for lanes in generators]

    def _draw(self, rng: np.random.Generator, out: FloatArray) -> None:
        self._noise.draw_into(rng, out[:, 0])

    def next(self, exploring: BoolArray, actions: FloatArray) -> FloatArray:
        """Return the noise on the next reward of every lane, (lanes,)."""
        noise = np.empty(exploring.size)
        for tape, pulled in zip(self._tapes, (~exploring, exploring), strict=True):
            if pulled.any():
                noise[pulled] = tape.next(np.flatnonzero(pulled))[:, 0]
        return noise * self._noise.scale_of(actions) if self._noise.depends_on_action else noise


class Mailbox(Generic[Parcel]):
    """The rewards of one trial on their way, each with a delay that the environment draws."""

    def __init__(self, environment: LinearEnvironment, seed: int, trial: int) -> None:
        self._delay = environment.delay
        self._rng = stream(seed, trial, Stream.DELAY)
        self._drawn: IntArray | None = None
        self._due: dict[int, list[Parcel]] = {}

    def post(self, step: int, parcel: Parcel) -> None:
        """Send off the reward of a step; steps are posted in order, from 1."""
        delay = 0
        if self._delay is not None:
            place = (step - 1) % _DELAY_BLOCK
            if place == 0 or self._drawn is None:
                self._drawn = self._delay.draw(self._rng, _DELAY_BLOCK)
            delay = int(self._drawn[place])
        self._due.setdefault(step + delay, []).append(parcel)

    def arrivals(self, step: int) -> list[Parcel]:
        """Return what arrives after a step, in the order in which it was sent."""
        return self._due.pop(step, [])


@dataclass(frozen=True, slots=True, eq=False)
class _Reward:
    """A reward on its way, and what it is for."""

    action: FloatArray
    value: float
    pull: int
    context: FloatArray | None
    step: int


def _deliver(
    rule: Rule,
    mailboxes: list[Mailbox[_Reward]],
    step: int,
    actions: FloatArray,
    rewards: FloatArray,
) -> None:
    """Send off the rewards of this step, and tell those that arrive: in each lane one by one."""
    arrived = []
    for lane, box in enumerate(mailboxes):
        seen = None if rule.contexts is None else rule.contexts[lane]
        pull, value = int(rule.pulls[lane]), float(rewards[lane])
        box.post(step, _Reward(actions[lane], value, pull, seen, step))
        arrived.append(box.arrivals(step))
    turn = 0
    while lanes := [lane for lane, parcels in enumerate(arrived) if len(parcels) > turn]:
        parcels = [arrived[lane][turn] for lane in lanes]
        seen = None if rule.contexts is None else np.array([parcel.context for parcel in parcels])
        rule.learn(
            np.array([parcel.action for parcel in parcels]),
            np.array([parcel.value for parcel in parcels]),
            np.array([parcel.pull for parcel in parcels]),
            np.array(lanes),
            seen,
            np.array([float(step - parcel.step) for parcel in parcels]),
        )
        turn += 1


def _record_locks(
    policy: Policy,
    rule: Rule,
    theta: FloatArray,
    recorder: Recorder,
    step: int,
    waiting: list[int],
) -> list[int]:
    """Record the lanes that committed on what was known before this step; return the others."""
    left = []
    for lane in waiting:
        support = rule.support_in(lane)
        if support is None:
            left.append(lane)
        else:
            recorder.locked_at[lane] = step - 1
            recorder.support_correct[lane] = support == policy.support_of(theta[lane])
    return left


def run_lanes(
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
    generators = [np.random.default_rng(learner_seed(seed, int(i))) for i in numbers]
    rule: Rule = policy.rule(generators, DRAWS_AHEAD)
    tapes = NoiseTapes(environment, seed, numbers)
    informed = rule if isinstance(rule, InformedRule) else None
    items = [stream(seed, int(i), Stream.ITEM_NOISE) for i in numbers if informed]
    mailboxes: list[Mailbox[_Reward]] | None = None
    if environment.delay is not None:
        mailboxes = [Mailbox(environment, seed, int(i)) for i in numbers]
    sets = environment.action_sets
    current = policy.action_set  # equal to the environment's, where that is fixed
    course = environment.course(
        theta,
        policy.sparsity,
        [stream(seed, int(i), Stream.CONTEXT) for i in numbers],
        [stream(seed, int(i), Stream.DRIFT) for i in numbers],
    )
    sees_context = bool(getattr(policy, "context", 0))
    total = np.zeros(numbers.size)
    hits = np.zeros(numbers.size, dtype=np.intp)
    waiting = list(range(numbers.size))
    reported, horizon = 0, int(recorder.steps[-1])
    place = 0
    for step in range(1, horizon + 1):
        moment = course.next()
        if not sets.is_fixed:
            current = sets.at(step - 1)  # X_1 is at(0)
        if moment.is_new or not sets.is_fixed:
            best, support = benchmark.best(current, moment.theta, policy.sparsity)
        if step == 1 and sets.is_fixed and environment.is_steady:
            recorder.optimum[:] = best
        if informed is not None and moment.is_new:
            informed.reveal(moment.theta)
        rule.contexts = moment.contexts if sees_context else None
        actions = rule.choose(current)
        if rule.commits:
            waiting = _record_locks(policy, rule, moment.central, recorder, step, waiting)
        means = np.einsum("nd,nd->n", actions, moment.theta)
        total += best - means
        hits += ((actions != 0) == support).all(axis=1)
        rewards = means + moment.baseline + tapes.next(rule.exploring, actions)
        if mailboxes is None:
            rule.learn(actions, rewards, rule.pulls, None, rule.contexts)
        else:
            _deliver(rule, mailboxes, step, actions, rewards)
        if informed is not None:
            noise = [environment.noise.draw(rng, environment.dim) for rng in items]
            informed.learn_items(actions, moment.theta + np.array(noise))
        if recorder.steps[place] == step:
            recorder.regret[:, place] = total
            recorder.optimal_share[:, place] = hits / step
            estimate = rule.estimate_in_use
            if estimate is not None:
                off = estimate - moment.central
                recorder.theta_error[:, place] = np.linalg.norm(off, axis=1)
                if recorder.overlap is not None:
                    for lane in np.flatnonzero(~np.isnan(estimate).any(axis=1)):
                        share = found_share(policy, moment.central[lane], estimate[lane])
                        recorder.overlap[lane, place] = share
            place += 1
        if step % _PROGRESS == 0 or step == horizon:
            progress((step - reported) * numbers.size)
            reported = step
