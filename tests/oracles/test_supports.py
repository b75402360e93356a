"""Rules for supports: every set and method against all supports, tried one by one."""

import json
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.oracles import ORACLES
from tests.contracts.examples import ALL_FACTORIES, ALL_IDS, Factory, correlated_matrix
from tests.reference.slow import allowed_values, slow_allows

every_set = pytest.mark.parametrize("factory", ALL_FACTORIES, ids=ALL_IDS)


def random_rules(rng: np.random.Generator, dim: int) -> sb.Supports:
    """Rules of every kind, overlapping or not; some contradict each other."""
    rules: dict[str, Any] = {}
    count = dim
    if rng.random() < 0.4:
        rules["blocks"] = [rng.permutation(dim)[: int(rng.integers(2, dim + 1))].tolist()]
        count = dim - len(rules["blocks"][0]) + 1
    at_most = rules["at_most"] = int(rng.integers(1, count + 1))
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


def check_against_all(
    X: sb.ActionSet,
    theta: np.ndarray,
    rules: sb.Supports,
    values: dict[frozenset[int], float] | None = None,
) -> set[str]:
    """Hold every method to the best of all allowed supports; return which answered.

    `values` are those of the allowed supports, where they are known.
    """
    values = allowed_values(X, theta, rules) if values is None else values
    best = max(values.values(), default=-np.inf)
    if best == -np.inf:
        with pytest.raises(sb.InvalidValueError, match="has no action with"):
            sb.sparse_argmax(X, theta, rules)
        return set()
    answered = set()
    for method in ORACLES:
        try:
            found = sb.sparse_argmax(X, theta, rules, method, runner_up=method == "exact")
        except sb.CompositionError as error:
            message = str(error)
            assert method in ("top-h", "greedy", "swap")
            assert "exact" in message
            continue
        answered.add(method)
        shown = (method, rules, theta, found, best)
        assert slow_allows(rules, found.support) or rules.on(X).is_plain, shown
        assert set(np.flatnonzero(found.action)) <= set(found.support), shown
        assert X.contains(found.action, tolerance=1e-8), shown
        assert X.obeys(found.action, rules.on(X)), shown
        assert found.value == pytest.approx(theta @ found.action, abs=1e-8), shown
        assert found.value <= best + 1e-7, shown
        assert found.upper_bound >= best - 1e-7, shown
        if found.is_exact:
            assert found.value == pytest.approx(best, abs=1e-7), shown
        if method in ("auto", "top-h", "exact"):  # auto, too, at these sizes
            assert found.is_exact, shown
        if method == "exact" and not rules.on(X).is_plain:
            chosen = set(found.support)
            others = [value for support, value in values.items() if not chosen <= support]
            runner = max(others, default=-np.inf)
            gap = best - runner if runner > -np.inf else np.inf
            assert found.gap == pytest.approx(gap, abs=1e-6), shown
    return answered


@pytest.mark.each_value
@every_set
@pytest.mark.parametrize("seed", range(24))
def test_every_set_and_method_against_all_supports(factory: Factory, seed: int) -> None:
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(3, 6))
    X = factory(rng, dim)
    theta = rng.standard_normal(dim) * rng.choice([0.0, 1.0, 1.0, 1.0], dim)
    check_against_all(X, theta, random_rules(rng, dim))


@pytest.mark.parametrize("seed", range(6))
def test_a_correlated_ellipsoid_of_some_size(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = sb.Ellipsoid(correlated_matrix(rng, 9, 50.0))
    rules = sb.Supports(
        at_most=3, groups={(0, 1, 2): 1, (2, 3, 4): 1}, never_together=[(5, 6)], blocks=[(7, 8)]
    )
    check_against_all(X, rng.standard_normal(9), rules)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, float("inf")])
def test_the_gap_of_a_sorted_choice_is_what_it_takes_to_change_it(p: float) -> None:
    # `lemma:stopping_condition_l2ball` under disjoint rules: scores that move by less than half of
    # the gap choose the same support.
    rng = np.random.default_rng(0)
    X = sb.LpBall(6, p=p)
    rules = sb.Supports(at_most=3, groups={(0, 1): 1, (2, 3, 4): 2}, always=[5])
    changed = 0
    for _ in range(200):
        theta = rng.standard_normal(6)
        found = sb.sparse_argmax(X, theta, rules, "top-h")
        nudge = rng.choice([-1.0, 1.0], 6) * found.gap
        near = sb.sparse_argmax(X, theta + 0.499 * nudge, rules, "top-h")
        assert near.support == found.support
        changed += sb.sparse_argmax(X, theta + 2.0 * nudge, rules, "top-h").support != found.support
    assert changed > 20  # it could not be much larger


