"""How sure a learner is of its support, and whether that can change in time."""

from dataclasses import dataclass


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
        Plain words when the test cannot pass within the horizon that was asked about.
    """

    locked: bool
    support: tuple[int, ...] | None
    gap: float
    threshold: float
    cycle: int
    replications: int
    cycles_to_lock: float
    steps_to_lock: float
    sigma: float
    confidence: str
    confidence_scale: float
    warning: str | None = None
