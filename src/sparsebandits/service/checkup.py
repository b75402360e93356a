"""Whether a store holds together: every log complete, every snapshot what the log says."""

import msgspec

from sparsebandits.errors import SparseBanditsError
from sparsebandits.policies import Policy
from sparsebandits.service import learners, log
from sparsebandits.service.residents import Saved, check_complete
from sparsebandits.store import DamagedStoreError, LearnerRow, Store

_PAGE = 500


async def check_store(store: Store) -> tuple[int, list[str]]:
    """Return how many learners were looked at, and what is wrong, in sentences.

    Each learner is rebuilt from its whole log and compared with its snapshot.
    """
    problems = await store.connection.find_damage()
    count = 0
    after = 0
    while True:
        rows = await store.read.select(
            LearnerRow, "learners", "id > ? ORDER BY id LIMIT ?", after, _PAGE
        )
        if not rows:
            return count, problems
        for row in rows:
            count += 1
            after = row.id
            try:
                problems += [f"{row.key}: {found}" for found in await _check(store, row)]
            except SparseBanditsError as error:
                problems.append(f"{row.key}: {error}")


async def _check(store: Store, row: LearnerRow) -> list[str]:
    policy = Policy.from_dict(msgspec.json.decode(await store.read.policy(row.policy)))
    events = await store.read.events(row.id)
    lived = log.replay(policy, row.seed, events)
    check_complete(lived, row)
    found = []
    if lived.mismatches:
        found.append(
            f"{lived.mismatches} actions come out otherwise than they were logged (another "
            "machine or release); the log is what counts."
        )
    counted = (row.decisions, row.rewards, row.open)
    if counted != log.count(events):
        found.append(f"its row counts {counted}, its log {log.count(events)}.")
    snapshot = await store.read.snapshot(row.id)
    if snapshot is not None and not snapshot.is_intact:
        found.append("its snapshot is damaged and will be passed over.")
    elif snapshot is not None and not lived.mismatches:
        if snapshot.sequence > len(events):
            raise DamagedStoreError("its snapshot is newer than its log; restore a backup.")
        then = log.replay(policy, row.seed, events[: snapshot.sequence])
        saved = msgspec.msgpack.decode(snapshot.body, type=Saved)
        kept = learners.from_bytes(policy, saved.state)
        # A clock that was set back lets them wait anew, which the log does not say.
        if [*saved.open] != [*then.open] or kept.to_dict() != then.learner.to_dict():
            found.append("its snapshot is not what its log says.")
    return found
