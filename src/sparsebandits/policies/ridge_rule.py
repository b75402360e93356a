"""What rules that keep a ridge regression of all their data have in common."""

from typing import TYPE_CHECKING, Any

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.estimation import RidgeLanes
from sparsebandits.policies.rule import Rule
from sparsebandits.validation import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from sparsebandits.policies.adaptive import AdaptivePolicy


def relative_prior(action_set: ActionSet, ridge: float) -> FloatArray:
    """Return ridge times the squared reach of each axis, (dim,): as if seen `ridge` times.

    Measured so, the prior does not depend on the units of the coordinates. Axes without an end
    take the mean of the others, or 1.
    """
    lower, upper = action_set.axis_reach()
    squares = np.maximum(-lower, upper) ** 2
    known = squares > 0
    squares[~known] = squares[known].mean() if known.any() else 1.0
    return np.asarray(ridge * squares)


class RidgeRule(Rule):
    """A rule whose lanes learn by ridge least squares on every reward."""

    posterior: RidgeLanes

    def __init__(
        self, policy: "AdaptivePolicy", lanes: int, prior: FloatArray, sigma: float | str
    ) -> None:
        super().__init__(lanes, policy.action_set.dim)
        self.policy, self.sigma = policy, sigma
        self.posterior = RidgeLanes(lanes, prior)

    def learn(
        self,
        actions: FloatArray,
        rewards: FloatArray,
        exploring: BoolArray,
        lanes: IntArray | None = None,
    ) -> None:
        """Take in one reward of each lane, or of the given distinct `lanes`."""
        self.posterior.add(actions, rewards, lanes)

    def learn_many(self, actions: FloatArray, rewards: FloatArray) -> None:
        """Take in logged rewards of the only lane at once."""
        self.posterior.add_many(actions, rewards)

    @property
    def estimate(self) -> FloatArray:
        """theta_hat of each lane."""
        return self.posterior.theta_hat

    def noise_scale(self, lanes: Any = slice(None)) -> FloatArray:
        """Return sigma in each lane: the given one, or its estimate, which is never 0.

        Decisions and certificates reckon with the same. While no reward but 0 is known nothing
        tells how large the noise is, and 1 stands for it: theta_hat is 0, so that any level leads
        to the same decisions.
        """
        if isinstance(self.sigma, str):
            estimate = self.posterior.noise_scale(lanes)
            return np.asarray(np.where(estimate > 0, estimate, 1.0))
        return np.full(self.posterior.counts[lanes].shape, float(self.sigma))

    def arrays(self) -> dict[str, Any]:
        """Return the regression's arrays."""
        return self.posterior.arrays()
