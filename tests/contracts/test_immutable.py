"""Nothing that a set, a basis, a policy or an environment hands out can be written through."""

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.exploration import BASES
from tests.contracts.examples import CASE_IDS, FACTORIES, Factory
from tests.environments.examples import NOISE_EXAMPLES, SAMPLER_EXAMPLES, SEQUENCE_EXAMPLES
from tests.exploration.examples import SYMMETRIC_SETS, example_bases
from tests.policies.examples import CASE_IDS as POLICY_IDS
from tests.policies.examples import MAKERS, Make


def handed_out(owner: object) -> Iterator[tuple[str, Any]]:
    """Every public attribute, and what public methods without arguments return."""
    for name in dir(owner):
        if name.startswith("_") or name == "start":
            continue
        with contextlib.suppress(sb.SparseBanditsError):  # what does not apply to this one
            value = getattr(owner, name)
            if not callable(value):
                yield name, value
            elif not isinstance(value, type):
                needed = inspect.signature(value).parameters.values()
                if all(p.default is not p.empty or p.kind is p.VAR_KEYWORD for p in needed):
                    yield name, value()


def parts(value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from parts(part)
    elif isinstance(value, dict):
        yield from parts(list(value.values()))
    else:
        yield value


def writable(owner: object, seen: set[int] | None = None) -> list[str]:
    """The names under which an array of the owner, or of what it holds, can be written."""
    seen = set() if seen is None else seen
    seen.add(id(owner))
    again = dict(handed_out(owner))
    found = []
    for name, value in handed_out(owner):
        for part, other in zip(parts(value), parts(again[name]), strict=True):
            if isinstance(part, np.ndarray):
                # What is built anew at each request may be written: nobody else sees it.
                if part.flags.writeable and np.shares_memory(part, other):
                    found.append(f"{type(owner).__name__}.{name}")
            elif type(part).__module__.startswith("sparsebandits") and id(part) not in seen:
                found += writable(part, seen)
    return found


@pytest.mark.parametrize("factory", FACTORIES, ids=CASE_IDS)
def test_action_sets(factory: Factory) -> None:
    X = factory(np.random.default_rng(0), 4)
    for current in (X, X.restrict([0, 2, 3])):
        sb.sparse_argmax(current, np.ones(4), 2)  # whatever is kept for later is kept now
        assert not writable(current)
        with pytest.raises(ValueError, match="read-only"):
            current.available[1] = True


def test_bases() -> None:
    bases = example_bases()
    for name in BASES:
        bases += [sb.make_basis(name, X, 3, rng=0) for X in SYMMETRIC_SETS.values()]
    assert [found for basis in bases if (found := writable(basis))] == []


@pytest.mark.parametrize("make", MAKERS, ids=POLICY_IDS)
def test_policies(make: Make) -> None:
    policy = make()
    policy.start(seed=0).ask()
    assert not writable(policy)


def test_environments() -> None:
    ball = sb.LpBall(4)
    worlds: list[Any] = [sb.LinearEnvironment(action_set=ball, theta_star=np.arange(4.0))]
    worlds += [sb.LinearEnvironment(action_set=ball, theta_star=s) for s in SAMPLER_EXAMPLES]
    worlds += [
        sb.LinearEnvironment(action_sets=s, theta_star=np.ones(s.dim)) for s in SEQUENCE_EXAMPLES
    ]
    worlds += [
        sb.LinearEnvironment(action_set=ball, theta_star=np.ones(4), noise=n)
        for n in NOISE_EXAMPLES
    ]
    worlds += [sb.video_recommendation(), sb.film_recommendation()]
    assert [found for world in worlds if (found := writable(world))] == []
