"""The parts of the paper's cycle: what APSEE, APSEE-G, PEGE and moving sets choose differently."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.exploration import Basis
from sparsebandits.oracles import SparseOracle
from sparsebandits.policies.gap_test import GapTest
from sparsebandits.policies.schedules import Schedule
from sparsebandits.validation import BoolArray, FloatArray, IntArray

_KEPT_ACTIONS = 2000
"""Up to this many dimensions the exploration actions are kept as a matrix."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Cycle:
    """The parts of the cycle.

    Parameters
    ----------
    action_set : ActionSet
        X.
    oracle : SparseOracle
    schedule : function
        m_c: from the cycle to its number of exploitation steps.
    basis : Basis or None
        b_1..b_d. None explores the axes of the current set, the one played least first: for sets
        that move.
    use_all_data : bool
        Whether exploitation rewards enter the estimate too.
    test : GapTest or None
        What must pass before anything is exploited: with a basis once, and the support is locked;
        without, on the current set at every step. None exploits in every cycle.
    waiting : function or None
        m_c while the support is not locked. None exploits nothing until then.
    explores_locked : bool
        Whether, once the support is locked, only those explorations are made on which the estimate
        on that support depends.
    forever : bool
        Whether the first exploitation never ends: its support is committed to.
    confidence : str
        The name of the test's bound.
    intercept : bool
        Whether rewards have a baseline; the basis has then one action more than coordinates.
    """

    action_set: ActionSet
    oracle: SparseOracle
    schedule: Schedule
    basis: Basis | None
    use_all_data: bool = False
    test: GapTest | None = None
    waiting: Schedule | None = None
    explores_locked: bool = False
    forever: bool = False
    confidence: str = "none"
    intercept: bool = False

    @property
    def explorations(self) -> int:
        """How many explorations a cycle makes: d, and one more where there is a baseline."""
        return self.action_set.dim + self.intercept

    @property
    def locks(self) -> bool:
        """Whether the support is locked for good once the test passes."""
        return self.test is not None and self.basis is not None

    @property
    def keeps_all(self) -> bool:
        """Whether every reward enters the estimate; always where there is no basis."""
        return self.use_all_data or self.basis is None

    def explored(self, support: IntArray) -> BoolArray:
        """Return which explorations are made once a support, padded with -1, is locked, (n,).

        All of them unless `explores_locked`, and where the support is empty: a cycle must explore.
        """
        assert self.basis is not None
        chosen = support[support >= 0]
        if not (self.explores_locked and chosen.size):
            return np.ones(self.explorations, dtype=np.bool_)
        return self.basis.behind(chosen)

    @cached_property
    def _matrix(self) -> FloatArray | None:
        if self.basis is None or self.basis.dim > _KEPT_ACTIONS:
            return None
        return self.basis.actions

    def actions(self, arms: IntArray) -> FloatArray:
        """Return b_k for every k of `arms`, (n, dim)."""
        if self._matrix is not None:
            return np.asarray(self._matrix[arms])
        assert self.basis is not None
        return np.array([self.basis.action(int(k)) for k in arms])

    @cached_property
    def _places(self) -> dict[bytes, int]:
        # Adding 0 turns -0 into 0, which is another pattern of bytes.
        rows = () if self._matrix is None else self._matrix
        return {(action + 0.0).tobytes(): k for k, action in enumerate(rows)}

    def arm_of(self, action: FloatArray) -> int | None:
        """Return the k with b_k = action, (dim,), if there is one."""
        return self._places.get((action + 0.0).tobytes())
