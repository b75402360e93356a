"""What a sparse oracle answers: the action, and how sure that is."""

import math
from dataclasses import dataclass, fields, replace

import numpy as np

from sparsebandits.validation import BoolArray, FloatArray, IntArray, brief_repr


@dataclass(frozen=True, eq=False)
class Solution:
    """The answer of a sparse oracle for one theta.

    Attributes
    ----------
    support : tuple of int
        Ascending; at most H coordinates. Coordinates that add nothing are left out.
    action : (dim,) array
        x*(S; theta) on that support.
    value : float
        theta·action.
    gap : float
        By how much the choice was made. top-h: the H-th minus the (H+1)-th score (`Delta'_c` of
        `lemma:stopping_condition_l2ball`). greedy and swap: the smallest step gap of the greedy
        run (`Delta_c^Greedy`). exact: value minus the best value on any other support, if asked for
        by ``runner_up=True`` or known for free, else nan. Infinite where all coordinates fit.
    step_gaps : (len(picks),) array
        delta_k of each greedy step, empty for other methods.
    is_exact : bool
        Whether the value is proven to be the largest.
    upper_bound : float
        A valid upper bound on the largest value; equal to `value` when exact.
    method : str
        The method used: "top-h", "greedy", "swap" or "exact".
    warning : str or None
        Plain words where the method has no guarantee on the set, or under the rules, and what it
        found is not proven to be the best.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> best = sb.sparse_argmax(sb.Box([0, 0, 0], [1, 1, 1]), [0.3, -1.0, 2.0], sparsity=1)
    >>> best.support, best.value, best.is_exact
    ((2,), 2.0, True)
    """

    __repr__ = brief_repr

    support: tuple[int, ...]
    action: FloatArray
    value: float
    gap: float
    step_gaps: FloatArray
    is_exact: bool
    upper_bound: float
    method: str
    warning: str | None = None


@dataclass(frozen=True, eq=False)
class BatchSolution:
    """The answers for theta of shape (..., dim): the fields of `Solution` as arrays.

    Attributes
    ----------
    supports : (..., H) int array
        Ascending indices, padded with -1 at the end.
    actions : (..., dim) array
    values, gaps, upper_bounds : (...) arrays
    step_gaps : (..., H) array
        Infinite where the greedy run made no pick.
    is_exact : (...) bool array
    method : str

    Examples
    --------
    >>> import sparsebandits as sb
    >>> thetas = [[0.3, -1.0, 2.0], [0.3, -1.0, 0.1]]
    >>> best = sb.sparse_argmax_batch(sb.Box([0, 0, 0], [1, 1, 1]), thetas, sparsity=1)
    >>> best.supports.tolist(), best.values.tolist()
    ([[2], [0]], [2.0, 0.3])
    """

    __repr__ = brief_repr

    supports: IntArray
    actions: FloatArray
    values: FloatArray
    gaps: FloatArray
    step_gaps: FloatArray
    is_exact: BoolArray
    upper_bounds: FloatArray
    method: str

    def reshape(self, leading: tuple[int, ...]) -> "BatchSolution":
        """Give the rows the leading shape of the theta they answer."""
        if leading == self.values.shape:
            return self
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        return replace(
            self, **{name: a.reshape(*leading, *a.shape[1:]) for name, a in arrays.items()}
        )

    def scaled(self, scales: FloatArray) -> "BatchSolution":
        """Give the answers to rows of theta that are this many times as large, (n, 1)."""
        return replace(
            self,
            values=self.values * scales[:, 0],
            gaps=self.gaps * scales[:, 0],
            step_gaps=self.step_gaps * scales,
            upper_bounds=self.upper_bounds * scales[:, 0],
        )

    def row(self, index: int) -> Solution:
        """Return one answer of a batch with one leading axis."""
        support = self.supports[index]
        step_gaps = self.step_gaps[index]
        return Solution(
            support=tuple(support[support >= 0].tolist()),
            action=self.actions[index],
            value=float(self.values[index]),
            gap=float(self.gaps[index]),
            step_gaps=step_gaps[: int((support >= 0).sum())] if step_gaps.size else step_gaps,
            is_exact=bool(self.is_exact[index]),
            upper_bound=float(self.upper_bounds[index]),
            method=self.method,
        )


@dataclass(frozen=True)
class BestSupport:
    """What an exact search knows about one theta."""

    support: tuple[int, ...]
    upper_bound: float
    proven: bool = True
    runner_up: float = math.nan
    """The best value on supports that do not contain `support`; nan if not looked for."""


_ARRAYS = [field.name for field in fields(BatchSolution) if field.name != "method"]


def join(parts: list[BatchSolution]) -> BatchSolution:
    """Put the answers to blocks of rows together."""
    if len(parts) == 1:
        return parts[0]
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS}
    return BatchSolution(**arrays, method=parts[0].method)


def ascending(picks: IntArray) -> IntArray:
    """Sort padded index rows (n, k), padding (-1) last."""
    ordered = np.sort(np.where(picks < 0, np.iinfo(np.intp).max, picks), axis=-1)
    return np.where(ordered == np.iinfo(np.intp).max, -1, ordered)


def padded(mask: BoolArray, width: int) -> IntArray:
    """Turn boolean supports (n, dim) into ascending index rows (n, width), padded with -1."""
    rows, columns = np.nonzero(mask)
    counts = np.bincount(rows, minlength=mask.shape[0])
    places = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
    supports = np.full((mask.shape[0], width), -1, dtype=np.intp)
    supports[rows, places] = columns
    return supports
