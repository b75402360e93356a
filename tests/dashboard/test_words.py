"""What pages say of a learner: what it may do, what it was told, how sure it is."""

import numpy as np

import sparsebandits as sb
from sparsebandits.dashboard.allowed import allowed_of, most_of, rules_of, settings_of
from sparsebandits.dashboard.certainty import in_words, why_no_choice
from sparsebandits.dashboard.health import findings
from sparsebandits.dashboard.history import saved_history
from sparsebandits.dashboard.sample import sample_of

NAMES = [f"{channel} {level}" for channel in ("tv", "radio") for level in ("low", "high")]
BOX = sb.Box([0] * 4, [1] * 4, names=NAMES)


def test_rules_are_said_by_name_and_blocks_are_counted_as_blocks() -> None:
    plain = sb.SparseThompson(action_set=BOX, sparsity=2)
    assert (allowed_of(plain), most_of(plain), rules_of(plain)) == ("2 of 4", 2, [])

    blocks = sb.Supports(at_most=1, blocks=[[0, 1], ["radio low", "radio high"]])
    blocked = sb.SparseThompson(action_set=BOX, sparsity=blocks)
    assert (allowed_of(blocked), most_of(blocked)) == ("1 of 2 blocks", 1)
    said = "a block counts once: (tv low, tv high), (radio low, radio high)"
    assert rules_of(blocked) == [said]

    ruled = sb.Supports(
        at_most=3, at_least=1, always=["tv low"], groups={(1, 2): 1}, never_together=[(2, 3)]
    )
    assert rules_of(sb.SparseThompson(action_set=BOX, sparsity=ruled)) == [
        "at least 1 on, at a dose that may be 0",
        "always on, at a dose that may be 0: tv low",
        "at most 1 of tv high, radio low",
        "never together: radio low, radio high",
    ]
    least = sb.Budget(total=4.0, upper=[2.0] * 4, min_dose=1.0, names=NAMES)
    dosed = rules_of(sb.SparseThompson(action_set=least, sparsity=ruled))
    assert dosed[:2] == ["at least 1 on", "always on: tv low"]
    pairs = [(one, other) for one in range(9) for other in range(one)]
    many = sb.SparseThompson(
        action_set=sb.LpBall(9), sparsity=sb.Supports(at_most=1, never_together=pairs)
    )
    assert rules_of(many)[-1] == "and 30 more"


def test_settings_are_said_where_they_are_not_the_default() -> None:
    assert settings_of(sb.SparseThompson(action_set=BOX, sparsity=2)) == ""
    told = sb.SparseThompson(action_set=BOX, sparsity=2, half_life=2000, intercept=False)
    assert settings_of(told) == "intercept False, half_life 2,000"
    assert settings_of(sb.APSEE(action_set=BOX, sparsity=2, sigma=0.5)) == "sigma 0.5"
    prior = sb.SparseThompson(action_set=BOX, sparsity=2, prior_mean=np.eye(4)[0])
    assert settings_of(prior) == "prior_mean given"


def taught(policy: sb.Policy, steps: int, noise: float = 0.05) -> sb.Learner:
    rng, learner = np.random.default_rng(0), policy.start(0)
    theta = np.array([1.0, 0.8, 0.05, 0.0])
    z = None if not getattr(policy, "context", 0) else [0.5]
    for _ in range(steps):
        decision = learner.ask(context=z)
        learner.tell(decision, float(decision.action @ theta + noise * rng.normal()))
    return learner


def said(policy: sb.Policy, steps: int) -> str:
    learner = taught(policy, steps)
    return " ".join(in_words(learner, learner.certificate(), steps))


def test_a_lock_is_said_with_its_gap_and_a_commitment_without_a_test_as_such() -> None:
    ball = sb.LpBall(4, names=NAMES)
    locked = said(sb.APSEE(action_set=ball, sparsity=2, sigma=0.05, confidence="coordinate"), 900)
    assert "locked: tv low, tv high" in locked
    assert "noise could fake" in locked
    alone = said(sb.APSEE(action_set=ball, sparsity=4, sigma=0.05), 60)
    assert "no other to take it for" in alone
    assert "inf" not in alone
    committed = said(sb.ExploreThenCommit(action_set=ball, sparsity=2, horizon=40), 40)
    assert "has committed to tv low, tv high" in committed
    assert "test has passed" not in committed
    slow = said(sb.APSEE(action_set=ball, sparsity=2, sigma=50.0), 40)
    assert "<1% of that" in slow
    assert "too long to wait for" in slow
    tied = sb.APSEE(action_set=ball, sparsity=2, sigma=0.5).start(0)
    for _ in range(4):
        tied.tell(tied.ask(), 0.0)
    words = " ".join(in_words(tied, tied.certificate(), 4))
    assert "never passes, by any bound" in words
    assert "too long to wait for" not in words


