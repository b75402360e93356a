"""OFUL (Abbasi-Yadkori et al. 2011), also LinUCB: the action that could be best is played."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from sparsebandits.action_sets import ActionSet, Points
from sparsebandits.errors import CompositionError, InvalidValueError
from sparsebandits.policies.design import Design
from sparsebandits.policies.joining_rule import JoiningRule
from sparsebandits.policies.parameters import (
    checked,
    failure_probability,
    positive,
    sigma_or_estimate,
)
from sparsebandits.policies.policy import InterceptPolicy
from sparsebandits.policies.rule import PerSet
from sparsebandits.policies.tape import Tape, normals
from sparsebandits.validation import FloatArray, IntArray, as_choice, as_integer, as_number

MAXIMISERS = ("alternating", "dani", "enumerate")

PROVEN = "proven"

LISTED_POINTS = 50_000
"""The largest list of extreme points that `maximiser="enumerate"` looks through."""

ANGLES = 720
"""Points on the boundary of a round set in each plane of two coordinates."""


def _as_radius(name: str, radius: Any) -> float | str:
    if isinstance(radius, str) and radius != PROVEN:
        raise InvalidValueError(f"{name} must be a number or {PROVEN!r}, got {radius!r}.")
    return radius if isinstance(radius, str) else as_number(name, radius, positive=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class OFUL(InterceptPolicy):
    r"""Optimism: play the x that maximises theta_hat·x + beta ||x||_{(V + ridge I)^-1}.

    That index is the largest theta·x over the confidence ellipsoid
    (theta - theta_hat)' (V + ridge I) (theta - theta_hat) <= beta^2. Maximising it is hard, since
    it is convex in x, and there are three ways here:

    - "alternating": from an x take the theta of the ellipsoid that is best for it, from that theta
      the best x, and so on; from several starts. Never worse than the starts, not always the
      largest.
    - "dani": ConfidenceBall_1 of Dani, Hayes & Kakade (2008). The ellipsoid is replaced by the
      cross-polytope around it, whose 2d corners theta_hat ± beta sqrt(d) R e_j, with
      R R' = (V + ridge I)^-1, take one oracle call each. The bonus is up to sqrt(d) times larger.
    - "enumerate": a convex function is largest at an extreme point, so all of those are tried on
      every support. For small boxes, the cube, the cross-polytope and finite sets; on other lp
      balls and ellipsoids, with H <= 2 only, 720 points of every circle stand in for them, which
      serves as a reference in tests.

    Parameters
    ----------
    action_set, sparsity
        As in `Policy`.
    oracle : str
        How the best H-sparse action for a theta is found; unused by "enumerate".
    sigma : float or "estimate"
        The sub-Gaussian scale of the noise. The radius is proven for a given one only.
    delta : float
        Probability with which theta* may ever leave the ellipsoid, in (0, 1).
    ridge : float
    theta_bound : float, optional
        S, a bound on the l2 norm of theta*; sqrt(dim) if left out, which covers [-1, 1]^dim.
    radius : "proven" or float
        "proven" is beta = sigma sqrt(2 ln(1/delta) + ln det(I + V / ridge)) + sqrt(ridge) S
        (their Theorem 2); a number c is beta = c sigma sqrt(ln(1 + t)), as LinUCB is tuned, with
        t = 1 + the number of rewards told.
    maximiser : {"alternating", "dani", "enumerate"}
    starts : int
        Of "alternating", at least 2: theta_hat itself, whose best action is 0 at first and would
        stay 0, and starts - 1 random points on the ellipsoid.
    sweeps : int
        Of "alternating": how often theta and x take turns, at most.
    intercept : bool
        Whether rewards have an unknown baseline: reward = b + theta·x. Nothing is believed of b
        beforehand, so the ellipsoid is of (b, theta) and there is none before the first reward.

    Notes
    -----
    The proven radius with a baseline. With f = (1, x), P = diag(0, ridge I) and L = f_1 f_1' + P,
    which the first action fixes before its reward, det L = ridge^d. Theorem 1 of the paper for the
    rewards from the second on bounds ||sum_{s > 1} f_s eta_s|| in the norm of (V + P)^-1 by
    sigma sqrt(2 ln(2/delta) + ln det(V + P) / det L) with probability 1 - delta/2; the first noise
    adds at most abs(eta_1) ||f_1||_{L^-1} = abs(eta_1) <= sigma sqrt(2 ln(4/delta)), with as much.
    So

        beta = sigma (sqrt(2 ln(2/delta) + ln det(V + P) - d ln ridge) + sqrt(2 ln(4/delta)))
               + sqrt(ridge) S.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> learner = sb.OFUL(action_set=sb.LpBall(3), sparsity=1, sigma=0.1).start(seed=0)
    >>> learner.tell(learner.ask(), 0.7)
    >>> sorted(learner.theta_hat.round(2).tolist())
    [0.0, 0.0, 0.35]
    """

    kind: ClassVar[str] = "oful"
    takes_rules: ClassVar[bool] = False

    sigma: float | str = checked(sigma_or_estimate, "estimate")
    delta: float = checked(failure_probability, 0.05)
    ridge: float = checked(positive, 1.0)
    theta_bound: float | None = checked(positive, None)
    radius: float | str = checked(_as_radius, PROVEN)
    maximiser: str = checked(partial(as_choice, known=MAXIMISERS), "alternating")
    starts: int = checked(partial(as_integer, minimum=2), 16)
    sweeps: int = checked(partial(as_integer, minimum=0), 10)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sigma == 0 and self.radius != PROVEN:
            raise InvalidValueError(
                f"radius={self.radius} is a multiple of sigma, and sigma=0 leaves no bonus at "
                "all: nothing would ever be explored. Use radius='proven'."
            )

    def check_set(self, current: ActionSet) -> None:
        """Refuse what `Policy` refuses, and sets whose extreme points cannot be listed."""
        super().check_set(current)
        if self.maximiser == "enumerate":
            extreme_points(current, self.sparsity)

    @property
    def norm_of_theta(self) -> float:
        """S."""
        return math.sqrt(self.action_set.dim) if self.theta_bound is None else self.theta_bound

    def rule(self, generators: Sequence[np.random.Generator], block: int = 1) -> "OFULRule":
        """Return the decision rule with one lane per generator."""
        return OFULRule(self, generators, block)


class OFULRule(JoiningRule):
    """The ellipsoid of every lane, and its most promising action.

    Attributes
    ----------
    log_det : (lanes,) array
        ln det(I + V / ridge); with a baseline ln det(V + P) - d ln ridge, 0 at the first reward.
    """

    saved: ClassVar[tuple[str, ...]] = ("log_det",)
    least: ClassVar[Mapping[str, float]] = {"squares": 0.0, "log_det": 0.0}

    def __init__(self, policy: OFUL, generators: Sequence[np.random.Generator], block: int) -> None:
        dim = policy.action_set.dim
        design = Design(dim, policy.intercept)
        super().__init__(policy, len(generators), np.full(dim, policy.ridge), policy.sigma, design)
        self._settings = policy
        self.log_det = np.zeros(self.lanes)
        # One random direction for each start but the first.
        width = (policy.starts - 1) * design.size if policy.maximiser == "alternating" else 0
        self._tape = Tape(generators, width, block, normals) if width else None
        self._points = PerSet(partial(extreme_points, sparsity=policy.sparsity))

    # ------------------------------------------------------------------ the ellipsoid

    def _learn(self, actions: FloatArray, rewards: FloatArray, pulls: IntArray, lanes: Any) -> None:
        # det(A + x x') = det(A) (1 + x' A^-1 x): a sum of terms >= 0, which cannot cancel.
        # The first reward of a lane with a baseline makes the determinant ridge^d, whatever x is.
        widths = self.posterior.widths(self.design.columns(actions), lanes)
        is_start = self.design.intercept & (self.posterior.counts[lanes] == 0)
        self.log_det[lanes] += np.log1p(np.where(is_start, 0.0, widths))
        super()._learn(actions, rewards, pulls, lanes)

    def learn_many(self, actions: FloatArray, rewards: FloatArray) -> None:
        """Take in logged rewards of the only lane at once."""
        super().learn_many(actions, rewards)
        self.log_det[0] = self._log_det()

    def _log_det(self) -> float:
        """Return ln det(V + P) - d ln ridge of the only lane, from R."""
        if not self.posterior.counts[0]:
            return 0.0
        log_root = float(np.linalg.slogdet(self.posterior.root[0])[1])  # ln |det R|
        return max(0.0, -2 * log_root - self.dim * math.log(self._settings.ridge))

    def restore(self, state: dict[str, Any], asked: int) -> None:
        """Take back what `state` returned; refuse a determinant that contradicts its sums."""
        super().restore(state, asked)
        expected = self._log_det()
        if abs(self.log_det[0] - expected) > 1e-6 * (1 + expected):
            raise InvalidValueError(
                f"state.log_det must be ln det(I + V / ridge) = {expected}, got {self.log_det[0]}. "
                "Load an earlier copy."
            )

    def radii(self) -> FloatArray:
        """Return beta of each lane, (lanes,)."""
        settings, sigma = self._settings, self.noise_scale()
        if isinstance(settings.radius, str):
            shares = 2 if settings.intercept else 1
            spread = np.sqrt(2 * math.log(shares / settings.delta) + self.log_det)
            if settings.intercept:
                spread = spread + math.sqrt(2 * math.log(4 / settings.delta))
            bias = math.sqrt(settings.ridge) * settings.norm_of_theta
            return np.asarray(sigma * spread + bias)
        return np.asarray(settings.radius * sigma * np.sqrt(np.log(2.0 + self.posterior.counts)))

    def index(self, actions: FloatArray, radii: FloatArray) -> FloatArray:
        """Return theta_hat·x + beta ||x||_{(V + ridge I)^-1}, for (lanes, n, dim) actions."""
        columns = self.design.columns(actions)
        shadow = np.matmul(columns, self.posterior.root)  # rows R' x
        means = (columns * self.posterior.theta_hat[:, None, :]).sum(axis=-1)
        return np.asarray(means + radii[:, None] * np.sqrt((shadow * shadow).sum(axis=-1)))

    # ------------------------------------------------------------------ its best action

    def choose(self, current: ActionSet) -> FloatArray:
        """Return the action whose index is the largest that the maximiser finds."""
        radii = self.radii()
        match self._settings.maximiser:
            case "alternating":
                return self._alternate(current, radii)
            case "dani":
                return self._corners(current, radii)
            case _:
                return self._scan(current, radii)

    def _alternate(self, current: ActionSet, radii: FloatArray) -> FloatArray:
        # The index of x is the largest theta·x over the ellipsoid, attained at theta(x) =
        # theta_hat + beta (V + ridge)^-1 x / ||x||. With x' the best action for theta(x):
        # index(x') >= theta(x)·x' >= theta(x)·x = index(x), so it never falls. An oracle that is
        # not exact may break the second step; such an x' is not taken.
        starts, lanes = self._settings.starts, self.everyone
        root = self.posterior.root
        flipped = np.swapaxes(root, 1, 2)
        thetas = np.repeat(self.posterior.theta_hat[:, None, :], starts, axis=1)
        centres = thetas.copy()
        if self._tape is not None:
            drawn = self._tape.next(lanes).reshape(self.lanes, starts - 1, self.design.size)
            unit = drawn / np.sqrt((drawn * drawn).sum(axis=-1, keepdims=True))
            thetas[:, 1:] += radii[:, None, None] * np.matmul(unit, flipped)  # on the boundary
        actions = self._best(thetas, current)
        index = self.index(actions, radii)
        rising = np.ones(index.shape, dtype=np.bool_)
        for _ in range(self._settings.sweeps):
            shadow = np.matmul(self.design.columns(actions), root)
            norms = np.sqrt((shadow * shadow).sum(axis=-1))
            norms[norms == 0] = 1.0  # x = 0 leaves theta_hat
            thetas = centres + (radii[:, None] / norms)[:, :, None] * np.matmul(shadow, flipped)
            proposed = actions.copy()
            # A start that did not rise would be sent the same theta again.
            proposed[rising] = self._best(thetas[rising], current)
            reached = self.index(proposed, radii)
            rising &= reached > index
            if not rising.any():
                break
            actions[rising], index[rising] = proposed[rising], reached[rising]
        return np.asarray(actions[lanes, index.argmax(axis=1)])

    def _corners(self, current: ActionSet, radii: FloatArray) -> FloatArray:
        # ||z||_1 <= sqrt(d) ||z||_2, where d counts the baseline: with theta = theta_hat + R z the
        # cross-polytope ||z||_1 <= sqrt(d) beta contains the ellipsoid ||z||_2 <= beta, and a
        # linear function is largest at a corner.
        columns = np.swapaxes(self.posterior.root, 1, 2)
        away = (math.sqrt(self.design.size) * radii)[:, None, None] * columns
        centres = self.posterior.theta_hat[:, None, :]
        thetas = np.concatenate([centres + away, centres - away], axis=1)
        actions = self._best(thetas, current)
        values = (thetas * self.design.columns(actions)).sum(axis=-1)
        return np.asarray(actions[self.everyone, values.argmax(axis=1)])

    def _scan(self, current: ActionSet, radii: FloatArray) -> FloatArray:
        points = self._points(current)
        columns = self.design.columns(points)
        chosen = np.empty((self.lanes, self.dim))
        for lane in self.everyone:
            shadow = columns @ self.posterior.root[lane]
            means = (columns * self.posterior.theta_hat[lane]).sum(axis=-1)
            index = means + radii[lane] * np.sqrt((shadow * shadow).sum(axis=-1))
            chosen[lane] = points[index.argmax()]
        return chosen

    def _best(self, thetas: FloatArray, current: ActionSet) -> FloatArray:
        """Return the oracle's action for every parameter of (..., size), (..., dim)."""
        rows = self.design.thetas(thetas.reshape(-1, self.design.size))
        actions = self.policy.best_actions(rows, current)
        return actions.reshape(*thetas.shape[:-1], self.dim)