@pytest.mark.parametrize("min_dose", [None, [0.0, 0.5, 0.0, 0.0]])
@pytest.mark.parametrize("pinned", ["bound", "equality"])
@pytest.mark.parametrize(
    "rules",
    [
        sb.Supports(at_most=2, always=[0]),
        sb.Supports(at_most=3, at_least=3, groups={(1, 2, 3): 2}),
        sb.Supports(at_most=2, blocks=[(0, 3)], always=[3]),
    ],
)
def test_what_can_only_be_0_takes_its_place_in_a_polytope(
    rules: sb.Supports, pinned: str, min_dose: list[float] | None
) -> None:
    """The exact search left it out, and proved that 0 is best, or that nothing is allowed."""
    rows, sides = np.vstack([np.eye(4), -np.eye(4)]), np.array([1.0, 1, 1, 1, 0, 0, 0, 0])
    equalities = ([[1.0, 0, 0, 0]], [0.0]) if pinned == "equality" else None
    if pinned == "bound":
        sides[0] = 0.0
    X = sb.Polytope(rows, sides, equalities, min_dose)
    for theta in ([1.0, 2.0, 3.0, -1.0], [-5.0, -1.0, 0.5, 2.0]):
        assert {"auto", "exact"} <= check_against_all(X, np.array(theta), rules)


def test_many_theta_at_once_are_answered_one_by_one() -> None:
    rng = np.random.default_rng(2)
    upper = rng.uniform(0.2, 1.0, 8)
    rules = sb.Supports(at_most=3, groups={(0, 1, 2): 1}, never_together=[(3, 4)], at_least=2)
    for X in (sb.Budget(1.2, upper, 0.4 * upper), sb.Ellipsoid(correlated_matrix(rng, 8))):
        theta = rng.standard_normal((4, 8))
        batch = sb.sparse_argmax_batch(X, theta, rules, runner_up=True)
        for row in range(4):
            alone = sb.sparse_argmax(X, theta[row], rules, runner_up=True)
            np.testing.assert_array_equal(batch.actions[row], alone.action)
            np.testing.assert_array_equal(batch.gaps[row], alone.gap)


def test_a_time_limit_gives_a_bracket() -> None:
    rng = np.random.default_rng(3)
    X, theta = sb.Ellipsoid(correlated_matrix(rng, 30, 300.0)), rng.standard_normal(30)
    rules = sb.Supports(at_most=6, never_together=[(i, i + 1) for i in range(29)])
    cut = sb.sparse_argmax(X, theta, rules, "exact", time_limit=1e-9)
    swap = sb.sparse_argmax(X, theta, rules, "swap")
    assert not cut.is_exact
    assert slow_allows(rules, swap.support)
    assert cut.upper_bound >= swap.value
    assert cut.upper_bound >= cut.value


def test_names_and_indices_mean_the_same() -> None:
    names = ["tv", "radio", "print", "search"]
    X = sb.Box(np.zeros(4), np.ones(4), names=names)
    by_name = sb.Supports(
        at_most=3,
        blocks=[("tv", "radio")],
        groups={("print", "search"): 1},
        always=["tv"],
        never_together=[("radio", "search")],
    )
    by_index = sb.Supports(
        at_most=3, blocks=[(0, 1)], groups={(2, 3): 1}, always=[0], never_together=[(1, 3)]
    )
    for theta in np.random.default_rng(4).standard_normal((20, 4)):
        one, other = (sb.sparse_argmax(X, theta, rules) for rules in (by_name, by_index))
        assert one.support == other.support
    with pytest.raises(sb.InvalidValueError, match="did you mean 'radio'"):
        sb.sparse_argmax(X, np.ones(4), sb.Supports(at_most=2, always=["radoi"]))
    with pytest.raises(sb.InvalidValueError, match="no names"):
        sb.sparse_argmax(sb.LpBall(4), np.ones(4), by_name)


def test_the_saved_form_is_json_and_equal() -> None:
    rules = sb.Supports(
        at_most=3,
        at_least=1,
        blocks=[["a", "b"], ["c"]],
        groups={("a", 2): 1},
        always=("d",),
        never_together=[["a", "d"]],
    )
    again = sb.Supports.from_dict(json.loads(json.dumps(rules.to_dict())))
    assert again == rules
    assert hash(again) == hash(rules)
    assert repr(rules).startswith("Supports(at_most=3, at_least=1, blocks=")
    assert sb.Supports(at_most=2).to_dict() == {"at_most": 2}
    policy = sb.SparseThompson(action_set=sb.LpBall(4), sparsity=sb.Supports(at_most=2))
    assert policy.sparsity == 2  # H is the only rule
    for name in rules.to_dict():
        with pytest.raises(AttributeError):
            setattr(rules, name, 4)


