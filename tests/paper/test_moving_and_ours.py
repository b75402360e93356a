"""Claims about moving sets, bases and what is ours, on runs made to hold and made to fail."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.paper.claim import CHANGED, Claim
from sparsebandits.paper.exponents import tail_exponent
from sparsebandits.paper.figures import (
    app_basis_actions,
    around_the_lock,
    lower_bound,
    time_varying,
)
from sparsebandits.paper.figures.app_basis_actions import difference, median_basis, sparse_actions
from sparsebandits.paper.figures.time_varying import CONDITION, MOVING, condition_judgement
from sparsebandits.paper.synthetic import made_run
from sparsebandits.simulation import Run
from sparsebandits.theory import cycles_in

# ---------------------------------------------------------------------- moving sets


def test_the_sets_have_the_gaps_that_the_figure_says() -> None:
    theta = np.random.default_rng(0).uniform(-1, 1, (5, 20))
    for moving in MOVING:
        gaps = moving.smallest_gaps(theta)
        assert (gaps > 0).all()
        slow = [
            min(
                sb.sparse_argmax(moving.sequence.at(step), row, 5, "greedy").gap
                for step in range(24)
            )
            for row in theta
        ]
        np.testing.assert_allclose(gaps, slow, rtol=1e-12)
    apart, tied = (each.smallest_gaps(np.asarray(each.theta)[None]) for each in CONDITION)
    assert apart > 0.01
    assert tied == 0


def test_the_appendix_geometries_are_there() -> None:
    by_key = {moving.key: moving.sequence for moving in MOVING}
    for key in ("weekdays", "turning"):
        assert all(by_key[key].at(step).is_strongly_convex for step in range(24))
    kinds = [by_key["fluctuating"].at(step).is_strongly_convex for step in range(4)]
    assert kinds == [True, False, True, False]


def _moving_results(exponents: dict[str, float]) -> dict[str, Run]:
    """Runs whose regret grows like t^b; the compact ones like K^b."""
    results = {}
    for cell in time_varying.TIME_VARYING.cells("quick"):
        variant = cell.key.rsplit("-", 1)[1]
        run = made_run(exponents[variant], trials=10, dim=20, policy="time-varying")
        if variant == "compact":
            cycles = cycles_in(run.steps, 20, "sqrt").astype(float)
            run = replace(run, regret=run.regret[:, :1] * cycles ** exponents[variant])
        results[cell.key] = run
    return results


def claims_of(experiment: Any, results: dict[str, Run]) -> dict[str, Claim]:
    return {claim.id: claim for claim in experiment.outcome(results).claims}


def test_rates_on_moving_sets_can_hold_hold_changed_and_fail() -> None:
    def verdicts(literal: float, untested: float, compact: float) -> set[str]:
        made = {"literal": literal, "untested": untested, "compact": compact}
        found = claims_of(time_varying.TIME_VARYING, _moving_results(made))
        names = ("weekdays-sqrt", "turning-sqrt", "fluctuating-compact", "weekdays-compact")
        return {found[f"time-varying-{name}"].verdict for name in names}

    assert verdicts(0.5, 0.5, 1.0) == {"holds"}
    assert verdicts(1.0, 0.5, 1.0) == {CHANGED, "holds"}
    assert verdicts(1.0, 0.8, 1.3) == {"fails"}


def test_regret_linear_in_t_is_not_of_order_k() -> None:
    """What a compact run without learning would have: R ~ T, which is K^1.3 or more."""
    made = _moving_results({"literal": 1.0, "untested": 1.0, "compact": 1.0})
    made |= {key: made_run(1.0, trials=10, dim=20) for key in made if key.endswith("compact")}
    found = claims_of(time_varying.TIME_VARYING, made)
    assert found["time-varying-fluctuating-compact"].verdict == "fails"


def test_the_condition_on_the_gaps_can_come_out_three_ways() -> None:
    def judged(apart: float, tied: float) -> str:
        pair = (tail_exponent(made_run(exponent)) for exponent in (apart, tied))
        return condition_judgement(*pair)[0].verdict

    assert judged(apart=0.5, tied=1.0) == CHANGED
    assert judged(apart=0.5, tied=0.5) == "holds"
    assert judged(apart=1.0, tied=1.0) == "fails"


# ---------------------------------------------------------------------- bases


def _basis_results(factors: dict[str, float], spread: float = 0.1) -> dict[str, Run]:
    rng = np.random.default_rng(0)
    results = {}
    shared = rng.uniform(50, 150, (400, 1))
    for cell in app_basis_actions.APP_BASIS_ACTIONS.cells("quick"):
        name = cell.key.rsplit("-", 1)[0]
        run = made_run(0.5, trials=400, dim=20)
        noise = 1 + spread * rng.standard_normal((400, 1))
        results[cell.key] = replace(
            run, regret=factors.get(name, 1.0) * shared * noise * np.sqrt(run.steps)
        )
    return results


@pytest.mark.parametrize(
    ("factors", "spread", "alike", "insensitive"),
    [
        ({}, 0.1, "holds", "holds"),
        ({"block-gaussian": 1.1}, 0.1, "fails", "holds"),
        ({"block-uniform": 0.9, "sparse": 2.0}, 0.1, "fails", "fails"),
        ({}, 0.9, "not testable", "not testable"),
    ],
)
def test_both_sentences_about_bases_can_fail(
    factors: dict[str, float], spread: float, alike: str, insensitive: str
) -> None:
    found = claims_of(app_basis_actions.APP_BASIS_ACTIONS, _basis_results(factors, spread))
    assert found["bases-indistinguishable-untested"].verdict == alike
    assert found["bases-insensitive"].verdict == insensitive
    pairs = found["bases-indistinguishable-literal"].details
    assert pairs is not None
    assert len(pairs["pairs"]) == 3


def test_a_paired_difference_is_students_interval() -> None:
    rng = np.random.default_rng(1)
    one, other = rng.uniform(1, 2, 50), rng.uniform(1, 2, 50)
    found = difference(one, other, 0.95)
    relative = (one - other) / other.mean()
    half = 2.0096 * relative.std(ddof=1) / np.sqrt(50)  # Student's 97.5% with 49 degrees
    assert found.mean == pytest.approx(relative.mean())
    assert found.high - found.mean == pytest.approx(half, rel=1e-4)


def test_the_sparse_actions_are_legal_and_their_h_1_is_the_median() -> None:
    basis, h_1 = median_basis()
    assert basis.sparsity == 5
    np.testing.assert_allclose(np.linalg.norm(basis.actions, axis=1), 1.0)
    assert basis.h_1(0.5) == pytest.approx(h_1, rel=1e-6)
    larger = 0
    for seed in range(app_basis_actions.DRAWN):
        smallest = np.linalg.svd(sparse_actions(seed), compute_uv=False)[-1]
        larger += h_1 * smallest**4 < 2 * 0.25 * 20
    assert larger == app_basis_actions.DRAWN // 2


# ---------------------------------------------------------------------- ours


def _lock_results(ratio: float = 0.25, worst: float = 0.6, drawn: float = 0.5) -> dict[str, Run]:
    results = {}
    for cell in around_the_lock.AROUND_THE_LOCK.cells("quick"):
        world, key = cell.key.split("-", 1)
        exponent = {"gap": 0.5, "drawn": drawn, "worst": worst}[world]
        run = made_run(exponent, trials=20, locked=20, dim=20)
        factor = ratio if key == "locked-only" else 1.0
        results[cell.key] = replace(run, regret=factor * run.regret)
    return results


@pytest.mark.parametrize(
    ("made", "failing"),
    [
        ({}, set()),
        ({"ratio": 0.8}, {"around-lock-explored"}),
        ({"drawn": 0.8}, {"around-lock-average"}),
        ({"worst": 0.8}, {"around-lock-worst-hedged"}),
        ({"worst": 1.0}, {"around-lock-worst-hedged", "around-lock-worst-untested"}),
    ],
)
def test_claims_around_the_lock_fail_where_the_runs_are_made_to(
    made: dict[str, float], failing: set[str]
) -> None:
    found = claims_of(around_the_lock.AROUND_THE_LOCK, _lock_results(**made))
    assert {name for name, claim in found.items() if claim.verdict == "fails"} == failing
    assert {claim.verdict for claim in found.values()} <= {"holds", "fails"}


def test_the_worst_gap_is_chosen_anew_at_each_step() -> None:
    results = _lock_results()
    slow, fast = (f"worst-{gap:g}-tested" for gap in around_the_lock.GAPS[:2])
    early = results[slow].regret * 3.0
    late = results[fast].regret * np.where(results[fast].steps > 1000, 10.0, 0.1)
    results[slow] = replace(results[slow], regret=early)
    results[fast] = replace(results[fast], regret=late)
    steps, regret = around_the_lock.worst(results, "tested")
    np.testing.assert_array_equal(regret, np.where(steps > 1000, late, early))


def _bound_results(in_dim: float, in_sparsity: float, scale: float = 1.0) -> dict[str, Run]:
    results = {}
    for cell in lower_bound.LOWER_BOUND.cells("paper"):
        run = made_run(0.5, trials=10, horizon=1000)
        _, dim, sparsity = cell.key.rsplit("-", 2)
        factor = scale * float(dim) ** in_dim * float(sparsity) ** in_sparsity
        results[cell.key] = replace(run, regret=factor * run.regret)
    return results


@pytest.mark.parametrize(
    ("made", "failing"),
    [
        ((0.7, 0.3), set()),
        ((1.5, 0.3), {"lower-bound-in-d"}),
        ((0.1, 0.3), {"lower-bound-in-d"}),
        ((0.7, 0.9), {"lower-bound-in-H"}),
        ((0.7, 0.3, 1e-4), {"lower-bound-floor"}),
    ],
)
def test_claims_about_the_lower_bound_fail_where_the_runs_are_made_to(
    made: tuple[float, ...], failing: set[str]
) -> None:
    found = claims_of(lower_bound.LOWER_BOUND, _bound_results(*made))
    assert {name for name, claim in found.items() if claim.verdict == "fails"} == failing
