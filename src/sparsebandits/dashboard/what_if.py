"""What if: another H, coordinates switched off, another budget; the learner is only looked at."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebandits.action_sets import ActionSet, AllBut
from sparsebandits.dashboard.loss import has_estimate
from sparsebandits.dashboard.words import number
from sparsebandits.errors import InvalidValueError
from sparsebandits.oracles import Limit, Solution, Supports, sparse_argmax
from sparsebandits.policies import Learner
from sparsebandits.validation import FloatArray

_PATIENCE = 3.0
"""Seconds for the search of an action; then the best found is shown as not proven."""

_DRAWS = 200
_BUDGETS = {"total": "total budget", "radius": "radius"}
"""What a description may have that stands for how much can be spent, and its name."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is to be otherwise; None and nothing leave it as it is."""

    sparsity: int | None = None
    off: tuple[int | str, ...] = ()
    budget: float | None = None
    context: tuple[float, ...] | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Option:
    """A best action: its doses by name, what it is worth, and how sure it is the best."""

    doses: tuple[tuple[str, float], ...]
    value: float
    is_proven: bool
    upper_bound: float
    method: str
    action: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """Today's best action beside the one that is asked about.

    Attributes
    ----------
    difference : float
        The estimated worth of the second minus that of the first.
    low, high : float
        The middle 95% of that difference over draws from the posterior; nan without one.
    """

    today: Option
    instead: Option
    difference: float
    low: float = math.nan
    high: float = math.nan


def budget_of(action_set: ActionSet) -> tuple[str, float] | None:
    """Return what stands for the budget of a set, in words, and how large it is."""
    described = action_set.to_dict()
    for key, name in _BUDGETS.items():
        if key in described:
            return name, float(described[key])
    return None


def compare(learner: Learner, question: Question) -> Comparison | None:
    """Set the best action under other conditions beside today's; None without an estimate."""
    thetas = _thetas(learner, question) if has_estimate(learner) else None
    if thetas is None:
        return None
    policy = learner.policy
    today = _best(learner, policy.action_set, policy.sparsity, thetas[0])
    changed = _changed_set(policy.action_set, question)
    instead = _best(learner, changed, _limit(policy.sparsity, question.sparsity), thetas[0])
    low = high = math.nan
    if len(thetas) > 1:
        gains = thetas[1:] @ (instead.action - today.action)
        low, high = np.quantile(gains, [0.025, 0.975]).tolist()
    return Comparison(
        today=today, instead=instead, difference=instead.value - today.value, low=low, high=high
    )


def _thetas(learner: Learner, question: Question) -> FloatArray | None:
    """Return the estimate, and draws below it where there is a posterior."""
    draws = max(2, min(_DRAWS, 2_000_000 // learner.policy.action_set.dim))
    drawn = learner.thetas_drawn(draws, context=question.context)
    estimate = learner.theta_hat
    if drawn is None and question.context is not None and any(question.context):
        raise InvalidValueError(
            "What a context changes is known once there are as many rewards as unknown numbers; "
            "leave it empty until then."
        )
    return drawn if drawn is not None or estimate is None else estimate[None]


def _changed_set(action_set: ActionSet, question: Question) -> ActionSet:
    changed = action_set
    if question.budget is not None:
        described = action_set.to_dict()
        key = next((key for key in _BUDGETS if key in described), None)
        if key is None:
            raise InvalidValueError(f"A set of kind {action_set.kind!r} has no budget to change.")
        changed = ActionSet.from_dict({**described, key: question.budget})
    return changed.restrict(AllBut(question.off)) if question.off else changed


def _limit(today: Limit, asked: int | None) -> Limit:
    if asked is None:
        return today
    if isinstance(today, Supports):
        return dataclasses.replace(today, at_most=asked)
    return asked


def _best(learner: Learner, current: ActionSet, limit: Limit, theta: FloatArray) -> Option:
    policy = learner.policy
    found: Solution = sparse_argmax(current, theta, limit, policy.oracle, time_limit=_PATIENCE)
    names = policy.action_set.names
    return Option(
        doses=tuple(
            (str(index) if names is None else names[index], float(found.action[index]))
            for index in found.support
        ),
        value=found.value,
        is_proven=found.is_exact,
        upper_bound=found.upper_bound,
        method=found.method,
        action=found.action,
    )


def in_words(comparison: Comparison) -> str:
    """Say what the change would bring."""
    difference = comparison.difference
    if abs(difference) <= 1e-9 * max(abs(comparison.today.value), abs(comparison.instead.value)):
        return "It makes no difference to the best action's estimated worth."
    way = "more" if difference > 0 else "less"
    said = f"By the estimate it earns {number(abs(difference))} {way} per decision"
    if math.isnan(comparison.low):
        return said + "; how sure that is cannot be said yet."
    low, high = sorted(
        (comparison.low, comparison.high) if difference > 0 else (-comparison.low, -comparison.high)
    )
    return f"{said} (95% of draws from the posterior: {number(low)} to {number(high)} {way})."


def read_question(given: Mapping[str, str], off: Sequence[str], action_set: ActionSet) -> Question:
    """Return the question of a form; what is empty stays as it is."""
    listed = [part.strip() for part in given.get("off_more", "").split(",")]
    known = list(action_set.names or ())
    names = [*off, *(part for part in listed if part)]
    return Question(
        sparsity=_whole(given.get("sparsity", "")),
        off=tuple(name if name in known else _coordinate(name) for name in dict.fromkeys(names)),
        budget=_number("The budget", given.get("budget", "")),
        context=_context(given.get("context", "")),
    )


def _whole(text: str) -> int | None:
    if not text.strip():
        return None
    if not (text.strip().isascii() and text.strip().isdigit() and len(text) < 10):
        raise InvalidValueError(f"H must be a whole number from 1, got {text[:40]!r}.")
    return int(text)


def _coordinate(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text


def _number(name: str, text: str) -> float | None:
    if not text.strip():
        return None
    try:
        return float(text)
    except ValueError:
        raise InvalidValueError(f"{name} must be a number, got {text[:40]!r}.") from None


def _context(text: str) -> tuple[float, ...] | None:
    parts: list[Any] = [part for part in text.replace(",", " ").split() if part]
    return tuple(_number("An entry of the context", part) or 0.0 for part in parts) or None
