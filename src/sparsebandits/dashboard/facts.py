"""What stands at the head of every page of a learner: what it may do, and how far it is."""

from dataclasses import dataclass

from sparsebandits.dashboard.allowed import allowed_of, most_of, rules_of, settings_of
from sparsebandits.dashboard.charts import clock
from sparsebandits.dashboard.sources import View


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What stands at the head of every page of a learner."""

    key: str
    policy: str
    settings: str
    """What the policy was given besides set and H, where it is not the default."""
    allowed: str
    """How many may be on, of how many."""
    rules: tuple[str, ...]
    """What else may be on together, in words."""
    at_most: int
    """H; with blocks, how many of them."""
    set: str
    context: int
    """Numbers that are seen before each decision."""
    intercept: bool
    """Whether it reckons with a baseline."""
    decisions: int
    rewards: int
    """Of a saved learner, which does not count them, the decisions that no longer wait for one."""
    open: int
    since: str
    last: str
    is_saved: bool
    """Whether it is a file, of which little history is known."""
    shown: int
    """Decisions that these pages look at."""


def facts_of(view: View) -> Facts:
    """Return the head of a page."""
    policy, row, history = view.learner.policy, view.row, view.history
    return Facts(
        key=view.key,
        policy=policy.kind,
        settings=settings_of(policy),
        allowed=allowed_of(policy),
        rules=tuple(rules_of(policy)),
        at_most=most_of(policy),
        set=policy.action_set.kind,
        context=int(getattr(policy, "context", 0)),
        intercept=bool(getattr(policy, "intercept", False)),
        decisions=history.total,
        rewards=_closed(view) if row is None else row.rewards,
        open=len(view.learner.open_decisions),
        since="" if row is None else clock(row.created_at),
        last="" if row is None else clock(row.last_at),
        is_saved=row is None,
        shown=len(history),
    )


def _closed(view: View) -> int:
    """Return how many decisions do not wait; what an estimate is made of where that is more."""
    waiting = len(view.learner.open_decisions)
    return max(view.learner.summary(1).rewards, view.history.total - waiting)
