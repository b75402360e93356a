"""What several tests of policies start from."""

import pytest

from sparsebandits.policies import slots


@pytest.fixture
def small_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cores so small that slots are given away, and deviates kept, within a few steps."""
    monkeypatch.setattr(slots, "CAPACITY", 24)
    monkeypatch.setattr(slots, "FRESH", 18)
    monkeypatch.setattr("sparsebandits.estimation.core_ridge.FRESH", 18)
