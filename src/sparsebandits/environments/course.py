"""theta_t, the baseline and the contexts of some trials, step by step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sparsebandits.environments.contexts import GaussianContexts
from sparsebandits.environments.drift import Jump
from sparsebandits.validation import FloatArray

_BLOCK = 256
"""Contexts drawn ahead in each trial; a generator gives the same in one call or in many."""


@dataclass(frozen=True, eq=False)
class Moment:
    """What holds at one step in each trial: reward = b_t + theta_t·x + noise.

    Attributes
    ----------
    theta : (trials, dim) array
        theta_t.
    central : (trials, dim) array
        theta* at this step, which is theta_t at z = 0.
    baseline : (trials,) array
        b_t.
    contexts : (trials, z) array or None
        z_t.
    is_new : bool
        Whether theta_t is another one than at the step before.
    """

    theta: FloatArray
    central: FloatArray
    baseline: FloatArray
    contexts: FloatArray | None
    is_new: bool


class Course:
    """The moments of some trials, in their order; a trial has the same in any company.

    Parameters
    ----------
    theta : (trials, dim) array
        theta* at the first step.
    baseline : float
    contexts : GaussianContexts, optional
    drift : Jump, optional
    draw_theta : function
        From a generator to another theta*, (dim,).
    context_generators, drift_generators : sequences of numpy.random.Generator
        One for each trial, of which nothing is drawn without contexts, or drift.
    """

    def __init__(
        self,
        theta: FloatArray,
        *,
        baseline: float,
        contexts: GaussianContexts | None,
        drift: Jump | None,
        draw_theta: Callable[[np.random.Generator], FloatArray],
        context_generators: Sequence[np.random.Generator],
        drift_generators: Sequence[np.random.Generator],
    ) -> None:
        self._theta = theta
        self._baseline = np.full(len(theta), baseline)
        self._contexts, self._drift, self._draw_theta = contexts, drift, draw_theta
        self._generators, self._drift_generators = context_generators, drift_generators
        self._steps = 0
        if contexts is not None:
            drawn = [contexts.draw_effects(rng, theta.shape[1]) for rng in context_generators]
            self._effects = np.array([effects for effects, _ in drawn])
            self._shifts = np.array([shifts for _, shifts in drawn])
            self._ahead = np.empty((len(theta), _BLOCK, contexts.size))

    def next(self) -> Moment:
        """Return what holds at the next step."""
        step = self._steps
        self._steps += 1
        is_new = step == 0 or self._contexts is not None
        if self._drift is not None and self._drift.is_due(step):
            self._theta = np.array([self._draw_theta(rng) for rng in self._drift_generators])
            is_new = True
        if self._contexts is None:
            return Moment(self._theta, self._theta, self._baseline, None, is_new)
        place = step % _BLOCK
        if place == 0:
            for rng, out in zip(self._generators, self._ahead, strict=True):
                self._contexts.draw(rng, out)
        seen = self._ahead[:, place].copy()
        theta = self._theta + (self._effects * seen[:, None, :]).sum(axis=-1)
        baseline = self._baseline + (self._shifts * seen).sum(axis=-1)
        return Moment(theta, self._theta, baseline, seen, is_new)
