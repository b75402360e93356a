"""The cycle that every algorithm of the paper shares: explore, estimate, verify, exploit.

A phased policy is four parts around that cycle: a basis to explore with, an oracle that chooses the
support, a confidence bound that verifies it, and a schedule that says how long to exploit. APSEE,
APSEE-G and the compact variant are three choices of those parts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sparsebandits.action_sets import ActionSet, action_set_from_dict
from sparsebandits.errors import CompositionError, InvalidTypeError
from sparsebandits.estimation import (
    ConfidenceBound,
    PaperBound,
    as_sigma,
    make_confidence,
    sigma_upper,
    split_delta,
)
from sparsebandits.exploration import Basis, basis_from_dict, make_basis
from sparsebandits.oracles import METHODS, choose_supports, sparse_argmax_batch
from sparsebandits.policies.base import Policy
from sparsebandits.policies.phased_learner import PhasedLearner
from sparsebandits.policies.schedules import Schedule, make_schedule
from sparsebandits.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    as_array,
    as_choice,
    as_integer,
    as_number,
    as_sparsity,
    as_theta,
    describe,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class PhasedPolicy(Policy):
    """The parts of a phased policy, checked to fit together.

    Parameters
    ----------
    action_set : ActionSet
        X.
    sparsity : int
        H.
    sigma : float or "estimate"
        Sub-Gaussian scale of the noise. "estimate" takes an upper confidence bound from the
        exploration rewards and gives half of delta to it.
    delta : float
        Probability with which the guarantees may fail, in (0, 1).
    basis : str, Basis or array
        Exploration actions; a name of `exploration.BASES`.
    basis_seed : int
        Draws the random bases.
    oracle : str
        "top-h", "greedy" or "exact"; without verification also "swap" and "auto".
    schedule : str or function
        m_c: "linear", "sqrt", or a function of the cycle.
    confidence : str
        A name of `estimation.CONFIDENCE`; "paper" is epsilon_c as printed.
    confidence_scale : float
        Multiplies the bound; 1 is the literal algorithm, less voids its guarantee.
    use_all_data : bool
        Whether exploitation rewards enter the estimate too; the paper discards them.
    insist : bool
        Run although the parts give no guarantee together.
    """

    action_set: ActionSet
    sparsity: int
    sigma: float | str = "estimate"
    delta: float = 0.05
    basis: Any = "standard"
    basis_seed: int = 0
    oracle: str
    schedule: Any
    confidence: Any = "paper"
    confidence_scale: float = 1.0
    use_all_data: bool = False
    insist: bool = False

    verifies: ClassVar[bool]
    """Whether the gap test must pass before the first exploitation."""

    def __post_init__(self) -> None:
        if not isinstance(self.action_set, ActionSet):
            raise InvalidTypeError(
                f"action_set must be an action set such as sb.LpBall(dim=20), "
                f"got {describe(self.action_set)}."
            )
        split_delta(self.delta, self.sigma)
        # NumPy's numbers would not survive JSON.
        plain = {
            "sparsity": as_sparsity(self.sparsity, self.action_set.dim),
            "sigma": as_sigma(self.sigma),
            "delta": float(self.delta),
            "basis_seed": as_integer("basis_seed", self.basis_seed, minimum=0),
            "confidence_scale": as_number("confidence_scale", self.confidence_scale, positive=True),
            "use_all_data": bool(self.use_all_data),
            "insist": bool(self.insist),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        self._check_oracle()
        if not self.insist:
            self._check_guarantee()
        # Built now, so that parts that do not fit are refused when they are composed.
        _ = self.exploration, self.bound, self.exploitation_steps

    def _check_oracle(self) -> None:
        as_choice("oracle", self.oracle, METHODS)
        measuring = ("top-h", "greedy", "exact")
        if self.verifies and self.oracle not in measuring:
            raise CompositionError(
                f"The gap test needs an oracle that measures a gap, one of {measuring}; "
                f"got {self.oracle!r}."
            )
        if self.oracle == "top-h" and not self.action_set.is_sortable:
            raise CompositionError(
                f"{type(self).__name__} chooses the support by sorting, which is not exact on "
                f"{self.action_set!r}. Use APSEEG on a strongly convex set, or CompactAPSEEG."
            )

    def _check_guarantee(self) -> None:
        """Refuse parts whose composition has no guarantee; `insist` skips this."""

    # ------------------------------------------------------------------ the parts

    @cached_property
    def exploration(self) -> Basis:
        """The basis b_1..b_d, checked against the set."""
        rng = np.random.default_rng(self.basis_seed)
        return make_basis(self.basis, self.action_set, self.sparsity, rng)

    @cached_property
    def bound(self) -> ConfidenceBound:
        """The confidence bound, for unit noise."""
        return make_confidence(
            self.confidence, self.exploration, split_delta(self.delta, self.sigma)[0]
        )

    @cached_property
    def exploitation_steps(self) -> Schedule:
        """m_c as a function of the cycle."""
        return make_schedule(self.schedule)

    @cached_property
    def norm(self) -> float:
        """L of the greedy threshold: L_X as printed, or over H-sparse actions for other bounds."""
        if isinstance(self.bound, PaperBound):
            return self.action_set.norm_bound
        return self.action_set.sparse_norm_bound(self.sparsity)

    # ------------------------------------------------------------------ formulas, for many rows

    def unit_threshold(self, cycles: Any) -> FloatArray:
        """Return what the gap must exceed after c cycles, per unit of sigma, for any `cycles`."""
        if self.oracle == "top-h":
            weights = self.action_set.score_weights
            bound = self.bound.top_h_threshold(cycles, weights)  # lemma:stopping_condition_l2ball
            return np.asarray(self.confidence_scale * bound)
        radius = self.bound.radius(cycles, self.sparsity)
        return np.asarray(
            self.confidence_scale * 2 * self.norm * radius
        )  # lemma:general_consistency

    def sigma_bound(self, squares: Any, freedom: Any, cycles: Any) -> FloatArray:
        """Return the sigma of the threshold: the given one, or its upper bound from residuals.

        The bound is looked at once for each number of cycles.
        """
        if not isinstance(self.sigma, str):
            return np.asarray(self.sigma, dtype=np.float64)
        spare = split_delta(self.delta, self.sigma)[1]
        return sigma_upper(squares, freedom, spare, look=np.maximum(cycles, 1))

    def passes(self, gaps: Any, sigma: Any, cycles: Any) -> BoolArray:
        """Return whether the gap test passes after c cycles, with sigma from `sigma_bound`.

        An infinite gap has nothing to be compared with: it passes even while sigma is unbounded.
        """
        with np.errstate(invalid="ignore"):
            threshold = sigma * self.unit_threshold(cycles)
        return np.asarray(np.isinf(gaps) | (gaps > threshold))

    def choose(self, theta: FloatArray) -> FloatArray:
        """Return the oracle's action for every row of theta, (n, dim)."""
        method: Any = self.oracle
        return sparse_argmax_batch(self.action_set, theta, self.sparsity, method).actions

    def verify(self, theta: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the support that would be locked for every row of theta, and its gap.

        Where every available coordinate fits, all of them are the support and the gap is infinite.
        Where fewer than H coordinates of a sortable set gain, the rest must also be known not to
        gain: their margin counts as a gap too, and is the gap where none gains at all. On other
        sets no such margin is known, and the gap is 0, the paper's own for gains that tie.
        """
        usable = np.flatnonzero(self.action_set.available)
        if self.sparsity >= usable.size:
            everything = np.full((theta.shape[0], self.sparsity), -1, dtype=np.intp)
            everything[:, : usable.size] = usable
            return everything, np.full(theta.shape[0], np.inf)
        method: Any = self.oracle
        supports, gaps = choose_supports(self.action_set, theta, self.sparsity, method)
        short = np.flatnonzero(supports[:, -1] < 0)
        if not short.size:
            return supports, gaps
        if not self.action_set.is_sortable:
            gaps[short] = 0.0
        elif not np.isinf(self.action_set.score_exponent):
            chosen = np.where(supports[short, 0] < 0, np.inf, gaps[short])
            gaps[short] = np.minimum(chosen, self.action_set.idle_margin(theta[short]))
        return supports, gaps

    def support_of(self, theta: FloatArray) -> tuple[int, ...]:
        """Return the support that the policy would lock if it knew theta, (dim,)."""
        known = as_theta(as_array("theta", theta, ndim=1), self.action_set.dim)
        return tuple(int(i) for i in self.verify(known[None])[0][0] if i >= 0)

    # ------------------------------------------------------------------ learners, files

    def start(self, seed: int | None = None) -> PhasedLearner:
        """Make a learner at its first step."""
        return PhasedLearner(self, seed)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe description; own functions cannot be saved."""
        if not isinstance(self.schedule, str) or not isinstance(self.confidence, str):
            raise InvalidTypeError(
                "A policy with its own schedule function or confidence object cannot be saved; "
                "use named ones."
            )
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        data["action_set"] = self.action_set.to_dict()
        data["basis"] = self.exploration.to_dict()
        return {"kind": self.kind, **data}

    @classmethod
    def _from_dict(cls, data: Mapping[str, Any]) -> "PhasedPolicy":
        keywords = dict(data)
        keywords["action_set"] = action_set_from_dict(keywords["action_set"])
        keywords["basis"] = basis_from_dict(keywords["basis"])
        return cls(**keywords)

    def __repr__(self) -> str:
        scale = "" if self.confidence_scale == 1 else f" x {self.confidence_scale:g}"
        return (
            f"{type(self).__name__}({self.action_set!r}, sparsity={self.sparsity}, "
            f"sigma={self.sigma}, delta={self.delta:g}, basis={self.exploration.name}, "
            f"oracle={self.oracle}, confidence={self.confidence}{scale})"
        )
