"""A claim from the figure that was measured and the judgement on it."""

from typing import Any

from sparsebandits.comparison.intervals import Interval
from sparsebandits.paper.claim import Claim
from sparsebandits.paper.exponents import Exponent
from sparsebandits.paper.verdicts import Judgement


def judged_claim(figure: Exponent | Interval, judged: Judgement, **texts: Any) -> Claim:
    """Make the claim whose figure is an exponent or a mean, with its interval.

    Parameters
    ----------
    figure : Exponent or Interval
    judged : Judgement
    texts
        All else that a claim says.

    Examples
    --------
    >>> from sparsebandits.paper.verdicts import within
    >>> ratio = Interval(0.2, 0.1, 0.3)
    >>> claim = judged_claim(
    ...     ratio,
    ...     within(ratio.low, ratio.high, (0.0, 0.5), "a ratio"),
    ...     id="x", label="ours", statement="Less.", measured="0.2",
    ... )
    >>> claim.verdict, claim.value, claim.otherwise
    ('holds', 0.2, 'a ratio that reaches above 0.5 or below 0')
    """
    value = figure.mean if isinstance(figure, Interval) else figure.value
    return Claim(
        value=value,
        low=figure.low,
        high=figure.high,
        verdict=judged.verdict,
        otherwise=judged.otherwise,
        **texts,
    )