@pytest.mark.parametrize(
    ("rules", "needed"),
    [
        ({"at_most": 0}, r"at_most \(H\) must be at least 1"),
        ({"at_most": 2, "at_least": 3}, "at_least must not exceed at_most"),
        ({"at_most": 2, "blocks": [[0, 1], [1, 2]]}, "disjoint, got 1 twice"),
        ({"at_most": 2, "blocks": "ab"}, "blocks must be a list of lists"),
        ({"at_most": 2, "groups": {(0, 1): -1}}, "limit of a group must be at least 0"),
        ({"at_most": 2, "groups": 3}, "groups must map"),
        ({"at_most": 2, "always": "tv"}, "always must be a list of coordinates"),
        ({"at_most": 2, "always": [0.5]}, "must be an integer"),
        ({"at_most": 2, "never_together": [[1]]}, "at least 2 coordinates at a time"),
        ({"at_most": 2, "alwys": [1]}, "no key 'alwys'; did you mean 'always'"),
        ({"at_least": 2}, "must say at_most"),
    ],
)
def test_rules_that_will_not_do(rules: Any, needed: str) -> None:
    with pytest.raises(sb.SparseBanditsError, match=needed):
        sb.Supports.from_dict(rules)


@pytest.mark.parametrize(
    ("rules", "needed"),
    [
        (sb.Supports(at_most=5, at_least=1), r"at most 4, the number of coordinates, got 5"),
        (sb.Supports(at_most=3, blocks=[(0, 1, 2)]), "at most 2, the number of blocks"),
        (sb.Supports(at_most=2, always=[4]), r"in 0\.\.3, got 4"),
        (sb.Supports(at_most=2, always=[0, 1], never_together=[(0, 1)]), "always on, of which"),
        (sb.Supports(at_most=2, at_least=2, groups={(0, 1, 2, 3): 1}), "contradict each other"),
        (sb.Supports(at_most=2, always=[1, 1]), "distinct"),
    ],
)
def test_rules_that_no_action_obeys_are_refused_when_composed(
    rules: sb.Supports, needed: str
) -> None:
    for compose in (
        lambda: sb.sparse_argmax(sb.LpBall(4), np.ones(4), rules),
        lambda: sb.SparseThompson(action_set=sb.LpBall(4), sparsity=rules),
    ):
        with pytest.raises(sb.InvalidValueError, match=needed):
            compose()


def test_greedy_says_where_it_has_no_start_or_no_way_on() -> None:
    spent = sb.Budget(1.0, [0.6, 0.6, 0.6], spend_all=True)
    for method in ("greedy", "swap"):
        with pytest.raises(sb.CompositionError, match=r"no start.*Use method='exact'"):
            sb.sparse_argmax(spent, np.ones(3), 2, method)
    dosed = sb.Budget(1.0, [0.6, 0.6, 0.6], min_dose=0.3)
    with pytest.raises(sb.CompositionError, match=r"least dose.*Use method='exact'"):
        sb.sparse_argmax(dosed, np.ones(3), sb.Supports(at_most=2, always=[0]), "greedy")
    # Greedy takes 0, which bars both others; two must be on.
    rules = sb.Supports(at_most=2, at_least=2, never_together=[(0, 1), (0, 2)])
    with pytest.raises(sb.CompositionError, match=r"dead end.*Use method='exact'"):
        sb.sparse_argmax(sb.LpBall(3), [3.0, 1.0, 1.0], rules, "greedy")
    assert sb.sparse_argmax(sb.LpBall(3), [3.0, 1.0, 1.0], rules).support == (1, 2)


@pytest.mark.parametrize("method", ["greedy", "swap"])
def test_where_greedy_has_no_guarantee_it_says_so_and_names_exact(method: str) -> None:
    """No gamma is known with least doses, and under rules there is none; elsewhere it is silent."""
    theta = [3.0, 2.9, 2.8]
    doses = sb.Budget(10.0, [2.5, 2.0, 2.0], min_dose=2.0)
    found = sb.sparse_argmax(doses, theta, 2, method)
    assert not found.is_exact
    assert found.warning is not None
    assert found.warning.startswith(f"{method} has no guarantee on Budget(")
    assert "Use method='exact'" in found.warning
    assert sb.sparse_argmax(doses, theta, 2, "exact").warning is None
    bent = sb.Ellipsoid([[2.0, 0.9, 0.5], [0.9, 1.0, 0.4], [0.5, 0.4, 1.5]])
    assert sb.sparse_argmax(bent, theta, 2, method).warning is None
    rules = sb.Supports(at_most=2, never_together=[(0, 1)])
    ruled = sb.sparse_argmax(bent, theta, rules, method)
    assert (ruled.warning is None) == ruled.is_exact
    assert ruled.is_exact or "under rules" in str(ruled.warning)
