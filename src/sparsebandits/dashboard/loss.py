"""What each decision gave away, as the model believes today."""

from dataclasses import dataclass

import numpy as np

from sparsebandits.dashboard.charts import Chart, Line, along, axis
from sparsebandits.dashboard.history import History, Offer
from sparsebandits.dashboard.rewards import POINTS, evenly
from sparsebandits.dashboard.words import number, share
from sparsebandits.errors import SparseBanditsError
from sparsebandits.policies import Learner
from sparsebandits.validation import FloatArray, IntArray

DRAWS = 50
_CIRCUMSTANCES = 60
"""Offers and contexts for which the best action is worked out; decisions in others are left out."""

_ROUNDING = 1e-12
"""What is less than this share of the best is how computers add, and no loss."""

_ENOUGH = 20
"""Decisions from which on early ones are compared with late ones."""

_NUMBERS = 2_000_000
"""Draws times coordinates: with very many coordinates there are fewer draws."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BelievedLoss:
    """E[max theta·x - theta·x_t] of decisions, by the posterior as it is now.

    Attributes
    ----------
    places : (m,) int array
        The decisions of the history for which it was worked out.
    loss : (m,) array
        Never less than 0 where the oracle is exact: both sides are of the same draws.
    draws : int
        0 where there is no posterior to draw from: then it is the estimate's own loss.
    """

    places: IntArray
    loss: FloatArray
    draws: int


def believed_loss(learner: Learner, history: History) -> BelievedLoss | None:
    """Return the believed loss of decisions; None before there is an estimate.

    The best action is sought among what was available at the time, for the context seen then.
    """
    if not len(history) or not has_estimate(learner):
        return None
    groups = _circumstances(history)
    chosen = evenly(np.arange(len(groups)), _CIRCUMSTANCES)
    places, losses, draws = [], [], 0
    for group in chosen.tolist():
        members = groups[group]
        thetas = _thetas(learner, history, int(members[0]))
        if thetas is None:
            return None
        drawn = thetas[1:] if len(thetas) > 1 else thetas
        worth = history.worth(drawn.mean(axis=0))[members]
        best = _best_value(learner, history.offers[history.offered[members[0]]], drawn)
        if best is not None:
            places.append(members)
            loss = best - worth
            losses.append(np.where(np.abs(loss) <= _ROUNDING * abs(best), 0.0, loss))
            draws = len(thetas) - 1
    if not places:
        return None
    joined = np.concatenate(places)
    order = np.argsort(joined)
    return BelievedLoss(places=joined[order], loss=np.concatenate(losses)[order], draws=draws)


def has_estimate(learner: Learner) -> bool:
    """Whether anything is known of theta: by rewards, or beforehand."""
    theta = learner.theta_hat
    return theta is not None and bool(theta.any())


def _circumstances(history: History) -> list[IntArray]:
    """Return the places of decisions made with the same offer and the same context."""
    which = history.offered
    if history.contexts is not None:
        keys = np.column_stack([which, history.contexts])
        which = np.unique(keys, axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(which, kind="stable")
    cuts = np.flatnonzero(np.diff(which[order])) + 1
    groups = np.split(order, cuts)
    return sorted(groups, key=lambda members: int(members[0]))


def _thetas(learner: Learner, history: History, place: int) -> FloatArray | None:
    context = None if history.contexts is None else history.contexts[place]
    draws = max(2, min(DRAWS, _NUMBERS // history.dim))
    drawn = learner.thetas_drawn(draws, context=context)
    estimate = learner.theta_hat
    if drawn is None and estimate is not None and context is None:
        return estimate[None]
    return drawn


def _best_value(learner: Learner, offer: Offer, drawn: FloatArray) -> float | None:
    policy = learner.policy
    current = policy.action_set if offer is None else policy.action_set.restrict(offer)
    try:
        actions = policy.best_actions(drawn, current)
    except SparseBanditsError:  # nothing can be played from such an offer now
        return None
    return float((actions * drawn).sum(axis=1).mean())


def loss_chart(learner: Learner, history: History, by_time: bool = False) -> Chart | None:
    """Draw the believed loss, averaged within at most 200 stretches; None without an estimate."""
    believed = believed_loss(learner, history)
    if believed is None:
        return None
    stretches = np.array_split(np.arange(believed.places.size), min(POINTS, believed.places.size))
    mean = np.array([believed.loss[stretch].mean() for stretch in stretches])
    ends = believed.places[[stretch[-1] for stretch in stretches]]
    size = max(stretch.size for stretch in stretches)
    label = "believed loss" if size == 1 else f"mean of {size:,} decisions"
    return Chart(
        id="loss",
        title="Believed loss per decision",
        y_label="loss per decision (unit of the reward)",
        layers=(Line(x=along(history, ends, by_time), y=mean, label=label),),
        sentence=_sentence(believed, history),
        y_from_zero=True,
        **axis(history, by_time),
    )


def _sentence(believed: BelievedLoss, history: History) -> str:
    by = (
        f"over {believed.draws} draws from its posterior, the mean worth of the best action "
        "minus that of what was played"
        if believed.draws
        else "the worth of the estimate's best action minus that of what was played, as there is "
        "no posterior to draw from"
    )
    said = f"What the model believes today, not what is true: {by}. "
    if believed.loss.size < len(history):
        said += f"Worked out for {believed.loss.size:,} of {len(history):,} decisions. "
    if believed.loss.size < _ENOUGH:
        return said + "It is too early to tell whether it comes down."
    tenth = believed.loss.size // 10
    first, last = (
        number(float(part.mean())) for part in np.split(believed.loss, [tenth, -tenth])[::2]
    )
    explored = float((history.phases[believed.places[-tenth:]] == "explore").mean())
    cost = f", and of exploring, in {share(explored)} of the last" if explored else ""
    return said + (
        f"It was {first} over the first tenth of these decisions and is {last} over the last; what "
        f"does not go away is the price of what is still unknown{cost}."
    )
