"""What every policy promises, for whoever writes one."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from sparsebandits.action_sets import ActionSet
from sparsebandits.policies import Decision, Learner, Policy
from sparsebandits.testing.contract import (
    PolicyExam,
    Promise,
    can_act,
    examine,
    same_bits,
    through_json,
)
from sparsebandits.testing.lanes import LANE_PROMISES
from sparsebandits.validation import FloatArray, IntArray, as_instance, as_integer

_STEPS = 42
"""Decisions per promise: some cycles of a policy with few coordinates."""


def check_policy(policy: Policy, *, seed: int = 0) -> None:
    """Hold a policy to what learners, simulations and services rely on.

    Decisions are feasible, H-sparse, numbered and read-only, with and without masks, and however
    late rewards come; the same seed gives the same bits, also after the learner was saved and
    loaded, and in a simulation beside others; what is refused changes nothing; and with
    ``intercept=True`` a constant in every reward changes no decision. A policy with 3 to 6
    coordinates is examined in about a second.

    Parameters
    ----------
    policy : Policy
    seed : int
        Draws theta*, the noise, and the moments at which masks, saves and refusals come.

    Raises
    ------
    ContractError
        At the first promise that is broken, with what shows it.

    Notes
    -----
    A learner is read back if its policy's class is in the table:
    ``sb.Policy.kinds[MyPolicy.kind] = MyPolicy``.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> sb.testing.check_policy(sb.LinTS(action_set=sb.LpBall(4), sparsity=2))
    """
    as_instance("policy", policy, Policy, "a policy such as sb.SparseThompson")
    number = as_integer("seed", seed, minimum=0)
    policy.start(number)  # refuses references, which are no learners
    examine(policy, _PROMISES | LANE_PROMISES, number)


class _World:
    """A theta* and its noise, to tell rewards by."""

    def __init__(self, policy: Policy, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.theta = self.rng.uniform(-1, 1, policy.action_set.dim)
        self.usable = np.flatnonzero(policy.action_set.available)
        self.policy = policy

    def reward(self, action: FloatArray) -> float:
        """Return theta*·x with noise."""
        return float(self.theta @ action + 0.1 * self.rng.standard_normal())

    def mask(self) -> IntArray:
        """Return some of the coordinates that the policy may use, with which it can act."""
        count = int(self.rng.integers(1, self.usable.size + 1))
        mask = self.rng.choice(self.usable, count, replace=False)
        return mask if can_act(self.policy, mask) else self.usable


def _play(learner: Learner, world: _World, steps: int) -> list[Decision]:
    """Ask and tell in order."""
    decisions = []
    for _ in range(steps):
        decisions.append(learner.ask())
        learner.tell(decisions[-1], world.reward(decisions[-1].action))
    return decisions


def _wander(learner: Learner, world: _World, steps: int) -> list[Decision]:
    """Ask with and without masks, tell in any order, forget, and now and then bring in logs."""
    decisions = []
    for move in world.rng.random(steps):
        waiting = learner.open_decisions
        if move < 0.4 or not waiting:
            decisions.append(learner.ask())
        elif move < 0.5:
            decisions.append(learner.ask(available=world.mask()))
        elif move < 0.96:
            number = int(world.rng.choice(waiting))
            learner.tell(number, float(world.rng.standard_normal()))
        elif move < 0.98:
            learner.forget(waiting[0])
        else:
            X, sparsity = learner.policy.action_set, learner.policy.sparsity
            actions = np.array([X.sample(world.rng, sparsity) for _ in range(3)])
            learner.warm_start(actions, actions @ world.theta)
    return decisions


def _bits(decisions: Sequence[Decision]) -> list[Any]:
    return [(d.id, d.phase, d.cycle, (d.action + 0.0).tobytes()) for d in decisions]


def _check_decision(exam: PolicyExam, decision: Decision, current: ActionSet) -> None:
    action = decision.action
    shown = {"id": decision.id, "action": action, "set": current}
    whole = action.dtype == np.float64 and action.shape == (current.dim,)
    exam.require(whole, f"it is {action.dtype} of shape {action.shape}", **shown)
    exam.require(current.contains(action), "it is not in the set", **shown)
    sparse = exam.part.sparse_oracle.obeyed_by(action, current)
    exam.require(sparse, f"it uses more than H = {exam.part.sparsity}", **shown)
    exam.require(not action.flags.writeable, "it can be written to", **shown)
    exam.require(decision.phase in ("explore", "exploit"), f"phase {decision.phase}", **shown)


def _decisions(exam: PolicyExam) -> None:
    learner, world = exam.part.start(exam.seed), _World(exam.part, exam.seed)
    decisions = _play(learner, world, 2 * _STEPS)
    for number, decision in enumerate(decisions, start=1):
        _check_decision(exam, decision, exam.part.action_set)
        exam.require(decision.id == number, f"decision {number} has the id {decision.id}")
    cycles = [decision.cycle for decision in decisions]
    exam.require(cycles == sorted(cycles) and cycles[0] >= 1, "the cycles", cycles=cycles)


def _knowledge(exam: PolicyExam) -> None:
    learner, world = exam.part.start(exam.seed), _World(exam.part, exam.seed)
    commits = exam.part.rule([np.random.default_rng(0)]).commits
    locked = None
    for _ in range(_STEPS):
        theta, support = learner.theta_hat, learner.support
        if theta is not None:
            finite = theta.shape == world.theta.shape and np.isfinite(theta).all()
            exam.require(finite, "theta_hat", theta_hat=theta)
        exam.require(locked in (None, support), f"{locked} was locked", support=support)
        if support is not None:
            ordered = list(support) == sorted(set(support))
            fits = commits and ordered and len(support) <= exam.part.sparse_oracle.width
            exam.require(fits, "the support is no ascending tuple of at most H", support=support)
        locked = support
        [decision] = _play(learner, world, 1)
        if locked is not None and decision.phase == "exploit":
            inside = set(np.flatnonzero(decision.action)) <= set(locked)
            exam.require(inside, f"{locked} was locked", action=decision.action)
    learner.ask()
    before = learner.to_dict()
    learner.certificate(horizon=10, draws=3)
    exam.require(learner.to_dict() == before, "the certificate")
    for array in (learner.theta_hat, learner.estimate_in_use):
        if array is not None and array.flags.writeable:
            array[...] = 99.0
    exam.require(learner.to_dict() == before, "an estimate that was handed out")
    for value in learner.to_dict()["state"].values():
        if isinstance(value, list) and value:
            value[0] = 99.0
    exam.require(learner.to_dict() == before, "what to_dict handed out")


def _same_seed(exam: PolicyExam) -> None:
    learners = [exam.part.start(exam.seed) for _ in range(2)]
    one, two = (_play(learner, _World(exam.part, exam.seed), _STEPS // 2) for learner in learners)
    exam.require(_bits(one) == _bits(two), "two learners part", one=one, two=two)
    exam.require(learners[0].to_dict() == learners[1].to_dict(), "their states differ")


def _description(exam: PolicyExam) -> None:
    policy = exam.part
    name, kind = type(policy).__name__, policy.kind
    remedy = f"`sb.Policy.kinds[{name}.kind] = {name}`, once, beside the class"
    exam.require(kind in Policy.kinds, f"the kind {kind!r} is not in the table; add it: {remedy}")
    again = Policy.from_dict(through_json(policy.to_dict()))
    equal = type(again) is type(policy) and again.to_dict() == policy.to_dict()
    exam.require(equal, "it is another one", description=policy.to_dict())


def _saving(exam: PolicyExam) -> None:
    straight, saved = exam.part.start(exam.seed), exam.part.start(exam.seed)
    worlds = [_World(exam.part, exam.seed) for _ in range(2)]
    for _ in range(8):
        steps = int(exam.rng.integers(1, 16))
        one, two = _wander(straight, worlds[0], steps), _wander(saved, worlds[1], steps)
        exam.require(_bits(one) == _bits(two), "they part", straight=one, loaded=two)
        before = saved.to_dict()
        saved = Learner.from_dict(through_json(before))
        exam.require(saved.to_dict() == before, "what was loaded is saved otherwise", saved=before)
        known = same_bits(saved.theta_hat, straight.theta_hat) and saved.support == straight.support
        exam.require(known, "they know different things", saved=before)
    exam.require(straight.to_dict() == saved.to_dict(), "their states differ")


def _late_rewards(exam: PolicyExam) -> None:
    learner, world = exam.part.start(exam.seed), _World(exam.part, exam.seed)
    for _ in range(3):
        asked = [learner.ask() for _ in range(_STEPS // 3)]
        for number in exam.rng.permutation(len(asked))[::2]:
            learner.tell(asked[number].id, world.reward(asked[number].action))
            theta = learner.theta_hat
            finite = theta is None or np.isfinite(theta).all()
            exam.require(finite, "theta_hat is not finite", theta_hat=theta)
        for decision in asked:
            _check_decision(exam, decision, exam.part.action_set)
    waiting = 3 * (len(asked) // 2)
    exam.require(len(learner.open_decisions) == waiting, f"{waiting} decisions are open")


def _masks(exam: PolicyExam) -> None:
    learner, world = exam.part.start(exam.seed), _World(exam.part, exam.seed)
    for number in range(_STEPS):
        mask = world.mask()
        current = exam.part.action_set.restrict(mask)
        named = {"available": mask} if number % 2 else {"action_set": current}
        decision = learner.ask(**named)
        _check_decision(exam, decision, current)
        learner.tell(decision, world.reward(decision.action))


def _refusals(exam: PolicyExam) -> None:
    dim = exam.part.action_set.dim
    disturbed, calm = exam.part.start(exam.seed), exam.part.start(exam.seed)
    worlds = [_World(exam.part, exam.seed) for _ in range(2)]
    bad_ids: list[Any] = [1, 0, 10**9, "2", None, 1.5, True]
    bad_rewards: list[Any] = [np.nan, np.inf, "1.5", None, [1.0, 2.0]]
    bad_masks: list[Any] = [[], [dim], [0, 0], "01"]
    for steps in (1, dim, _STEPS // 2):
        for learner, world in zip((disturbed, calm), worlds, strict=True):
            _play(learner, world, steps)
            learner.ask()
        before = disturbed.to_dict()
        last = disturbed.open_decisions[-1]
        calls: list[Callable[[], object]] = [
            *(partial(disturbed.tell, bad, 0.5) for bad in bad_ids),
            *(partial(disturbed.tell, last, bad) for bad in bad_rewards),
            *(partial(disturbed.ask, bad) for bad in bad_masks),
            partial(disturbed.warm_start, np.ones((1, dim)), [np.nan]),
        ]
        for call in calls:
            exam.refuses(call, f"{call}")
            exam.require(disturbed.to_dict() == before, f"{call} changed the state")
    one, two = (_play(x, world, 9) for x, world in zip((disturbed, calm), worlds, strict=True))
    exam.require(_bits(one) == _bits(two), "later decisions differ", disturbed=one, calm=two)


def _baselines(exam: PolicyExam) -> None:
    if not getattr(exam.part, "intercept", False):
        return
    theta = _World(exam.part, exam.seed).theta
    played: list[list[FloatArray]] = []
    for constant in (0.0, 64.0):
        learner, rng = exam.part.start(exam.seed), np.random.default_rng(exam.seed)
        actions = []
        for _ in range(_STEPS):
            decision = learner.ask()
            reward = float(theta @ decision.action + 0.1 * rng.standard_normal())
            # On a grid on which the constant costs no digit: rounding could tip a tie.
            learner.tell(decision, constant + round(reward * 2**20) / 2**20)
            actions.append(decision.action)
        played.append(actions)
    for number, (plain, moved) in enumerate(zip(*played, strict=True), start=1):
        same = bool(np.allclose(plain, moved, rtol=0.0, atol=1e-6))
        exam.require(same, f"decision {number} is another one", plain=plain, moved=moved)


_PROMISES: dict[str, Promise[Policy]] = {
    "Decisions are feasible, H-sparse, numbered and read-only.": _decisions,
    "Estimates are finite, a locked support stays, and looking changes nothing.": _knowledge,
    "The same seed gives the same bits.": _same_seed,
    "Rewards may come late, in any order, or never.": _late_rewards,
    "What is not available now is not used.": _masks,
    "A call that is refused changes nothing.": _refusals,
    "With an intercept a constant in every reward changes no decision.": _baselines,
    "A policy is rebuilt from its description in JSON.": _description,
    "A learner that is saved and loaded at any moment continues bit for bit.": _saving,
}
