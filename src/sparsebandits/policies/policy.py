"""A policy: how to act, frozen."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.descriptions import Described
from sparsebandits.errors import CompositionError, InvalidTypeError, InvalidValueError
from sparsebandits.oracles import SparseOracle, Supports, as_limit
from sparsebandits.policies.parameters import checked, flag
from sparsebandits.policies.rule import Rule
from sparsebandits.validation import LARGEST_REWARD, FloatArray, as_array, as_theta, describe

if TYPE_CHECKING:
    from sparsebandits.policies.learner import Learner

_SHORTEST = 1.0 / LARGEST_REWARD

_FIRST = "_first_rule"
"""Where a policy keeps the rule from which those of its learners are copied."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Policy(Described):
    """A frozen description of how to act; `start` makes a learner that acts.

    Parameters
    ----------
    action_set : ActionSet
        X; the set meant when `ask` names no other.
    sparsity : int or Supports
        H, or rules for what may be on.
    oracle : str
        How the best H-sparse action for a theta is found; "auto" is exact where that is cheap.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> policy = sb.SparseThompson(action_set=sb.LpBall(20), sparsity=5)
    >>> policy.start(seed=0)
    Learner('sparse-thompson', 0 decisions, 0 open)
    >>> sb.Policy.from_dict(policy.to_dict()).sparsity
    5
    """

    noun: ClassVar[str] = "A policy"

    takes_rules: ClassVar[bool] = True
    """Whether `sparsity` may be `Supports`: all that is chosen is chosen by the oracle."""

    action_set: ActionSet
    sparsity: Any
    oracle: str = "auto"

    def __post_init__(self) -> None:
        if not isinstance(self.action_set, ActionSet):
            raise InvalidTypeError(
                f"action_set must be an action set such as sb.LpBall(dim=20), "
                f"got {describe(self.action_set)}."
            )
        # What was given is replaced by what it was checked to be: NumPy's would not survive JSON.
        object.__setattr__(self, "sparsity", as_limit(self.sparsity, self.action_set))
        if not self.takes_rules and isinstance(self.sparsity, Supports):
            raise CompositionError(
                f"{type(self).__name__} chooses supports by their number of coordinates; give "
                "sparsity as a number, or use SparseThompson, which takes rules."
            )
        for entry in fields(self):
            check, given = entry.metadata.get("check"), getattr(self, entry.name)
            if check is not None and not (given is None and entry.default is None):
                object.__setattr__(self, entry.name, check(entry.name, given))
        self.check_set(self.action_set)

    @cached_property
    def sparse_oracle(self) -> SparseOracle:
        """The oracle with the policy's sparsity."""
        return SparseOracle(self.sparsity, self.oracle)

    def check_set(self, current: ActionSet) -> None:
        """Refuse a set of another dimension, or one that the oracle does not cover."""
        if not isinstance(current, ActionSet):
            raise InvalidTypeError(f"action_set must be an action set, got {describe(current)}.")
        if current.dim != self.action_set.dim:
            raise InvalidValueError(
                f"The set of this step must have dim {self.action_set.dim}, got {current.dim}."
            )
        self.sparse_oracle.check(current)
        if current is not self.action_set and current.whole is self.action_set.whole:
            return  # with fewer coordinates it reaches no further, and is not looked at in full
        reach = np.abs(current.axis_reach())
        if ((reach > 0) & (reach < _SHORTEST)).any() or (reach >= LARGEST_REWARD).any():
            raise InvalidValueError(
                f"{current!r} has actions that are too long or too short to be learned from: along "
                f"an axis they must reach {_SHORTEST:g} to {LARGEST_REWARD:g}; change the unit."
            )

    @abstractmethod
    def rule(self, generators: Sequence[np.random.Generator], block: int = 1) -> Rule:
        """Return the decision rule with one lane per generator.

        Parameters
        ----------
        generators : sequence of numpy.random.Generator
        block : int
            How many draws of each lane to make at once; it changes no bit of the choices.
        """

    # Learners, and rules with a regression, are made of a policy and import this file: it imports
    # them where they are made.

    def start(self, seed: int | None = None) -> "Learner":
        """Make a learner at its first step. The same seed gives the same bits."""
        from sparsebandits.policies.learner import Learner

        return Learner(self, seed)

    def first_rule(self, generator: np.random.Generator) -> Rule:
        """Return the rule of a new learner: a copy of the first one made, where that is cheaper."""
        from sparsebandits.policies.joining_rule import JoiningRule

        known: JoiningRule | None = self.__dict__.get(_FIRST)
        if known is not None:
            return known.again(generator)
        rule = self.rule([generator])
        if isinstance(rule, JoiningRule):
            self.__dict__[_FIRST] = rule.again(generator)
        return rule

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != _FIRST}

    def best_actions(self, theta: FloatArray, current: ActionSet) -> FloatArray:
        """Return the oracle's action on the current set for every row of theta, (n, dim)."""
        return self.sparse_oracle.actions(theta, current)

    def support_of(self, theta: FloatArray) -> tuple[int, ...]:
        """Return the support that the policy would choose if it knew theta, (dim,)."""
        known = as_theta(as_array("theta", theta, ndim=1), self.action_set.dim)
        return self.sparse_oracle.solve(known, self.action_set).support

    # ------------------------------------------------------------------ files

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe description that `Policy.from_dict` reads back."""
        data = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        if isinstance(self.sparsity, Supports):
            data["sparsity"] = self.sparsity.to_dict()
        return {"kind": self.kind, **data, "action_set": self.action_set.to_dict()}

    @classmethod
    def _from_fields(cls, **fields: Any) -> Self:
        if "action_set" in fields:  # without it, the constructor names what is missing
            fields["action_set"] = ActionSet.from_dict(fields["action_set"])
        return cls(**fields)


@dataclass(frozen=True, kw_only=True, eq=False)
class InterceptPolicy(Policy):
    """A policy that reckons with a baseline in every reward where it is told to.

    Parameters
    ----------
    intercept : bool
        Whether rewards are b + theta·x with b unknown; a constant in every reward then changes no
        decision. Off by default, as in the papers.
    """

    intercept: bool = checked(flag, False)


class ReferencePolicy(Policy):
    """A policy that is told more than rewards: a mark to measure learners by, for simulations.

    Its rule is an `InformedRule`.
    """

    sees: ClassVar[str]
    """What it is told that a learner is not, in words for tables and legends."""

    def start(self, seed: int | None = None) -> "Learner":
        """Refuse: a reference cannot be run on rewards alone."""
        raise CompositionError(
            f"{type(self).__name__} sees {self.sees}, so it runs in simulate and compare only. "
            "Use SparseThompson to learn from rewards."
        )


def _plain(value: Any) -> Any:
    """Return a parameter as JSON has it."""
    return value.tolist() if isinstance(value, np.ndarray) else value
