"""What a rule promises when many learners run side by side, as in a simulation."""

from collections.abc import Sequence

import numpy as np

from sparsebandits.environments import Gaussian, LinearEnvironment, UniformCube
from sparsebandits.policies import Decision, Learner, Policy
from sparsebandits.policies.lanes import ask_together, tell_together
from sparsebandits.policies.rule import Rule
from sparsebandits.simulation import simulate
from sparsebandits.testing.contract import PolicyExam, Promise, can_act, same_bits
from sparsebandits.validation import FloatArray

_STEPS = 30
_LANES = 3
_AHEAD = 16
"""Rows of random numbers that are drawn ahead for each lane."""


class _Waiting:
    """The rewards of every lane that have not been told yet, to the lane and to its learner."""

    def __init__(self, rule: Rule, learners: Sequence[Learner]) -> None:
        self._rule, self._learners = rule, learners
        self._open: list[list[tuple[Decision, float, int]]] = [[] for _ in learners]

    def add(self, lane: int, decision: Decision, reward: float) -> None:
        """Keep the reward of a decision that was just made."""
        self._open[lane].append((decision, reward, int(self._rule.pulls[lane])))

    def tell(self, rng: np.random.Generator, share: float) -> None:
        """Tell any one of the open rewards, in a share of the lanes."""
        lanes = [
            lane for lane, waiting in enumerate(self._open) if waiting and rng.random() < share
        ]
        if not lanes:
            return
        told = [self._open[lane].pop(int(rng.integers(len(self._open[lane])))) for lane in lanes]
        self._rule.learn(
            np.array([decision.action for decision, _, _ in told]),
            np.array([reward for _, reward, _ in told]),
            np.array([pull for _, _, pull in told]),
            None if len(lanes) == len(self._learners) else np.array(lanes),
        )
        for lane, (decision, reward, _) in zip(lanes, told, strict=True):
            self._learners[lane].tell(decision, reward)


def _side_by_side(exam: PolicyExam) -> None:
    policy, X = exam.part, exam.part.action_set
    seeds = range(exam.seed, exam.seed + _LANES)
    learners = [policy.start(seed) for seed in seeds]
    rule = policy.rule([np.random.default_rng(seed) for seed in seeds], _AHEAD)
    waiting = _Waiting(rule, learners)
    theta = exam.rng.uniform(-1, 1, (_LANES, X.dim))
    handed_out: list[tuple[FloatArray, FloatArray]] = []
    for step in range(1, _STEPS + 1):
        alone = exam.rng.choice(np.flatnonzero(X.available), 1)
        current = X.restrict(alone) if step % 7 == 0 and can_act(policy, alone) else X
        actions = rule.choose(current)
        handed_out.append((actions, actions.copy()))
        for lane, learner in enumerate(learners):
            decision = learner.ask(action_set=current)
            shown = {"step": step, "lane": lane, "action": actions[lane], "alone": decision.action}
            exam.require(same_bits(decision.action, actions[lane]), "another action", **shown)
            same = decision.phase == ("explore" if rule.exploring[lane] else "exploit")
            exam.require(same and learner.support == rule.support_in(lane), "its state", **shown)
            noise = 0.1 * exam.rng.standard_normal()
            waiting.add(lane, decision, float(theta[lane] @ decision.action + noise))
        waiting.tell(exam.rng, share=1.0 if step <= _STEPS // 2 else 0.6)
        for lane, learner in enumerate(learners):
            estimate = None if rule.estimate is None else rule.estimate[lane]
            absent = estimate is None or np.isnan(estimate).any()
            same = same_bits(None if absent else estimate, learner.theta_hat)
            exam.require(same, "another estimate", step=step, lane=lane, estimate=estimate)
    kept = all(same_bits(actions, copy) for actions, copy in handed_out)
    exam.require(kept, "actions that were handed out were written to later")


def _together(exam: PolicyExam) -> None:
    """Ask and tell some of the learners together, and each twin alone."""
    policy, X, rng = exam.part, exam.part.action_set, exam.rng
    seeds = range(exam.seed, exam.seed + _LANES + 1)
    learners, twins = [policy.start(seed) for seed in seeds], [policy.start(seed) for seed in seeds]
    theta = rng.uniform(-1, 1, X.dim)
    size = getattr(policy, "context", 0)
    for step in range(1, _STEPS + 1):
        alone = rng.choice(np.flatnonzero(X.available), 1)
        available = alone if step % 7 == 0 and can_act(policy, alone) else None
        chosen = np.flatnonzero(rng.random(len(learners)) < 0.8).tolist()
        seen = [rng.standard_normal(size) if size else None for _ in chosen]
        decided = ask_together([learners[lane] for lane in chosen], available, seen)
        for lane, decision, z in zip(chosen, decided, seen, strict=True):
            other = twins[lane].ask(available, context=z)
            same = isinstance(decision, Decision) and same_bits(decision.action, other.action)
            exam.require(same, "another action", step=step, lane=lane, alone=other, got=decision)
        waiting = [lane for lane, twin in enumerate(twins) if twin.open_decisions]
        told = [lane for lane in waiting if rng.random() < (1.0 if step < _STEPS // 2 else 0.6)]
        ids = [int(rng.choice(twins[lane].open_decisions)) for lane in told]
        rewards = [float(theta.sum() + 0.1 * rng.standard_normal()) for _ in told]
        refused = tell_together([learners[lane] for lane in told], ids, rewards)
        exam.require(refused == [None] * len(told), "a reward was refused", refused=refused)
        for lane, number, reward in zip(told, ids, rewards, strict=True):
            twins[lane].tell(number, reward)
    for lane, (learner, twin) in enumerate(zip(learners, twins, strict=True)):
        exam.require(learner.to_dict() == twin.to_dict(), "another state", lane=lane)


def _trials(exam: PolicyExam) -> None:
    policy = exam.part
    world = LinearEnvironment(
        action_set=policy.action_set, theta_star=UniformCube(), noise=Gaussian(0.1)
    )
    whole = simulate(policy, world, _STEPS, _LANES, seed=exam.seed, engine="lanes")
    part = simulate(policy, world, _STEPS, _LANES - 1, exam.seed, first_trial=1, engine="lanes")
    fast = simulate(policy, world, _STEPS, _LANES, seed=exam.seed)
    for name in ("regret", "locked_at", "support_correct", "optimal_share", "theta_error"):
        trials = getattr(whole, name)
        exam.require(same_bits(trials[1:], getattr(part, name)), f"{name} of trials 1 and 2")
    # Where blocks of cycles are taken at once, rewards are summed in another order.
    near = np.allclose(whole.regret, fast.regret, rtol=1e-9, atol=1e-9 * np.abs(whole.regret).max())
    exam.require(near, "the regret by blocks of cycles", lanes=whole.regret, blocks=fast.regret)
    exam.require(np.isfinite(whole.regret).all(), "the regret", regret=whole.regret)


LANE_PROMISES: dict[str, Promise[Policy]] = {
    "A lane has the bits of a learner alone, whatever lanes are beside it.": _side_by_side,
    "Learners that are asked and told together have the bits of each alone.": _together,
    "A trial of a simulation has the same bits whatever trials are run beside it.": _trials,
}
