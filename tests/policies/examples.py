"""Instances of every registered policy, and a way to play them: a new policy adds its line here."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies import POLICIES, Decision, Learner, Policy, PosteriorCertificate
from sparsebandits.policies.ridge_rule import RidgeRule
from sparsebandits.validation import FloatArray
from tests.contracts.examples import CASES as SETS
from tests.contracts.examples import correlated_matrix

DIM = 4
SIGMA = 0.02

Make = Callable[[], Policy]


def ellipsoid(dim: int = DIM, seed: int = 5) -> sb.Ellipsoid:
    return sb.Ellipsoid(correlated_matrix(np.random.default_rng(seed), dim, condition=4.0))


def polytope(dim: int = DIM) -> sb.Polytope:
    rows = np.vstack([np.ones((1, dim)), np.eye(dim), -np.eye(dim)])
    return sb.Polytope(rows, np.concatenate([[1.5], np.ones(dim), np.full(dim, 0.5)]))


def apsee(action_set: sb.ActionSet | None = None, **keywords: Any) -> sb.APSEE:
    chosen = sb.LpBall(DIM) if action_set is None else action_set
    return sb.APSEE(action_set=chosen, **{"sparsity": 2, "sigma": SIGMA, **keywords})


def apsee_g(action_set: sb.ActionSet | None = None, **keywords: Any) -> sb.APSEEG:
    chosen = ellipsoid() if action_set is None else action_set
    return sb.APSEEG(action_set=chosen, **{"sparsity": 2, "sigma": SIGMA, **keywords})


def hedged(action_set: sb.ActionSet | None = None, **keywords: Any) -> sb.HedgedAPSEE:
    chosen = sb.LpBall(DIM) if action_set is None else action_set
    return sb.HedgedAPSEE(action_set=chosen, **{"sparsity": 2, "sigma": SIGMA, **keywords})


def compact(action_set: sb.ActionSet | None = None, **keywords: Any) -> sb.CompactAPSEEG:
    chosen = polytope() if action_set is None else action_set
    return sb.CompactAPSEEG(action_set=chosen, **{"sparsity": 2, **keywords})


def moving(action_set: sb.ActionSet | None = None, **keywords: Any) -> sb.TimeVaryingAPSEEG:
    chosen = ellipsoid() if action_set is None else action_set
    return sb.TimeVaryingAPSEEG(action_set=chosen, **{"sparsity": 2, "sigma": SIGMA, **keywords})


def adaptive(kind: str, action_set: sb.ActionSet | None = None, **keywords: Any) -> Policy:
    """A policy that decides anew at every step, by its name in the table."""
    chosen = sb.LpBall(DIM) if action_set is None else action_set
    policy = POLICIES[kind](action_set=chosen, **{"sparsity": 2, **keywords})
    assert isinstance(policy, Policy)
    return policy


def decision_of(action: FloatArray) -> Decision:
    """A decision that nobody made, for an action out of logs."""
    indices = np.flatnonzero(action)
    return Decision(0, indices, action[indices], action.size, "explore", 0)


def box(lower: float = 0.0, dim: int = DIM) -> sb.Box:
    return sb.Box(np.full(dim, lower), np.linspace(1.0, 0.5, dim))


def slates(dim: int = DIM) -> sb.FiniteSet:
    pairs = 0.7 * (np.eye(dim) + np.eye(dim)[np.roll(np.arange(dim), 1)])
    return sb.FiniteSet(np.vstack([np.zeros(dim), np.eye(dim), -np.eye(dim), pairs, -pairs]))


def without_zero(dim: int = DIM) -> sb.Polytope:
    """0.3 <= x_0 <= 1, and a cube in the others: 0 is not in it."""
    rows = np.vstack([np.eye(dim), -np.eye(dim)])
    return sb.Polytope(rows, np.concatenate([np.ones(dim), [-0.3], np.ones(dim - 1)]))


def _compact_on(factory: Callable[[np.random.Generator, int], sb.ActionSet]) -> Make:
    return lambda: compact(factory(np.random.default_rng(3), DIM))


EXAMPLES: dict[str, list[Make]] = {
    "apsee": [
        lambda: apsee(),
        lambda: apsee(confidence="pairwise", basis="block-gaussian"),
        lambda: apsee(sb.LpBall(DIM, p=1.0, radius=2.0), confidence="mixture"),
        lambda: apsee(sb.LpBall(DIM, p=float("inf")), confidence="stitched", use_all_data=True),
        lambda: apsee(sb.Box(np.zeros(DIM), np.ones(DIM)), sigma="estimate"),
        lambda: apsee(sb.Ellipsoid(np.diag([1.0, 2.0, 3.0, 0.5])), basis="boundary"),
        lambda: apsee(confidence="pairwise", explore_locked_only=True),
        lambda: apsee(confidence="pairwise", explore_locked_only=True, intercept=True),
        lambda: apsee(box(), sigma="estimate", use_all_data=True, intercept=True),
    ],
    "apsee-g": [
        lambda: apsee_g(),
        lambda: apsee_g(oracle="exact", confidence="coordinate", basis="designed"),
        lambda: apsee_g(sb.LpBall(DIM, p=1.5), use_all_data=True),
        lambda: apsee_g(polytope(), insist=True),
        lambda: apsee_g(sb.Budget(1.0, np.full(DIM, 0.6)), schedule="sqrt"),
        lambda: apsee_g(oracle="exact", basis="designed", confidence="support", intercept=True),
    ],
    "apsee-compact": [
        *(_compact_on(factory) for _, factory in SETS),
        lambda: compact(oracle="swap", use_all_data=True),
        lambda: compact(ellipsoid(), oracle="auto", basis="block-uniform", basis_seed=3),
        lambda: compact(without_zero(), oracle="exact", intercept=True),
    ],
    "apsee-hedged": [
        lambda: hedged(),
        lambda: hedged(ellipsoid(), oracle="greedy", confidence="support", sigma="estimate"),
        lambda: hedged(explore_locked_only=False, use_all_data=True, waiting="linear"),
        lambda: hedged(intercept=True),
    ],
    "time-varying": [
        lambda: moving(),
        lambda: moving(sb.LpBall(DIM), oracle="exact"),
        lambda: moving(polytope(), gap_test=False),
        lambda: moving(polytope(), schedule="sqrt"),
        lambda: moving(intercept=True),
        lambda: moving(sb.Box(-np.ones(DIM), np.ones(DIM)), schedule="sqrt", oracle="top-h"),
    ],
    "sparse-thompson": [
        lambda: adaptive("sparse-thompson"),
        lambda: adaptive("sparse-thompson", ellipsoid(), oracle="greedy", sigma=SIGMA),
        lambda: adaptive("sparse-thompson", box(), guarantee=True),
        lambda: adaptive("sparse-thompson", slates(), guarantee=True, sigma=0.0),
        lambda: adaptive("sparse-thompson", box(-1.0), intercept=False),
    ],
    "lin-ts": [
        lambda: adaptive("lin-ts"),
        lambda: adaptive("lin-ts", ellipsoid(), oracle="greedy", sigma=SIGMA, ridge=0.2),
        lambda: adaptive("lin-ts", box(-1.0), oracle="top-h", scale=2.0),
        lambda: adaptive("lin-ts", slates(), oracle="swap"),
        lambda: adaptive("lin-ts", box(), intercept=True),
    ],
    "oful": [
        lambda: adaptive("oful", starts=4, sweeps=3),
        lambda: adaptive("oful", ellipsoid(), sigma=SIGMA, radius=1.0, starts=3, sweeps=2),
        lambda: adaptive("oful", box(), maximiser="enumerate", theta_bound=3.0),
        lambda: adaptive("oful", slates(), maximiser="dani", ridge=0.5, delta=0.2),
        lambda: adaptive("oful", starts=3, sweeps=2, sigma=SIGMA, intercept=True),
        lambda: adaptive("oful", box(), maximiser="enumerate", radius=1.0, intercept=True),
        lambda: adaptive("oful", slates(), maximiser="dani", ridge=0.5, intercept=True),
    ],
    "pege": [
        lambda: adaptive("pege"),
        lambda: adaptive("pege", ellipsoid(), basis="block-gaussian", basis_seed=2),
        lambda: adaptive("pege", box(), schedule="sqrt", use_all_data=True, basis="boundary"),
        lambda: adaptive("pege", slates(), intercept=True),
    ],
    "explore-then-commit": [
        lambda: adaptive("explore-then-commit", horizon=60),
        lambda: adaptive("explore-then-commit", box(), horizon=10, exploration_steps=9),
        lambda: adaptive("explore-then-commit", ellipsoid(), horizon=99, basis="designed"),
        lambda: adaptive("explore-then-commit", horizon=60, intercept=True),
    ],
    "epsilon-greedy": [
        lambda: adaptive("epsilon-greedy", rate=0.4),
        lambda: adaptive("epsilon-greedy", ellipsoid(), power=1.0, basis="boundary", ridge=0.1),
        lambda: adaptive("epsilon-greedy", slates(), rate=0.2),
        lambda: adaptive("epsilon-greedy", box(-1.0), rate=0.4, intercept=True),
    ],
    "estc": [
        lambda: adaptive("estc", exploration_steps=20),
        lambda: adaptive("estc", box(-1.0), horizon=30, sigma=SIGMA, theta_sparsity=1),
        lambda: adaptive("estc", ellipsoid(), horizon=40, constant=0.5, oracle="greedy"),
    ],
    "support-elimination": [
        lambda: adaptive("support-elimination", sigma=SIGMA),
        lambda: adaptive("support-elimination", ellipsoid(), basis="block-gaussian"),
        lambda: adaptive("support-elimination", box(), growth=1.5, refine=True, delta=0.2),
        lambda: adaptive("support-elimination", box(), basis="designed", intercept=True),
    ],
    "csar": [
        lambda: adaptive("csar", box(), sigma=SIGMA),
        lambda: adaptive("csar", box(-0.5)),
        lambda: adaptive("csar", box(-2.0), sigma=1.0, tolerance=0.5, delta=0.3),
    ],
    "random-sparse": [
        lambda: adaptive("random-sparse"),
        lambda: adaptive("random-sparse", polytope()),
    ],
}

CASES: list[tuple[str, Make]] = [
    (f"{kind}-{number}", make)
    for kind, makers in EXAMPLES.items()
    for number, make in enumerate(makers)
]
CASE_IDS = [name for name, _ in CASES]
MAKERS = [make for _, make in CASES]

every_case = pytest.mark.parametrize("make", MAKERS, ids=CASE_IDS)

one_of_each_kind = pytest.mark.parametrize(
    "make",
    [
        pytest.param(make, id=name, marks=() if name.endswith("-0") else pytest.mark.thorough)
        for name, make in CASES
    ],
)
"""The first example of each kind; all of them in `make test-thorough`."""

SCHEDULED = ("apsee", "apsee-g", "apsee-compact", "apsee-hedged", "time-varying")
"""The paper's policies: cycles of exploration and exploitation, and a gap test."""

