"""Checks that several rooms share."""

from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.validation import as_generator, as_non_negative


@pytest.mark.parametrize("wrong", [0, None, "seed", np.random.SeedSequence(0)])
def test_only_a_generator_is_a_generator(wrong: Any) -> None:
    rng = np.random.default_rng(0)
    assert as_generator(rng) is rng
    with pytest.raises(sb.InvalidTypeError, match=r"pass numpy\.random\.default_rng"):
        as_generator(wrong)


def test_non_negative() -> None:
    assert as_non_negative("width", np.float32(0)) == 0.0
    assert type(as_non_negative("width", np.float64(2))) is float
    with pytest.raises(sb.InvalidValueError, match="width must be non-negative, got -1"):
        as_non_negative("width", -1)
