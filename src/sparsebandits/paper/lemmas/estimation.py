"""Lemmas about estimates: how often theta_hat_c is far off."""

from collections.abc import Iterator

import numpy as np

import sparsebandits as sb
from sparsebandits.environments.paper_setting import DELTA, DIM, SIGMA, SPARSITY
from sparsebandits.estimation import CONFIDENCE, make_confidence
from sparsebandits.paper.claim import OURS, Claim
from sparsebandits.paper.verdicts import (
    Share,
    at_most,
    below_one,
    number_claim,
    share_claim,
    with_change,
)


def coverage(rng: np.random.Generator, quick: bool) -> Iterator[Claim]:
    """`lemma:ols-bound-hp` and the sharper bounds: how often theta_hat_c is ever further off."""
    runs, cycles = (2000, 100) if quick else (4000, 500)
    basis = sb.make_basis("standard", sb.LpBall(DIM), SPARSITY)
    every = np.arange(1, cycles + 1)
    bounds = {name: make_confidence(name, basis, DELTA) for name in CONFIDENCE}
    limits = {
        name: {
            "l2 error": SIGMA * bound.radius(every, DIM),
            "l2 error on H coordinates": SIGMA * bound.radius(every, SPARSITY),
            "difference of two scores": SIGMA * bound.top_h_threshold(every),
            "one coordinate": SIGMA * bound.coordinate_radius(every).min(axis=-1),
        }
        for name, bound in bounds.items()
    }
    failed = {name: dict.fromkeys(limits[name], 0) | {"any": 0} for name in limits}
    largest = dict.fromkeys(limits, 0.0)
    step = 50
    for _ in range(0, runs, step):
        noise = SIGMA * rng.standard_normal((step, cycles, DIM)).cumsum(axis=1)
        error = basis.estimate(noise / every[:, None])
        size = np.sort(np.abs(error), axis=-1)[..., ::-1]
        seen = {
            "l2 error": np.linalg.norm(size, axis=-1),
            "l2 error on H coordinates": np.linalg.norm(size[..., :SPARSITY], axis=-1),
            "difference of two scores": size[..., 0] + size[..., 1],
            "one coordinate": size[..., 0],
        }
        for name, limit in limits.items():
            broken = {what: (seen[what] > limit[what]).any(axis=1) for what in seen}
            broken["any"] = np.any(list(broken.values()), axis=0)
            for what, runs_broken in broken.items():
                failed[name][what] += int(runs_broken.sum())
            ratio = float((seen["l2 error"] / limit["l2 error"]).max())
            largest[name] = max(largest[name], ratio)
    setting = {"dim": DIM, "sparsity": SPARSITY, "sigma": SIGMA, "delta": DELTA, "cycles": cycles}
    paper = limits["paper"]
    for name, limit in limits.items():
        is_paper = name == "paper"
        share = Share(failed[name]["l2 error" if is_paper else "any"], runs)
        width, pair = (
            float(limit[what][99] / paper[what][99])
            for what in ("l2 error", "difference of two scores")
        )
        narrower = (
            f"; at c = 100 that bound is {width:.2f} epsilon_c, and the one for two scores "
            f"{2 * pair:.2f} epsilon_c where the paper has 2"
        )
        sharper = (
            f"all statements of the {name!r} bound (l2 error, on H coordinates, of two scores, of "
            "one coordinate) for all c at once"
        )
        what = "||theta_hat_c - theta*|| <= epsilon_c for all c at once" if is_paper else sharper
        yield share_claim(
            share,
            at_most(share, DELTA),
            brief=f"violated in {share.brief} runs",
            id="coverage-ols-bound" if is_paper else f"coverage-{name}",
            label="lemma:ols-bound-hp" if is_paper else OURS,
            statement=("" if is_paper else "Beside lemma:ols-bound-hp: ")
            + f"with probability at least 1 - delta, {what}.",
            measured=f"Violated at some cycle c <= {cycles} in {share} runs, delta = {DELTA}; the "
            f"largest l2 error was {largest[name]:.2f} of its bound{'' if is_paper else narrower}.",
            details={**setting, "failures": failed[name], "largest_ratio": largest[name]},
        )


