"""Any policy, all trials side by side: its rule with one lane of arrays per trial."""

from collections.abc import Callable

import numpy as np

from sparsebandits.environments import LinearEnvironment
from sparsebandits.policies import Policy
from sparsebandits.policies.rule import InformedRule, Rule
from sparsebandits.simulation.delayed_rewards import Mailbox
from sparsebandits.simulation.record import Recorder, found_share
from sparsebandits.simulation.regret import Benchmark
from sparsebandits.simulation.streams import Stream, learner_seed, stream
from sparsebandits.validation import BoolArray, FloatArray, IntArray

_NOISE_BLOCK = 1024

_DRAWS_AHEAD = 64
"""Rows of random numbers that are drawn ahead for each lane."""

_PROGRESS = 64
"""Steps between two reports of progress."""


class NoiseTapes:
    """The noise of every trial, in the order of its exploration and its exploitation pulls."""

    def __init__(self, environment: LinearEnvironment, seed: int, numbers: IntArray) -> None:
        self._noise = environment.noise
        purposes = (Stream.EXPLOITATION_NOISE, Stream.EXPLORATION_NOISE)
        self._generators = [[stream(seed, int(i), what) for what in purposes] for i in numbers]
        self._drawn = np.empty((numbers.size, 2, _NOISE_BLOCK))
        self._used = np.full((numbers.size, 2), _NOISE_BLOCK)
        self._lanes = np.arange(numbers.size)

    def next(self, exploring: BoolArray, actions: FloatArray) -> FloatArray:
        """Return the noise on the next reward of every lane, (lanes,)."""
        tapes = exploring.astype(np.intp)
        places = self._used[self._lanes, tapes]
        spent = places == _NOISE_BLOCK
        if spent.any():
            for lane in np.flatnonzero(spent):
                tape = tapes[lane]
                self._noise.draw_into(self._generators[lane][tape], self._drawn[lane, tape])
            places[spent] = 0
        self._used[self._lanes, tapes] = places + 1
        noise = self._drawn[self._lanes, tapes, places]
        if self._noise.depends_on_action:
            noise = noise * self._noise.scale_of(actions)
        return np.asarray(noise)


class _ItemNoise:
    """Noise on every coordinate, for references that see each of them."""

    def __init__(self, environment: LinearEnvironment, seed: int, numbers: IntArray) -> None:
        self._noise, self._dim = environment.noise, environment.dim
        self._generators = [stream(seed, int(i), Stream.ITEM_NOISE) for i in numbers]

    def next(self) -> FloatArray:
        """Return a draw for every lane and coordinate, (lanes, dim)."""
        return np.array([self._noise.draw(rng, self._dim) for rng in self._generators])


_Parcel = tuple[FloatArray, float, int]
"""An action, its reward, and its pull."""


def _deliver(
    rule: Rule,
    mailboxes: list[Mailbox[_Parcel]],
    step: int,
    actions: FloatArray,
    rewards: FloatArray,
) -> None:
    """Send off the rewards of this step, and tell those that arrive: in each lane one by one."""
    arrived = []
    for lane, box in enumerate(mailboxes):
        box.post(step, (actions[lane], float(rewards[lane]), int(rule.pulls[lane])))
        arrived.append(box.arrivals(step))
    turn = 0
    while lanes := [lane for lane, parcels in enumerate(arrived) if len(parcels) > turn]:
        parcels = [arrived[lane][turn] for lane in lanes]
        rule.learn(
            np.array([action for action, _, _ in parcels]),
            np.array([reward for _, reward, _ in parcels]),
            np.array([pull for _, _, pull in parcels]),
            np.array(lanes),
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
    rule: Rule = policy.rule(generators, _DRAWS_AHEAD)
    tapes = NoiseTapes(environment, seed, numbers)
    informed = rule if isinstance(rule, InformedRule) else None
    items = _ItemNoise(environment, seed, numbers) if informed is not None else None
    if informed is not None:
        informed.reveal(theta)
    mailboxes: list[Mailbox[_Parcel]] | None = None
    if environment.delay is not None:
        mailboxes = [Mailbox(environment, seed, int(i)) for i in numbers]
    sets = environment.action_sets
    current = policy.action_set  # equal to the environment's, where that is fixed
    if sets.is_fixed:
        best, wanted = benchmark.best(current, theta, policy.sparsity)
        recorder.optimum[:] = best
    total = np.zeros(numbers.size)
    hits = np.zeros(numbers.size, dtype=np.intp)
    waiting = list(range(numbers.size))
    reported, horizon = 0, int(recorder.steps[-1])
    place = 0
    for step in range(1, horizon + 1):
        if not sets.is_fixed:
            current = sets.at(step - 1)  # X_1 is at(0)
            best, wanted = benchmark.best(current, theta, policy.sparsity)
        actions = rule.choose(current)
        if rule.commits:
            waiting = _record_locks(policy, rule, theta, recorder, step, waiting)
        means = np.einsum("nd,nd->n", actions, theta)
        total += best - means
        hits += ((actions != 0) == wanted).all(axis=1)
        rewards = means + tapes.next(rule.exploring, actions)
        if mailboxes is None:
            rule.learn(actions, rewards, rule.pulls)
        else:
            _deliver(rule, mailboxes, step, actions, rewards)
        if informed is not None and items is not None:
            informed.learn_items(actions, theta + items.next())
        if recorder.steps[place] == step:
            recorder.regret[:, place] = total
            recorder.optimal_share[:, place] = hits / step
            estimate = rule.estimate_in_use
            if estimate is not None:
                recorder.theta_error[:, place] = np.linalg.norm(estimate - theta, axis=1)
                if recorder.overlap is not None:
                    for lane in np.flatnonzero(~np.isnan(estimate).any(axis=1)):
                        share = found_share(policy, theta[lane], estimate[lane])
                        recorder.overlap[lane, place] = share
            place += 1
        if step % _PROGRESS == 0 or step == horizon:
            progress((step - reported) * numbers.size)
            reported = step
