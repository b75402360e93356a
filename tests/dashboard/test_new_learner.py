"""What the form for a new learner takes, and what it refuses: no more than the calls do."""

import pytest

from sparsebandits.dashboard.new_learner import NewLearner, read_form
from sparsebandits.errors import InvalidValueError

PLAIN = {"key": "spring", "set": "box", "names": "tv, radio, print"}


def read(**fields: str) -> NewLearner:
    return read_form({**PLAIN, **fields}, max_dim=2000)


def test_a_form_gives_what_the_call_takes() -> None:
    new = read(sparsity="2", seed="7", reward_wait="60", default_reward="0")
    assert (new.policy.sparsity, new.body["seed"]) == (2, 7)
    assert (new.reward_wait, new.default_reward) == (60.0, 0.0)
    assert read().body.keys() == {"policy", "seed"}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"sparsity": "2.5"}, "whole number"),
        ({"sparsity": "nan"}, "whole number"),
        ({"seed": "1.7"}, "whole number"),
        ({"seed": "inf"}, "whole number"),
        ({"seed": "1e30"}, "from 0 to 9223372036854775807"),
        ({"reward_wait": "-3"}, "more than 0"),
        ({"reward_wait": "nan"}, "more than 0"),
        ({"default_reward": "1"}, "after how long"),
        ({"reward_wait": "5", "default_reward": "nan"}, "finite"),
    ],
)
def test_numbers_that_the_call_refuses_are_refused(fields: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidValueError, match=said):
        read(**fields)
