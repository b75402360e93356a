"""Several learners of one policy, asked or told together: in one go, each with its own bits."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from sparsebandits.action_sets import AllBut
from sparsebandits.errors import InvalidValueError, SparseBanditsError
from sparsebandits.policies.decision import Decision
from sparsebandits.policies.given import as_context, as_offer
from sparsebandits.policies.joining_rule import JoiningRule
from sparsebandits.policies.learner import Learner
from sparsebandits.validation import Support

Refusal = SparseBanditsError
"""What a call on one learner would have raised; the others go on."""


def ask_together(
    learners: Sequence[Learner],
    available: Support | AllBut = None,
    contexts: Sequence[Any] | None = None,
) -> list[Decision | Refusal]:
    """Ask each of several learners for its next action, as `Learner.ask` does.

    Where the policy allows it, all of them are lanes of one rule for this call, which costs far
    less than one after another; the decisions have the same bits. A learner that refuses is as it
    was, and its error stands in the place of its decision.

    Parameters
    ----------
    learners : sequence of Learner
        Distinct, and of one policy object.
    available : mask, indices or names, or `AllBut`, optional
        Items that may be used now, by all of them.
    contexts : sequence, optional
        What each has seen, where the policy has a context.

    Examples
    --------
    >>> import sparsebandits as sb
    >>> from sparsebandits.policies.lanes import ask_together, tell_together
    >>> policy = sb.SparseThompson(action_set=sb.LpBall(20), sparsity=5)
    >>> learners = [policy.start(seed) for seed in range(100)]
    >>> decisions = ask_together(learners)
    >>> alone = policy.start(seed=99).ask()
    >>> (decisions[99].action == alone.action).all()
    np.True_
    >>> tell_together(learners, [decision.id for decision in decisions], [0.5] * 100)[99] is None
    True
    """
    seen = [None] * len(learners) if contexts is None else list(contexts)
    with _locked(learners):
        together = _ask_lanes(learners, available, seen)
        if together is not None:
            return [*together]
        return [_ask(learner, available, z) for learner, z in zip(learners, seen, strict=True)]


def tell_together(
    learners: Sequence[Learner], ids: Sequence[int], rewards: Sequence[float]
) -> list[Refusal | None]:
    """Tell each of several learners the reward of one of its open decisions; see `ask_together`.

    Returns what each call would have raised; None where the reward was taken in.
    """
    with _locked(learners):
        results: list[Refusal | None] = []
        told: list[tuple[Learner, int, float]] = []
        for learner, given, reward in zip(learners, ids, rewards, strict=True):
            try:
                number = learner._ledger.open_id(given)
                told.append((learner, number, learner._earned(number, reward)))
                results.append(None)
            except SparseBanditsError as refusal:
                results.append(refusal)
        rules = _joining([learner for learner, _, _ in told])
        if rules:
            rules[0].take_together(
                rules,
                [learner._ledger.open[number] for learner, number, _ in told],
                [reward for _, _, reward in told],
                [learner._ledger.age(number) for learner, number, _ in told],
            )
            for learner, number, reward in told:
                learner._ledger.close(number, reward)
        else:
            for learner, number, reward in told:
                learner._take(number, reward)
        return results


def _locked(learners: Sequence[Learner]) -> ExitStack:
    """Take every learner's lock, in an order that is the same for everybody."""
    if len({id(learner) for learner in learners}) < len(learners):
        raise InvalidValueError("Learners that act together must be distinct; one is there twice.")
    if len({id(learner.policy) for learner in learners}) > 1:
        raise InvalidValueError(
            "Learners that act together must share one policy object: make them by policy.start."
        )
    stack = ExitStack()
    for learner in sorted(learners, key=id):
        stack.enter_context(learner._lock)
    return stack


def _joining(learners: Sequence[Learner]) -> list[JoiningRule]:
    """Return the rules of learners that can be lanes of one; none where they cannot."""
    rules = [learner._rule for learner in learners if isinstance(learner._rule, JoiningRule)]
    return rules if len(rules) == len(learners) > 1 else []


def _ask_lanes(
    learners: Sequence[Learner], available: Support | AllBut, contexts: Sequence[Any]
) -> list[Decision] | None:
    """Ask all as lanes of one rule; None, with nothing changed, if any refuses, or none joins."""
    rules = _joining(learners)
    if not rules:
        return None
    before = [learner._rng.bit_generator.state for learner in learners]
    try:
        current = learners[0].policy.action_set
        if available is not None:
            current = as_offer(learners[0].policy, current, available)
        seen = [
            as_context(learner.policy, z) for learner, z in zip(learners, contexts, strict=True)
        ]
        plays = rules[0].play_together(rules, current, seen)
    except Exception as error:
        for learner, generator in zip(learners, before, strict=True):
            learner._rng.bit_generator.state = generator
        if isinstance(error, SparseBanditsError):
            return None  # whose fault it was is found one by one
        raise
    return [learner._decision(played) for learner, played in zip(learners, plays, strict=True)]


def _ask(learner: Learner, available: Support | AllBut, context: Any) -> Decision | Refusal:
    try:
        return learner.ask(available, context=context)
    except SparseBanditsError as refusal:
        return refusal
