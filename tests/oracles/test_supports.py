"""Rules for supports: every set and method against all supports, tried one by one."""

from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.oracles import ORACLES
from tests.contracts.examples import ALL_FACTORIES, ALL_IDS, Factory
from tests.reference.slow import allowed_values, slow_allows

every_set = pytest.mark.parametrize("factory", ALL_FACTORIES, ids=ALL_IDS)


def random_rules(rng: np.random.Generator, dim: int) -> sb.Supports:
    """Rules of every kind, overlapping or not; some contradict each other."""
    at_most = int(rng.integers(1, dim + 1))
    rules: dict[str, Any] = {"at_most": at_most}
    if rng.random() < 0.4:
        rules["blocks"] = [rng.permutation(dim)[: int(rng.integers(2, dim + 1))].tolist()]
    if rng.random() < 0.6:
        rules["groups"] = {
            tuple(rng.permutation(dim)[: int(rng.integers(2, dim + 1))].tolist()): int(
                rng.integers(1, 3)
            )
            for _ in range(int(rng.integers(1, 3)))
        }
    if rng.random() < 0.3:
        rules["always"] = [int(rng.integers(dim))]
    if rng.random() < 0.4:
        rules["never_together"] = [rng.permutation(dim)[:2].tolist()]
    if rng.random() < 0.3:
        rules["at_least"] = int(rng.integers(1, at_most + 1))
    return sb.Supports(**rules)


def check_against_all(X: sb.ActionSet, theta: np.ndarray, rules: sb.Supports) -> int:
    """Hold every method to the best of all allowed supports; return how many answered."""
    values = allowed_values(X, theta, rules)
    best = max(values.values(), default=-np.inf)
    if best == -np.inf:
        with pytest.raises(sb.InvalidValueError, match="has no action with"):
            sb.sparse_argmax(X, theta, rules)
        return 0
    answered = 0
    for method in ORACLES:
        try:
            found = sb.sparse_argmax(X, theta, rules, method, runner_up=True)
        except sb.CompositionError as error:
            message = str(error)
            assert method in ("top-h", "greedy", "swap")
            assert "exact" in message
            continue
        answered += 1
        shown = (method, rules, theta, found, best)
        assert slow_allows(rules, found.support) or rules.on(X).is_plain, shown
        assert set(np.flatnonzero(found.action)) <= set(found.support), shown
        assert X.contains(found.action, tolerance=1e-8), shown
        assert found.value == pytest.approx(theta @ found.action, abs=1e-8), shown
        assert found.value <= best + 1e-7, shown
        assert found.upper_bound >= best - 1e-7, shown
        if found.is_exact:
            assert found.value == pytest.approx(best, abs=1e-7), shown
        if method in ("top-h", "exact"):
            assert found.is_exact, shown
        if method == "exact" and not rules.on(X).is_plain:
            chosen = set(found.support)
            others = [value for support, value in values.items() if not chosen <= support]
            runner = max(others, default=-np.inf)
            gap = best - runner if runner > -np.inf else np.inf
            assert found.gap == pytest.approx(gap, abs=1e-6), shown
    return answered


@every_set
@pytest.mark.parametrize("seed", range(8))
def test_every_set_and_method_against_all_supports(factory: Factory, seed: int) -> None:
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(3, 6))
    X = factory(rng, dim)
    for _ in range(3):
        theta = rng.standard_normal(dim) * rng.choice([0.0, 1.0, 1.0, 1.0], dim)
        check_against_all(X, theta, random_rules(rng, dim))
