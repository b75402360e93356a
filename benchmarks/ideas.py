"""What each idea for less regret gave: the table of `docs/regret.md`.

    python benchmarks/ideas.py [--trials 300] [--horizon 2000] [--only NAME or WORD] [--sets l2,l1]

d = 20, H = 5, sigma = 0.5 and not told, theta* uniform on [-1, 1]^20, the same for every idea, as
is the noise; regret against the exact optimum, mean and standard error.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

import sparsebandits as sb
from sparsebandits.action_sets import ActionSet
from sparsebandits.comparison.scenarios import SCENARIOS
from sparsebandits.oracles import choose_supports
from sparsebandits.policies import Policy
from sparsebandits.policies.design import Design
from sparsebandits.policies.recipe import Recipe
from sparsebandits.policies.ridge_rule import RidgeRule, relative_prior
from sparsebandits.policies.rule import Rule
from sparsebandits.policies.tape import Tape, normals
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


def shipped(**changes: Any) -> Callable[..., ThompsonRule]:
    """Return the shipped rule with other constants."""

    def make(policy: Policy, generators: Sequence[np.random.Generator], block: int) -> ThompsonRule:
        recipe = replace(Recipe.on(policy.action_set, policy.sparsity), **changes)
        design = Design(policy.action_set.dim, intercept=True)
        return ThompsonRule(policy, generators, block, recipe, design, "estimate")

    return make


class Textbook:
    """A stand-in: textbook LinTS needs no rule of its own."""


IDEAS: dict[str, Any] = {
    "LinTS, v = 1, ridge 1 (told sigma)": Textbook,
    "sampling, v = 1, ridge 0.1": Wide,
    "sampling, v = 0.7, ridge 0.1": Sampling,
    "sampling, v = 0.5": Narrow,
    "sampling, v = 0.22 sqrt(log t)": Growing,
    "v = 0.5 for the support, 1 on it": Split,
    "shipped, decides at every step": shipped(hold=0.0),
    "shipped, holds 2%": shipped(hold=0.02),
    "shipped, climbs from all four": shipped(climbs=4),
    "shipped, one index at any age (1.1)": shipped(growth=1.1, home_growth=None, patience=0.0),
    "shipped, no efficient action": shipped(is_round=False),
    "shipped, ridge 0.1 everywhere": shipped(evidence=False),
    "shipped, learned prior everywhere": shipped(evidence=True),
    "shipped": shipped(),
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
