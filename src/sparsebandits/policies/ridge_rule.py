"""What rules that keep a ridge regression of all their data have in common."""

from dataclasses import replace
from typing import Any

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import InvalidValueError
from sparsebandits.estimation import RidgeLanes
from sparsebandits.policies.certificate import PosteriorCertificate
from sparsebandits.policies.design import Design
from sparsebandits.policies.played import Played
from sparsebandits.policies.policy import Policy
from sparsebandits.policies.rule import Rule
from sparsebandits.policies.summary import Summary, baseline_note
from sparsebandits.validation import BoolArray, FloatArray, IntArray

_CONTRADICTION = 1e-6
"""How far a saved estimate may be from its own equations, relative to their size."""


def relative_prior(action_set: ActionSet, ridge: float) -> FloatArray:
    """Return ridge times the squared reach of each axis, (dim,): as if seen `ridge` times.

    Measured so, the prior does not depend on the units of the coordinates. Axes without an end
    take the mean of the others, or the squared length of the longest action over dim.
    """
    lower, upper = action_set.axis_reach()
    squares = np.maximum(-lower, upper) ** 2
    known = squares > 0
    if known.any():
        squares[~known] = squares[known].mean()
    else:
        squares[:] = action_set.norm_bound**2 / action_set.dim or 1.0
    return np.asarray(ridge * squares)


