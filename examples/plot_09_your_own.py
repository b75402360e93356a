"""
Your own action set and your own policy, in 40 lines
====================================================

A loudspeaker array: 40 drivers, at most six at once, each with an amplitude of at least 0, and a
power that is the squared amplitude over the driver's efficiency; power is limited. The library
has no such set, and this page writes it, then a policy, and has both examined by the contracts
that the library's own parts keep.
"""

from dataclasses import dataclass
from typing import ClassVar

import matplotlib.pyplot as plt
import numpy as np

import sparsebandits as sb
from sparsebandits.policies.ridge_rule import RidgeRule
from sparsebandits.policies.tape import Tape, normals

STEPS = 1000  # quick: 30
TRIALS = 10  # quick: 2

# %%
# A set: what its best response is, how long its actions are, what is inside
# ---------------------------------------------------------------------------


class Power(sb.ActionSet):
    """{x >= 0, sum of x_i^2 / efficiency_i <= 1}."""

    kind = "power"

    def __init__(self, efficiency, names=None):
        self.efficiency = np.array(efficiency, dtype=float)
        self.efficiency.setflags(write=False)  # sets are immutable
        super().__init__(self.efficiency.size, names)

    def _respond(self, theta, indices):
        root = np.sqrt(self.efficiency[indices])
        push = np.maximum(theta, 0.0) * root
        largest = push.max(axis=-1, keepdims=True)  # the unit of theta must not matter
        np.divide(push, largest, out=push, where=largest > 0)
        length = np.linalg.norm(push, axis=-1, keepdims=True)
        return root * np.divide(push, length, out=np.zeros_like(push), where=length > 0)

    def sparse_norm_bound(self, sparsity):
        return float(np.sqrt(np.where(self.available, self.efficiency, 0.0).max()))

    def axis_reach(self):
        return np.zeros(self.dim), np.where(self.available, np.sqrt(self.efficiency), 0.0)

    def _contains(self, x, tolerance):
        inside = (x**2 / self.efficiency).sum(axis=-1) <= 1.0 + tolerance
        return inside & (x >= -tolerance).all(axis=-1)

    def _parameters(self):
        return {"efficiency": self.efficiency.tolist()}

    def _summary(self):
        return f"dim={self.dim}"


sb.ActionSet.kinds[Power.kind] = Power  # so that learners on it can be saved and loaded

# %%
# A policy: a frozen description, and a rule over lanes that chooses and learns
# ------------------------------------------------------------------------------
# It plays the best action for theta_hat plus a perturbation that shrinks. `RidgeRule` brings the
# regression, `Tape` the random numbers: that is all a policy of this kind needs.


@dataclass(frozen=True, kw_only=True, eq=False)
class Perturbed(sb.Policy):
    """Follow the perturbed leader."""

    kind: ClassVar[str] = "perturbed"
    width: float = 1.0

    def rule(self, generators, block=1):
        return PerturbedRule(self, generators, block)


class PerturbedRule(RidgeRule):
    """One draw and one oracle call per lane and step."""

    def __init__(self, policy, generators, block):
        prior = np.ones(policy.action_set.dim)
        super().__init__(policy, len(generators), prior, "estimate")
        self._tape = Tape(generators, self.dim, block, normals)

    def choose(self, current):
        shake = self._tape.next(self.everyone)
        shrink = self.policy.width / np.sqrt(1.0 + self.posterior.counts)[:, None]
        return self.policy.best_actions(self.estimate + shrink * shake, current)


sb.Policy.kinds[Perturbed.kind] = Perturbed

# %%
# Examined. Silence is consent.

small = Power([1.0, 0.5, 2.0, 1.5])
sb.testing.check_action_set(small)
sb.testing.check_policy(Perturbed(action_set=small, sparsity=2))

# %%
# What a mistake is answered with: a response that forgets the efficiency.


class Careless(Power):
    """As above, with a mistake."""

    def _respond(self, theta, indices):
        return super()._respond(theta, indices) / np.sqrt(self.efficiency[indices])


try:
    sb.testing.check_action_set(Careless([1.0, 0.5, 2.0, 1.5]))
except sb.testing.ContractError as error:
    broken_promise = str(error)
print(broken_promise)

# %%
# Everything else follows from those two classes: oracles, learners, late rewards, saving,
# simulation, and the library's policies on the new set.

rng = np.random.default_rng(0)
array = Power(rng.uniform(0.5, 2.0, size=40))
world = sb.LinearEnvironment(
    action_set=array, theta_star=sb.UniformCube(), noise=sb.Gaussian(sigma=0.3)
)
policies = {
    "ours, width 1": Perturbed(action_set=array, sparsity=6),
    "ours, width 0.3": Perturbed(action_set=array, sparsity=6, width=0.3),
    "LinTS": sb.LinTS(action_set=array, sparsity=6),
    "SparseThompson": sb.SparseThompson(action_set=array, sparsity=6),
}
runs = sb.simulate(list(policies.values()), world, horizon=STEPS, trials=TRIALS, benchmark="greedy")

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4), layout="constrained", width_ratios=[2, 3]
)
plane = Power([1.0, 0.4])
angles = np.linspace(0, np.pi / 2, 9)
edge = np.linspace(0, np.pi / 2, 90)
left.fill([0, *np.cos(edge)], [0, *(np.sqrt(0.4) * np.sin(edge))], color="lightgray")
for angle in angles:
    direction = np.array([np.cos(angle), np.sin(angle)])
    x = plane.best_response(direction)
    left.annotate("", x + 0.25 * direction, x, arrowprops={"arrowstyle": "->"})
    left.plot(*x, "o", color="tab:blue", markersize=4)
left.set(aspect="equal", xlim=(0, 1.4), ylim=(0, 1.0), title="best responses to nine theta")
for name, run in zip(policies, runs, strict=True):
    right.plot(run.steps, run.regret.mean(axis=0), label=name)
right.set(xlabel="step", ylabel="regret against greedy on theta*")
right.legend(frameon=False)
plt.show()