FIRST_OF_EACH: dict[str, Make] = {
    kind: makers[0] for kind, makers in EXAMPLES.items() if kind not in SCHEDULED
}
"""One example of every adaptive kind."""

THETA = np.array([1.0, -0.2, 0.7, 0.1])


@dataclass(frozen=True, eq=False)
class Play:
    """A decision, and its reward if it was told."""

    decision: Decision
    reward: float | None


def reward_of(decision: Decision, theta: FloatArray = THETA) -> float:
    """The mean reward, without noise."""
    return float(theta @ decision.action)


def play(
    learner: Learner,
    steps: int,
    *,
    theta: FloatArray = THETA,
    sigma: float = 0.0,
    seed: int = 0,
) -> list[Play]:
    """Ask and tell in order."""
    rng = np.random.default_rng(seed)
    plays = []
    for _ in range(steps):
        decision = learner.ask()
        reward = reward_of(decision, theta) + sigma * float(rng.standard_normal())
        learner.tell(decision, reward)
        plays.append(Play(decision, reward))
    return plays


def play_late(learner: Learner, steps: int, seed: int, lost: float = 0.25) -> list[Play]:
    """Ask and tell with rewards that come up to a few cycles late, in any order, or never."""
    rng = np.random.default_rng(seed)
    waiting: list[Decision] = []
    plays: list[Play] = []
    for _ in range(steps):
        decision = learner.ask()
        if rng.random() < lost:
            plays.append(Play(decision, None))
        else:
            waiting.append(decision)
        while waiting and (len(waiting) > 3 * DIM or rng.random() < 0.5):
            late = waiting.pop(int(rng.integers(len(waiting))))
            reward = reward_of(late) + SIGMA * float(rng.standard_normal())
            learner.tell(late.id, reward)
            plays.append(Play(late, reward))
    return plays


