"""A plan in plain sentences: whether the gap test can pass in time, and what to use if not."""

import math

from sparsebandits.theory.record import LockPlan, Plan

_WORTHWHILE = 0.5
"""A bound is recommended if the support is locked with it for at least this share of theta*."""


def readable(number: float) -> str:
    """Write a number with three digits for a person: 0.0291, 11,300, 430 million."""
    if math.isinf(number):
        return "infinite"
    if abs(number) < 1000:
        return f"{number:.3g}"
    for unit, name in ((1e9, " billion"), (1e6, " million")):
        if 1e12 > abs(number) >= unit:
            return f"{number / unit:.3g}{name}"
    if abs(number) >= 1e12:
        return f"{number:.1e}"
    return f"{float(f'{number:.3g}'):,.0f}"


def share(number: float) -> str:
    """Write a share as a percentage that is 0% or 100% only if it is."""
    if 0 < number < 0.001:
        return "<0.1%"
    return f"{100 * number:.3g}%"


def advise(plan: Plan) -> tuple[str, ...]:
    """Return the sentences, the most important first."""
    if plan.cycles == 0:
        return (
            f"T = {plan.horizon} steps are fewer than the d = {plan.dim} of one exploration: "
            "nothing can be estimated.",
        )
    if plan.gap_median == math.inf:
        return (
            f"Every coordinate fits into H = {plan.sparsity}: there is no support to find, and "
            "the test passes after the first cycle.",
        )
    sentences = [_about_the_literal_test(plan)]
    if plan.literal.lock_share < _WORTHWHILE:
        sentences.append(_about_sharper_bounds(plan))
    if plan.sharpest.lock_share < _WORTHWHILE:
        sentences.extend(_without_a_lock(plan))
    if math.isinf(plan.response_lipschitz):
        sentences.append(
            "The set is not strongly convex: exploiting c steps in cycle c has a regret of order "
            "T^(3/4) at most there, by the proof of Theorem 3 (at T = "
            f"{plan.horizon:,} at most {readable(plan.linear_bound)}); CompactAPSEEG, with "
            f"floor(sqrt(c)) steps, T^(2/3) (at most {readable(plan.compact_bound)})."
        )
    if plan.alpha is None:
        sentences.append(
            "No lower bound on gamma is known for this set, so greedy comes without a guarantee; "
            "oracle='exact' has alpha = 1."
        )
    elif plan.alpha < 1:
        sentences.append(
            f"Greedy is sure of {share(plan.alpha)} of the optimum only; oracle='exact' has "
            "alpha = 1."
        )
    return tuple(sentences)


def _gap(plan: Plan) -> str:
    size = readable(plan.gap_median)
    return f"a gap of {size}" if plan.gap_is_given else f"a median gap of {size}"


def _about_the_literal_test(plan: Plan) -> str:
    lock = plan.literal
    needed = readable(lock.threshold)
    if lock.lock_share >= _WORTHWHILE:
        return (
            f"The literal test (confidence='paper') can pass: with {_gap(plan)} after about "
            f"{_steps(lock.lock_step)}, and by {_steps(lock.sure_step)} with probability "
            f"{share(1 - plan.delta)}{_for_share(plan, lock)}."
        )
    if lock.lock_share > 0:
        return (
            f"The literal test (confidence='paper') asks for a gap above {needed} at T = "
            f"{plan.horizon:,}; only {share(lock.lock_share)} of the draws of theta* have one."
        )
    return (
        f"The literal test (confidence='paper') cannot pass: at T = {plan.horizon:,} it asks for "
        f"a gap above {needed}, against {_gap(plan)}. It would take {_until(lock)}; so all "
        f"T steps explore, at a regret of about {readable(plan.exploring_regret)}."
    )


def _about_sharper_bounds(plan: Plan) -> str:
    best = plan.sharpest
    how = f"confidence='{best.confidence}', the sharpest valid bound here,"
    if best.lock_share >= _WORTHWHILE:
        return (
            f"Use {how} which locks with {_gap(plan)} after about {_steps(best.lock_step)}"
            f"{_for_share(plan, best)}."
        )
    return (
        f"No valid bound is sharp enough: with {how} the test asks for a gap above "
        f"{readable(best.threshold)} and takes {_until(best)}{_for_share(plan, best)}."
    )


def _for_share(plan: Plan, lock: LockPlan) -> str:
    return "" if plan.gap_is_given else f"; {share(lock.lock_share)} of theta* lock within T"


def _without_a_lock(plan: Plan) -> list[str]:
    sentences = [
        "Use SparseThompson: it needs no gap, learns while it earns, and had the least regret of "
        "all that was measured. For the paper's T^(2/3) rate use CompactAPSEEG, which exploits "
        "floor(sqrt(c)) steps in every cycle c from the first."
    ]
    if plan.gap_median > 0:
        best = plan.sharpest
        ratio = plan.gap_median / best.threshold
        literal = plan.gap_median / plan.literal.threshold
        sentences.append(
            f"What else would let the test pass in time: noise of sigma below "
            f"{readable(plan.sigma * ratio)} with confidence='{best.confidence}', or "
            f"confidence_scale={literal:.2g} with confidence='paper', which voids its guarantee."
        )
    return sentences


def _steps(steps: float) -> str:
    return f"{readable(steps)} steps"


def _until(lock: LockPlan) -> str:
    return "for ever" if math.isinf(lock.lock_step) else f"about {_steps(lock.lock_step)}"
