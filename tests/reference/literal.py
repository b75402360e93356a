"""The paper's algorithm boxes, line by line, one step at a time, with lists and no shortcuts."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

import sparsebandits as sb
from sparsebandits.validation import FloatArray
from tests.reference.slow import slow_greedy, slow_value

Reward = Callable[[FloatArray, str], float]
"""The reward of an action in a phase."""


@dataclass
class Step:
    """One step: the action, its phase, and the locked support at that time."""

    action: FloatArray
    phase: str
    cycle: int
    support: tuple[int, ...] | None


def _ols(cycle: int, basis: FloatArray, rewards: list[list[float]]) -> FloatArray:
    """`eqn:sparse-PEE-ols`, with B inverted as the paper writes it."""
    gram = sum(np.outer(b, b) for b in basis)
    total = np.zeros(basis.shape[1])
    for cycle_rewards in rewards:
        for action, reward in zip(basis, cycle_rewards, strict=True):
            total = total + action * reward
    return np.asarray(np.linalg.inv(cycle * gram) @ total)


def _epsilon(cycle: int, basis: FloatArray, sigma: float, delta: float) -> float:
    gram = sum(np.outer(b, b) for b in basis)
    dim = basis.shape[1]
    h_1 = 2 * sigma**2 * np.trace(gram) / np.linalg.eigvalsh(gram)[0] ** 2
    return float(np.sqrt(h_1 * np.log(2 * dim * cycle**2 / delta) / cycle))


def _top_h(theta: FloatArray, sparsity: int) -> tuple[tuple[int, ...], float]:
    order = sorted(range(theta.size), key=lambda i: (-abs(theta[i]), i))
    gap = abs(theta[order[sparsity - 1]]) - abs(theta[order[sparsity]])
    return tuple(sorted(order[:sparsity])), float(gap)


def apsee(
    ball: sb.LpBall,
    sparsity: int,
    basis: FloatArray,
    sigma: float,
    delta: float,
    reward: Reward,
    scale: float = 1.0,
) -> Iterator[Step]:
    """Algorithm 1, on the l2 ball."""
    dim = basis.shape[1]
    found, support = False, None
    rewards: list[list[float]] = []
    cycle = 1
    while True:
        rewards.append([])
        for k in range(dim):
            yield Step(basis[k], "explore", cycle, support)
            rewards[-1].append(reward(basis[k], "explore"))
        theta = _ols(cycle, basis, rewards)
        if not found:
            epsilon = scale * _epsilon(cycle, basis, sigma, delta)
            candidate, gap = _top_h(theta, sparsity)
            if gap > 2 * epsilon:
                support, found = candidate, True
        if found:
            assert support is not None
            kept = np.array([theta[i] if i in support else 0.0 for i in range(dim)])
            action = ball.radius * kept / np.linalg.norm(kept)
            for _ in range(cycle):
                yield Step(action, "exploit", cycle, support)
                reward(action, "exploit")
        cycle += 1


def _ellipsoid_action(X: sb.Ellipsoid, theta: FloatArray, support: list[int]) -> FloatArray:
    block = X.matrix[np.ix_(support, support)]
    solved = np.linalg.solve(block, theta[support])
    action = np.zeros(X.dim)
    action[support] = solved / np.sqrt(theta[support] @ solved)
    return action


def apsee_g(
    X: sb.Ellipsoid,
    sparsity: int,
    basis: FloatArray,
    sigma: float,
    delta: float,
    reward: Reward,
    scale: float = 1.0,
) -> Iterator[Step]:
    """Algorithm 2, on an ellipsoid."""
    dim = basis.shape[1]
    norm = 1 / np.sqrt(np.linalg.eigvalsh(X.matrix)[0])
    found, support = False, None
    rewards: list[list[float]] = []
    cycle = 1
    while True:
        rewards.append([])
        for k in range(dim):
            yield Step(basis[k], "explore", cycle, support)
            rewards[-1].append(reward(basis[k], "explore"))
        theta = _ols(cycle, basis, rewards)
        if not found:
            picks, gaps = slow_greedy(partial(slow_value, X, theta), list(range(dim)), sparsity)
            if min(gaps) > 2 * norm * scale * _epsilon(cycle, basis, sigma, delta):
                support, found = tuple(sorted(picks)), True
        if found:
            assert support is not None
            action = _ellipsoid_action(X, theta, list(support))
            for _ in range(cycle):
                yield Step(action, "exploit", cycle, support)
                reward(action, "exploit")
        cycle += 1


def compact_box(box: sb.Box, sparsity: int, basis: FloatArray, reward: Reward) -> Iterator[Step]:
    """The compact variant on a box: floor(sqrt(c)) greedy steps, no verification."""
    dim = basis.shape[1]
    rewards: list[list[float]] = []
    cycle = 1
    while True:
        rewards.append([])
        for k in range(dim):
            yield Step(basis[k], "explore", cycle, None)
            rewards[-1].append(reward(basis[k], "explore"))
        theta = _ols(cycle, basis, rewards)
        picks, _ = slow_greedy(partial(slow_value, box, theta), list(range(dim)), sparsity)
        action = np.zeros(dim)
        for i in picks:
            action[i] = box.upper[i] if theta[i] > 0 else box.lower[i]
        for _ in range(math.floor(math.sqrt(cycle))):
            yield Step(action, "exploit", cycle, None)
            reward(action, "exploit")
        cycle += 1
