"""What every anytime confidence bound offers, whatever inequality it rests on."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparsebandits.exploration import Basis
from sparsebandits.validation import FloatArray, as_delta, as_instance


@dataclass(frozen=True)
class ConfidenceBound(ABC):
    """Error bounds of theta_hat_c that hold for all cycles c at once.

    With probability at least 1 - delta, everything that one object states is true at every cycle
    c >= 1 simultaneously, for sigma-sub-Gaussian noise. All widths are for sigma = 1; multiply by
    sigma.

    After cycle c each action has c rewards. With more rewards of some actions than of others the
    statements are not proved for c = the smallest count, except on a diagonal basis, where each
    coordinate has an action of its own: there `radius` and `coordinate_radius` hold, for the
    bounds that are made coordinate by coordinate.

    Parameters
    ----------
    basis : Basis
        The exploration actions b_1..b_d.
    delta : float
        Failure probability, in (0, 1).

    Notes
    -----
    The methods take one cycle or an array of cycles, and return an array of the same shape.
    """

    basis: Basis
    delta: float

    name: ClassVar[str]
    """The name of the bound in `CONFIDENCE`."""

    def __post_init__(self) -> None:
        as_instance("basis", self.basis, Basis, "a Basis such as make_basis makes")
        object.__setattr__(self, "delta", as_delta(self.delta))

    @abstractmethod
    def radius(self, cycle: Any, size: int) -> FloatArray:
        """Bound ||(theta_hat_c - theta*)_S||_2 for all supports S with at most `size` entries.

        Parameters
        ----------
        cycle : int or array of int
            c >= 1.
        size : int
            In 1..dim.
        """

    @abstractmethod
    def top_h_threshold(self, cycle: Any, weights: Any = None) -> FloatArray:
        """Bound the error of every difference of two scores.

        If score_i(theta_hat_c) - score_j(theta_hat_c) exceeds sigma times this threshold then
        score_i(theta*) > score_j(theta*), for all i and j. So if the gap between the H-th and the
        (H+1)-th largest score exceeds it, the top-H set is right.

        Parameters
        ----------
        cycle : int or array of int
            c >= 1.
        weights : array of shape (dim,), optional
            score_i depends on theta_i alone and changes by at most weights_i when theta_i changes
            by 1; 1 for the scores abs(theta_i), and by default. Fixed in advance: the guarantee is
            for one vector of weights, not for one chosen after seeing rewards.
        """

    @abstractmethod
    def coordinate_radius(self, cycle: Any) -> FloatArray:
        """Half-widths of confidence intervals for all theta_i, (..., dim)."""


def column(widths: FloatArray) -> FloatArray:
    """Add an axis for the coordinates."""
    return np.asarray(widths)[..., None]
