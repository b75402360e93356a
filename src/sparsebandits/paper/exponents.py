"""Verdicts on growth rates: sub-linear or not, flattening or not."""

from sparsebandits.paper.claim import Claim, Verdict
from sparsebandits.plotting.figure import Exponent, tail_exponent
from sparsebandits.simulation import Run

SUB_LINEAR = 0.95
"""An exponent whose whole interval lies below this is called sub-linear."""

LOG_SLACK = 0.1
"""What a logarithm adds to a fitted exponent over the last decade of these horizons."""


def rate_claim(
    *,
    id: str,  # noqa: A002
    label: str,
    statement: str,
    experiment: str,
    rate: float,
    literal: Run,
    changed: Run,
    change: str,
    slack: float = LOG_SLACK,
) -> Claim:
    """Judge "regret grows like t^rate up to logarithms" on a literal and a changed run.

    Holds if the literal run's interval lies below `rate` plus the slack for the logarithm; holds
    with the change if the changed run's does; fails if both lie above; else it is undecided. The
    literal run may be the changed one, where the paper's algorithm needs no change.
    """
    first = tail_exponent(literal)
    second = first if changed is literal else tail_exponent(changed)
    verdict = rate_verdict(first, second, rate + slack)
    chosen = first if verdict == "holds" else second
    return Claim(
        id=id,
        label=label,
        statement=statement,
        experiment=experiment,
        measured=(
            f"Exponent over the last decade: {describe(first)} for the literal run"
            + ("." if literal is changed else f", {describe(second)} with {change}.")
        ),
        value=chosen.value,
        low=chosen.low,
        high=chosen.high,
        verdict=verdict,
        change=change if verdict == "holds with the stated change" else "",
        details={"literal": vars(first), "changed": vars(second), "rate": rate},
    )


def rate_verdict(literal: Exponent, changed: Exponent, limit: float) -> Verdict:
    """Compare the intervals with the limit; one that spans it decides nothing."""
    if literal.high <= limit:
        return "holds"
    if changed is not literal and changed.high <= limit:
        return "holds with the stated change"
    return "fails" if min(literal.low, changed.low) > limit else "not testable"


def describe(exponent: Exponent) -> str:
    """Write an exponent with its interval."""
    return f"{exponent.value:.3f} [{exponent.low:.3f}, {exponent.high:.3f}]"
