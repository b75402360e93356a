"""What a decision costs, of a learner of ours and of a peer's bandit."""

import time

import numpy as np
from mabwiser.mab import MAB, LearningPolicy
from ratios import once

import sparsebandits as sb

SEEDS = 3


def ask_tell_seconds(
    policy: sb.Policy, steps: int, *, before: int = 0, repeats: int = 3, sigma: float = 0.5
) -> float:
    """Return the CPU seconds of an ask and a tell, over `steps` that follow on `before`.

    Rewards are those of a theta uniform on [-1, 1]^d; it is looked up on the non-zeros alone. The
    mean of `SEEDS` learners, for one holds its decisions longer than another; of each the least of
    some repeats.
    """
    dim = policy.action_set.dim
    theta = np.random.default_rng(1).uniform(-1.0, 1.0, dim)
    noise = sigma * np.random.default_rng(2).standard_normal(before + steps)

    def run(learner: sb.Learner, drawn: np.ndarray) -> None:
        for off in drawn.tolist():
            decision = learner.ask()
            learner.tell(decision, float(theta[decision.indices] @ decision.values) + off)

    spent = np.empty((repeats, SEEDS))
    for place in np.ndindex(spent.shape):
        learner = policy.start(seed=place[1])
        run(learner, noise[:before])
        spent[place] = once(lambda learner=learner: run(learner, noise[before:]), time.process_time)
    return float(spent.min(axis=0).mean()) / steps


def linucb_seconds(dim: int, *, repeats: int = 3) -> float:
    """Return the least CPU seconds of MABWiser's LinUCB, with `dim` arms and as long a context."""
    rng = np.random.default_rng(0)
    arms, contexts = list(range(dim)), rng.standard_normal((300, dim))
    rewards = rng.standard_normal(300)
    bandit = MAB(arms, LearningPolicy.LinUCB(alpha=1.0))
    bandit.fit(arms, rewards[:dim].tolist(), contexts[:dim])

    def run() -> None:
        for context, reward in zip(contexts, rewards, strict=True):
            arm = bandit.predict([context])
            bandit.partial_fit([arm], [reward], [context])

    return min(once(run, time.process_time) for _ in range(repeats)) / len(contexts)
