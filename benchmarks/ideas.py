"""What each idea for less regret gave: the table of `docs/regret.md`.

    python benchmarks/ideas.py [--trials 300] [--horizon 2000] [--only NAME or WORD] [--sets l2,l1]

d = 20, H = 5, sigma = 0.5 and not told, theta* uniform on [-1, 1]^20, the same for every idea, as
is the noise; regret against the exact optimum, mean and standard error.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special

import sparsebandits as sb
from sparsebandits.action_sets import ActionSet
from sparsebandits.comparison.scenarios import SCENARIOS
from sparsebandits.oracles import choose_supports
from sparsebandits.policies import Policy
from sparsebandits.policies.ridge_rule import RidgeRule, relative_prior
from sparsebandits.policies.rule import Rule, Tape, normals
from sparsebandits.policies.thompson_rule import ThompsonRule
from sparsebandits.validation import FloatArray


class Sampling(RidgeRule):
    """Thompson sampling at every step, with the scale as a function of the step."""

    def __init__(
        self, policy: Policy, generators: Sequence[np.random.Generator], block: int
    ) -> None:
        prior = relative_prior(policy.action_set, 0.1)
        super().__init__(policy, len(generators), prior, "estimate")
        self.tape = Tape(generators, policy.action_set.dim, block, normals)

    def scales(self) -> tuple[float, float]:
        """Return v of the draw that chooses the support, and of the one that is played on it."""
        return 0.7, 0.7

    def choose(self, current: ActionSet) -> FloatArray:
        sigma = self.noise_scale()
        z = self.tape.next(self.everyone)
        outer, inner = self.scales()
        theta = self.posterior.draw(z, outer * sigma)
        if outer == inner:
            return self.policy.best_actions(theta, current)
        supports, _ = choose_supports(current, theta, self.policy.sparsity, "greedy")
        return current.respond_on(self.posterior.draw(z, inner * sigma), supports)[0]


class Narrow(Sampling):
    def scales(self) -> tuple[float, float]:
        return 0.5, 0.5


class Wide(Sampling):
    def scales(self) -> tuple[float, float]:
        return 1.0, 1.0


class Growing(Sampling):
    def scales(self) -> tuple[float, float]:
        v = float(0.22 * np.sqrt(np.log(2.0 + self.posterior.counts.max())))
        return v, v


class Split(Sampling):
    def scales(self) -> tuple[float, float]:
        return 0.5, 1.0


class Shipped(ThompsonRule):
    def __init__(
        self, policy: Policy, generators: Sequence[np.random.Generator], block: int
    ) -> None:
        super().__init__(policy, generators, block, "estimate")


class Optimism(Shipped):
    """Two samples with v = 1, one step uphill, the best index with beta = 0.9 sqrt(log t)."""

    samples, directed, scale, hold = 2, 0, 1.0, 0.0

    def bonus(self, widths: FloatArray, rewards: FloatArray) -> FloatArray:
        return np.asarray(0.9 * np.sqrt(np.log(rewards + 1)) + 0 * widths)

    def decide(self, lanes: Any, current: ActionSet) -> tuple[FloatArray, FloatArray]:
        candidates = self.candidates(lanes, current)
        candidates.propose(self.proposals(candidates))
        candidates.propose(candidates.uphill()[1:])
        best = 1 + candidates.index[1:].argmax(axis=0)
        return candidates.actions[best, candidates.rows], np.ones(lanes.size)


class Shrinking(Optimism):
    """The same with a bonus that shrinks where much is known: sqrt(0.81 log(e + t ||x||^2))."""

    def bonus(self, widths: FloatArray, rewards: FloatArray) -> FloatArray:
        return np.asarray(0.9 * np.sqrt(np.log(np.e + rewards * widths)))


class Informed(Shipped):
    """Plays the least squared regret per information on the best index, not the best index."""

    further = (0.5, 2.0, 4.0)

    def decide(self, lanes: Any, current: ActionSet) -> tuple[FloatArray, FloatArray]:
        candidates = self.candidates(lanes, current)
        candidates.propose(self.proposals(candidates))
        candidates.propose(candidates.uphill())
        best = candidates.index.argmax(axis=0), candidates.rows
        target, limit = candidates.shadows[best], candidates.index[best]
        ray = candidates.uphill()[best] - candidates.theta
        candidates.propose(np.array([candidates.theta + step * ray for step in self.further]))
        shared = np.einsum("knd,nd->kn", candidates.shadows, target)
        # What the reward of x takes off the variance of the best action's value.
        information = shared**2 / (1 + candidates.widths)
        regret = np.maximum(limit - candidates.means, 0.0)
        found = (regret**2 / np.maximum(information, 1e-300)).argmin(axis=0), candidates.rows
        return candidates.actions[found], candidates.widths[found]


class Worth(Shipped):
    """Leaves the support of the estimate only where what may be learned is worth its price.

    At home it plays a Thompson draw on that support, or the estimate's action where X is not
    strongly convex. Abroad, m plays of an optimistic action x cost m (best mean - mean of x), and
    improve the best of the next N = 2 t steps by the expected improvement over it. The x and m with
    the largest surplus are played, if there is one: a knowledge gradient with many-step look-ahead
    (Frazier & Powell 2010) whose horizon doubles.
    """

    samples, directed, hold, ahead = 1, 15, 0.0, 2.0
    plans = (0.1, 0.3, 1.0, 3.0, 10.0)

    def decide(self, lanes: Any, current: ActionSet) -> tuple[FloatArray, FloatArray]:
        candidates = self.candidates(lanes, current)
        draw, *others = self.proposals(candidates)
        theta = draw if current.is_strongly_convex else candidates.theta
        supports, _ = choose_supports(current, candidates.theta, self.policy.sparsity, "greedy")
        action = current.respond_on(theta, supports)[0]
        candidates.propose(np.array(others))
        best = candidates.means.argmax(axis=0), candidates.rows
        price = candidates.means[best] - candidates.means
        shared = np.abs(
            np.einsum(
                "knd,knd->kn", candidates.shadows, candidates.shadows - candidates.shadows[best]
            )
        )
        steps = self.ahead * candidates.rewards
        surplus = np.full(price.shape, -np.inf)
        for plan in self.plans:
            plays = np.clip(
                plan / np.maximum(candidates.widths, 1e-300), 1.0, np.maximum(steps / 2, 1.0)
            )
            spread = candidates.sigma * shared * np.sqrt(plays / (1 + plays * candidates.widths))
            far = price / np.maximum(spread, 1e-300)
            density = np.exp(-(np.minimum(far, 40.0) ** 2) / 2) / np.sqrt(2 * np.pi)
            gain = spread * np.maximum(density - far * special.ndtr(-far), 0.0)
            surplus = np.maximum(surplus, (steps - plays) * gain - plays * price)
        surplus[best] = -np.inf
        found = surplus.argmax(axis=0), candidates.rows
        abroad = (surplus[found] > 0)[:, None]
        return np.where(abroad, candidates.actions[found], action), np.ones(lanes.size)


class Steep(Shipped):
    """An index that starts lower and grows faster: sqrt(1.1 + 2 log(1 + 0.02 t ||x||^2))."""

    def bonus(self, widths: FloatArray, rewards: FloatArray) -> FloatArray:
        return np.asarray(np.sqrt(1.1 + 2 * np.log1p(0.02 * rewards * widths)))


def shipped(**changes: float) -> type:
    """Return the shipped rule with other constants."""
    return type("Changed", (Shipped,), changes)


class Textbook:
    """A stand-in: textbook LinTS needs no rule of its own."""


IDEAS: dict[str, type] = {
    "LinTS, v = 1, ridge 1 (told sigma)": Textbook,
    "sampling, v = 1, ridge 0.1": Wide,
    "sampling, v = 0.7, ridge 0.1": Sampling,
    "sampling, v = 0.5": Narrow,
    "sampling, v = 0.22 sqrt(log t)": Growing,
    "v = 0.5 for the support, 1 on it": Split,
    "optimism climbed from two samples": Optimism,
    "... with a bonus that shrinks": Shrinking,
    "worth its price (knowledge gradient)": Worth,
    "shipped, by information, not index": Informed,
    "shipped, no samples": shipped(samples=0),
    "shipped, no directed coordinate": shipped(directed=0),
    "shipped, decides at every step": shipped(hold=0.0),
    "shipped, holds 2% instead of 0.3%": shipped(hold=0.02),
    "shipped, wider index (1.2, 0.5)": shipped(growth=1.2),
    "shipped, narrower index (0.8, 0.2)": shipped(growth=0.8, share=0.2),
    "shipped, an index that grows faster": Steep,
    "shipped, ridge 0.3": shipped(ridge=0.3),
    "shipped, ridge 0.75": shipped(ridge=0.75),
    "shipped, ridge 0.3, 8 samples": shipped(ridge=0.3, samples=8),
    "shipped, ridge 0.3, 4 directed": shipped(ridge=0.3, directed=4),
    "shipped": Shipped,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Idea(Policy):
    """A policy around a rule of this file."""

    kind: ClassVar[str] = "idea"
    make: Any = None

    def rule(self, generators: Sequence[np.random.Generator], block: int = 1) -> Rule:
        rule: Rule = self.make(self, generators, block)
        return rule


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--horizon", type=int, default=2000)
    parser.add_argument("--only", default="")
    parser.add_argument("--sets", default="l2,ellipsoid,l1.5,l1,box")
    asked = parser.parse_args()
    for name, make in IDEAS.items():
        if name != asked.only if asked.only in IDEAS else asked.only not in name:
            continue
        cells, calls = [], time.perf_counter()
        for key in asked.sets.split(","):
            scenario = SCENARIOS[key]
            environment = scenario.environment()
            chosen, limit = environment.action_set, scenario.sparsity
            policy: sb.Policy = (
                sb.LinTS(action_set=chosen, sparsity=limit, sigma=environment.sigma)
                if make is Textbook
                else Idea(action_set=chosen, sparsity=limit, make=make)
            )
            run = sb.simulate(policy, environment, asked.horizon, asked.trials, seed=0, points=2)
            last = run.regret[:, -1]
            cells.append(f"{last.mean():.0f} ± {last.std(ddof=1) / last.size**0.5:.0f}")
        seconds = time.perf_counter() - calls
        print(f"| {name} | {' | '.join(cells)} |  <!-- {seconds:.0f} s -->", flush=True)


if __name__ == "__main__":
    main()
