"""A decision rule for many learners at once: each a lane of the same arrays.

A policy is written once, as a rule over lanes. A learner runs it with one lane, the simulator with
one lane per trial; a lane has the same bits in both.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import CompositionError, InvalidValueError
from sparsebandits.oracles import SparseOracle
from sparsebandits.policies.certificate import Certificate, PosteriorCertificate
from sparsebandits.policies.played import EXPLOIT, Played
from sparsebandits.policies.saved_arrays import read_array, saved_array
from sparsebandits.policies.summary import Summary
from sparsebandits.validation import (
    LARGEST_REWARD,
    LARGEST_SQUARES,
    BoolArray,
    FloatArray,
    IntArray,
    describe,
)

_SAME_ACTION = 1e-9
"""How far, relative to its largest entry, rounding may move an action."""

Answer = TypeVar("Answer")


class PerSet(Generic[Answer]):
    """An answer about the set of a step, kept for as long as the same set is asked about."""

    def __init__(self, find: Callable[[ActionSet], Answer]) -> None:
        self._find = find
        self._kept: tuple[ActionSet, Answer] | None = None

    def __call__(self, current: ActionSet) -> Answer:
        """Return the answer for the current set."""
        kept = self._kept  # rules share this, perhaps between threads
        if kept is None or kept[0] is not current:
            kept = self._kept = (current, self._find(current))
        return kept[1]


class Rule(ABC):
    """How the lanes of a policy choose and learn.

    Parameters
    ----------
    action_set : ActionSet
        X, the policy's own set.
    oracle : SparseOracle
    lanes : int

    Attributes
    ----------
    explorations : int
        How many numbers explorations may have.
    pulls : (lanes,) int array
        What the last choice of each lane was made for: `EXPLOIT` to earn, else to learn, by the
        number of the exploration where they are numbered, and by 0 where they are not.
    contexts : (lanes, z) array or None
        What is seen before the next choice; set from outside, where the policy asks for it.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsebandits as sb
    >>> policy = sb.SparseThompson(action_set=sb.LpBall(4), sparsity=2)
    >>> rule = policy.rule([np.random.default_rng(seed) for seed in range(3)])
    >>> rule.choose(policy.action_set).shape  # an action for each of three lanes
    (3, 4)
    """

    commits: bool = False
    """Whether a lane can commit to a support for good."""

    saved: ClassVar[tuple[str, ...]] = ()
    """The attributes that are arrays and change, the generators apart."""

    least: ClassVar[Mapping[str, float]] = {"squares": 0.0}
    """The least value that a saved array may have, by its name; 0 for integers not named."""

    most: ClassVar[Mapping[str, float]] = {
        "sums": 2.0**53 * LARGEST_REWARD,
        "means": LARGEST_REWARD,
        "fresh_means": LARGEST_REWARD,
        "anchor": LARGEST_REWARD,
    }
    """The most in size, by name; other numbers are at most a sum of squared rewards."""

    def __init__(self, action_set: ActionSet, oracle: SparseOracle, lanes: int) -> None:
        self.action_set, self.oracle = action_set, oracle
        self.lanes, self.dim = lanes, action_set.dim
        self.everyone = np.arange(lanes)
        self.explorations = 1
        self.pulls: IntArray = np.full(lanes, EXPLOIT)
        self.contexts: FloatArray | None = None

    @property
    def exploring(self) -> BoolArray:
        """Whether the last choice of each lane was made to learn rather than to earn, (lanes,)."""
        return np.asarray(self.pulls != EXPLOIT)

    # ------------------------------------------------------------------ choose and learn

    @abstractmethod
    def choose(self, current: ActionSet) -> FloatArray:
        """Return an action of the current set for each lane, (lanes, dim), never written to again.

        A call that raises must leave the rule as it was.
        """

    @contextmanager
    def _undone_on_error(self, names: Iterable[str]) -> Iterator[None]:
        """Put these arrays back as they were if what is done here raises."""
        before = {name: getattr(self, name).copy() for name in names}
        try:
            yield
        except BaseException:
            for name, array in before.items():
                getattr(self, name)[:] = array
            raise

    def learn(
        self,
        actions: FloatArray,
        rewards: FloatArray,
        pulls: IntArray,
        lanes: IntArray | None = None,
        contexts: FloatArray | None = None,
        ages: FloatArray | None = None,
    ) -> None:
        """Take in one reward of each lane, or of the given distinct `lanes`.

        Parameters
        ----------
        actions : (n, dim)
        rewards : (n,)
        pulls : (n,)
            What `pulls` was when the action was chosen.
        lanes : (n,), optional
        contexts : (n, z), optional
            What was seen then.
        ages : (n,), optional
            How many choices were made since; 0 if left out.
        """
        self._circumstances = contexts, ages
        self._learn(actions, rewards, pulls, self.everyone if lanes is None else lanes)

    @abstractmethod
    def _learn(self, actions: FloatArray, rewards: FloatArray, pulls: IntArray, lanes: Any) -> None:
        """Take in one reward of each of these distinct lanes; `self.everyone` are all."""

    # A learner is the only lane. Where there are very many coordinates, what follows is all that
    # it is asked, and a rule may answer it by the non-zeros alone.

    def play_again(self, current: ActionSet) -> Played | None:
        """Return the choice of the only lane if it is settled, without a draw; else None."""
        return None

    def play(self, current: ActionSet, context: FloatArray | None = None) -> Played:
        """Return the choice of the only lane; asked where `play_again` has none."""
        self.contexts = None if context is None else context[None]
        action = self.choose(current)[0]
        return Played.of(action, int(self.pulls[0]), context)

    def play_many(
        self, current: ActionSet, count: int, context: FloatArray | None = None
    ) -> list[Played]:
        """Return choices of the only lane that are to be tried at the same time."""
        return [self.play(current, context) for _ in range(count)]

    def take(self, played: Played, reward: float, age: int = 0) -> None:
        """Take in the reward of a choice of the only lane, made `age` choices ago."""
        context = None if played.context is None else played.context[None]
        action = played.action(self.dim)[None]
        pull, ages = np.array([played.pull]), np.array([float(age)])
        self.learn(action, np.array([reward]), pull, None, context, ages)

    def correct(self, played: Played, old: float, new: float, age: int = 0) -> None:
        """Replace a reward of the only lane, told `age` choices after this one, by another."""
        raise CompositionError(
            f"{type(self).__name__} cannot take a reward back: it has decided by it for good. Tell "
            "all rewards to a new learner, with the right one among them."
        )

    def learn_many(self, actions: FloatArray, rewards: FloatArray) -> None:
        """Take in logged rewards, (n,), of actions, (n, dim), in the only lane.

        Logged pairs count as explorations.
        """
        explored = np.zeros(1, dtype=np.intp)
        for action, reward in zip(actions, rewards, strict=True):
            self.learn(action[None], np.array([reward]), explored)

    # ------------------------------------------------------------------ what is known

    @property
    @abstractmethod
    def estimate(self) -> FloatArray | None:
        """theta_hat of each lane, (lanes, dim), nan in lanes without; None while there is none."""

    @property
    def estimate_in_use(self) -> FloatArray | None:
        """The estimate behind the last choice of each lane."""
        return self.estimate

    def cycle_of(self, lane: int) -> int | None:
        """Return c, the cycle of a lane's last choice; None where there are no cycles."""
        return None

    def noise_scale(self, lanes: Any = slice(None)) -> FloatArray:
        """Return the noise level that each lane reckons with; nan where it needs none."""
        return np.full(self.everyone[lanes].shape, np.nan)

    def support_in(self, lane: int) -> tuple[int, ...] | None:
        """Return the support that a lane has committed to; None where it has not."""
        return None

    def certificate(self, horizon: int | None, draws: int) -> Certificate:
        """Return what is known in the only lane; rules with a posterior say more."""
        estimate = self.estimate
        theta = None if estimate is None else estimate[0].copy()
        best = None if theta is None else self.oracle.solve(theta, self.action_set)
        level = float(self.noise_scale()[0])
        return PosteriorCertificate(
            locked=self.support_in(0) is not None,
            support=self.support_in(0),
            gap=np.nan if best is None else best.gap,
            # Who reckons with no noise has no uncertainty to describe.
            sigma=level if level > 0 else np.nan,
            theta_hat=theta,
            best_support=None if best is None else best.support,
        )

    def thetas_drawn(self, draws: int, context: FloatArray | None = None) -> FloatArray | None:
        """Return theta by the estimate, then by draws from the posterior, of the only lane.

        (1 + draws, dim); None where there is no posterior, or too few rewards for one.
        """
        return None

    def summary(self, draws: int) -> Summary:
        """Return what is known of each coordinate in the only lane."""
        theta = self.estimate
        unknown = np.full(self.dim, np.nan)
        certificate = self.certificate(None, 1)
        return Summary(
            indices=np.arange(self.dim),
            names=self.names_of(np.arange(self.dim)),
            estimate=unknown if theta is None else theta[0].copy(),
            deviation=unknown,
            inclusion=unknown,
            rewards=certificate.replications,
            sigma=certificate.sigma,
        )

    def names_of(self, indices: IntArray) -> tuple[str, ...]:
        """Return the names of coordinates, or their numbers as text."""
        names = self.action_set.names
        return tuple(str(i) if names is None else names[i] for i in indices.tolist())

    # ------------------------------------------------------------------ one lane, saved

    def arrays(self) -> dict[str, Any]:
        """Return every array that changes, by name; the first axis is the lane."""
        return {name: getattr(self, name) for name in self.saved}

    def state(self) -> dict[str, Any]:
        """Return the only lane, JSON-safe."""
        return {name: saved_array(name, array[0]) for name, array in self.arrays().items()}

    def restore(self, state: dict[str, Any], asked: int) -> None:
        """Take back what `state` returned after `asked` choices; refuse what contradicts itself."""
        for name, array in self.arrays().items():
            array[0] = self._read(name, state[name], array)

    def check_pull(self, played: Played) -> None:
        """Refuse a saved open decision that this rule cannot have made."""
        pull, action = played.pull, played.action(self.dim)
        if not self.oracle.obeyed_by(action, self.action_set):
            raise InvalidValueError(
                f"state.open must hold actions with at most {self.oracle.sparsity} non-zeros, got "
                f"{describe(played.values.tolist())}."
            )
        if pull >= self.explorations:
            raise InvalidValueError(
                f"state.open must name explorations in 0..{self.explorations - 1}, or {EXPLOIT} "
                f"for none, got {pull}."
            )
        if self.pull_of(played) != pull:
            raise InvalidValueError(
                f"state.open must hold the exploration actions that it names, got {pull} for "
                f"{describe(action.tolist())}."
            )

    def pull_of(self, played: Played) -> int:
        """Return what was explored: nothing if another action was played than was asked for.

        But for rounding: another machine has other last bits.
        """
        if played.pull == EXPLOIT:
            return EXPLOIT
        action = played.action(self.dim)
        asked = self._exploration(played.pull, action)
        slack = _SAME_ACTION * np.abs(asked).max(initial=0.0)
        return played.pull if (np.abs(asked - action) <= slack).all() else EXPLOIT

    def _exploration(self, pull: int, action: FloatArray) -> FloatArray:
        """Return what must have been played; `action`, which was saved, where that may be any."""
        return action

    def _read(self, name: str, given: Any, array: Any) -> Any:
        """Return what was saved of one array, checked."""
        size, kind = self.most.get(name, LARGEST_SQUARES), array.dtype.kind
        least = self.least.get(name, -size if kind == "f" else 0.0)
        most = {"b": 1.0, "i": 2.0**53}.get(kind, size)
        return read_array(name, given, array[0], least, most)


class InformedRule(Rule):
    """A rule that is told more than a reward per step: a reference, not a learner.

    The simulator calls `reveal` before the first step, and before every step at which theta_t is
    another one; and `learn_items` beside every `learn`.
    """

    def reveal(self, theta: FloatArray) -> None:
        """Be told theta_t of every lane, (lanes, dim)."""

    def learn_items(self, actions: FloatArray, items: FloatArray) -> None:
        """Be told a noisy theta*_i of every coordinate i that was played, (lanes, dim)."""
