"""`make test` runs one example where many show the same, `make test-thorough` every one.

Left to `--thorough`: tests and examples that are marked `thorough`, and of a test that is marked
`each_value` all combinations of its parameters but so many that each value of each one is seen.
Hypothesis draws 15 examples where a test says nothing else, and 100 of them.
"""

from collections import Counter, defaultdict

import pytest
from hypothesis import settings

settings.register_profile("quick", max_examples=15, deadline=None)
settings.register_profile("thorough", max_examples=100, deadline=None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="run every example of every test")


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("thorough" if config.getoption("thorough") else "quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("thorough"):
        return
    quick = [item for item in items if item.get_closest_marker("thorough") is None]
    combined: dict[str, list[pytest.Function]] = defaultdict(list)
    for item in quick:
        if isinstance(item, pytest.Function) and item.get_closest_marker("each_value") is not None:
            combined[item.nodeid.partition("[")[0]].append(item)
    left = set(items) - set(quick)
    for tests in combined.values():
        left |= set(tests) - with_each_value(tests)
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = [item for item in items if item not in left]


def with_each_value(tests: list[pytest.Function]) -> set[pytest.Function]:
    """Choose combinations in which each value of each parameter is seen, and none often."""
    times: Counter[tuple[str, int]] = Counter()
    chosen: set[pytest.Function] = set()
    for value in (value for test in tests for value in values_of(test)):
        if not times[value]:
            with_it = [test for test in tests if value in values_of(test)]
            rarest = min(with_it, key=lambda test: sum(times[each] for each in values_of(test)))
            chosen.add(rarest)
            times.update(values_of(rarest))
    return chosen


def values_of(test: pytest.Function) -> list[tuple[str, int]]:
    """Name the values of a test's parameters; one object serves all combinations with it."""
    return [(name, id(value)) for name, value in test.callspec.params.items()]
