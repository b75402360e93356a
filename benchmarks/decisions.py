"""Lanes of SparseThompson, step by step, and the batched algebra that their decisions need."""

import time
from collections.abc import Sequence

import numpy as np
from ratios import once

import sparsebandits as sb
from sparsebandits.policies.candidates import FACTORS
from sparsebandits.policies.rule import Rule
from sparsebandits.policies.tape import Tape, normals
from sparsebandits.policies.thompson_rule import ThompsonRule
from sparsebandits.simulation.lanes_engine import DRAWS_AHEAD
from sparsebandits.validation import FloatArray, IntArray

SIGMA = 0.5


class Lanes:
    """Many lanes of a policy, each with a theta of its own, asked and told together."""

    def __init__(self, policy: sb.Policy, lanes: int, steps: int) -> None:
        rng = np.random.default_rng(3)
        self.policy, self.lanes = policy, lanes
        self.theta = rng.uniform(-1.0, 1.0, (lanes, policy.action_set.dim))
        self.noise = SIGMA * rng.standard_normal((steps, lanes))
        self.step = 0
        self.rule: Rule = policy.rule([np.random.default_rng(i) for i in range(lanes)], DRAWS_AHEAD)

    def play(self, steps: int) -> list[IntArray]:
        """Play on; return the lanes that decided anew, for each step."""
        due = []
        for noise in self.noise[self.step : self.step + steps]:
            if isinstance(self.rule, ThompsonRule):
                due.append(np.flatnonzero(self.rule.left == 0))
            actions = self.rule.choose(self.policy.action_set)
            rewards = np.einsum("nd,nd->n", actions, self.theta) + noise
            self.rule.learn(actions, rewards, self.rule.pulls)
        self.step += steps
        return due


def lane_seconds(policy: sb.Policy, lanes: int, steps: int, *, before: int, repeats: int) -> float:
    """Return the least CPU seconds of one lane's step, of those that follow on `before`."""
    spent = []
    for _ in range(repeats):
        played = Lanes(policy, lanes, before + steps)
        played.play(before)
        spent.append(once(lambda played=played: played.play(steps), time.process_time))
    return min(spent) / lanes / steps


def needed_algebra(policy: sb.Policy, due: Sequence[IntArray]) -> None:
    """Do what lanes need that decide anew when `due` says so, and nothing else.

    A decision takes in the rewards of the last one by one square-root update, draws three normals,
    asks the oracle about four parameters, finds the means and widths of its answers, the most
    promising axis and its column of C, asks about this and about what the two best climb to, and
    takes the best index; where that leaves the support of the estimate's action, it asks about six
    more, and weighs them. The baseline is one column. A step whose decision is held sums up a
    reward. Nothing is checked, kept, or estimated but this.
    """
    X, lanes = policy.action_set, int(due[0].size)
    dim = X.dim
    root = np.tile(np.eye(dim + 1), (lanes, 1, 1))
    theta, held = np.zeros((lanes, dim + 1)), np.zeros((lanes, dim))
    total, count = np.zeros(lanes), np.ones(lanes)
    parameter = np.random.default_rng(3).uniform(-1.0, 1.0, (lanes, dim))
    noise = SIGMA * np.random.default_rng(1).standard_normal((len(due), lanes))
    seeds = [np.random.default_rng(i) for i in range(lanes)]
    tape = Tape(seeds, 3 * (dim + 1), DRAWS_AHEAD, normals)
    for step, some in enumerate(due):
        if some.size:
            part, mean = root[some], theta[some]
            _update(part, mean, _columns(held[some]), total[some] / count[some], count[some])
            held[some] = _decision(policy, part, mean, tape.next(some), step)
            root[some], theta[some] = part, mean
            total[some] = count[some] = 0.0
        total += np.einsum("nd,nd->n", held, parameter) + noise[step]
        count += 1.0


def _columns(actions: FloatArray) -> FloatArray:
    columns = np.empty((*actions.shape[:-1], actions.shape[-1] + 1))
    columns[..., 0] = 1.0
    columns[..., 1:] = actions
    return columns


def _update(
    root: FloatArray, theta: FloatArray, x: FloatArray, rewards: FloatArray, n: FloatArray
) -> None:
    shadow = np.matmul(x[:, None, :], root)[:, 0]
    growth = 1.0 + n * np.einsum("nd,nd->n", shadow, shadow)
    gain = np.matmul(root, shadow[:, :, None])[:, :, 0]
    error = rewards - np.einsum("nd,nd->n", x, theta)
    theta += gain * (n * error / growth)[:, None]
    root -= gain[:, :, None] * (shadow * (n / (growth + np.sqrt(growth)))[:, None])[:, None, :]


def _decision(
    policy: sb.Policy, root: FloatArray, theta: FloatArray, draws: FloatArray, step: int
) -> FloatArray:
    lanes, size = theta.shape
    flipped, rows = np.swapaxes(root, 1, 2), np.arange(lanes)

    def asked(thetas: FloatArray) -> tuple[FloatArray, FloatArray]:
        found = policy.best_actions(thetas.reshape(-1, size - 1), policy.action_set)
        actions = found.reshape(thetas.shape)
        return actions, _columns(actions)

    def weighed(parameters: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        actions, columns = asked(parameters[..., 1:])
        shadows = np.matmul(columns, root)
        widths = np.einsum("nkd,nkd->nk", shadows, shadows)
        bonus = SIGMA * np.sqrt(1.1 * np.log(np.e + 0.5 * step * widths))
        index = np.matmul(columns, theta[:, :, None])[:, :, 0] + bonus * np.sqrt(widths)
        return actions, index, shadows, bonus / np.sqrt(np.maximum(widths, 1e-12))

    spreads = np.matmul(draws.reshape(lanes, 3, size), flipped)
    centre = theta[:, None]
    proposed = np.concatenate([centre, centre + SIGMA * spreads], axis=1)
    first, scores, shadows, scale = weighed(proposed)
    two = rows[:, None], scores.argpartition(-2, axis=1)[:, -2:]
    uphill = scale[two][:, :, None] * np.matmul(shadows[two], flipped)
    axis = (np.abs(theta) + np.sqrt(np.einsum("nij,nij->ni", root, root))).argmax(axis=1)
    column = np.matmul(root, root[rows, axis][:, :, None])[:, :, 0]
    climbed = centre + np.concatenate([column[:, None], uphill], axis=1)
    second, more, _, _ = weighed(climbed)
    best = np.concatenate([scores, more], axis=1).argmax(axis=1)
    actions = np.concatenate([first, second], axis=1)[rows, best]
    outside = (actions != 0) & (first[:, 0] == 0)
    leaving = np.flatnonzero(outside.any(axis=1)) if step >= 100 else rows[:0]
    if leaving.size:
        thetas = np.concatenate([proposed, climbed], axis=1)[leaving, best[leaving], 1:]
        stress = np.where(outside[leaving][:, None], FACTORS[:, None], 1.0)
        tried, columns = asked(thetas[:, None] * stress)
        away = _columns(actions[leaving]) - _columns(first[leaving, 0])
        shadow = np.matmul(columns, root[leaving])
        aim = np.matmul(away[:, None], root[leaving])[:, 0]
        told = np.einsum("nkd,nd->nk", shadow, aim) ** 2
        told /= 1 + np.einsum("nkd,nkd->nk", shadow, shadow)
        means = np.matmul(columns, theta[leaving][:, :, None])[:, :, 0]
        cost = np.maximum(means[:, :1] - means, 0.0) + SIGMA
        actions[leaving] = tried[np.arange(leaving.size), (told / cost).argmax(axis=1)]
    return np.asarray(actions)
