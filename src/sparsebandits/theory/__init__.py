"""What the paper's theorems promise, in numbers, before a single step is played."""

from sparsebandits.theory.around_lock import Instance, regret_around_lock, regret_untested
from sparsebandits.theory.cycles import cycles_in
from sparsebandits.theory.lower_bound import HardInstances
from sparsebandits.theory.planner import plan
from sparsebandits.theory.record import LockPlan, Plan
from sparsebandits.theory.regret_bounds import (
    regret_adaptive,
    regret_general,
    regret_general_compact,
)

__all__ = [
    "HardInstances",
    "Instance",
    "LockPlan",
    "Plan",
    "cycles_in",
    "plan",
    "regret_adaptive",
    "regret_around_lock",
    "regret_general",
    "regret_general_compact",
    "regret_untested",
]
