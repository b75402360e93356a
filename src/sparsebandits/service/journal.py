"""Write an event, and what follows from it for the learner's row."""

from sparsebandits.service import log
from sparsebandits.service.log import Asked, Content, Observed, Rewarded
from sparsebandits.service.residents import Resident
from sparsebandits.service.unit_of_work import UnitOfWork
from sparsebandits.store import Event


def record(
    unit: UnitOfWork, resident: Resident, kind: str, decision: int | None, content: Content
) -> Event:
    """Write an event that the learner has lived through, and what follows for its row."""
    row, lived = resident.row, resident.lived
    row.head += 1
    row.last_at = max(row.last_at, unit.now)  # a clock that is set back does not reorder the log
    event = Event(
        learner=row.id,
        sequence=row.head,
        kind=kind,
        at=row.last_at,
        decision=decision,
        body=log.write(content),
    )
    resident.pending.append(event)
    lived.sequence = row.head
    if isinstance(content, Asked):
        assert decision is not None
        lived.open.update(dict.fromkeys(range(decision, decision + len(content.choices)), unit.now))
        row.decisions += len(content.choices)
        unit.counts["decisions"] += len(content.choices)
    elif isinstance(content, Rewarded) and kind not in (log.CORRECT, log.REBUILD):
        assert decision is not None
        del lived.open[decision]
        row.rewards += content.reward is not None
        unit.counts["rewards"] += kind == log.TELL
    elif isinstance(content, Observed):
        row.rewards += len(content.pairs)
        unit.counts["observed"] += len(content.pairs)
    row.open = len(lived.open)
    oldest = next(iter(lived.open.values()), None)
    due = None if row.reward_wait is None or oldest is None else oldest + row.reward_wait
    row.next_due = due
    return event