def test_a_policy_without_a_gap_test_says_what_it_believes_and_waits_for_none() -> None:
    ball = sb.LpBall(4, names=NAMES)
    for policy in (
        sb.PEGE(action_set=ball, sparsity=2),
        sb.CompactAPSEEG(action_set=ball, sparsity=2),
    ):
        known = said(policy, 60)
        assert "best support is tv low, tv high" in known
        assert "100% of 200 draws" in known
        assert "has not been made yet" not in known
    learner = taught(sb.PEGE(action_set=ball, sparsity=2), 60, noise=1.0)
    words = " ".join(in_words(learner, learner.certificate(), 60))
    thetas = learner.thetas_drawn(200)
    assert thetas is not None
    used = learner.policy.best_actions(thetas, ball) != 0
    assert f"in {(used[1:] == used[0]).all(axis=1).mean():.0%} of 200 draws" in words
    few = said(sb.PEGE(action_set=ball, sparsity=2), 2)
    assert few.startswith("There is no estimate yet")


def test_a_policy_without_a_posterior_is_not_said_to_wait_for_its_first_rewards() -> None:
    for policy in (
        sb.CSAR(action_set=BOX, sparsity=2, sigma=0.05),
        sb.ESTC(action_set=BOX, sparsity=2, exploration_steps=30),
    ):
        known = said(policy, 200)
        assert "best support is tv low, tv high" in known
        assert "keeps no posterior" in known
        assert "still to come" not in known
    blind = sb.RandomSparse(action_set=BOX, sparsity=2)
    assert said(blind, 40).startswith("There is no estimate yet")
    assert said(blind, 0) == "Nothing is known yet: the first rewards are still to come."


def test_effects_of_0_make_no_support_the_best() -> None:
    learner = sb.SparseThompson(action_set=BOX, sparsity=2).start(0)
    for _ in range(40):
        learner.tell(learner.ask(), 0.7)
    [only] = in_words(learner, learner.certificate(), 40)
    assert only == "By the rewards so far every effect is 0: no action is better than another."
    assert why_no_choice(learner, 40) == only
    learner.tell(learner.ask(), 1.7)
    assert why_no_choice(learner, 41) == ""


def test_only_who_has_not_committed_is_said_to_go_on_learning() -> None:
    ball = sb.LpBall(4, names=NAMES)
    waiting = sb.SupportElimination(action_set=ball, sparsity=2, sigma=0.05)
    assert "goes on learning" in said(waiting, 30)
    learner = taught(waiting, 800)
    assert learner.support is not None
    assert "goes on" not in " ".join(in_words(learner, learner.certificate(), 800))


def test_an_estimate_with_a_context_is_said_to_be_for_zeros() -> None:
    policy = sb.SparseThompson(action_set=BOX, sparsity=2, context=1)
    assert "best support for a context of zeros is" in said(policy, 30)


def test_the_papers_policies_have_the_draws_of_their_summary() -> None:
    policy = sb.APSEE(action_set=sb.LpBall(4), sparsity=2, sigma=0.5)
    assert policy.start(0).thetas_drawn(5) is None
    learner = taught(policy, 60, noise=0.5)
    thetas, summary = learner.thetas_drawn(400), learner.summary(400)
    assert thetas is not None
    assert thetas.shape == (401, 4)
    np.testing.assert_array_equal(thetas[0], learner.theta_hat)
    np.testing.assert_allclose(thetas[1:].std(axis=0), summary.deviation, rtol=0.15)
    used = policy.best_actions(thetas[1:], policy.action_set) != 0
    np.testing.assert_array_equal(used.mean(axis=0), summary.inclusion)


def test_before_the_first_reward_every_question_waits_for_rewards() -> None:
    policy = sb.SparseThompson(action_set=BOX, sparsity=2)
    found = findings(sample_of(policy, saved_history(policy.start(0))))
    waiting = [finding for finding in found if finding.state == "unknown"]
    assert len(waiting) == 4
    assert all("0 are here" in finding.meaning for finding in waiting)
