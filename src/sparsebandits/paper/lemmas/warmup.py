"""`lemma:C_0`: how long the warm-up takes, simulated and step by step of its proof."""

from collections.abc import Iterator

import numpy as np

import sparsebandits as sb
from sparsebandits.environments.paper_setting import DELTA, random_matrix
from sparsebandits.estimation import warmup_cycles
from sparsebandits.paper.claim import Claim
from sparsebandits.paper.lemmas.support_tests import play
from sparsebandits.paper.verdicts import (
    ROUNDING,
    Share,
    at_most,
    levels_off,
    number_claim,
    share_claim,
    with_change,
)
from sparsebandits.validation import BoolArray, FloatArray


def warmup_simulated(rng: np.random.Generator, quick: bool) -> Iterator[Claim]:
    """`lemma:C_0`: the cycle in which the literal test locks, against C_0."""
    trials = 60 if quick else 300
    overdue, wrong, ratios, settings = [], [], [], []
    for dim, sparsity, sigma, gap in ((4, 2, 0.1, 0.3), (8, 3, 0.1, 0.4), (6, 1, 0.03, 0.1)):
        policy = sb.APSEE(action_set=sb.LpBall(dim), sparsity=sparsity, sigma=sigma, delta=DELTA)
        granted = warmup_cycles(gap, policy.exploration.h_1(sigma), dim, DELTA)
        cycles, seed = int(np.ceil(granted) + 1), int(rng.integers(2**31))
        run = play(policy, sb.GapTheta(gap), cycles, trials, seed)
        cycle = np.nan_to_num(run.locked_at / dim, nan=np.inf)  # only exploration before the lock
        overdue.append(cycle > np.ceil(granted))
        wrong.append(np.isfinite(cycle) & ~run.support_correct)
        ratios.append(granted / cycle)
        settings.append({"dim": dim, "sparsity": sparsity, "sigma": sigma, "gap": gap})
    share, ratio = Share.of(overdue), np.concatenate(ratios)
    misled = int(np.concatenate(wrong).sum())
    yield share_claim(
        share,
        at_most(share, DELTA),
        id="warmup-cycles",
        label="lemma:C_0",
        statement="On the event of lemma:ols-bound-hp, which has probability at least "
        "1 - delta, the support is locked by cycle C_0.",
        measured=f"Locked after C_0 in {share} runs, delta = {DELTA}; C_0 is "
        f"{np.median(ratio):.1f} times the measured cycle in the median and at least "
        f"{ratio.min():.1f} times; {misled} locks were wrong.",
        details={"settings": settings, "median_ratio": float(np.median(ratio))},
    )


def warmup_greedy(rng: np.random.Generator, quick: bool) -> Iterator[Claim]:
    """Try the same C_0 on APSEE-G, whose threshold has the factor L_X that C_0 lacks."""
    sets, trials, dim, sparsity, sigma = (6, 30, 4, 2, 0.05) if quick else (10, 30, 4, 2, 0.05)
    overdue: dict[str, list[BoolArray]] = {"printed": [], "changed": []}
    norms = []
    for condition in np.geomspace(100, 400, sets):
        ellipsoid = sb.Ellipsoid(random_matrix(rng, dim, float(condition)))
        draws = rng.uniform(-1, 1, (50, dim))
        solved = sb.sparse_argmax_batch(ellipsoid, draws, sparsity, "greedy")
        chosen = int(solved.gaps.argmax())
        policy = sb.APSEEG(action_set=ellipsoid, sparsity=sparsity, sigma=sigma, delta=DELTA)
        h_1, gap, norm = policy.exploration.h_1(sigma), solved.gaps[chosen], ellipsoid.norm_bound
        granted = {
            "printed": warmup_cycles(gap, h_1, dim, DELTA),
            "changed": warmup_cycles(gap, norm**2 * h_1, dim, DELTA),
        }
        cycles, seed = int(np.ceil(granted["changed"]) + 1), int(rng.integers(2**31))
        run = play(policy, draws[chosen], cycles, trials, seed, "greedy")
        cycle = np.nan_to_num(run.locked_at / dim, nan=np.inf)
        for name, limit in granted.items():
            overdue[name].append(cycle > max(np.ceil(limit), 1))
        norms.append(float(norm))
    printed, changed = (Share.of(overdue[name]) for name in ("printed", "changed"))
    yield share_claim(
        printed,
        with_change(at_most(printed, DELTA), at_most(changed, DELTA)),
        change="L_X^2 h_1 in place of h_1: the greedy threshold is 2 L_X epsilon_c.",
        id="warmup-cycles-greedy",
        label="thm:regret_general",
        statement="By the same logic as lemma:C_0, APSEE-G locks by C_0 = O(h_1 / Delta_min^2).",
        measured=f"Locked after C_0 with h_1 in {printed} runs, and after C_0 with L_X^2 h_1 "
        f"in {changed}, on ellipsoids with L_X from {min(norms):.0f} to {max(norms):.0f}.",
        details={"dim": dim, "sigma": sigma, "norm_bounds": norms, "late": changed.count},
    )


