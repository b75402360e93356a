"""The learners that a group of operations has touched, up to date, and the transaction."""

from collections import Counter
from dataclasses import dataclass, field

from sparsebandits.service.metrics import Metrics
from sparsebandits.service.residents import Resident, Residents
from sparsebandits.store import LearnerRow, Transaction


@dataclass
class UnitOfWork:
    """What the operations of a group have at hand until their one commit."""

    transaction: Transaction
    residents: Residents
    metrics: Metrics
    rows: dict[str, LearnerRow]
    now: float
    epoch: int
    counts: Counter[str] = field(default_factory=Counter)
    """What has happened, by the names of metrics; counted once it is committed."""
    touched: dict[str, Resident] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)

    async def resident(self, key: str) -> Resident | None:
        """Return the learner of a key, loaded and up to date; None if there is none."""
        resident = self.touched.get(key)
        if resident is not None or key in self.gone:
            return resident
        row, resident = self.rows.get(key), self.residents.get(key)
        if resident is not None and (row is None or row.id != resident.row.id):
            self.residents.evict(key)
            resident = None
        if row is None:
            return None
        if resident is None:
            resident, intact = await self.residents.load(self.transaction, row)
            self.metrics.damaged_snapshots.inc(not intact)
        elif resident.row.head != row.head or resident.row.removed_at != row.removed_at:
            await self.residents.catch_up(self.transaction, resident, row)
        self.metrics.mismatches.inc(resident.lived.mismatches)
        resident.lived.mismatches = 0
        self.touch(resident)
        return resident

    def touch(self, resident: Resident) -> None:
        """Take a learner that is up to date into the group."""
        resident.epoch = self.epoch
        resident.lived.set_back(self.now)
        self.touched[resident.row.key] = resident
