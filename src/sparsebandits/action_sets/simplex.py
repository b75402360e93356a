r"""Many small linear programs side by side: :math:`\max c \cdot x` subject to :math:`A x \le b`.

Every program has a few columns and a right-hand side :math:`b \ge 0`, so that x = 0 is a start. The
primal simplex method keeps one dense dictionary per program, with the slacks as basic variables; a
free x_j that gains moves, up or down, until a row stops it, and never comes back; one that gains
nothing stays 0. All programs take their steps together, as array operations along the first axis,
so a program's answer does not depend on its neighbours, and costs microseconds in company.

The dictionaries only tell which rows are tight. The vertex is then solved for afresh, and both it
and its multipliers are checked; what fails the check, or takes too many steps, is left to a solver
that scales and refactors (`linear_program`).
"""

import numpy as np

from sparsebandits.validation import BoolArray, FloatArray, IntArray

_LEAST_PIVOT = 1e-7
_LEAST_GAIN = 1e-12
_TOLERANCE = 1e-9  # of the answer's rows and multipliers, where both are about 1
_TIE = 1e-12  # ratios this close are equal: the larger pivot is the more accurate one
_NOTHING = 1e-14  # an entry this small beside the largest is rounding
_FEW = 3  # so many are faster one by one, to the same bits
_ENTRIES = 2**17  # of the dictionaries worked on at once: they stay in the cache