def least_squares(plays: Iterable[Play], intercept: bool = False) -> FloatArray | None:
    """NumPy's least squares over the rewards told; None while they do not span.

    With an intercept on (1, x), without b.
    """
    told = [(play.decision.action, play.reward) for play in plays if play.reward is not None]
    if not told:
        return None
    actions = np.array([action for action, _ in told])
    if intercept:
        actions = np.column_stack([actions, np.ones(len(actions))])
    rewards = np.array([reward for _, reward in told])
    theta, _, rank, _ = np.linalg.lstsq(actions, rewards, rcond=None)
    return np.asarray(theta[: actions.shape[1] - intercept]) if rank == actions.shape[1] else None


def used(policy: Policy, plays: Iterable[Play]) -> list[Play]:
    """The plays whose rewards enter the estimate: explorations, or all of them."""
    everything = isinstance(policy, sb.TimeVaryingAPSEEG) or getattr(policy, "use_all_data", False)
    everything = everything or prior_of(policy) is not None
    return [play for play in plays if everything or play.decision.phase == "explore"]


def ridge_rule_of(source: Policy | Learner) -> RidgeRule | None:
    """The rule of a policy, or of a learner, that keeps a ridge regression of all rewards."""
    rule = source._rule if isinstance(source, Learner) else source.rule([np.random.default_rng(0)])
    return rule if isinstance(rule, RidgeRule) else None


