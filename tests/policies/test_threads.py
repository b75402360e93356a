"""One learner in eight threads: every reward is counted once, and the estimate is right."""

import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from sparsebandits.policies import POLICIES, Learner
from sparsebandits.validation import FloatArray
from tests.policies.examples import (
    DIM,
    EXAMPLES,
    THETA,
    Play,
    decision_of,
    expected_estimate,
    through_json,
    used,
)

THREADS = 8
STEPS = 40
LOGGED = np.vstack([np.eye(DIM), 0.5 * np.eye(DIM)[::-1]])


@pytest.fixture
def tiny_switch_interval() -> Iterator[None]:
    """Let the interpreter change threads after every few bytecodes."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


class Thread(threading.Thread):
    """A client that asks, tells at once or later, forgets, logs, saves and looks."""

    def __init__(
        self, learner: Learner, number: int, start: threading.Barrier, noise: float
    ) -> None:
        super().__init__()
        self.learner, self.barrier, self.noise = learner, start, noise
        self.rng = np.random.default_rng(number)
        self.plays: list[Play] = []
        self.logged: list[tuple[FloatArray, float]] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.barrier.wait()
            self.work()
        except BaseException as error:
            self.error = error

    def work(self) -> None:
        waiting = []
        for step in range(STEPS):
            waiting.append(self.learner.ask(available=[0, 1, 3] if step % 5 == 2 else None))
            while waiting and (self.rng.random() < 0.6 or step == STEPS - 1):
                decision = waiting.pop(int(self.rng.integers(len(waiting))))
                if self.rng.random() < 0.15:
                    self.learner.forget(decision)
                    self.plays.append(Play(decision, None))
                    continue
                reward = float(THETA @ decision.action + self.noise * self.rng.standard_normal())
                self.learner.tell(decision.id, reward)
                self.plays.append(Play(decision, reward))
            if step % 10 == 3:
                rewards = LOGGED @ THETA + self.noise * self.rng.standard_normal(len(LOGGED))
                self.learner.warm_start(LOGGED, rewards)
                self.logged.extend(zip(LOGGED, rewards.tolist(), strict=True))
            if step % 10 == 7:
                self.learner.to_dict()
                self.learner.certificate(draws=2)


def hammered(learner: Learner, noise: float) -> list[Thread]:
    barrier = threading.Barrier(THREADS)
    threads = [Thread(learner, number, barrier, noise) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for thread in threads:
        if thread.error is not None:
            raise thread.error
    return threads


def pairs(learner: Learner, threads: list[Thread]) -> list[Play]:
    """What entered the sums of a learner, by the accounts of the threads; logs are explorations."""
    everything = [play for thread in threads for play in thread.plays]
    if learner.policy.kind == "estc":
        everything = [play for play in everything if play.decision.phase == "explore"]
    logged = [pair for thread in threads for pair in thread.logged]
    everything += [Play(decision_of(x), reward) for x, reward in logged]
    return [play for play in used(learner.policy, everything) if play.reward is not None]


@pytest.mark.usefixtures("tiny_switch_interval")
@pytest.mark.parametrize("kind", POLICIES)
def test_every_reward_is_counted_once_and_theta_hat_solves_its_equations(kind: str) -> None:
    # The rewards of a phase that is over are dropped by CSAR; without noise its means are exact.
    noise = 0.0 if kind == "csar" else 0.1
    learner = EXAMPLES[kind][0]().start(seed=1)
    threads = hammered(learner, noise)
    ids = [play.decision.id for thread in threads for play in thread.plays]
    assert sorted(ids) == list(range(1, THREADS * STEPS + 1))
    assert learner.open_decisions == ()
    plays, state = pairs(learner, threads), learner.to_dict()["state"]
    theta = learner.theta_hat
    if kind == "csar":
        assert_solves(theta, THETA)
    elif kind == "estc":
        assert state["counts"] == len(plays)
        z = np.array([[*play.decision.action, play.reward] for play in plays])
        sums = getattr(learner._rule, "sums")  # noqa: B009
        np.testing.assert_allclose((sums.moments + sums.lost)[0], z.T @ z, atol=1e-9)
    elif kind != "random-sparse":
        assert_solves(theta, expected_estimate(learner, plays))
        assert counted(learner, state) == len(plays)
    assert through_json(learner).to_dict() == learner.to_dict()


def assert_solves(theta: FloatArray | None, expected: FloatArray | None) -> None:
    assert theta is not None
    assert expected is not None
    np.testing.assert_allclose(theta, expected, rtol=1e-9, atol=1e-9)


def counted(learner: Learner, state: dict[str, Any]) -> int:
    """How many rewards a saved state knows of; half of the logs are of no exploration action."""
    if learner.policy.kind == "time-varying":
        return int(state["gram"][2])
    others = THREADS * len(range(3, STEPS, 10)) * DIM if isinstance(state["counts"], list) else 0
    aside = state.get("told", 0) if learner.policy.kind == "sparse-thompson" else 0
    return int(np.sum(state["counts"]) + aside) + others
