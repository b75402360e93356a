"""Ridge least squares of many learners at once, in a form that cannot lose definiteness."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsebandits.estimation.least_squares import inverse_root
from sparsebandits.validation import BoolArray, FloatArray, IntArray

_SMALLEST_PIVOT = 1e-3
"""Of the factor of V + P scaled to a unit diagonal; below, the sums have lost too much."""

REFACTOR = 512
"""Rewards of one lane between two Cholesky factorisations."""

_CANCELLED = 1e8
"""A growth by this much leaves half of the digits of R: then, too, it is made anew."""

LAMBDAS = 0.02 * 2.2 ** np.arange(-9, 9)
"""The scales of the prior that are weighed against each other."""

VAGUE = np.where(np.arange(-9, 9) < 0, -7.0, 0.0)
"""Beforehand, priors weaker than 0.02 count e^-7: data with hardly any noise speak for them."""

FIRST_LAMBDA = float(LAMBDAS[13])
"""The scale while nothing is known: the middle of the likely ones."""

VOID = 1e-6
"""Fewer rewards than this are none: the variance of a free coordinate would be above a million."""

_ALL = ("prior", "gram", "response", "counts", "squares", "anchor", "theta_hat", "root")
"""Every array of a regression."""

_ROUNDING = 1e-9
"""Fewer degrees of freedom than this are the rounding of a sum of d terms."""


class RidgeLanes:
    r"""Lanes of (V + P) theta_hat = b with V = sum x x', b = sum x y and a diagonal prior P.

    A lane keeps R with R R' = (V + P)^-1. A reward changes R by Potter's square-root step,
    R <- R (I - a f f') with f = R' x and a = 1 / (s + sqrt(s)), s = 1 + f·f, which is a product
    and so stays a square root whatever is rounded; and every `REFACTOR` rewards R is made anew
    from a Cholesky factor of the sums, so that nothing drifts; and so it is after an action that
    is far longer than what was known of its direction. Where V + P is nearly singular the
    sums have lost digits that R still has, and R is kept. All steps are O(d^2) and act on each
    lane alone: the bits of a lane do not depend on the lanes beside it.

    A coordinate with prior 0 is free: nothing is believed of it beforehand. It is the intercept, 1
    in every action. The first reward of a lane is its anchor, from which all others are measured,
    so that a constant in every reward costs no digits; `theta_hat` is that of y - anchor.

    Parameters
    ----------
    lanes : int
    prior : (dim,) array
        The diagonal of P, at least 0; at most one entry is 0.

    Attributes
    ----------
    prior : (lanes, dim) array
        The diagonal of P in each lane.
    theta_hat : (lanes, dim) array
    root : (lanes, dim, dim) array
        R: theta_hat + sigma R z with z standard normal is a draw from the posterior.
    gram, response : (lanes, dim, dim) and (lanes, dim) arrays
        V and b.
    counts : (lanes,) array
        How many rewards, or the sum of their weights.
    squares : (lanes,) array
        The least value of sum (y - x·theta)^2 + theta' P theta, summed up from one-step errors, so
        it is never negative and never a difference of large numbers.
    anchor : (lanes,) array
        What is subtracted from every reward: the first one where a coordinate is free, or 0.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsebandits.estimation import RidgeLanes
    >>> data = RidgeLanes(2, np.array([0.5, 0.5]))
    >>> data.add(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([3.0, 5.0]))
    >>> data.theta_hat
    array([[2., 0.],
           [2., 2.]])
    """

    def __init__(self, lanes: int, prior: FloatArray) -> None:
        dim = prior.size
        self.prior = np.tile(np.asarray(prior, dtype=np.float64), (lanes, 1))
        self.has_free = bool((prior == 0).any())
        self.gram = np.zeros((lanes, dim, dim))
        self.response = np.zeros((lanes, dim))
        self.counts = np.zeros(lanes)
        self.squares = np.zeros(lanes)
        self.anchor = np.zeros(lanes)
        self.theta_hat = np.zeros((lanes, dim))
        self.root = np.zeros((lanes, dim, dim))
        # What is free stays out of every draw until the first reward says where it is.
        self.root[:] = np.diag(1 / np.sqrt(np.where(prior > 0, prior, np.inf)))

    def arrays(self) -> dict[str, Any]:
        """Return every array with one row per lane, by name: what a saved learner keeps."""
        names = ["gram", "response", "counts", "squares", "theta_hat", "root"]
        return {name: getattr(self, name) for name in names + ["anchor"] * self.has_free}

    # ------------------------------------------------------------------ data

    def add(
        self,
        actions: FloatArray,
        rewards: FloatArray,
        lanes: IntArray | None = None,
        weights: FloatArray | None = None,
        spread: FloatArray | None = None,
    ) -> None:
        """Take in one reward of each lane, or of the given distinct `lanes`.

        Parameters
        ----------
        actions : (n, dim)
        rewards : (n,)
        lanes : (n,), optional
        weights : (n,), optional
            How many rewards of this action each stands for: `rewards` are their means. 1 each
            unless given.
        spread : (n,), optional
            Their sums of squared differences from that mean.
        """
        where: Any = slice(None) if lanes is None else lanes
        before = self.counts[where].copy()
        first = before == 0
        if self.has_free:
            if np.count_nonzero(first):
                self.anchor[where] = np.where(first, rewards, self.anchor[where])
            rewards = rewards - self.anchor[where]
        root, theta = self.root[where], self.theta_hat[where]
        shadow = np.matmul(actions[:, None, :], root)[:, 0]  # f = R' x
        growth = np.einsum("nd,nd->n", shadow, shadow)
        gain = np.matmul(root, shadow[:, :, None])[:, :, 0]  # (V + P)^-1 x before this reward
        error = rewards - np.einsum("nd,nd->n", actions, theta)
        products = actions[:, :, None] * actions[:, None, :]  # symmetric to the bit
        totals = rewards
        if weights is None:
            growth += 1.0  # s
            share, after = 1 / growth, before + 1.0
        else:
            # n rewards of one action at once: C - n C x x' C / (1 + n x' C x).
            growth *= weights
            growth += 1.0
            share, after = weights / growth, before + weights
            products *= weights[:, None, None]
            totals = rewards * weights
        step = error * share
        theta += gain * step[:, None]
        shadow *= (share * growth / (growth + np.sqrt(growth)))[:, None]
        root -= gain[:, :, None] * shadow[:, None, :]
        if lanes is not None:
            self.root[where], self.theta_hat[where] = root, theta
        self.gram[where] += products
        self.response[where] += actions * totals[:, None]
        self.squares[where] += error * step if spread is None else error * step + spread
        self.counts[where] = after
        due = (after // REFACTOR != before // REFACTOR) | (growth > _CANCELLED)
        if self.has_free:
            due |= first
        places = due.nonzero()[0]
        if places.size:
            self.refactor(places if lanes is None else lanes[places])

    def add_many(self, actions: FloatArray, rewards: FloatArray, lane: int = 0) -> None:
        """Take in rewards, (n,), of actions, (n, dim), in one lane."""
        gram, response = self.gram[lane].copy(), self.response[lane].copy()
        theta, anchor, count = self.theta_hat[lane].copy(), self.anchor[lane], self.counts[lane]
        if self.has_free and count == 0 and len(rewards):
            self.anchor[lane] = rewards[0]
        above = rewards - self.anchor[lane]
        products = actions.T @ actions
        self.gram[lane] += (products + products.T) / 2
        self.response[lane] += actions.T @ above
        self.counts[lane] += len(rewards)
        if self.refactor(np.array([lane])).all():
            # What the new rewards are off, and what the old ones are off more than before.
            missed = above - actions @ self.theta_hat[lane]
            moved = self.theta_hat[lane] - theta
            more = moved @ gram @ moved + self.prior[lane] @ moved**2
            self.squares[lane] += missed @ missed + max(0.0, float(more))
            return
        self.gram[lane], self.response[lane] = gram, response
        self.counts[lane], self.anchor[lane] = count, anchor
        for action, reward in zip(actions, rewards, strict=True):
            self.add(action[None], np.array([reward]), np.array([lane]))

    def refactor(self, lanes: IntArray) -> BoolArray:
        """Make R and theta_hat anew from the sums where these are sound; say where they were."""
        precision = self.gram[lanes]
        places = np.arange(self.prior.shape[1])
        precision[:, places, places] += self.prior[lanes]
        root, pivots = inverse_root(precision)
        sound = np.asarray(pivots > _SMALLEST_PIVOT)
        lanes, root = lanes[sound], root[sound]
        self.root[lanes] = root
        projected = np.matmul(self.response[lanes][:, None, :], root)
        self.theta_hat[lanes] = np.matmul(root, np.swapaxes(projected, 1, 2))[:, :, 0]
        return sound

    def imagine(self, actions: FloatArray) -> None:
        """Know of one action of each lane that was played, and nothing of its reward."""
        shadow = np.matmul(actions[:, None, :], self.root)[:, 0]
        growth = 1.0 + np.einsum("nd,nd->n", shadow, shadow)
        gain = np.matmul(self.root, shadow[:, :, None])[:, :, 0]
        shadow /= (growth + np.sqrt(growth))[:, None]
        self.root -= gain[:, :, None] * shadow[:, None, :]

    def correct(self, action: FloatArray, old: float, new: float, weight: float = 1.0) -> None:
        """Replace a reward of an action, (dim,), in the only lane; it had this weight.

        b moves by w x (new - old), and the least sum of squares with it.
        """
        change, off = new - old, old - self.anchor[0] - float(action @ self.theta_hat[0])
        gain = self.root[0] @ (self.root[0].T @ action)
        self.response[0] += weight * change * action
        self.theta_hat[0] += weight * change * gain
        kept = 1.0 - weight * float(action @ gain)
        moved = weight * change * (2 * off + change * kept)
        self.squares[0] = max(0.0, float(self.squares[0]) + moved)

    def fade(self, lanes: IntArray, factor: FloatArray) -> None:
        """Let all that is known in these lanes count less, by a factor each; the prior stays.

        What counts for less than `VOID` rewards in all is forgotten: the prior alone is left.
        """
        kept = self.counts[lanes] * factor >= VOID
        self._forget(lanes[~kept])
        if kept.any():
            self._renew(lanes[kept], self.prior[lanes[kept]], factor[kept])

    def _forget(self, lanes: IntArray) -> None:
        """Leave nothing but the prior in these lanes."""
        for name in ("gram", "response", "counts", "squares", "anchor", "theta_hat", "root"):
            getattr(self, name)[lanes] = 0.0
        places, prior = np.arange(self.prior.shape[1]), self.prior[lanes]
        self.root[lanes[:, None], places, places] = 1 / np.sqrt(np.where(prior > 0, prior, np.inf))

    def likely_prior(
        self, lanes: IntArray, unit: FloatArray, free: int
    ) -> tuple[FloatArray, FloatArray]:
        r"""Return the scale of the prior of these lanes that the rewards speak for, and sigma.

        Behind the `free` first columns, which are integrated out, the prior is lambda times `unit`,
        (dim,), where lambda is the exponential of the mean of log lambda under its posterior on a
        grid: with q = the least penalised squares and n the rewards less `free`,

            log w = -(n / 2) log(q / n) - (log det(V + lambda P) - log det(lambda P)) / 2,

        of which one symmetric eigenproblem gives all. It is made weaker as rewards come in, down
        to 0.13 of that, so that nothing is ruled out for good. sigma^2 is the same mean of q / n; 0
        while nothing is known of it.
        """
        gram, response = self._without(lanes, free)
        lengths = np.sqrt(unit[free:])
        values, vectors = np.linalg.eigh(gram / lengths / lengths[:, None])
        values = np.maximum(values, 0.0)[:, None]  # (n, 1, dim)
        turned = np.matmul((response / lengths)[:, None], vectors) ** 2
        old = (self.prior[lanes, free] / unit[free])[:, None, None]
        grid, known = LAMBDAS[:, None], self.counts[lanes]
        squares, counts = self.squares[lanes, None], np.maximum(known - free, 1)[:, None]
        least = squares + (turned * (grid - old) / ((values + old) * (values + grid))).sum(axis=2)
        total = squares + (turned / (values + old)).sum(axis=2)
        # Relative to the size of the rewards, of which a power of two as unit then changes no bit.
        size = np.where(total > 0, total, 1.0)
        means = np.log(np.maximum(least / size, 1e-12) / counts)
        weights = VAGUE - 0.5 * (counts * means + np.log1p(values / grid).sum(axis=2))
        weights = np.exp(weights - weights.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        scale = np.exp((weights * np.log(LAMBDAS)).sum(axis=1))
        sigma = np.exp((weights * means).sum(axis=1) / 2) * np.sqrt(size[:, 0])
        silent = (known <= free) | (total[:, 0] == 0)
        scale[silent], sigma[silent] = FIRST_LAMBDA, 0.0
        scale *= np.clip(20 / np.maximum(known, 1), 0.13, 1.0)
        return scale, sigma

    def set_prior(
        self, lanes: IntArray, scale: FloatArray, unit: FloatArray, free: int
    ) -> BoolArray:
        """Go on with other priors in these lanes: multiples of `unit` beyond the first columns.

        Say where: one that is so weak that it is lost in the rounding of the sums is not taken.
        """
        prior = self.prior[lanes]
        prior[:, free:] = scale[:, None] * unit[free:]
        return self._renew(lanes, prior, np.ones(len(scale)))

    def _without(self, lanes: IntArray, free: int) -> tuple[FloatArray, FloatArray]:
        """Return V and b with the first columns integrated out, of which little was believed."""
        gram, response = self.gram[lanes], self.response[lanes]
        if not free:
            return gram, response
        block = gram[:, :free, :free].copy()
        places = np.arange(free)
        block[:, places, places] += self.prior[lanes, :free]
        block[block[:, 0, 0] == 0, 0, 0] = 1.0  # no reward yet
        rows = gram[:, :free, free:]
        flipped = np.swapaxes(np.linalg.solve(block, rows), 1, 2)
        inner = gram[:, free:, free:] - np.matmul(flipped, rows)
        return inner, response[:, free:] - np.matmul(flipped, response[:, :free, None])[:, :, 0]

    def _renew(self, lanes: IntArray, prior: FloatArray, factor: FloatArray) -> BoolArray:
        """Go on with another prior and data that count less, and the squares that belong to them.

        Where the sums have lost too much for R to be made of them, which is said, the prior stays
        what it was, and R is faded by itself. With Q the sum of squared errors,
        Q(theta + m) = Q(theta) + m' V m - 2 m' P theta at the theta that was best with the old
        prior.
        """
        before, old, gram = self.theta_hat[lanes], self.prior[lanes], self.gram[lanes]
        errors = self.squares[lanes] - np.einsum("nd,nd,nd->n", before, old, before)
        self.prior[lanes] = prior
        self.gram[lanes] = gram * factor[:, None, None]
        self.response[lanes] *= factor[:, None]
        self.counts[lanes] *= factor
        sound = self.refactor(lanes)
        self.prior[lanes[~sound]] = old[~sound]
        for lane, kept in zip(lanes[~sound], factor[~sound], strict=True):
            self._fade_root(lane, kept)
        prior, after = self.prior[lanes], self.theta_hat[lanes]
        moved = after - before
        errors += np.einsum("ni,nij,nj->n", moved, gram, moved)
        errors -= 2 * np.einsum("nd,nd,nd->n", moved, old, before)
        least = factor * errors + np.einsum("nd,nd,nd->n", after, prior, after)
        self.squares[lanes] = np.maximum(least, 0.0)
        return sound

    def _fade_root(self, lane: int, factor: float) -> None:
        """Let R and theta_hat of a lane be those of factor V + P.

        It is factor (V + P) + (1 - factor) P: each coordinate is told that it is 0, (1 - factor)
        P_i times, by Potter's step.
        """
        root, theta = self.root[lane], self.theta_hat[lane]
        root /= np.sqrt(factor)
        for place, told in enumerate((1.0 - factor) * self.prior[lane]):
            shadow = root[place].copy()
            growth = 1.0 + told * float(shadow @ shadow)
            gain = root @ shadow
            theta -= gain * (told * theta[place] / growth)
            root -= np.outer(gain, shadow * (told / (growth + np.sqrt(growth))))

    @classmethod
    def joined(cls, models: "Sequence[RidgeLanes]") -> "RidgeLanes":
        """Return one regression with the lanes of several that have the same columns."""
        twin = object.__new__(cls)
        twin.has_free = models[0].has_free
        for name in _ALL:
            setattr(twin, name, np.concatenate([getattr(model, name) for model in models]))
        return twin

    def give_back(self, models: "Sequence[RidgeLanes]") -> None:
        """Let each of the regressions with one lane that were joined be as its lane is now."""
        for name in _ALL:
            array = getattr(self, name)
            for lane, model in enumerate(models):
                getattr(model, name)[0] = array[lane]

    def copy(self, lanes: Any = slice(None)) -> "RidgeLanes":
        """Return some lanes, to be told what these are not."""
        twin = object.__new__(RidgeLanes)
        twin.has_free = self.has_free
        for name, array in {**self.arrays(), "prior": self.prior, "anchor": self.anchor}.items():
            setattr(twin, name, array[lanes].copy())
        return twin

    # ------------------------------------------------------------------ what is known

    def belief(self, lanes: Any = slice(None)) -> "RootBelief":
        """Return what these lanes believe, for one decision."""
        return RootBelief(self.theta_hat[lanes], self.root[lanes])

    def widths(self, actions: FloatArray, lanes: Any = slice(None)) -> FloatArray:
        """Return x' (V + P)^-1 x for one action of each lane: the variance of theta_hat·x."""
        shadow = np.matmul(actions[:, None, :], self.root[lanes])[:, 0]
        return np.asarray(np.einsum("nd,nd->n", shadow, shadow))

    def variances(self, lanes: Any = slice(None)) -> FloatArray:
        """Return the variance of every coordinate for unit noise, (lanes, dim)."""
        root = self.root[lanes]
        return np.asarray(np.einsum("nij,nij->ni", root, root))

    def deviations(self, lanes: Any = slice(None)) -> FloatArray:
        """Return the standard deviation of every coordinate for unit noise, (lanes, dim)."""
        return np.asarray(np.sqrt(self.variances(lanes)))

    def draw(self, normals: FloatArray, scale: FloatArray, lanes: Any = slice(None)) -> FloatArray:
        """Return theta_hat + scale R z, one draw of each lane."""
        noise = np.matmul(self.root[lanes], normals[:, :, None])[:, :, 0]
        return np.asarray(self.theta_hat[lanes] + scale[:, None] * noise)

    def noise_scale(
        self, lanes: Any = slice(None), variances: FloatArray | None = None
    ) -> FloatArray:
        r"""Estimate sigma in each lane: sqrt(squares / freedom); 0 while no reward but 0 is known.

        freedom = n - d + trace(P (V + P)^-1) is the number of rewards less the effective number of
        parameters. While there are fewer rewards than coordinates it counts what the prior has
        left over: the first estimate is the size of the rewards themselves, which is cautious.
        Where actions far longer than the prior expects leave less over than rounding does, that
        size is taken: the root of the mean y^2, with sum y^2 = squares + b·theta_hat. `variances`
        are those of `lanes`, if they are known already.
        """
        kept = self.variances(lanes) if variances is None else variances
        squares, counts = self.squares[lanes], self.counts[lanes]
        freedom = counts - self.prior.shape[1] + np.einsum("nd,nd->n", kept, self.prior[lanes])
        lost = freedom < _ROUNDING
        if np.count_nonzero(lost):
            total = squares + (self.response[lanes] * self.theta_hat[lanes]).sum(axis=1)
            squares = np.where(lost, total, squares)
            freedom = np.where(lost, np.maximum(counts, 1), freedom)
        return np.asarray(np.sqrt(squares / freedom))


class RootBelief:
    """N(theta, sigma^2 C) of some lanes, by R with R R' = C; see `RidgeLanes`."""

    def __init__(self, theta: FloatArray, root: FloatArray) -> None:
        self.theta, self._root = theta, root
        self._flipped = root.swapaxes(1, 2)
        self._variances: FloatArray | None = None

    @property
    def variances(self) -> FloatArray:
        """The diagonal of C, (lanes, dim)."""
        if self._variances is None:
            self._variances = np.einsum("nij,nij->ni", self._root, self._root)
        return self._variances

    def spreads(self, normals: FloatArray) -> FloatArray:
        """Return R z for normals z, (lanes, k, dim): draws of N(0, C)."""
        return np.asarray(np.matmul(normals, self._flipped))

    def gains(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return C x, (lanes, k, dim), and x' C x, (lanes, k), for x in (lanes, k, dim)."""
        shadows = np.matmul(columns, self._root)
        widths = np.einsum("nkd,nkd->nk", shadows, shadows)
        return np.matmul(shadows, self._flipped), widths

    def widths(self, columns: FloatArray) -> FloatArray:
        """Return x' C x alone."""
        shadows = np.matmul(columns, self._root)
        return np.asarray(np.einsum("nkd,nkd->nk", shadows, shadows))

    def some(self, rows: IntArray) -> "RootBelief":
        """Return the belief of some of the lanes."""
        return RootBelief(self.theta[rows], self._root[rows])

    def column(self, places: IntArray) -> FloatArray:
        """Return one column of C in each lane, (lanes, dim)."""
        rows = self._root[np.arange(len(places)), places]
        return np.asarray(np.matmul(self._root, rows[:, :, None])[:, :, 0])
