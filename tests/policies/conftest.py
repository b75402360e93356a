"""What several tests of policies start from."""

import pytest

from sparsebandits.policies import core


@pytest.fixture
def small_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cores so small that slots are given away, and deviates kept, within a few steps."""
    monkeypatch.setattr(core, "CAPACITY", 24)
    monkeypatch.setattr(core, "FRESH", 18)
    monkeypatch.setattr("sparsebandits.estimation.core_ridge.FRESH", 18)
