"""How many runs locked a support, and how many a wrong one: stated wherever a claim rests on it."""

from dataclasses import dataclass

import numpy as np

from sparsebandits.paper.verdicts import Share
from sparsebandits.policies import Policy
from sparsebandits.simulation import Run


@dataclass(frozen=True)
class Locks:
    """The shares of runs that locked, and that locked a support other than the oracle's."""

    locked: Share
    wrong: Share
    can_lock: bool
    """Whether the policy has a gap test at all."""

    @classmethod
    def of(cls, run: Run) -> "Locks":
        """Count the locks of a run."""
        locked = np.isfinite(run.locked_at)
        kind = Policy.kinds.get(str(run.label.get("policy")))
        # On moving sets nothing is locked: there `verifies` is a property, not True.
        can_lock = bool(locked.any()) or getattr(kind, "verifies", False) is True
        return cls(Share.of(locked), Share.of(locked & ~run.support_correct), can_lock)

    @property
    def brief(self) -> str:
        """What matters of it in a table: that none locked, or how many wrongly."""
        if not self.can_lock:
            return ""
        if self.locked.count == 0:
            return f" (0 of {self.locked.runs} locked)"
        return f" ({self.locked.count} of {self.locked.runs} locked, {self.wrong.brief} wrongly)"

    @property
    def note(self) -> str:
        """Both shares with their intervals, in brackets behind a figure."""
        if not self.can_lock:
            return ""
        wrongly = f", {self.wrong.brief} wrongly" if self.locked.count else ""
        return f" ({self.locked.brief} locked{wrongly})"
