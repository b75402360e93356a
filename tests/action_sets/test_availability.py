"""Which coordinates may be used, by short lists: against masks of all of them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparsebandits as sb
from sparsebandits.action_sets.availability import Availability
from sparsebandits.validation import BoolArray

DIM = 7

lists = st.tuples(st.sets(st.integers(0, DIM - 1)), st.booleans())


def built(drawn: tuple[set[int], bool]) -> tuple[Availability, BoolArray]:
    listed, is_rest = drawn
    mask = np.array([(i in listed) != is_rest for i in range(DIM)])
    return Availability(DIM, np.array(sorted(listed), dtype=np.intp), is_rest), mask


@given(lists, lists)
def test_lists_and_masks_agree(first: tuple[set[int], bool], second: tuple[set[int], bool]) -> None:
    one, mask = built(first)
    other, beside = built(second)
    places = np.array([6, 0, 3, 3, 1])
    for availability, expected in ((one, mask), (one.within(other), mask & beside)):
        assert availability.count == expected.sum()
        assert np.array_equal(availability.holds(places), expected[places])
        assert bool(availability.holds(places[2:3])) == expected[3]
        assert np.array_equal(availability.usable(), np.flatnonzero(expected))
        assert np.array_equal(availability.mask, expected)


def test_restrictions_of_every_form_are_one() -> None:
    X = sb.Box(np.zeros(4), np.ones(4), names=list("abcd"))
    mask = np.array([True, False, True, True])
    forms: list[Any] = [mask, [0, 2, 3], ["a", "c", "d"], sb.AllBut([1]), sb.AllBut(["b"])]
    sets = [X.restrict(form) for form in forms]
    assert all(one == sets[0] and hash(one) == hash(sets[0]) for one in sets)
    twice = X.restrict(sb.AllBut([0])).restrict([0, 1, 2]).restrict(sb.AllBut([2]))
    assert twice == X.restrict(["b"])
    assert X.restrict(sb.AllBut([])).is_unrestricted
    with pytest.raises(sb.InvalidValueError, match="No coordinate is left"):
        X.restrict(sb.AllBut(range(4)))