class RidgeRule(Rule):
    """A rule whose lanes learn by ridge least squares on every reward.

    Parameters
    ----------
    policy : Policy
    lanes : int
    prior : (dim,) array
        The precision of each coordinate before any reward, in units of that of one reward.
    sigma : float or "estimate"
    design : Design, optional
        The columns of the regression; those of the coordinates alone unless given.
    """

    def __init__(
        self,
        policy: Policy,
        lanes: int,
        prior: FloatArray,
        sigma: float | str,
        design: Design | None = None,
    ) -> None:
        super().__init__(policy.action_set, policy.sparse_oracle, lanes)
        self.policy, self.sigma = policy, sigma
        self.design = Design(self.dim) if design is None else design
        self.posterior = RidgeLanes(lanes, self.design.prior(prior))

    def _learn(self, actions: FloatArray, rewards: FloatArray, pulls: IntArray, lanes: Any) -> None:
        # The whole arrays are faster than all of their rows.
        columns = self.design.columns(actions)
        self.posterior.add(columns, rewards, None if lanes is self.everyone else lanes)

    def learn_many(self, actions: FloatArray, rewards: FloatArray) -> None:
        """Take in logged rewards of the only lane at once."""
        self.posterior.add_many(self.design.columns(actions), rewards)

    def correct(self, played: Played, old: float, new: float, age: int = 0) -> None:
        """Replace a reward of the only lane by another."""
        columns = self.design.columns(played.action(self.dim)[None])
        self.posterior.correct(columns[0], old, new)

    # ------------------------------------------------------------------ what is known

    @property
    def known(self) -> RidgeLanes:
        """The regression with every reward told so far."""
        return self.posterior

    @property
    def estimate(self) -> FloatArray:
        """theta_hat of each lane."""
        return self.design.thetas(self.known.theta_hat)

    def noise_scale(self, lanes: Any = slice(None)) -> FloatArray:
        """Return sigma in each lane: the given one, or its estimate, which is never 0.

        Decisions and certificates reckon with the same. While no reward but 0 is known nothing
        tells how large the noise is, and 1 stands for it: theta_hat is 0, so that any level leads
        to the same decisions.
        """
        if isinstance(self.sigma, str):
            estimate = self.known.noise_scale(lanes)
            return np.asarray(np.where(estimate > 0, estimate, 1.0))
        return np.full(self.posterior.counts[lanes].shape, float(self.sigma))

    def arrays(self) -> dict[str, Any]:
        """Return the regression's arrays, and those of the rule itself."""
        return {**self.posterior.arrays(), **super().arrays()}

    def restore(self, state: dict[str, Any], asked: int) -> None:
        """Take back what `state` returned; refuse an estimate that contradicts its sums."""
        super().restore(state, asked)
        # What overflows agrees with nothing.
        with np.errstate(over="ignore", invalid="ignore"):
            agrees = self._agrees()
        if not agrees:
            raise InvalidValueError(
                "state.theta_hat and state.root contradict the sums in state.gram and "
                "state.response. Load an earlier copy."
            )

    def _agrees(self) -> bool:
        """Whether theta_hat and R of the only lane solve the equations of its sums."""
        model, lane = self.posterior, 0
        if not model.counts[lane]:  # nothing but the prior, of which a column may be free
            fresh = RidgeLanes(1, model.prior[lane])
            return all(
                (array == model.arrays()[name][lane]).all()
                for name, array in fresh.arrays().items()
            )
        precision = model.gram[lane] + np.diag(model.prior[lane])
        root, theta, response = model.root[lane], model.theta_hat[lane], model.response[lane]
        lengths = np.sqrt(np.diagonal(precision))
        unit = precision / lengths / lengths[:, None]
        # Both as backward errors, which stay small however ill-conditioned V + P is.
        off_theta = np.abs(unit @ (theta * lengths) - response / lengths)
        size = np.abs(unit) @ np.abs(theta * lengths) + np.abs(response / lengths)
        scaled = root * lengths[:, None]
        off_root = np.abs(unit @ (scaled @ scaled.T) - np.eye(lengths.size)).max()
        spread = float(np.linalg.norm(scaled) ** 2)
        if not np.isfinite(spread + size.max()):
            return False
        solves = bool((off_theta <= _CONTRADICTION * size.max()).all())
        return solves and bool(off_root <= _CONTRADICTION * spread)

    def certificate(self, horizon: int | None, draws: int) -> PosteriorCertificate:
        """Describe the posterior behind the next decision, by draws that depend on the data."""
        certificate, model = super().certificate(horizon, draws), self.known
        assert isinstance(certificate, PosteriorCertificate)  # no gap test
        sigma, count = certificate.sigma, int(model.counts[0])
        used = self._supports_drawn(model, sigma, draws)
        probability = np.nan if used is None else float((used[1:] == used[0]).all(axis=1).mean())
        return replace(
            certificate,
            cycle=count + 1,
            replications=count,
            deviation=sigma * self._deviations(model),
            probability=probability,
            draws=draws if np.isfinite(probability) else 0,
        )

    def summary(self, draws: int) -> Summary:
        """Return what is known of each coordinate in the only lane."""
        model, sigma = self.known, float(self.noise_scale()[0])
        used = self._supports_drawn(model, sigma, draws)
        places = np.arange(self.dim)
        return Summary(
            indices=places,
            names=self.names_of(places),
            estimate=self.design.thetas(model.theta_hat[0]).copy(),
            deviation=sigma * self._deviations(model),
            inclusion=np.full(self.dim, np.nan) if used is None else used[1:].mean(axis=0),
            rewards=round(float(model.counts[0])),
            sigma=sigma if sigma > 0 else np.nan,
            note=baseline_note(model.anchor[0] + model.theta_hat[0, 0]) if self.design.base else "",
        )

    def _supports_drawn(self, model: RidgeLanes, sigma: float, draws: int) -> BoolArray | None:
        """Return what the best actions use for the estimate and for draws from the posterior.

        (1 + draws, dim) for the only lane; None where there are no draws.
        """
        parameters = self._parameters_drawn(model, sigma, draws)
        if parameters is None:
            return None
        actions = self.oracle.actions(self.design.thetas(parameters), self.action_set)
        return np.asarray(actions != 0)

    def _parameters_drawn(self, model: RidgeLanes, sigma: float, draws: int) -> FloatArray | None:
        """Return the estimate of all columns, and draws: the same for the same data.

        (1 + draws, size) for the only lane; None with fewer rewards than columns, when the draws
        would show the prior.
        """
        theta, count = model.theta_hat[0], int(model.counts[0])
        if count < self.design.size or not sigma > 0:
            return None
        normals = np.random.default_rng(count).standard_normal((draws, theta.size))
        return np.vstack([theta, theta + sigma * (normals @ model.root[0].T)])

    def thetas_drawn(self, draws: int, context: FloatArray | None = None) -> FloatArray | None:
        """Return theta by the estimate, then by the draws of `certificate`, (1 + draws, dim)."""
        parameters = self._parameters_drawn(self.known, float(self.noise_scale()[0]), draws)
        return None if parameters is None else self.design.thetas_at(parameters, context)

    def _deviations(self, model: RidgeLanes) -> FloatArray:
        """Return the deviations of the coordinates of the only lane for unit noise, (dim,)."""
        return model.deviations()[0, self.design.base :: self.design.width]
