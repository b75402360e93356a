"""The cycle that every algorithm of the paper shares: explore, estimate, verify, exploit.

A phased policy is a choice of parts around that cycle: a basis to explore with, an oracle that
chooses the support, a gap test that verifies it or none, and a schedule that says how long to
exploit. APSEE, APSEE-G and the compact variant are three choices of those parts, PEGE is another.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np

from sparsebandits.errors import CompositionError, InvalidTypeError, InvalidValueError
from sparsebandits.estimation import ConfidenceBound, make_confidence, split_delta
from sparsebandits.exploration import Basis, make_basis, with_origin
from sparsebandits.policies.cycle import Cycle
from sparsebandits.policies.cycle_rule import CycleRule
from sparsebandits.policies.gap_test import GapTest
from sparsebandits.policies.parameters import (
    checked,
    failure_probability,
    flag,
    positive,
    sigma_or_estimate,
)
from sparsebandits.policies.policy import InterceptPolicy
from sparsebandits.policies.schedules import Schedule, make_schedule
from sparsebandits.validation import FloatArray, as_array, as_integer, as_theta


@dataclass(frozen=True, kw_only=True, eq=False)
class ExploringPolicy(InterceptPolicy):
    """What policies that explore by the actions of a basis have in common.

    Parameters
    ----------
    action_set, sparsity, oracle, intercept
        As in `InterceptPolicy`.
    basis : str, Basis or array
        Exploration actions b_1..b_d; a name of `exploration.BASES`.
    basis_seed : int
        Draws the random bases.
    """

    basis: Any = "standard"
    basis_seed: int = checked(partial(as_integer, minimum=0), 0)

    def __post_init__(self) -> None:
        super().__post_init__()
        # Built now, so that parts that do not fit are refused when they are composed.
        _ = self.exploration

    @cached_property
    def exploration(self) -> Basis:
        """The basis b_1..b_d, checked against the set."""
        rng = np.random.default_rng(self.basis_seed)
        return make_basis(self.basis, self.action_set, self.sparsity, rng)

    @cached_property
    def explored(self) -> Basis:
        """What a cycle explores: the basis, and with an intercept an origin besides."""
        if not self.intercept:
            return self.exploration
        return with_origin(self.exploration, self.action_set, self.sparsity)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe description that `Policy.from_dict` reads back."""
        return {**super().to_dict(), "basis": self.exploration.to_dict()}

    @classmethod
    def _from_fields(cls, **fields: Any) -> Self:
        if "basis" not in fields:  # the default of the constructor may not be what was saved
            raise InvalidValueError("The description of a policy that explores must have a basis.")
        return super()._from_fields(**{**fields, "basis": Basis.from_dict(fields["basis"])})


