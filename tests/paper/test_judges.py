"""The judges: tried on data made for each verdict, and the check notices one that cannot fail."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from sparsebandits.environments.paper_setting import LONG
from sparsebandits.paper import self_check, verdicts
from sparsebandits.paper.claim import Claim, Verdict
from sparsebandits.paper.figures.appendix_experiments import CASE1
from sparsebandits.paper.rates import Judged, geometry_claims
from sparsebandits.paper.synthetic import made_run
from sparsebandits.paper.theorems import judge_bound, regret_bound, theorem_claim
from sparsebandits.paper.verdicts import FAMILY, LEVEL, Judgement, Share, at_most, within
from sparsebandits.policies import PhasedPolicy
from sparsebandits.simulation import Run


def test_every_judge_comes_out_as_its_data_were_made() -> None:
    checks = self_check.check_judges()
    assert all(check.is_right for check in checks)
    judges = {check.judge for check in checks}
    for judge in judges:
        assert "fails" in {check.made_to for check in checks if check.judge == judge}
    assert {"holds", "fails", "not testable", "holds with the stated change"} == {
        check.made_to for check in checks
    }


def test_a_judge_that_cannot_fail_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The old judge of a theorem: within the minimum with the trivial bound, always."""

    def lenient(measured: Any, bounds: Any, trivial: Any, delta: float) -> tuple[Judgement, Any]:
        return Judgement("holds", ""), bounds < trivial

    monkeypatch.setattr(self_check, "judge_bound", lenient)
    with pytest.raises(AssertionError, match="a theorem's bound"):
        self_check.check_judges()


def test_all_verdicts_of_a_report_together_err_rarely() -> None:
    """A limit that is exactly true: at_most misjudges in at most 0.05% on either side."""
    assert pytest.approx(0.05 / FAMILY) == 1 - LEVEL
    for runs in (200, 2000):
        most, least = verdicts.deciding_counts(runs, 0.05)
        assert binom.cdf(most, runs, 0.05) <= (1 - LEVEL) / 2
        assert binom.sf(least - 1, runs, 0.05) <= (1 - LEVEL) / 2
        for count in (max(most, 0), most + 1, least - 1, least):
            expected = "holds" if count <= most else "fails" if count >= least else "not testable"
            assert at_most(Share(count, runs), 0.05).verdict == expected


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.45, 0.55, "holds"),
        (0.3, 0.39, "fails"),
        (0.61, 0.7, "fails"),
        (0.35, 0.45, "not testable"),
    ],
)
def test_between_two_limits_both_sides_count(low: float, high: float, verdict: str) -> None:
    assert within(low, high, (0.4, 0.6), "an exponent").verdict == verdict


# ---------------------------------------------------------------------- theorems


def test_a_bound_that_is_the_trivial_one_decides_nothing() -> None:
    trivial = np.array([10.0] * 400)
    measured = np.array([5.0] * 400)
    assert judge_bound(measured, trivial, trivial, 0.05)[0].verdict == "not testable"
    # The trials that say something decide, however many there are beside them.
    mixed = np.where(np.arange(400) < 200, 4.0, 10.0)
    judged, says = judge_bound(measured, mixed, trivial, 0.05)
    assert (judged.verdict, int(says.sum())) == ("fails", 200)
    assert judge_bound(measured, mixed + 2, trivial + 2, 0.05)[0].verdict == "holds"


def test_at_the_papers_setting_theorem_1_says_nothing_and_with_little_noise_it_does() -> None:
    cells = {cell.key: cell for cell in CASE1.cells("paper")}
    cell = cells["literal-long"]
    run = cell.simulate(0, 0, 2)
    claim = theorem_claim(cell, run, id="x", label="x", statement="x.", experiment="x")
    assert claim.verdict == "not testable"
    assert "in 0 of 2 literal runs" in claim.measured
    quiet = cells["literal-quiet"]
    assert isinstance(quiet.policy, PhasedPolicy)
    theta = np.array(quiet.environment.to_dict()["theta_star"])
    trivial = 2 * np.linalg.norm(theta) * quiet.horizon
    assert regret_bound(quiet.policy, theta, quiet.horizon) < 0.1 * trivial
    assert quiet.horizon == 10 * LONG


# ---------------------------------------------------------------------- one geometry as a whole


def judged(literal: Run, changed: Run, probe: Run) -> dict[str, Verdict]:
    """Judge the l2 ball on made runs."""
    cells = {cell.key: cell for cell in CASE1.cells("paper")}
    of = Judged(
        id="l2-ball",
        label="fig:case1_app",
        theorem="thm:regret_adaptive",
        rate=0.5,
        order="sqrt(T)",
        literal={"short": literal, "long": literal},
        longer=None,
        changed={name: {"a valid change": changed} for name in ("short", "long", "longer")},
        beside={"short": {}, "long": {}, "longer": {}},
        cell=cells["literal-long"],
        probe=(cells["literal-quiet"], probe),
        has_gap_test=True,
    )
    claims: list[Claim] = list(geometry_claims(of))
    assert all(claim.otherwise and claim.brief for claim in claims)
    return {claim.id.removeprefix("l2-ball-"): claim.verdict for claim in claims}


def test_a_geometry_made_to_hold_and_made_to_fail() -> None:
    linear, root = made_run(1.0, dim=20), made_run(0.5, dim=20)
    locked = made_run(0.5, trials=200, dim=20, locked=200, lock_step=200, horizon=2 * 10**6)
    rates = ("sub-linear-short", "sub-linear-long", "average-falls", "rate")
    holds = judged(root, root, locked)
    assert {holds[name] for name in rates} == {"holds"}
    assert holds["after-lock"] == "holds"
    changed = judged(linear, root, locked)
    assert {changed[name] for name in rates} == {"holds with the stated change"}
    fails = judged(linear, linear, made_run(0.8, trials=200, dim=20, locked=200, lock_step=200))
    assert {fails[name] for name in rates} == {"fails"}
    # T = 10^5 there: a lock in cycle 10 is early enough.
    assert fails["after-lock"] == "fails"
    assert judged(root, root, made_run(0.5, dim=20))["after-lock"] == "not testable"
    # Two-sided: slower than sqrt(t) is not sqrt(t) either.
    slow = made_run(0.3, trials=200, dim=20, locked=200, lock_step=200)
    assert judged(root, root, slow)["after-lock"] == "fails"


def test_a_shrunk_bound_is_shown_and_never_what_a_claim_holds_with() -> None:
    """Even if it looked right: all else linear, the scaled run like sqrt(t), no wrong lock."""
    cells = CASE1.cells("paper")
    linear = made_run(1.0, trials=20, dim=20)
    results = {
        cell.key: made_run(0.5, trials=20, dim=20, locked=20)
        if cell.key.startswith("scaled")
        else linear
        for cell in cells
    }
    outcome = CASE1.outcome(results)
    claims = {claim.id.removeprefix("l2-ball-"): claim for claim in outcome.claims}
    for name in ("sub-linear-short", "sub-linear-long", "average-falls", "rate"):
        assert claims[name].verdict == "fails"
    assert "not judged" in claims["rate"].measured
    labels = [series.label for series in outcome.figures[0].panels[0].series]
    assert [label for label in labels if "no guarantee" in label] == [
        "epsilon_c x 0.02, no guarantee"
    ]
    assert "no gap test, c steps" in labels
    without = {**results, "no-test-long": made_run(0.5, dim=20, policy="apsee-compact")}
    claims = {claim.id: claim for claim in CASE1.outcome(without).claims}
    assert claims["l2-ball-sub-linear-long"].change == "no gap test, c steps"
