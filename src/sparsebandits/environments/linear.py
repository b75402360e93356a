"""The linear environment Y_t = b + theta*·x_t + eta_t: an action set, a parameter, a noise."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.descriptions import Described, as_fields, call_with
from sparsebandits.environments.contexts import GaussianContexts
from sparsebandits.environments.course import Course
from sparsebandits.environments.delay import UniformDelay
from sparsebandits.environments.drift import Jump
from sparsebandits.environments.noise import Gaussian, Noise
from sparsebandits.environments.parameters import ThetaSampler
from sparsebandits.environments.sequences import ActionSetSequence, FixedSet, as_action_set
from sparsebandits.environments.session import EnvironmentSession
from sparsebandits.errors import InvalidTypeError, InvalidValueError
from sparsebandits.oracles import Limit, as_limit
from sparsebandits.validation import (
    FloatArray,
    as_array,
    as_generator,
    as_instance,
    as_integer,
    as_number,
    as_sparsity,
    describe,
)

_PAPER_NOISE = Gaussian(0.5)

_PARTS: dict[str, type[Described]] = {
    "action_set": ActionSet,
    "action_sets": ActionSetSequence,
    "noise": Noise,
    "delay": UniformDelay,
    "contexts": GaussianContexts,
    "drift": Jump,
}

_OPTIONAL: dict[str, tuple[type[Described], str]] = {
    "delay": (UniformDelay, "a delay such as UniformDelay(200)"),
    "contexts": (GaussianContexts, "contexts such as GaussianContexts(3)"),
    "drift": (Jump, "a drift such as Jump(1000)"),
}
"""Parts that there may be none of."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class LinearEnvironment:
    """The world that a policy plays in (`eqn:reward function`).

    The simulator alone holds an environment. A policy is handed `action_set` (or `action_sets`),
    the sparsity and perhaps `names` and `sigma`; from none of them does a way lead to theta*.

    Parameters
    ----------
    action_set : ActionSet
        X. Give either this or `action_sets`.
    action_sets : ActionSetSequence
        X_t, where the set moves. `action_set` is then its base.
    theta_star : array of shape (dim,) or ThetaSampler
        The parameter itself, or how to draw it anew for each trial.
    noise : Noise
        Gaussian(0.5), the paper's, unless given.
    names : sequence of str, optional
        What the coordinates stand for, all different; those of the set unless given.
    delay : UniformDelay, optional
        How late rewards are told in a simulation; at once unless given.
    baseline : float
        b, in every reward whatever is played. Regret does not see it.
    contexts : GaussianContexts, optional
        What is seen before each decision, by which theta_t = theta* + Gamma z_t moves. Regret is
        against the best action for theta_t.
    drift : Jump, optional
        How theta* changes in the course of a trial; a sampler of it is needed then.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> from sparsebandits.environments import Gaussian, LinearEnvironment
    >>> env = LinearEnvironment(
    ...     action_set=sb.LpBall(dim=3), theta_star=[1.0, -2.0, 0.5], noise=Gaussian(0.1)
    ... )
    >>> session = env.start(seed=0, sparsity=1)
    >>> session.mean([0.0, -1.0, 0.0])
    2.0
    >>> print(round(session.pull([0.0, -1.0, 0.0]), 3))
    2.081

    >>> env = LinearEnvironment(
    ...     action_set=sb.LpBall(dim=3), theta_star=[1.0, -2.0, 0.5], baseline=5.0,
    ...     contexts=sb.GaussianContexts(2),
    ... )
    >>> session = env.start(seed=0, sparsity=1)
    >>> session.context.round(2), session.mean([0.0, 0.0, 0.0])
    (array([-1.86, -0.59]), 5.0)
    """

    action_set: ActionSet
    action_sets: ActionSetSequence
    theta_star: FloatArray | ThetaSampler
    noise: Noise
    names: tuple[str, ...] | None
    delay: UniformDelay | None
    baseline: float
    contexts: GaussianContexts | None
    drift: Jump | None

    def __init__(
        self,
        *,
        action_set: ActionSet | None = None,
        action_sets: ActionSetSequence | None = None,
        theta_star: Any,
        noise: Noise = _PAPER_NOISE,
        names: Iterable[str] | None = None,
        delay: UniformDelay | None = None,
        baseline: float = 0.0,
        contexts: GaussianContexts | None = None,
        drift: Jump | None = None,
    ) -> None:
        sequence = _as_sequence(action_set, action_sets)
        as_instance("noise", noise, Noise, "a noise such as Gaussian(0.5)")
        parts = {"delay": delay, "contexts": contexts, "drift": drift}
        for name, part in parts.items():
            if part is not None:
                as_instance(name, part, *_OPTIONAL[name])
        if drift is not None and not isinstance(theta_star, ThetaSampler):
            raise InvalidValueError(
                "drift draws theta* anew, so theta_star must be a sampler such as UniformCube(), "
                f"got {describe(theta_star)}."
            )
        checked = {
            "action_set": sequence.base,
            "action_sets": sequence,
            "theta_star": _as_theta_star(theta_star, sequence.dim),
            "noise": noise,
            "names": _as_names(names, sequence.dim) or sequence.base.names,
            "baseline": as_number("baseline", baseline),
            **parts,
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def dim(self) -> int:
        """d, the number of coordinates."""
        return self.action_set.dim

    @property
    def sigma(self) -> float:
        """The sigma of `ass:noise`; infinite where the noise breaks the assumption."""
        return self.noise.sigma

    @property
    def is_plain(self) -> bool:
        """Whether the reward is theta*·x + noise, with one theta* in a trial."""
        return self.baseline == 0 and self.is_steady

    @property
    def is_steady(self) -> bool:
        """Whether theta_t is the same at every step of a trial."""
        return self.contexts is None and self.drift is None

    def draw_theta(self, rng: np.random.Generator, sparsity: Limit) -> FloatArray:
        """Return theta* of one trial, (dim,): drawn, or the given one without touching `rng`."""
        as_generator(rng)
        limit = as_sparsity(sparsity, self.dim)
        if isinstance(self.theta_star, ThetaSampler):
            return self.theta_star.draw(rng, self.dim, limit)
        return self.theta_star

    def course(
        self,
        theta: FloatArray,
        sparsity: Limit,
        contexts: Sequence[np.random.Generator],
        drift: Sequence[np.random.Generator],
    ) -> Course:
        """Return theta_t, baseline and contexts of trials with these theta*, (trials, dim).

        The generators, one of each kind for each trial, draw the contexts and the drift.
        """
        return Course(
            theta,
            baseline=self.baseline,
            contexts=self.contexts,
            drift=self.drift,
            draw_theta=partial(self.draw_theta, sparsity=sparsity),
            context_generators=contexts,
            drift_generators=drift,
        )

    def session(
        self,
        theta: Any,
        rng: np.random.Generator,
        sparsity: Limit | None = None,
        course_rng: np.random.Generator | None = None,
    ) -> EnvironmentSession:
        """Return the interactive side for a given theta* and noise stream.

        Parameters
        ----------
        theta : array of shape (dim,)
        rng : numpy.random.Generator
            Where the noise comes from.
        sparsity : int or Supports, optional
            H, or rules for what may be on; dim, that is no constraint, unless given.
        course_rng : numpy.random.Generator, optional
            Where contexts and drift come from; needed where there are any.
        """
        limit: Limit = self.dim
        if sparsity is not None:
            limit = as_limit(sparsity, self.action_set)
        if course_rng is None and not self.is_steady:
            raise InvalidValueError(
                "Contexts and drift are drawn in a session: give session(..., course_rng=...), or "
                "use start(seed, sparsity)."
            )
        known, streams = _as_fixed(theta, self.dim)[None], [course_rng] if course_rng else []
        return EnvironmentSession(
            action_sets=self.action_sets,
            course=self.course(known, limit, streams, streams),
            noise=self.noise,
            rng=as_generator(rng),
            sparsity=limit,
            names=self.names,
        )

    def start(self, seed: int, sparsity: Limit) -> EnvironmentSession:
        """Draw theta* and return the interactive side; the same seed gives the same session."""
        root = np.random.SeedSequence(as_integer("seed", seed, minimum=0))
        parameter, noise, course = (np.random.default_rng(child) for child in root.spawn(3))
        return self.session(self.draw_theta(parameter, sparsity), noise, sparsity, course)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "LinearEnvironment":
        """Build the environment that `to_dict` described.

        Examples
        --------
        >>> import sparsebandits as sb
        >>> ball = {"kind": "lp-ball", "dim": 2}
        >>> theta = {"kind": "uniform-cube"}
        >>> sb.LinearEnvironment.from_dict({"action_set": ball, "theta_star": theta}).dim
        2
        """
        fields = as_fields("An environment", data)
        for key, family in _PARTS.items():
            if key in fields and not (key in _OPTIONAL and fields[key] is None):
                fields[key] = family.from_dict(fields[key])
        if isinstance(fields.get("theta_star"), Mapping):
            fields["theta_star"] = ThetaSampler.from_dict(fields["theta_star"])
        return call_with("An environment", cls, fields)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe description; `from_dict` reads it back."""
        theta = self.theta_star
        sets = (
            {"action_set": self.action_set.to_dict()}
            if self.action_sets.is_fixed
            else {"action_sets": self.action_sets.to_dict()}
        )
        given = {name: getattr(self, name) for name in _OPTIONAL}
        return {
            **sets,
            **{name: part.to_dict() for name, part in given.items() if part is not None},
            **({"baseline": self.baseline} if self.baseline else {}),
            "theta_star": theta.to_dict() if isinstance(theta, ThetaSampler) else theta.tolist(),
            "noise": self.noise.to_dict(),
            "names": None if self.names is None else list(self.names),
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinearEnvironment) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        parts = self.delay, self.contexts, self.drift
        return hash((self.action_sets, self.noise, self.names, self.baseline, *parts))

    def __repr__(self) -> str:
        sets: object = self.action_set if self.action_sets.is_fixed else self.action_sets
        theta = self.theta_star if isinstance(self.theta_star, ThetaSampler) else "fixed"
        given = {name: getattr(self, name) for name in ("baseline", *_OPTIONAL)}
        more = [f", {name}={part}" for name, part in given.items() if part not in (0.0, None)]
        about = f"{sets!r}, theta_star={theta}, noise={self.noise}{''.join(more)}"
        return f"LinearEnvironment({about})"


ENVIRONMENT_KEYS = tuple(field.name for field in fields(LinearEnvironment))
"""What a description of an environment may hold."""


def _as_sequence(
    action_set: ActionSet | None, action_sets: ActionSetSequence | None
) -> ActionSetSequence:
    if action_sets is None and action_set is not None:
        return FixedSet(as_action_set("action_set", action_set))
    if action_set is not None or action_sets is None:
        raise InvalidValueError(
            "Give exactly one of action_set (one set for all steps) and action_sets (a sequence), "
            f"got action_set={describe(action_set)} and action_sets={describe(action_sets)}."
        )
    needed = "a sequence such as Alternating([...])"
    return as_instance("action_sets", action_sets, ActionSetSequence, needed)


def _as_theta_star(theta_star: Any, dim: int) -> FloatArray | ThetaSampler:
    if isinstance(theta_star, ThetaSampler):
        return theta_star
    if isinstance(theta_star, type) and issubclass(theta_star, ThetaSampler):
        raise InvalidTypeError(
            f"theta_star must be a sampler, got the class {theta_star.__name__}; "
            f"write {theta_star.__name__}(...)."
        )
    return _as_fixed(theta_star, dim)


def _as_fixed(theta: Any, dim: int) -> FloatArray:
    array = as_array("theta_star", theta, ndim=1)
    if array.size != dim:
        raise InvalidValueError(
            f"theta_star must have one entry per coordinate of the action set, {dim}, "
            f"got {array.size}."
        )
    return array


def _as_names(names: Any, dim: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidTypeError(f"names must be a list of strings, got {describe(names)}.")
    listed = tuple(names)
    if not all(isinstance(name, str) for name in listed):
        raise InvalidTypeError(f"names must be strings, got {describe(listed)}.")
    if len(listed) != dim or len(set(listed)) != dim:
        raise InvalidValueError(
            f"names must be {dim} different strings, one per coordinate, got {len(listed)} of "
            f"which {len(set(listed))} differ."
        )
    return listed