@dataclass(frozen=True, kw_only=True, eq=False)
class CyclePolicy(InterceptPolicy):
    """A policy whose rule is the cycle; `cycle` says which.

    With ``intercept=True`` a cycle explores one action more: 0 where that is allowed, else one that
    is affinely independent of the others. The estimate, its bounds and the gap test are then those
    of theta whatever b is, and hold as they do without (`docs/baseline.md`).
    """

    @property
    @abstractmethod
    def cycle(self) -> Cycle:
        """The parts of the cycle."""

    def rule(self, generators: Sequence[np.random.Generator], block: int = 1) -> CycleRule:
        """Return the decision rule with one lane per generator; nothing is drawn from them."""
        return CycleRule(self.cycle, len(generators))

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe description; own functions cannot be saved."""
        data = super().to_dict()
        own = [
            name
            for name in ("schedule", "waiting", "confidence")
            if not isinstance(data.get(name, ""), str)
        ]
        if own:
            raise InvalidTypeError(
                f"A policy with its own {own[0]} cannot be saved; use a named one."
            )
        return data


@dataclass(frozen=True, kw_only=True, eq=False)
class VerifyingPolicy(CyclePolicy):
    """A cycle whose exploitation may have to pass a gap test first.

    Parameters
    ----------
    action_set, sparsity, oracle, intercept
        As in `CyclePolicy`.
    sigma : float or "estimate"
        Sub-Gaussian scale of the noise.
    delta : float
        Probability with which the guarantees may fail, in (0, 1).
    schedule : str or function
        m_c: "linear", "sqrt", "quadratic", or a function of the cycle.
    confidence_scale : float
        Multiplies the bound; 1 is the literal algorithm, less voids its guarantee.
    insist : bool
        Run although the parts give no guarantee together.
    """

    measuring: ClassVar[tuple[str, ...]] = ("greedy", "exact")
    """The oracles whose gap can be tested."""

    sigma: float | str = checked(sigma_or_estimate, "estimate")
    delta: float = checked(failure_probability, 0.05)
    schedule: Any = "linear"
    confidence_scale: float = checked(positive, 1.0)
    insist: bool = checked(flag, False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.verifies and self.oracle not in self.measuring:
            raise CompositionError(
                f"The gap test needs an oracle that measures a gap, one of {self.measuring}; "
                f"got {self.oracle!r}."
            )
        # Built now, so that parts that do not fit are refused when they are composed.
        _ = self.test, self.exploitation_steps

    @property
    @abstractmethod
    def verifies(self) -> bool:
        """Whether the gap test must pass before anything is exploited."""

    @property
    @abstractmethod
    def bound(self) -> ConfidenceBound:
        """The confidence bound, for unit noise."""

    @cached_property
    def test(self) -> GapTest:
        """The gap test; it is part of the cycle only where the policy verifies."""
        return GapTest(
            action_set=self.action_set,
            oracle=self.sparse_oracle,
            bound=self.bound,
            scale=self.confidence_scale,
            sigma=self.sigma,
            delta=self.delta,
        )

    @cached_property
    def exploitation_steps(self) -> Schedule:
        """m_c as a function of the cycle."""
        return make_schedule(self.schedule)


@dataclass(frozen=True, kw_only=True, eq=False)
class PhasedPolicy(VerifyingPolicy, ExploringPolicy):
    """The paper's policies on a fixed set, checked to fit together.

    Parameters
    ----------
    action_set, sparsity, intercept, delta, schedule, confidence_scale, insist, basis, basis_seed
        As in `VerifyingPolicy` and `ExploringPolicy`.
    sigma : float or "estimate"
        Sub-Gaussian scale of the noise. "estimate" takes an upper confidence bound from the
        exploration rewards and gives half of delta to it.
    oracle : str
        "top-h", "greedy" or "exact"; without verification also "swap" and "auto".
    confidence : str
        A name of `estimation.CONFIDENCE`; "paper" is epsilon_c as printed.
    use_all_data : bool
        Whether exploitation rewards enter the estimate too; the paper discards them.
    explore_locked_only : bool
        Whether, once the support is locked, only the actions are explored on which the estimate on
        it depends, H of the standard basis (and the origin of an intercept). The regret is then of
        order d C_0 + H sqrt(T) up to logarithms instead of d sqrt(T) (`docs/theory.md`); the paper
        goes on with all d.
    """

    measuring: ClassVar[tuple[str, ...]] = ("top-h", "greedy", "exact")
    verifies: ClassVar[bool]

    confidence: Any = "paper"
    use_all_data: bool = checked(flag, False)
    explore_locked_only: bool = checked(flag, False)

    # ------------------------------------------------------------------ the parts

    @cached_property
    def bound(self) -> ConfidenceBound:
        """The confidence bound, for unit noise."""
        share, _ = split_delta(self.delta, self.sigma)
        return make_confidence(self.confidence, self.explored, share)

    @cached_property
    def cycle(self) -> Cycle:
        """The parts of the cycle."""
        return Cycle(
            action_set=self.action_set,
            oracle=self.sparse_oracle,
            schedule=self.exploitation_steps,
            basis=self.explored,
            use_all_data=self.use_all_data,
            test=self.test if self.verifies else None,
            waiting=self.steps_while_waiting,
            explores_locked=self.explore_locked_only,
            confidence=str(self.confidence),
            intercept=self.intercept,
        )

    @property
    def steps_while_waiting(self) -> Schedule | None:
        """m_c while the support is not locked; None, and the paper's, is nothing."""
        return None

    def support_of(self, theta: FloatArray) -> tuple[int, ...]:
        """Return the support that the policy would lock if it knew theta, (dim,)."""
        known = as_theta(as_array("theta", theta, ndim=1), self.action_set.dim)
        return tuple(int(i) for i in self.test.verify(known[None])[0][0] if i >= 0)

    def __repr__(self) -> str:
        baseline = ", intercept" if self.intercept else ""
        scale = "" if self.confidence_scale == 1 else f" x {self.confidence_scale:g}"
        return (
            f"{type(self).__name__}({self.action_set!r}, sparsity={self.sparsity}, "
            f"sigma={self.sigma}, delta={self.delta:g}, basis={self.exploration.name}, "
            f"oracle={self.oracle}, confidence={self.confidence}{scale}{baseline})"
        )
