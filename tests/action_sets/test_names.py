"""Coordinates by name, on every registered set."""

import json
import pickle
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from tests.contracts.examples import ALL_FACTORIES, ALL_IDS, Factory

NAMES = ["tv", "radio", "print", "search"]

every_set = pytest.mark.parametrize("factory", ALL_FACTORIES, ids=ALL_IDS)


def named(factory: Factory) -> sb.ActionSet:
    """An example of a set, built by its constructor with names."""
    plain = factory(np.random.default_rng(0), 4)
    keywords = {name: value for name, value in plain.to_dict().items() if name != "kind"}
    return type(plain)(**keywords, names=NAMES)


@every_set
def test_names_are_kept_wherever_the_set_goes(factory: Factory) -> None:
    X = named(factory)
    part = X.restrict(["print", "tv", "radio"])
    for same in (
        X,
        part,
        sb.ActionSet.from_dict(json.loads(json.dumps(X.to_dict()))),
        pickle.loads(pickle.dumps(X)),
    ):
        assert same.names == tuple(NAMES)
    assert sb.ActionSet.from_dict(X.to_dict()) == X
    assert X.section([2, 0, 1]).names == ("print", "tv", "radio")
    assert X.section(["print", "tv", "radio"]) == X.section([2, 0, 1])
    assert "names='tv'..'search'" in repr(X)
    assert len(repr(X)) < 160


@every_set
def test_a_name_does_what_its_index_does(factory: Factory) -> None:
    X = named(factory)
    theta = np.random.default_rng(1).standard_normal(4)
    assert [X.index(name) for name in NAMES] == [X.index(i) for i in range(4)] == list(range(4))
    by_name = X.restrict(["radio", "print", "search"])
    assert by_name == X.restrict([1, 2, 3]) == X.restrict(np.array([False, True, True, True]))
    assert by_name == X.restrict(np.array(["radio", "print", "search"]))
    assert X.value(theta, ["radio", "search"]) == X.value(theta, [1, 3])
    np.testing.assert_array_equal(
        X.best_response(theta, ["tv", 2, 3]), X.best_response(theta, [0, 2, 3])
    )


def test_names_are_part_of_what_a_set_is() -> None:
    plain, channels = sb.LpBall(4), sb.LpBall(4, names=NAMES)
    assert plain.names is None
    assert "names" not in plain.to_dict()
    assert plain != channels
    assert channels != sb.LpBall(4, names=NAMES[::-1])


@pytest.mark.parametrize("given", [dict.fromkeys(["tv", "print"]), iter(["tv", "print"])])
def test_names_are_taken_from_whatever_lists_them(given: Any) -> None:
    assert sb.LpBall(4, names=NAMES).restrict(given).available.tolist() == [
        True,
        False,
        True,
        False,
    ]


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    X = sb.LpBall(4, names=NAMES)
    with pytest.raises(sb.SparseBanditsError, match=r"no coordinate 'Radio'; did you mean 'radio'"):
        X.index("Radio")
    with pytest.raises(sb.SparseBanditsError, match="did you mean 'search'"):
        X.restrict(["tv", "serch"])
    with pytest.raises(sb.SparseBanditsError, match="distinct, got 'tv' twice"):
        X.restrict(["tv", "tv"])
    with pytest.raises(sb.SparseBanditsError, match="distinct, got 0 twice"):
        X.restrict(["tv", 0])
    with pytest.raises(sb.SparseBanditsError, match=r"must be a list, got 'tv'; write \['tv'\]"):
        X.restrict("tv")
    with pytest.raises(sb.SparseBanditsError, match=r"in 0\.\.3, got 4"):
        X.index(4)
    with pytest.raises(
        sb.SparseBanditsError, match=r"no names, got 'tv'; build the set with names"
    ):
        sb.LpBall(4).restrict(["tv"])
    many = sb.LpBall(1000, names=[f"channel {i}" for i in range(1000)])
    with pytest.raises(sb.SparseBanditsError, match="did you mean 'channel 70'") as raised:
        many.index("chanel 70")
    assert len(str(raised.value)) < 1000


@pytest.mark.parametrize(
    ("names", "needed"),
    [
        (["tv", "radio"], "each of the 3 coordinates, got 2"),
        (["tv", "radio", "tv"], "'tv' at index 0 and again at 2"),
        (["tv", "", "print"], "non-empty texts, got '' at index 1"),
        (["tv", 1, "print"], "non-empty texts, got 1 at index 1"),
        ("abc", "must be a list of 3 texts"),
        (3, "must be a list of 3 texts"),
    ],
)
def test_names_that_will_not_do(names: Any, needed: str) -> None:
    with pytest.raises(sb.SparseBanditsError, match=needed):
        sb.Box(np.zeros(3), np.ones(3), names=names)
    with pytest.raises(sb.SparseBanditsError, match=needed):
        sb.ActionSet.from_dict({"kind": "lp-ball", "dim": 3, "names": names})


def test_all_but_some_are_what_is_left() -> None:
    """By name or index, on top of an earlier restriction, and for a learner."""
    mix = sb.Box(np.zeros(4), np.ones(4), names=["tv", "radio", "print", "web"])
    some = mix.restrict(sb.AllBut(["radio", 3]))
    np.testing.assert_array_equal(some.available, [True, False, True, False])
    np.testing.assert_array_equal(
        some.restrict(sb.AllBut([0])).available, [False, False, True, False]
    )
    with pytest.raises(sb.InvalidValueError, match="No coordinate is left"):
        some.restrict(sb.AllBut(["tv", "print"]))
    with pytest.raises(sb.InvalidValueError, match="did you mean 'radio'"):
        mix.restrict(sb.AllBut(["radoi"]))
    learner = sb.SparseThompson(action_set=mix, sparsity=2).start(seed=0)
    assert set(learner.ask(available=sb.AllBut(["tv", "web"])).named) <= {"radio", "print"}
