"""The claims about lemmas: complete, JSON-safe, repeatable, and judged by what was measured."""

import json
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import sparsebandits as sb
from sparsebandits.estimation import CONFIDENCE, PaperBound
from sparsebandits.paper.claim import CHANGED, VERDICTS, Claim
from sparsebandits.paper.lemmas import estimation, support_tests
from sparsebandits.paper.lemmas.estimation import coverage
from sparsebandits.paper.lemmas.judge import GROUPS, lemma_claims
from sparsebandits.paper.lemmas.proofs import cycles_played
from sparsebandits.paper.lemmas.submodularity import displayed_bound
from sparsebandits.paper.verdicts import (
    Judgement,
    Share,
    always,
    at_most,
    below_one,
    first_change,
    levels_off,
    locks_at_most,
    share_claim,
    sometimes,
    with_change,
)
from sparsebandits.validation import FloatArray

EXPECTED = {
    "coverage-ols-bound": "holds",
    "coverage-coordinate": "holds",
    "coverage-stitched": "holds",
    "coverage-mixture": "holds",
    "coverage-pairwise": "holds",
    "coverage-support": "holds",
    "sum-of-subgaussian": "holds",
    "union-over-cycles": CHANGED,
    "consistency-top-h": "holds",
    "wrong-locks-paper": "holds",
    "wrong-locks-pairwise": "holds",
    "consistency-greedy": "holds",
    "wrong-greedy-locks": "holds",
    "warmup-cycles": "holds",
    "warmup-cycles-greedy": CHANGED,
    "warmup-auxiliary": "holds",
    "sorted-values": "holds",
    "warmup-formula": CHANGED,
    "warmup-order": CHANGED,
    "lipschitz-value": "holds",
    "lipschitz-gradient": CHANGED,
    "normalised-vectors": "holds",
    "top-h-exact": "holds",
    "greedy-exact-on-box": "holds",
    "no-sorting-on-l1.5": "fails",
    "ellipsoid-solution": "holds",
    "submodularity-displayed-bound": "fails",
    "gamma-above-lambda-min": CHANGED,
    "gamma-scale-free-bound": "holds",
    "gamma-positive": "fails",
    "greedy-approximation": "holds",
    "random-bases-sparse": CHANGED,
    "exploration-regret-per-arm": "holds",
    "regret-denominator": CHANGED,
    "cycles-linear-schedule": CHANGED,
    "cycles-compact-schedule": "holds",
    "greedy-middle-term": CHANGED,
    "alpha-regret-split": CHANGED,
    "gamma-positive-strongly-convex": CHANGED,
    "matches-minimax": "fails",
}


@pytest.fixture(scope="module")
def claims() -> list[Claim]:
    return lemma_claims(0, quick=True)


def test_every_claim_is_there_with_its_verdict(claims: list[Claim]) -> None:
    assert {claim.id: claim.verdict for claim in claims} == EXPECTED
    assert len(claims) == len(EXPECTED)
    assert {claim.verdict for claim in claims} <= set(VERDICTS)


def test_claims_are_json_safe_and_say_something(claims: list[Claim]) -> None:
    for claim in claims:
        data = json.loads(json.dumps(claim.to_dict(), allow_nan=False))
        assert data["id"] == claim.id
        assert claim.experiment == "lemmas"
        assert claim.label
        assert claim.statement.endswith(".")
        assert claim.measured.endswith(".")
        assert claim.otherwise
        assert claim.brief
        assert any(letter.isdigit() for letter in claim.measured)
        assert claim.value is not None
        assert claim.low is not None
        assert claim.high is not None
        assert claim.low <= claim.value <= claim.high


def test_what_is_ours_is_not_counted_as_the_papers(claims: list[Claim]) -> None:
    assert {claim.id for claim in claims if claim.is_ours} == {
        *(f"coverage-{name}" for name in CONFIDENCE if name != "paper"),
        "wrong-locks-pairwise",
        "wrong-greedy-locks",
        "gamma-scale-free-bound",
    }


def test_the_seed_decides_and_progress_is_told(claims: list[Claim]) -> None:
    seen: list[tuple[int, int]] = []
    again = lemma_claims(0, quick=True, progress=lambda done, total: seen.append((done, total)))
    assert [claim.to_dict() for claim in again] == [claim.to_dict() for claim in claims]
    assert seen == [(done, len(GROUPS)) for done in range(1, len(GROUPS) + 1)]


def test_another_seed_measures_anew() -> None:
    first, other = (coverage(np.random.default_rng(seed), quick=True) for seed in (1, 2))
    assert [claim.measured for claim in first] != [claim.measured for claim in other]


def test_a_bad_seed_is_refused() -> None:
    with pytest.raises(sb.SparseBanditsError, match="seed"):
        lemma_claims(-1, quick=True)


# ---------------------------------------------------------------------- the judges, on both sides


@pytest.mark.parametrize(("count", "runs"), [(0, 50), (3, 50), (50, 50), (65, 2000)])
def test_share_has_the_exact_interval(count: int, runs: int) -> None:
    exact = binomtest(count, runs).proportion_ci(method="exact")
    share = Share(count, runs)
    assert (share.low, share.high) == pytest.approx((exact.low, exact.high))
    assert share.value == count / runs


