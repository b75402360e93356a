"""How sure a learner is of its support, and whether that can change in time."""

import math
from dataclasses import dataclass, field

from sparsebandits.validation import FloatArray, brief_repr


@dataclass(frozen=True)
class Certificate:
    """The state of the gap test.

    Attributes
    ----------
    locked : bool
        Whether the support is fixed.
    support : tuple of int or None
        The locked support.
    gap : float
        The gap of the last estimate; nan before the first.
    threshold : float
        What the gap must exceed at the current cycle; nan where nothing is verified.
    cycle : int
        c, the cycle under way.
    replications : int
        Rewards seen from every exploration action.
    cycles_to_lock : float
        Cycles still needed if the gap stays as it is: 0 when locked, infinite when the gap is 0,
        nan when unknown.
    steps_to_lock : float
        The same in steps.
    sigma : float
        The noise level used in the threshold.
    confidence : str
        The bound, with its scale in `confidence_scale`.
    confidence_scale : float
    warning : str or None
        Plain words when the test cannot pass within the horizon that was asked about, and where
        what is said expires because rewards fade.
    names : tuple of str or None
        Those of the coordinates, where the set has them: supports are then shown by name.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> policy = sb.APSEE(action_set=sb.LpBall(3), sparsity=1, sigma=0.1)
    >>> learner = policy.start(seed=0)
    >>> for _ in range(600):
    ...     decision = learner.ask()
    ...     learner.tell(decision, decision.action @ [0.9, 0.2, -0.1])
    >>> certificate = learner.certificate()
    >>> certificate.locked, certificate.support
    (True, (0,))
    """

    locked: bool
    support: tuple[int, ...] | None
    gap: float = math.nan
    threshold: float = math.nan
    cycle: int = 1
    replications: int = 0
    cycles_to_lock: float = math.nan
    steps_to_lock: float = math.nan
    sigma: float = math.nan
    confidence: str = "none"
    confidence_scale: float = 1.0
    warning: str | None = None
    names: tuple[str, ...] | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return brief_repr(self, support=self._shown(self.support))

    def _shown(self, support: tuple[int, ...] | None) -> tuple[int | str, ...] | None:
        if support is None or self.names is None:
            return support
        return tuple(self.names[i] for i in support)


@dataclass(frozen=True)
class PosteriorCertificate(Certificate):
    """What a learner without a gap test can say: the posterior behind its next decision.

    Nothing is verified: `locked` only says whether the policy has committed, `gap` is that of the
    estimate (nan where the oracle measures none), no threshold is there, `cycle` counts rewards.
    `sigma` is the noise level that the decisions reckon with. It is never 0: while no reward but 0
    is known it is 1, and where a policy reckons with 0 it is nan, as are the deviations.

    Attributes
    ----------
    theta_hat : (dim,) array or None
        The estimate; None before the first.
    deviation : (dim,) array or None
        Its standard deviation per coordinate.
    best_support : tuple of int or None
        The support of the best action for the estimate.
    probability : float
        The share of draws from the posterior for which that support is the best; nan where there
        is no posterior, or fewer rewards than coordinates. It is a statement about the model
        (Gaussian noise, a flat prior of the rule's ridge), not a bound that holds for every theta*.
    draws : int
        How many were drawn.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> mix = sb.Box([0, 0, 0], [1, 1, 1], names=["tv", "radio", "print"])
    >>> learner = sb.SparseThompson(action_set=mix, sparsity=1).start(seed=0)
    >>> learner.warm_start([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [2.0, 2.1, 3.0, 1.9])
    >>> known = learner.certificate()
    >>> known.best_support
    (1,)
    >>> "best_support=('radio',)" in repr(known)
    True
    """

    theta_hat: FloatArray | None = None
    deviation: FloatArray | None = None
    best_support: tuple[int, ...] | None = None
    probability: float = math.nan
    draws: int = 0

    def __repr__(self) -> str:
        chosen, best = self._shown(self.support), self._shown(self.best_support)
        return brief_repr(self, support=chosen, best_support=best)
