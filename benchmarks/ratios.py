"""Timing side by side, and one table of ratios with what each must reach."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


def seconds(work: Callable[[], object], *, repeats: int = 7) -> float:
    """Return the median time of `repeats` calls, after one to warm up."""
    work()
    return statistics.median(once(work) for _ in range(repeats))


def once(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the time of one call; `time.process_time` leaves out what other processes take."""
    start = clock()
    work()
    return clock() - start


@dataclass(frozen=True)
class Ratio:
    """One line of the table: ours against theirs, and the bound that was promised."""

    what: str
    ours: float
    theirs: float
    bound: float
    at_least: bool
    """True: theirs / ours must be at least `bound`. False: ours / theirs at most `bound`."""
    note: str = ""
    unit: str = "ms"
    """What a thousandth of `ours` and of `theirs` is called."""

    @property
    def ratio(self) -> float:
        """The promised ratio, in the promised direction."""
        return self.theirs / self.ours if self.at_least else self.ours / self.theirs

    @property
    def holds(self) -> bool:
        """Whether the promise is kept."""
        return self.ratio >= self.bound if self.at_least else self.ratio <= self.bound

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        verdict = "ok  " if self.holds else "MISS"
        mine, other = (f"{value * 1e3:10.3f} {self.unit}" for value in (self.ours, self.theirs))
        return (
            f"{verdict} {self.what:<66} {mine} against {other}  {self.ratio:8.2f}x  "
            f"(must be {sign} {self.bound:g}x) {self.note}"
        )