def sum_of_subgaussian(rng: np.random.Generator, quick: bool) -> Iterator[Claim]:
    """`lemma:sum-abs-subgaussian` with noise that depends on the past, the hard case."""
    runs, n = (2000, 100) if quick else (20_000, 200)
    limit = np.sqrt(2 * n * np.log(2 / DELTA))
    total = np.zeros(runs)
    for _ in range(n):
        # Signs until the limit is passed, then silence: the sum stays at its largest excursion.
        total += np.where(np.abs(total) < limit, rng.choice([-1.0, 1.0], runs), 0.0)
    share = Share.of(np.abs(total) > limit)
    yield share_claim(
        share,
        at_most(share, DELTA),
        id="sum-of-subgaussian",
        label="lemma:sum-abs-subgaussian",
        statement="|S_n| <= sqrt(2 n sigma^2 ln(2 / delta)) with probability at least "
        "1 - delta, for conditionally sub-Gaussian noise.",
        measured=f"With signs that stop once the limit is passed, |S_{n}| exceeded it in "
        f"{share} runs, delta = {DELTA}.",
        details={"n": n, "delta": DELTA},
    )


def union_over_cycles(rng: np.random.Generator, quick: bool) -> Iterator[Claim]:
    """Add up the union bound in the proof of `lemma:ols-bound-hp`, as printed."""
    c = np.arange(1, 10**5 if quick else 10**6, dtype=np.float64)

    def total(factor: float) -> float:
        tails = 2 * np.exp(-np.log(factor * DIM * c**2 / DELTA))  # two tails of W(c)_i
        # The rest of sum 1 / c^2 is less than 1 / (last c).
        return float(DIM * tails.sum() + 2 * DELTA / (factor * c[-1])) / DELTA

    printed, changed = total(2.0), total(4.0)
    deltas, dims = (0.001, 0.05, 0.5, 0.999), (2, 3, DIM, 1000)
    proved = {(d, delta): chi_square_union(d, delta) for d in dims for delta in deltas}
    most = max(proved.values())
    yield number_claim(
        printed,
        with_change(below_one(printed), below_one(max(changed, most))),
        brief=f"its tails add up to {printed:.2f} delta; chi-square's to {most:.2f}",
        id="union-over-cycles",
        label="lemma:ols-bound-hp",
        statement="By the union bound over c and i, |W(c)_i|^2 <= 2 c sigma^2 B_ii "
        "ln(2 d c^2 / delta) for all c and i with probability at least 1 - delta.",
        measured=f"The tails with the printed logarithm add up to {printed:.3f} delta; with "
        f"the share delta / (2 d c^2) that the proof allots they add up to {changed:.3f} delta "
        "and the logarithm is ln(4 d c^2 / delta). The lemma itself is true as printed for d >= 2: "
        f"the chi-square tails add up to at most {most:.3f} delta (docs/paper-notes.md, 4).",
        change="the tail of a chi-square with d degrees of freedom in place of a union bound over "
        "the coordinates, for d >= 2; or ln(4 d c^2 / delta) in this step.",
        details={
            "printed": printed,
            "changed": changed,
            "exact_limit": float(np.pi**2 / 6),
            "chi_square": {f"d={d}, delta={delta}": value for (d, delta), value in proved.items()},
        },
    )


def chi_square_union(dim: int, delta: float, cycles: int = 10**5) -> float:
    """Add up P(chi^2_d > 2 d ln(2 d c^2 / delta)) over c by Chernoff's bound, in units of delta.

    ||theta_hat_c - theta*||^2 <= ||n||^2 / (c^2 lambda_0) with n the d sums of c noise terms each,
    and epsilon_c^2 >= 2 sigma^2 d ln(2 d c^2 / delta) / (c lambda_0): so this sum bounds the
    probability that `lemma:ols-bound-hp` fails, for noise that is conditionally sub-Gaussian.

    Examples
    --------
    >>> print(round(chi_square_union(2, 0.05), 3), round(chi_square_union(1, 0.05), 3))
    0.083 4.152
    """
    c = np.arange(1, cycles + 1, dtype=np.float64)
    logarithm = np.log(2 * dim * c**2 / delta)
    # (u e^(1 - u))^(d/2) at u = 2 L; what is left beyond the last c is less than c times it.
    tails = np.exp(dim / 2 * (1 - 2 * logarithm + np.log(2 * logarithm)))
    return float((tails.sum() + cycles * tails[-1]) / delta)
