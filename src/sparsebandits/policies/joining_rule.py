"""Rules of one policy, computed together: each the only lane of its own, or a lane of one."""

import copy
from collections.abc import Sequence
from typing import Self

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.estimation import RidgeLanes
from sparsebandits.policies.played import Played
from sparsebandits.policies.ridge_rule import RidgeRule
from sparsebandits.policies.tape import Tape
from sparsebandits.validation import FloatArray


class JoiningRule(RidgeRule):
    """A ridge rule that several learners of one policy can play at once, each with its own bits.

    Apart from what is declared in `saved`, the regression and the tape, rules of one policy must
    be alike.
    """

    _tape: Tape | None = None

    def _joined(self, rules: Sequence[Self]) -> Self:
        """Return a rule with the lanes of several: copies, but for the generators."""
        twin = copy.copy(self)
        twin.lanes = len(rules)
        twin.everyone = np.arange(twin.lanes)
        twin.pulls = np.concatenate([rule.pulls for rule in rules])
        twin.posterior = RidgeLanes.joined([rule.posterior for rule in rules])
        for name in self.saved:
            setattr(twin, name, np.concatenate([getattr(rule, name) for rule in rules]))
        tapes = [rule._tape for rule in rules if rule._tape is not None]
        twin._tape = Tape.joined(tapes) if tapes else None
        return twin

    def _give_back(self, rules: Sequence[Self]) -> None:
        """Let each of the rules that were joined be as its lane is now."""
        self.posterior.give_back([rule.posterior for rule in rules])
        for name in self.saved:
            array = getattr(self, name)
            for lane, rule in enumerate(rules):
                getattr(rule, name)[0] = array[lane]

    def again(self, generator: np.random.Generator) -> Self:
        """Return a rule with one lane that is as this one is, and draws from another generator."""
        twin = self._joined([self])
        twin._tape = None if self._tape is None else self._tape.of([generator])
        return twin

    def play_together(
        self, rules: Sequence[Self], current: ActionSet, contexts: Sequence[FloatArray | None]
    ) -> list[Played]:
        """Return what `play` of each rule would, by one choice of all their lanes.

        This is the first of them. If it raises, the rules are as they were; their generators may
        have moved.
        """
        joined = self._joined(rules)
        seen = [context for context in contexts if context is not None]
        joined.contexts = np.array(seen) if seen else None
        actions = joined.choose(current)
        joined._give_back(rules)
        for rule, pull in zip(rules, joined.pulls, strict=True):
            rule.pulls[0] = pull
        return [
            Played.of(action, pull, context)
            for action, pull, context in zip(actions, joined.pulls.tolist(), contexts, strict=True)
        ]

    def _takes_alone(self, played: Played) -> bool:
        """Whether a reward of this costs less by `take` than as a lane among others."""
        return False

    def take_together(
        self,
        rules: Sequence[Self],
        plays: Sequence[Played],
        rewards: Sequence[float],
        ages: Sequence[int],
    ) -> None:
        """Let each rule, of which this is the first, `take` its reward by one step of all lanes."""
        together = []
        for rule, played, reward, age in zip(rules, plays, rewards, ages, strict=True):
            if rule._takes_alone(played):
                rule.take(played, reward, age)
            else:
                together.append((rule, played, reward, age))
        if not together:
            return
        rules, plays, rewards, ages = zip(*together, strict=True)
        joined = self._joined(rules)
        actions = np.array([played.action(self.dim) for played in plays])
        seen = [played.context for played in plays if played.context is not None]
        joined.learn(
            actions,
            np.array(rewards, dtype=np.float64),
            np.array([played.pull for played in plays]),
            None,
            np.array(seen) if seen else None,
            np.array(ages, dtype=np.float64),
        )
        joined._give_back(rules)