def test_one_counter_example_refutes_a_statement_about_everything() -> None:
    assert always(Share(0, 1000)).verdict == "holds"
    assert always(Share(1, 1000)).verdict == "fails"
    assert always(Share(0, 0)).verdict == "not testable"


def test_one_example_confirms_that_something_occurs() -> None:
    assert sometimes(Share(1, 1000)).verdict == "holds"
    assert sometimes(Share(0, 1000)).verdict == "fails"
    assert sometimes(Share(0, 0)).verdict == "not testable"


def test_a_probability_is_judged_by_its_whole_interval() -> None:
    assert at_most(Share(20, 1000), 0.05).verdict == "holds"
    assert at_most(Share(48, 1000), 0.05).verdict == "not testable"
    assert at_most(Share(90, 1000), 0.05).verdict == "fails"
    assert at_most(Share(0, 10), 0.05).verdict == "not testable"
    assert at_most(Share(0, 0), 0.05).verdict == "not testable"


def test_wrong_locks_need_locks() -> None:
    assert locks_at_most(Share(0, 1000), Share(0, 1000), 0.05).verdict == "not testable"
    assert locks_at_most(Share(0, 1000), Share(10, 1000), 0.05).verdict == "holds"
    assert locks_at_most(Share(90, 1000), Share(100, 1000), 0.05).verdict == "fails"


def test_a_change_counts_only_where_it_was_needed_and_helps() -> None:
    cases: list[tuple[Any, Any, str]] = [
        ("fails", "holds", CHANGED),
        ("fails", "fails", "fails"),
        ("fails", "not testable", "fails"),
        ("holds", "holds", "holds"),
        ("not testable", "holds", "not testable"),
    ]
    for printed, changed, verdict in cases:
        found = with_change(Judgement(printed, "this"), Judgement(changed, "that"))
        assert found.verdict == verdict
        assert ("that" in found.otherwise) == (verdict == CHANGED)
    tried = {
        "first": Judgement("fails", ""),
        "next": Judgement("holds", ""),
        "last": Judgement("holds", ""),
    }
    assert first_change(Judgement("fails", ""), tried)[1] == "next"
    assert first_change(Judgement("holds", ""), tried)[1] == ""
    for share, stated in ((Share(0, 9), ""), (Share(4, 9), "this")):
        claim = share_claim(
            share,
            repaired=Share(0, 9),
            change="this",
            id="x",
            label="x",
            statement="x.",
            measured="x.",
        )
        assert claim.change == stated


def test_failure_probabilities_may_add_up_to_delta() -> None:
    assert below_one(0.82).verdict == "holds"
    assert below_one(1.64).verdict == "fails"


@pytest.mark.parametrize(
    ("function", "verdict"),
    [
        (lambda x: 2 + 1 / np.log(x), "holds"),
        (lambda x: 3 - x**-0.5, "holds"),
        (lambda x: 1 + 0.01 * np.log(x), "fails"),
        (lambda x: x**0.25, "fails"),
    ],
)
def test_orders_of_growth(function: Any, verdict: str) -> None:
    assert levels_off(function(np.geomspace(1e1, 1e10, 10))).verdict == verdict


class Shrunk(PaperBound):
    """A bound that is too small by far: what coverage must notice."""

    def epsilon_c(self, cycle: Any) -> FloatArray:
        return np.asarray(0.3 * super().epsilon_c(cycle))


def test_coverage_notices_a_bound_that_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimation, "make_confidence", lambda _, basis, delta: Shrunk(basis, delta))
    found = coverage(np.random.default_rng(0), quick=True)
    assert {claim.verdict for claim in found} == {"fails"}


def test_locks_notice_a_threshold_that_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    scaled = sb.APSEE

    def too_eager(**keywords: Any) -> sb.APSEE:
        return scaled(**{**keywords, "confidence_scale": 0.02})

    monkeypatch.setattr(sb, "APSEE", too_eager)
    found = support_tests.top_h_locks(np.random.default_rng(0), quick=True)
    assert {claim.verdict for claim in found} == {"fails"}


# ---------------------------------------------------------------------- what the claims rest on


@pytest.mark.parametrize("dim", [2, 20])
@pytest.mark.parametrize("lock", [1, 7, 10**9])
def test_cycles_played_counts_cycles(dim: int, lock: int) -> None:
    for horizon in (1, dim, dim + 1, 7 * dim, 7 * dim + 3, 2000):
        steps, cycles = 0, 0
        while steps < horizon:
            cycles += 1
            steps += dim + (cycles if cycles >= lock else 0)
        assert cycles_played(np.array([float(horizon)]), dim, np.array([float(lock)])) == cycles


def test_the_displayed_bound_of_the_counter_example() -> None:
    X = sb.Ellipsoid([[1.0, 0.5, 0.5], [0.5, 1.0, 0.0], [0.5, 0.0, 1.0]])
    assert displayed_bound(X, np.ones(3)) == pytest.approx(1.0)
    assert sb.submodularity_ratio(X, np.ones(3)) == pytest.approx(0.747, abs=1e-3)