def maximize_together(
    matrix: FloatArray, bounds: FloatArray, objective: FloatArray, indices: IntArray
) -> tuple[FloatArray, BoolArray]:
    """Maximise over the slices of {x : G x <= g} that the rows of `indices` span.

    Parameters
    ----------
    matrix : (rows, dim)
        G, with entries about 1.
    bounds : (rows,)
        g >= 0.
    objective : (n, k)
        With entries about 1; 0 at padding.
    indices : (n, k)
        Distinct coordinates, padded with -1.

    Returns
    -------
    x : (n, k)
        Vertices; 0 at padding.
    proven : (n,)
        Whether x was found and passed the check of optimality.

    Examples
    --------
    >>> triangle, limits = np.array([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]), np.array([1.0, 0, 0])
    >>> x, proven = maximize_together(triangle, limits, np.array([[1.0, 2.0]]), np.array([[0, 1]]))
    >>> x.tolist(), proven.tolist()
    ([[0.0, 1.0]], [True])
    """
    n, width = objective.shape
    x, proven = np.zeros((n, width)), np.zeros(n, dtype=np.bool_)
    if n <= _FEW:
        for row in range(n):
            x[row], proven[row] = _maximize_alone(matrix, bounds, objective[row], indices[row])
        return x, proven
    extended = np.pad(matrix, ((0, 0), (0, 1)))  # padding finds a column of zeros
    touches = extended.T != 0.0
    chunk = max(1, _ENTRIES // ((bounds.size + 1) * (width + 1)))
    for first in range(0, n, chunk):
        part = slice(first, first + chunk)
        # Rows that are 0 on the support bind nothing: they come last, and mostly fall away.
        touched = touches[indices[part]].any(axis=1)
        most = int(touched.sum(axis=1).max(initial=0))
        rows = np.argsort(~touched, axis=1, kind="stable")[:, :most]
        columns, right = extended[rows[:, :, None], indices[part, None, :]], bounds[rows]
        tight, done = _Dictionaries(columns, right, objective[part]).solve()
        x[part], optimal = _vertices(columns, right, objective[part], tight)
        proven[part] = done & optimal
    return x, proven


def _maximize_alone(
    matrix: FloatArray, bounds: FloatArray, objective: FloatArray, indices: IntArray
) -> tuple[FloatArray, bool]:
    """Take the steps of `_Dictionaries` for one program: a third of the calls, the same numbers."""
    width = objective.size
    columns = matrix[:, indices]
    columns[:, indices < 0] = 0.0
    touched = columns.any(axis=1)
    columns, right = columns[touched], bounds[touched]
    table = np.empty((right.size + 1, width + 1))
    table[:-1, :width], table[:-1, width] = columns, right
    table[-1, :width], table[-1, width] = -objective, 0.0
    costs, limits = table[-1, :width], table[:-1, width]
    owner, is_slack = np.arange(right.size), np.ones(right.size, dtype=np.bool_)
    tight = [-1] * width
    done = False
    for _ in range(10 * width + 20):
        gains = [abs(c) if t < 0 else -c for c, t in zip(costs.tolist(), tight, strict=True)]
        gain = max(gains)
        if not gain > _LEAST_GAIN:
            done = True
            break
        entering = gains.index(gain)
        column = -table[:, entering] if costs[entering] > 0.0 else table[:, entering].copy()
        stops = ((column[:-1] > _LEAST_PIVOT) & is_slack).nonzero()[0]
        pivots = column[stops]
        ratios = limits[stops] / pivots
        least = ratios.min(initial=np.inf)
        if least == np.inf:
            break
        leaving = stops[np.where(ratios <= least + _TIE, pivots, -np.inf).argmax()]
        pivot = column[leaving]
        row = table[leaving] / pivot
        table -= column[:, None] * row
        table[:, entering] = -column / pivot
        row[entering] = 1.0 / pivot
        table[leaving] = row
        np.maximum(limits, 0.0, out=limits)
        is_slack[leaving] = tight[entering] >= 0
        tight[entering], owner[leaving] = int(owner[leaving]), tight[entering]
    x, optimal = _vertices(columns[None], right[None], objective[None], np.array([tight]))
    return x[0], done and bool(optimal[0])


class _Dictionaries:
    """s = b - A w and z = c·w for n programs; w are the variables at 0, s the others."""

    def __init__(self, columns: FloatArray, bounds: FloatArray, objective: FloatArray) -> None:
        n, rows, width = columns.shape
        # The last row is the objective, negated; the last column is the right-hand side.
        self.table = np.zeros((n, rows + 1, width + 1))
        self.table[:, :rows, :width] = columns
        self.table[:, :rows, width] = bounds
        self.table[:, rows, :width] = -objective
        self.owner = np.broadcast_to(np.arange(rows), (n, rows)).copy()
        """Which row of A the slack in each row of the dictionary belongs to; -1 for a free x_j."""
        self.tight = np.full((n, width), -1, dtype=np.intp)
        """Which row of A each column is the slack of, so that it is tight; -1 for a free x_j."""
        self.places = np.arange(n)
        """Which program each dictionary is of; those that are done are taken out."""

    def solve(self) -> tuple[IntArray, BoolArray]:
        """Return the tight row of each column, (n, k), -1 where x_j stays 0; and who finished."""
        n, width = self.tight.shape
        answer, finished = np.full((n, width), -1, dtype=np.intp), np.zeros(n, dtype=np.bool_)
        for _ in range(10 * width + 20):
            lanes = np.arange(self.places.size)
            costs = self.table[:, -1, :width]
            gains = np.where(self.tight < 0, np.abs(costs), -costs)
            entering = gains.argmax(axis=1)
            gaining = gains[lanes, entering] > _LEAST_GAIN
            # A free variable may move either way: turn its column so that moving up gains.
            turn = lanes[gaining & (costs[lanes, entering] > 0.0)]
            self.table[turn, :, entering[turn]] *= -1.0
            answer[self.places[~gaining]] = self.tight[~gaining]
            finished[self.places[~gaining]] = True
            self._keep(gaining)
            if not self.places.size:
                break
            self._exchange(entering[gaining])
        return answer, finished

    def _exchange(self, entering: IntArray) -> None:
        """Let the entering column grow until a row is tight; drop programs that no row stops."""
        lanes = np.arange(self.places.size)
        column = self.table[lanes, :, entering]
        pivots, limits = column[:, :-1], self.table[:, :-1, -1]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(pivots > _LEAST_PIVOT, limits / pivots, np.inf)
        ratios[self.owner < 0] = np.inf
        least = ratios.min(axis=1, initial=np.inf)
        leaving = np.where(ratios <= (least + _TIE)[:, None], pivots, -np.inf).argmax(axis=1)
        stopped = np.isfinite(least)
        pivot = np.where(stopped, pivots[lanes, leaving], 1.0)[:, None]
        row = self.table[lanes, leaving] / pivot
        self.table -= column[:, :, None] * row[:, None, :]
        self.table[lanes, :, entering] = -column / pivot
        row[lanes, entering] = 1.0 / pivot[:, 0]
        self.table[lanes, leaving] = row
        # Rounding must not push a right-hand side below 0: a step would then go backwards.
        np.maximum(self.table[:, :-1, -1], 0.0, out=self.table[:, :-1, -1])
        former = self.tight[lanes, entering]
        self.tight[lanes, entering] = self.owner[lanes, leaving]
        self.owner[lanes, leaving] = former
        self._keep(stopped)

    def _keep(self, kept: BoolArray) -> None:
        if not kept.all():
            self.table, self.places = self.table[kept], self.places[kept]
            self.owner, self.tight = self.owner[kept], self.tight[kept]


def _vertices(
    columns: FloatArray, bounds: FloatArray, objective: FloatArray, tight: IntArray
) -> tuple[FloatArray, BoolArray]:
    """Solve for the points where the tight rows meet, and check that they are optimal."""
    lanes = np.arange(tight.shape[0])[:, None]
    idle = tight < 0
    identity = np.eye(tight.shape[1])
    block, right = columns[lanes, tight], bounds[lanes, tight]
    if idle.any():
        block[idle], right[idle] = identity[np.nonzero(idle)[1]], 0.0  # x_j = 0
    proven: BoolArray = np.linalg.det(block) != 0.0
    if not proven.all():
        block[~proven] = identity
    x: FloatArray = np.asarray(np.linalg.solve(block, right[:, :, None])[:, :, 0], dtype=np.float64)
    largest = np.abs(x).max(axis=1, initial=0.0)[:, None]
    x[np.abs(x) <= _NOTHING * largest] = 0.0
    multipliers = np.linalg.solve(block.swapaxes(1, 2), objective[:, :, None])[:, :, 0]
    wrong = np.where(idle, np.abs(multipliers), -multipliers)
    excess = (columns * x[:, None, :]).sum(axis=2) - bounds
    proven &= (excess <= _TOLERANCE * np.maximum(1.0, largest)).all(axis=1)
    proven &= (wrong <= _TOLERANCE).all(axis=1)
    return x, proven
