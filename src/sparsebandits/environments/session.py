"""One play-through of an environment: actions in, rewards out, theta* out of sight."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.environments.course import Course, Moment
from sparsebandits.environments.noise import Noise
from sparsebandits.environments.sequences import ActionSetSequence
from sparsebandits.errors import InvalidValueError
from sparsebandits.oracles import Limit, SparseOracle
from sparsebandits.validation import FloatArray, as_array, describe, read_only


class EnvironmentSession:
    """An environment with its theta* drawn, ready to be played by hand or by a learner's loop.

    theta* is not an attribute: only the expected reward can be asked for. This guards against
    accidents, not against malice; Python hides nothing from those who dig.

    Attributes
    ----------
    sparsity : int or Supports
        H, or rules for what may be on.
    names : tuple of str, or None
        What the coordinates stand for.
    step : int
        The number of rewards given so far.
    """

    def __init__(
        self,
        *,
        action_sets: ActionSetSequence,
        course: Course,
        noise: Noise,
        rng: np.random.Generator,
        sparsity: Limit,
        names: tuple[str, ...] | None,
    ) -> None:
        self.sparsity = sparsity
        self.names = names
        self.step = 0
        self.__action_sets = action_sets
        self.__noise = noise
        self.__rng = rng
        self.__begin, self.__mean, self.__context = _hidden(course)
        self.__begin()

    @property
    def dim(self) -> int:
        """d, the number of coordinates."""
        return self.__action_sets.dim

    @property
    def action_set(self) -> ActionSet:
        """X_t, the set that the next action is taken from."""
        return self.__action_sets.at(self.step)

    @property
    def context(self) -> FloatArray | None:
        """z_t, what is seen before the next action, (z,); None where there is no context."""
        return self.__context()

    def pull(self, action: Any) -> float:
        """Play an action, which must be in X_t and H-sparse, and return its reward.

        Y_t = b_t + theta_t·x_t + eta_t, where without baseline, context and drift b_t is 0 and
        theta_t is theta*.

        A refused action costs nothing: neither a step nor a draw of the noise.
        """
        x = self._as_action(action)
        used, current = int(np.count_nonzero(x)), self.action_set
        if isinstance(self.sparsity, int) and used > self.sparsity:
            raise InvalidValueError(
                f"action must use at most H = {self.sparsity} coordinates, got {used} non-zeros; "
                "set the others to 0."
            )
        if not SparseOracle(self.sparsity, "auto").obeyed_by(x, current):
            on = [i if self.names is None else self.names[i] for i in np.flatnonzero(x).tolist()]
            raise InvalidValueError(
                f"action must obey {self.sparsity!r}, got non-zeros at {describe(on)}."
            )
        if not current.contains(x):
            raise InvalidValueError(
                f"action is not in {current!r} at step {self.step}, got {describe(x.tolist())}; "
                "see session.action_set for what is allowed."
            )
        self.step += 1
        eta = float(self.__noise.scale_of(x)) * float(self.__noise.draw(self.__rng, 1)[0])
        reward = self.__mean(x) + eta  # eqn:reward function
        self.__begin()
        return reward

    def mean(self, action: Any) -> float:
        """Return b_t + theta_t·x for any x, feasible or not: for who compares, not for learners."""
        return self.__mean(self._as_action(action))

    def _as_action(self, action: Any) -> FloatArray:
        x = as_array("action", action, ndim=1)
        if x.shape != (self.dim,):
            raise InvalidValueError(
                f"action must have shape ({self.dim},), one entry per coordinate, "
                f"got shape {x.shape}."
            )
        return x

    def __repr__(self) -> str:
        return (
            f"EnvironmentSession({self.action_set!r}, sparsity={self.sparsity}, step={self.step})"
        )


def _hidden(
    course: Course,
) -> tuple[Callable[[], None], Callable[[FloatArray], float], Callable[[], FloatArray | None]]:
    """Return what begins a step, its mean reward and its context, with theta_t out of sight."""
    moment: Moment

    def begin() -> None:
        nonlocal moment
        moment = course.next()

    def mean(x: FloatArray) -> float:
        return float(moment.theta[0] @ x) + float(moment.baseline[0])

    def context() -> FloatArray | None:
        return None if moment.contexts is None else read_only(moment.contexts[0])

    return begin, mean, context
