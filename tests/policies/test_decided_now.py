"""Whatever came before, the next ask on the whole set is decided from what is known now.

First some asks about one item alone, that loses: the best that can be done there is nothing. Then
logs that leave no doubt. From there on the best action of the whole set must come within the steps
that the policy's own schedule allows, and with the reward of every step told.
"""

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies import POLICIES, Learner
from tests.policies.examples import CASES, DIM, SIGMA, THETA, Make, reward_of, through_json

AT_ONCE, A_CYCLE = 1, 2 * DIM + 1

WITHIN: dict[str, int] = {
    "sparse-thompson": AT_ONCE,
    "lin-ts": AT_ONCE,
    "oful": AT_ONCE,
    "estc": AT_ONCE,  # the logs complete its exploration
    "epsilon-greedy": 15,  # explores at random, with probability 0.6 at this time
    # The exploration under way is completed, and what is exploited then is the estimate of then.
    "apsee": A_CYCLE,
    "apsee-g": A_CYCLE,
    "apsee-compact": A_CYCLE,
    "apsee-hedged": A_CYCLE,
    "time-varying": A_CYCLE,
    "pege": A_CYCLE,
    "support-elimination": 3 * DIM,  # two rounds of its first phase
    "explore-then-commit": 7 * DIM,  # its exploration is a number of cycles, 6 at T = 99
}
"""Steps within which the best action is played, by kind."""

NOT_FROM_LOGS = {
    "csar": "plays the sets of its phase and learns from nothing else",
    "random-sparse": "learns nothing",
}

HELD_TO_IT = [
    (name, make)
    for name, make in CASES
    if make().kind in WITHIN and make().action_set.contains_zero  # or item 1 cannot be alone
]


def test_every_policy_is_held_to_it_or_says_why_not() -> None:
    assert set(WITHIN) | set(NOT_FROM_LOGS) == set(POLICIES)


def lose(learner: Learner, rng: np.random.Generator, steps: int) -> None:
    """Ask about item 1 alone, whose best dose is none where no negative one is possible."""
    assert THETA[1] < 0
    for _ in range(steps):
        try:
            decision = learner.ask(available=[1])
        except sb.CompositionError:  # the moving policy needs a way along an axis
            continue
        learner.tell(decision, reward_of(decision) + SIGMA * float(rng.standard_normal()))


def log(learner: Learner, rounds: int) -> None:
    """Bring in rewards of the end of every axis, and of 0 where there is a baseline to know."""
    lower, upper = learner.policy.action_set.axis_reach()
    known = np.diag(np.where(upper >= -lower, upper, lower))
    if getattr(learner.policy, "intercept", False):
        known = np.vstack([known, np.zeros(known.shape[1])])
    actions = np.tile(known, (rounds, 1))
    learner.warm_start(actions, actions @ THETA)


@pytest.mark.each_value
@pytest.mark.parametrize("make", [make for _, make in HELD_TO_IT], ids=[n for n, _ in HELD_TO_IT])
@pytest.mark.parametrize("saved", [False, True])
def test_the_whole_set_is_decided_from_what_is_known_now(make: Make, saved: bool) -> None:
    policy = make()
    best = sb.sparse_argmax(policy.action_set, THETA, policy.sparsity, "exact").value
    learner = policy.start(seed=0)
    lose(learner, np.random.default_rng(0), 12)
    if saved:
        learner = through_json(learner)
    log(learner, 4000 if getattr(policy, "intercept", False) else 2000)
    within = WITHIN[policy.kind] + 2 * getattr(policy, "intercept", False)  # 0 is explored too
    for _ in range(within):
        decision = learner.ask()
        if reward_of(decision) >= 0.95 * best:
            break
        learner.tell(decision, reward_of(decision))
    else:
        pytest.fail(f"{within} steps, and none is the best one: {decision}")