def warmup_algebra(rng: np.random.Generator, quick: bool) -> Iterator[Claim]:
    """Check the steps inside the proof of `lemma:C_0`."""
    n = 20_000 if quick else 400_000
    constant = np.exp(1 + rng.exponential(3.0, n))
    x = 2 * constant * np.log(constant) * np.exp(rng.exponential(1.0, n) * (rng.random(n) < 0.8))
    auxiliary = Share.of(x < constant * np.log(x) * (1 - ROUNDING))

    dim = 8
    truth = rng.uniform(-1, 1, (n // 20, dim))
    error = rng.standard_normal(truth.shape) * rng.exponential(0.3, (truth.shape[0], 1))
    moved = np.abs(np.sort(np.abs(truth + error), axis=1) - np.sort(np.abs(truth), axis=1))
    weyl = Share.of(moved.max(axis=1) > np.abs(error).max(axis=1) * (1 + ROUNDING))
    yield share_claim(
        auxiliary,
        id="warmup-auxiliary",
        label="lemma:C_0",
        statement="For A > e, x >= 2 A ln A suffices for x >= A ln x.",
        measured=f"Violated in {auxiliary} random pairs (A, x), a fifth of them at x = 2 A ln A.",
    )
    yield share_claim(
        weyl,
        id="sorted-values",
        label="lemma:C_0",
        statement="The k-th largest absolute value moves by at most the l-infinity norm of "
        "the perturbation (attributed to Weyl's inequality).",
        measured=f"Violated in {weyl} random perturbations; it is the 1-Lipschitz continuity "
        "of order statistics, and needs no matrix theorem.",
    )
    yield from _warmup_formula(rng, n // 20)


def _warmup_formula(rng: np.random.Generator, n: int) -> Iterator[Claim]:
    """C_0 as a formula: whether it satisfies its own condition, and its order."""
    ratio, delta = 10 ** rng.uniform(-4, 6, n), 10 ** rng.uniform(-6, -0.3, n)
    dim = rng.integers(2, 1000, n)

    def passes(cycle: FloatArray) -> BoolArray:
        logarithm = np.log(2 * dim * np.maximum(cycle, 1) ** 2 / delta)
        return np.asarray(
            (cycle >= 1) & (16 * ratio * logarithm < cycle)
        )  # eqn:warmup_inequality_raw

    granted = 32 * ratio * np.log(2 * dim / delta) + 128 * ratio * np.log(64 * ratio)  # eqn:C_0
    printed = Share.of(~passes(np.ceil(granted)))
    changed_to = 32 * ratio * np.log(2 * dim / delta)
    changed_to += 128 * ratio * np.log(np.maximum(64 * ratio, np.e))
    changed = Share.of(~passes(np.maximum(np.floor(changed_to) + 1, 1)))
    worst = float(granted.min())

    decades, d = 10.0 ** np.arange(13), 20
    cycles = np.array([warmup_cycles(1.0, r, d, DELTA) for r in decades])
    as_printed = cycles / (decades * np.log(d / DELTA))
    with_both = cycles / (decades * (np.log(d / DELTA) + np.log(decades)))
    yield share_claim(
        printed,
        repaired=changed,
        change="ln(max(64 h_1 / Delta_min^2, e)), and the next whole cycle: the proof needs "
        "A = 64 h_1 / Delta_min^2 > e.",
        id="warmup-formula",
        label="eqn:C_0",
        statement="At c = C_0 the sufficient condition epsilon_c < Delta_min / 4 holds, "
        "whatever Delta_min > 0.",
        measured=f"It does not hold at ceil(C_0) in {printed} draws of (h_1 / Delta^2, d, "
        f"delta), where C_0 is as low as {worst:.2g}; with the change in {changed}.",
        details={"smallest_C_0": worst, "changed": changed.count},
    )
    yield number_claim(
        float(as_printed[-1] / as_printed[0]),
        with_change(levels_off(as_printed), levels_off(with_both)),
        id="warmup-order",
        label="lemma:C_0",
        statement="C_0 = O(h_1 / Delta_min^2 ln(d / delta)).",
        measured=f"C_0 over that order rises from {as_printed[0]:.0f} at h_1 / Delta^2 = 1 to "
        f"{as_printed[-1]:.0f} at 10^12, by the same {np.diff(as_printed)[-1]:.0f} per decade; "
        f"over the order with ln(h_1 / Delta^2) added it stays at {with_both[0]:.0f} to "
        f"{with_both[-1]:.0f}.",
        change="h_1 / Delta_min^2 (ln(d / delta) + ln(h_1 / Delta_min^2)).",
        details={"quotients": as_printed.tolist(), "changed_quotients": with_both.tolist()},
    )