def prior_of(source: Policy | Learner) -> FloatArray | None:
    """The diagonal of P over all columns; of a learner, what it was learned to be."""
    if not isinstance(source, Policy | Learner):
        return None
    rule = ridge_rule_of(source)
    return None if rule is None else rule.known.prior[0]


def normal_equations(
    source: Policy | Learner, plays: Iterable[Play]
) -> tuple[FloatArray, FloatArray, float]:
    """theta_hat of all columns, (V + P)^-1 and sigma_hat of told plays, the slow way.

    A column of ones stands for the baseline, where there is one.
    """
    rule, prior = ridge_rule_of(source), prior_of(source)
    assert rule is not None
    assert prior is not None
    told = [(play.decision.action, play.reward) for play in plays if play.reward is not None]
    actions = np.array([action for action, _ in told]).reshape(-1, rule.dim)
    rewards = np.array([reward for _, reward in told])
    if rule.design.intercept:
        actions = np.column_stack([np.ones(len(actions)), actions])
    covariance = np.linalg.inv(actions.T @ actions + np.diag(prior))
    theta = covariance @ (actions.T @ rewards)
    missed = rewards - actions @ theta
    least = float(missed @ missed + theta @ (prior * theta))
    freedom = rewards.size - float(np.trace(actions @ covariance @ actions.T))
    return theta, covariance, float(np.sqrt(least / freedom)) if freedom > 1e-9 else np.nan


LEAST_SQUARES = (*SCHEDULED, "pege", "explore-then-commit")
"""Kinds whose theta_hat is least squares on `used`, and None until that determines it."""

OWN_ESTIMATE = ("estc", "csar", "random-sparse")
"""The Lasso, differences of means, none. All other kinds keep a ridge regression."""


def expected_estimate(source: Policy | Learner, plays: Iterable[Play]) -> FloatArray | None:
    """What theta_hat must be after these plays, by a slow way; kinds of `OWN_ESTIMATE` have none.

    Least squares, or the ridge estimate from all rewards, which is 0 before the first. Where the
    prior is learned, `source` is the learner, which knows it.
    """
    policy = source.policy if isinstance(source, Learner) else source
    assert policy.kind not in OWN_ESTIMATE
    rule = ridge_rule_of(source)
    if rule is None:
        return least_squares(used(policy, plays), getattr(policy, "intercept", False))
    told = [play for play in plays if play.reward is not None]
    if not told:
        return np.zeros(rule.dim)
    return normal_equations(source, told)[0][rule.design.base :]


def through_json(learner: Learner) -> Learner:
    """Save and load."""
    return sb.Learner.from_dict(json.loads(json.dumps(learner.to_dict())))


def assert_close(
    found: FloatArray | None, expected: FloatArray | None, rtol: float = 1e-6, atol: float = 1e-8
) -> None:
    """Compare two estimates of which one comes from normal equations with a tiny ridge."""
    assert found is not None
    assert expected is not None
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


def certify(learner: Learner, draws: int = 200) -> PosteriorCertificate:
    """What a learner with a posterior says of it."""
    certificate = learner.certificate(draws=draws)
    assert isinstance(certificate, PosteriorCertificate)
    return certificate
