"""Ridge least squares of one learner on the few columns that its actions have touched."""

from typing import Any

import numpy as np
from scipy.linalg.blas import dger
from scipy.linalg.lapack import dpotrf, dpotrs

from sparsebandits.estimation.least_squares import inverse
from sparsebandits.estimation.ridge import REFACTOR, VOID
from sparsebandits.validation import LARGEST_REWARD, FloatArray, IntArray

FRESH = 128
"""Up to so many columns a draw is made by a Cholesky factor of C; beyond, deviates are kept."""

DEVIATES = 3
"""How many draws of N(0, C) are kept beyond that."""

NUMBERS = ("counts", "squares", "anchor", "spent")

_ROUNDING = 1e-9

_CONTRADICTION = 1e-6
"""How far a saved estimate may be from its own equations, relative to their size."""

_LONGEST = 1e4
"""In deviations of the prior: of what a longer action is told C would keep no digits."""

_ROOM = 64
"""Room is made for so many columns at once."""

_ALONE = 8192
"""Of an update with no more numbers than this BLAS makes no work for threads."""


class CoreRidge:
    r"""(V + P) theta_hat = b on the touched columns, with C = (V + P)^-1 at hand.

    A column that no action has used has its prior and is independent of all others, so that the
    posterior of the touched columns alone is exact, whatever d is. Actions have few non-zeros: C x
    is a few rows of C, and n rewards of one action are taken in at once,

        C <- C - n g g' / s,  theta <- theta + n g e / s,

    with g = C x, s = 1 + n x·g and e = mean(y) - x·theta.

    Every `REFACTOR` rewards C is made anew from the sums by a Cholesky factor. A slot may be given
    to another column: the old one is integrated out of the sums, which is exact unless it comes
    back; then it is taken for another one. What it had in common with the others is lost,
    -log(1 - rho^2) / 2 of information with rho its multiple correlation, and what was known of
    itself, log(1 / (p C_kk)) / 2: together log(1 + V_kk / p) / 2.

    Up to `FRESH` columns draws are made afresh by a factor of C. Beyond, `DEVIATES` of N(0, C) are
    kept: an update subtracts g (n / s) (x·eta + eps / sqrt(n)) with eps ~ N(0, 1), after which
    they are N(0, C) again, exactly; and before a decision they are drawn anew, jointly, where it is
    made. Only their independence between decisions is lost.

    Parameters
    ----------
    prior : (size,) array
        The precisions of the first columns; one may be 0 (see `RidgeLanes`).

    Attributes
    ----------
    size : int
        How many columns there are.
    counts, squares, anchor : float
        As in `RidgeLanes`.
    spent : float
        Degrees of freedom used up by columns that were integrated out.
    """

    def __init__(self, prior: FloatArray) -> None:
        self.size = 0
        self.counts = self.squares = self.anchor = self.spent = 0.0
        self._square = np.zeros((2, 0, 0))
        self._rows = np.zeros((3 + DEVIATES, 0))
        self.grow(prior)

    @property
    def covariance(self) -> FloatArray:
        """C, (size, size)."""
        return self._square[0, : self.size, : self.size]

    @property
    def gram(self) -> FloatArray:
        """V, (size, size)."""
        return self._square[1, : self.size, : self.size]

    @property
    def theta(self) -> FloatArray:
        """theta_hat, (size,)."""
        return self._rows[0, : self.size]

    @property
    def response(self) -> FloatArray:
        """b, (size,)."""
        return self._rows[1, : self.size]

    @property
    def prior(self) -> FloatArray:
        """The diagonal of P, (size,)."""
        return self._rows[2, : self.size]

    @property
    def deviates(self) -> FloatArray:
        """Draws of N(0, C), (DEVIATES, size); not kept up while there are few columns."""
        return self._rows[3:, : self.size]

    # ------------------------------------------------------------------ columns

    def grow(self, prior: FloatArray) -> None:
        """Add columns that nothing is known of but these precisions."""
        first, self.size = self.size, self.size + prior.size
        room = self._rows.shape[1]
        if self.size > room:
            room = -(-self.size // _ROOM) * _ROOM
            square, rows = np.zeros((2, room, room)), np.zeros((3 + DEVIATES, room))
            square[:, :first, :first] = self._square[:, :first, :first]
            rows[:, :first] = self._rows[:, :first]
            self._square, self._rows = square, rows
        places = np.arange(first, self.size)
        self.prior[places] = prior
        self.covariance[places, places] = 1 / np.where(prior > 0, prior, np.inf)

    def replace(self, place: int, prior: float) -> None:
        """Integrate a column out, and give its place to one that nothing is known of."""
        gram, response, covariance = self.gram, self.response, self.covariance
        self.spent += 1 - self.prior[place] * covariance[place, place]
        pivot = gram[place, place] + self.prior[place]
        row = gram[place].copy()
        # What the column leaves behind: the Schur complement, and its right-hand side. By the root
        # of the pivot it is symmetric to the bit, of which half is saved.
        scaled = row / np.sqrt(pivot)
        gram -= np.multiply.outer(scaled, scaled)
        response -= row * (response[place] / pivot)
        for matrix in (gram, covariance):
            matrix[place] = matrix[:, place] = 0.0
        response[place] = self.theta[place] = 0.0
        self._rows[3:, place] = 0.0
        self.prior[place] = prior
        covariance[place, place] = 1 / prior

    def start_deviates(self, places: IntArray | slice, normals: FloatArray) -> None:
        """Draw the deviates of columns that are independent of all others."""
        scales = np.sqrt(np.diagonal(self.covariance)[places])
        self.deviates[:, places] = normals * scales

    def draw_all(self, rng: np.random.Generator) -> None:
        """Draw all deviates of N(0, C) afresh."""
        self.deviates[:] = self.belief().fresh(rng)[0]

    # ------------------------------------------------------------------ data

    def add(
        self,
        places: IntArray,
        values: FloatArray,
        reward: float,
        weight: float = 1.0,
        spread: float = 0.0,
        normals: FloatArray | None = None,
    ) -> None:
        """Take in `weight` rewards of one action with this mean, and their spread about it.

        Parameters
        ----------
        places, values : (k,) arrays
            The non-zero columns of the action.
        reward, weight, spread : float
        normals : (DEVIATES,) array, optional
            What keeps the deviates exact; without it they are left as they are.
        """
        if self.counts == 0 and (self.prior == 0).any():
            self.anchor = reward
        above, before = reward - self.anchor, self.counts
        covariance, theta, prior = self.covariance, self.theta, self.prior[places]
        may_be_long = (values * values > 0.99 * _LONGEST**2 * prior) & (prior > 0)
        if (
            may_be_long.any() and (length := _length(values, prior)) > _LONGEST
        ):  # what it is told counts as much as that of an action so long
            shrunk = _LONGEST / length
            values, above, spread = values * shrunk, above * shrunk, spread * shrunk**2
        gain = values @ covariance[places]
        width = max(0.0, float(gain[places] @ values))
        growth = 1.0 + weight * width
        error = above - float(theta[places] @ values)
        theta += gain * (weight * error / growth)
        # The product of two numbers is the same in either order: C stays symmetric to the bit.
        _subtract_square(self._square[0], gain * np.sqrt(weight / growth))
        self.gram[places[:, None], places] += weight * (values[:, None] * values)
        self.response[places] += weight * above * values
        self.squares += spread + weight * error * error / growth
        self.counts += weight
        if normals is not None:
            off = self.deviates[:, places] @ values + normals / np.sqrt(weight)
            self.deviates[:] -= np.multiply.outer(off * (weight / growth), gain)
        if self.counts // REFACTOR != before // REFACTOR or before == 0 or growth > 1e8:
            self.refactor()

    def imagine(
        self, places: IntArray, values: FloatArray, normals: FloatArray | None = None
    ) -> None:
        """Know of one action that was played, and nothing of its reward."""
        counts, squares, theta = self.counts, self.squares, self.theta.copy()
        expected = self.anchor + float(theta[places] @ values)
        self.add(places, values, expected, normals=normals)
        self.counts, self.squares, self.theta[:] = counts, squares, theta

    def correct(
        self, places: IntArray, values: FloatArray, old: float, new: float, weight: float = 1.0
    ) -> None:
        """Replace a reward of an action; it had this weight. See `RidgeLanes.correct`."""
        change, off = new - old, old - self.anchor - float(self.theta[places] @ values)
        gain = values @ self.covariance[places]
        self.response[places] += weight * change * values
        self.theta[:] += weight * change * gain
        kept = 1.0 - weight * float(gain[places] @ values)
        self.squares = max(0.0, self.squares + weight * change * (2 * off + change * kept))

    def fade(self, factor: float, rng: np.random.Generator) -> None:
        """Let all that is known count less; the prior stays."""
        if self.counts * factor >= VOID:
            self._renew(self.prior, factor, rng)
            return
        self._forget()
        if self.size > FRESH:
            self.draw_all(rng)

    def scale_prior(self, factor: float, free: int, rng: np.random.Generator) -> bool:
        """Go on with a multiple of the prior beyond the first columns; say whether it was taken.

        One that is so weak that it is lost in the rounding of the sums is not.
        """
        prior = self.prior.copy()
        prior[free:] *= factor
        return self._renew(prior, 1.0, rng)

    def _renew(self, prior: FloatArray, factor: float, rng: np.random.Generator) -> bool:
        """Make all anew as `RidgeLanes` does; the deviates are drawn again."""
        old = self.prior.copy()
        before, gram = self.theta.copy(), self.gram.copy()
        errors = self.squares - float(old @ before**2)
        self.prior[:] = prior
        self.gram[:] *= factor
        self.response[:] *= factor
        self.counts *= factor
        self.spent *= factor
        sound = self.refactor()
        if not sound:
            self.prior[:] = old
            self._fade_covariance(factor)
        moved = self.theta - before
        errors += float(moved @ gram @ moved - 2 * moved @ (old * before))
        self.squares = max(0.0, factor * errors + float(self.prior @ self.theta**2))
        if self.size > FRESH:
            self.draw_all(rng)
        return sound

    def _fade_covariance(self, factor: float) -> None:
        """Let C and theta_hat be those of factor V + P, of which the sums have lost too much.

        It is factor (V + P) + (1 - factor) P: each column is told that it is 0, (1 - factor) P_i
        times.
        """
        covariance, theta = self.covariance, self.theta
        covariance /= factor
        for place, told in enumerate((1.0 - factor) * self.prior):
            gain = covariance[place].copy()
            growth = 1.0 + told * float(gain[place])
            theta -= gain * (told * theta[place] / growth)
            scaled = gain * np.sqrt(told / growth)
            covariance -= np.multiply.outer(scaled, scaled)

    def _forget(self) -> None:
        """Leave nothing but the prior."""
        self.counts = self.squares = self.anchor = self.spent = 0.0
        for array in (self.gram, self.covariance, self.theta, self.response):
            array[:] = 0.0
        places = np.arange(self.size)
        self.covariance[places, places] = 1 / np.where(self.prior > 0, self.prior, np.inf)

    def copy(self) -> "CoreRidge":
        """Return a twin, to be told what this one is not."""
        twin = CoreRidge(np.ones(self.size))
        twin.restore(self.state())
        return twin

    def refactor(self) -> bool:
        """Make C and theta_hat anew from the sums where these are sound; say whether they were."""
        if not self.size:
            return True
        covariance, pivot = inverse(self.gram + np.diag(self.prior))
        if pivot <= 1e-6:
            return False
        self.covariance[:] = covariance
        self.theta[:] = self.covariance @ self.response
        return True

    # ------------------------------------------------------------------ what is known

    def noise_scale(self) -> float:
        """Estimate sigma as `RidgeLanes.noise_scale` does; untouched columns cancel."""
        kept = float(np.diagonal(self.covariance) @ self.prior)
        freedom = self.counts - self.spent - self.size + kept
        if freedom < _ROUNDING:
            total = self.squares + float(self.response @ self.theta)
            return float(np.sqrt(total / max(self.counts, 1.0)))
        return float(np.sqrt(self.squares / freedom))

    def belief(self) -> "CoreBelief":
        """Return what is believed, as one lane."""
        return CoreBelief(self)

    def state(self) -> dict[str, Any]:
        """Return all that is kept, by name: numbers, vectors, and two symmetric matrices."""
        keeps_deviates = self.size > FRESH
        return {
            **{name: getattr(self, name) for name in NUMBERS},
            "theta": self.theta,
            "response": self.response,
            "prior": self.prior,
            "deviates": self.deviates if keeps_deviates else self.deviates[:, :0],
            "covariance": self.covariance,
            "gram": self.gram,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` returned, into as many columns as it had."""
        for name in NUMBERS:
            setattr(self, name, float(state[name]))
        for name in ("theta", "response", "prior", "covariance", "gram"):
            getattr(self, name)[:] = state[name]
        if self.size > FRESH:
            self.deviates[:] = state["deviates"]

    def agrees(self) -> bool:
        """Whether theta_hat and C solve the equations of the sums, as far as can be expected.

        And whether the other numbers can be theirs.
        """
        if not self.counts:  # nothing but the prior
            fresh, rest = CoreRidge(self.prior).state(), self.state()
            names = fresh.keys() - {"deviates"}
            return all(np.array_equal(fresh[name], rest[name]) for name in names) and self._spans()
        has_free = (self.prior == 0).any()
        if not (abs(self.anchor) < LARGEST_REWARD if has_free else self.anchor == 0):
            return False
        with np.errstate(all="ignore"):  # what overflows agrees with nothing
            return not self.size or (self._solves() and self._spans())

    def _spans(self) -> bool:
        """Whether the deviates that are kept are of the size of C: none is 40 deviations off."""
        sizes = np.sqrt(np.diagonal(self.covariance))
        return self.size <= FRESH or bool((np.abs(self.deviates) <= 40 * sizes).all())

    def _solves(self) -> bool:
        precision = self.gram + np.diag(self.prior)
        lengths = np.sqrt(np.diagonal(precision))
        if not (np.isfinite(lengths).all() and lengths.all()):
            return False
        unit = precision / lengths / lengths[:, None]
        scaled, theta = self.covariance * lengths * lengths[:, None], self.theta * lengths
        right = self.response / lengths
        size = float((np.abs(unit) @ np.abs(theta) + np.abs(right)).max())
        off_theta, off = np.abs(unit @ theta - right).max(), unit @ scaled - np.eye(self.size)
        spread = max(1.0, float(np.abs(scaled).max()) * self.size)
        definite = inverse(self.covariance)[1] > 0
        return bool(
            definite
            and off_theta <= _CONTRADICTION * size
            and np.abs(off).max() <= _CONTRADICTION * spread
        )


def _length(values: FloatArray, prior: FloatArray) -> float:
    """Return how long an action is, in deviations of the prior; free columns do not count."""
    firm = prior > 0
    return float(np.max(np.abs(values[firm]) / np.sqrt(prior[firm]), initial=0.0))


def _subtract_square(matrix: FloatArray, vector: FloatArray) -> None:
    """Take v v' from the first rows and columns of a matrix whose length is a multiple of 64.

    By a few columns at a time: more at once BLAS would share out among threads, whose start costs
    more than the work.
    """
    room = len(matrix)
    padded = np.zeros(room)
    padded[: vector.size] = vector
    columns, some = matrix.T, max(1, _ALONE // max(1, room))
    for first in range(0, vector.size, some):
        part = slice(first, first + some)
        dger(-1.0, padded, padded[part], a=columns[:, part], overwrite_a=1)


class CoreBelief:
    """N(theta, sigma^2 C) of one lane; see `CoreRidge`."""

    def __init__(self, model: CoreRidge) -> None:
        self._model = model
        self._covariance = model.covariance
        self.theta = model.theta[None]
        self.variances: FloatArray = np.diagonal(self._covariance)[None]

    def gains(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return C x, (1, k, size), and x' C x, (1, k), from the rows of C that are used."""
        used = np.flatnonzero(columns[0].any(axis=0))
        sparse = columns[0][:, used]
        gains = sparse @ self._covariance[used]
        widths = np.einsum("kd,kd->k", gains[:, used], sparse)
        return gains[None], np.maximum(widths, 0.0)[None]

    def widths(self, columns: FloatArray) -> FloatArray:
        """Return x' C x alone, from the entries of C that are used."""
        used = np.flatnonzero(columns[0].any(axis=0))
        sparse = columns[0][:, used]
        widths = np.einsum("kd,kd->k", sparse @ self._covariance[used[:, None], used], sparse)
        return np.asarray(np.maximum(widths, 0.0)[None])

    def some(self, rows: IntArray) -> "CoreBelief":
        """Return the only lane."""
        return self

    def column(self, places: IntArray) -> FloatArray:
        """Return one column of C, (1, size)."""
        return self._covariance[places]

    def spreads(self, rng: np.random.Generator, places: IntArray) -> FloatArray:
        """Draw N(0, C), (1, DEVIATES, size); where there are many columns, anew on `places`."""
        model = self._model
        if model.size <= FRESH or not model.counts:  # a free column cannot be drawn jointly yet
            return self.fresh(rng)
        rows = self._covariance[places]
        block = rows[:, places]
        # LAPACK itself: around so small a matrix NumPy's checks take longer than the work.
        upper, failed = dpotrf(block)
        if failed:
            raise np.linalg.LinAlgError("C is not positive definite where the decision is made.")
        drawn = rng.standard_normal((DEVIATES, places.size)) @ upper
        moved, _ = dpotrs(upper, (drawn - model.deviates[:, places]).T)
        model.deviates[:] += moved.T @ rows
        return model.deviates[None]

    def fresh(self, rng: np.random.Generator) -> FloatArray:
        """Draw N(0, C) by its Cholesky factor, (1, DEVIATES, size)."""
        drawn = rng.standard_normal((1, DEVIATES, self._model.size))
        if not self._model.counts:  # a free column has no factor yet
            return np.asarray(drawn * np.sqrt(self.variances))
        return np.asarray(drawn @ np.linalg.cholesky(self._covariance).T)
