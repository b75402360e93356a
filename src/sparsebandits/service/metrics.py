"""What Prometheus is told. No label ever holds the key of a learner."""

from collections.abc import Mapping

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)

__all__ = ["CONTENT_TYPE_LATEST", "Metrics"]


class Metrics:
    """The counters of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = self._histogram(
            "request_seconds", "From a request's first byte to its answer", _SECONDS,
            ("call", "status"),
        )  # fmt: skip
        self._requests: dict[tuple[str, int], Histogram] = {}
        self.compute = self._histogram(
            "compute_seconds", "What the learners of a group take", _SECONDS
        )
        self.commit = self._histogram("commit_seconds", "A commit, flushed to disk", _SECONDS)
        self.group_size = self._histogram("group_requests", "Requests in a group", _SIZES)
        self.decisions = self._counter("decisions", "Decisions given out")
        self.rewards = self._counter("rewards", "Rewards told in time")
        self.observed = self._counter("observed_pairs", "Logged pairs taken in")
        self.expired = self._counter(
            "expired_decisions", "Decisions whose reward did not come in time"
        )
        self.late = self._counter("late_rewards", "Rewards that came after the wait was over")
        self.mismatches = self._counter(
            "replay_mismatches", "Actions that came out otherwise than logged; the log won"
        )
        self.damaged_snapshots = self._counter(
            "damaged_snapshots", "Snapshots that were passed over for the log"
        )
        self.races = self._counter("lost_races", "Groups begun again: another server was first")
        self.unproven = self._counter(
            "unproven_oracle_answers", "Answers of the oracle without a proof, to asks and to solve"
        )
        self.resident = self._gauge("resident_learners", "Learners in memory")
        self.open = self._gauge("open_decisions", "Decisions without a reward, of all learners")

    def _histogram(
        self, name: str, about: str, buckets: tuple[float, ...], labels: tuple[str, ...] = ()
    ) -> Histogram:
        return Histogram(
            f"sparsebandits_{name}", about, labels, buckets=buckets, registry=self.registry
        )

    def _counter(self, name: str, about: str) -> Counter:
        return Counter(f"sparsebandits_{name}", about, registry=self.registry)

    def _gauge(self, name: str, about: str) -> Gauge:
        return Gauge(f"sparsebandits_{name}", about, registry=self.registry)

    def request(self, call: str, status: int, seconds: float) -> None:
        """Count a request; finding the counter of a label takes longer than counting."""
        found = self._requests.get((call, status))
        if found is None:
            found = self._requests[call, status] = self.requests.labels(call, str(status))
        found.observe(seconds)

    def add(self, counts: Mapping[str, int]) -> None:
        """Add to the counters of these names."""
        for name, count in counts.items():
            counter: Counter = getattr(self, name)
            counter.inc(count)

    def text(self) -> bytes:
        """Return everything in Prometheus' format."""
        return generate_latest(self.registry)