# ---------------------------------------------------------------------- extreme points


def extreme_points(action_set: ActionSet, sparsity: int) -> FloatArray:
    """List H-sparse actions among which every convex function has its largest value, (n, dim).

    They are the extreme points of X on each support. On a round set (an ellipsoid, an lp ball with
    1 < p < inf) all boundary points are extreme; for H <= 2 a fine grid stands in for them.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> extreme_points(sb.Box([0, 0, -1], [1, 2, 0]), sparsity=1)
    array([[ 0.,  0., -1.],
           [ 0.,  0.,  0.],
           [ 0.,  2.,  0.],
           [ 1.,  0.,  0.]])
    """
    if isinstance(action_set.form, Points):
        return action_set.form.sparse(sparsity)
    usable = np.flatnonzero(action_set.available)
    size = min(sparsity, usable.size)
    exponent = math.nan if action_set.sorting is None else action_set.sorting.exponent
    if math.isinf(exponent):
        size = 1  # ± radius e_i, whatever the support
    is_cornered = size == 1 or exponent == 1
    angles = np.arange(ANGLES) * (2 * math.pi / ANGLES)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    is_round = size == 2 and action_set.from_sphere(circle, usable[:2]) is not None
    count = math.comb(usable.size, size) * (2**size if is_cornered else ANGLES)
    if count > LISTED_POINTS or not (is_cornered or is_round):
        raise CompositionError(
            f"The extreme points of {action_set!r} with at most {size} non-zeros cannot be listed: "
            f"that takes a box, a cube, a cross-polytope or a finite set, or H <= 2 on a ball or "
            f"an ellipsoid, with at most {LISTED_POINTS} points in all. Use "
            "maximiser='alternating' or 'dani'."
        )
    supports = np.array(list(itertools.combinations(usable.tolist(), size)), dtype=np.intp)
    if is_cornered:
        sides = np.array(action_set.axis_reach())  # (2, dim)
        signs = np.array(list(itertools.product((0, 1), repeat=size)), dtype=np.intp)
        entries = sides[signs[None], supports[:, None, :]]
    else:
        entries = np.array([action_set.from_sphere(circle, pair) for pair in supports])
    points = np.zeros((*entries.shape[:2], action_set.dim))
    np.put_along_axis(points, np.broadcast_to(supports[:, None, :], entries.shape), entries, axis=2)
    return np.asarray(np.unique(points.reshape(-1, action_set.dim), axis=0))
