"""Saved state that is damaged, or makes no sense under a valid digest, is refused by name."""

import copy
import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies import Learner
from tests.policies.examples import DIM, FIRST_OF_EACH, Make, apsee, compact, moving, play


def sample(kind: str) -> Learner:
    """A learner in the middle of things: open decisions, a mask used, some data, some locked."""
    make: dict[str, Make] = {
        "apsee": lambda: apsee(),
        "all-data": lambda: apsee(use_all_data=True),
        "compact": lambda: compact(),
        "moving": lambda: moving(),
        **FIRST_OF_EACH,
    }
    learner = make[kind]().start(seed=4)
    play(learner, 3 * DIM + 7)
    while learner.ask().phase == "exploit" and kind in SCHEDULED:
        pass
    learner.ask(available=[DIM - 1])
    return learner


SCHEDULED = ["apsee", "all-data", "compact", "moving"]
ADAPTIVE = list(FIRST_OF_EACH)
CYCLES = [*SCHEDULED, "pege", "explore-then-commit"]
KINDS = [*SCHEDULED, *ADAPTIVE]


def sealed(data: dict[str, Any]) -> dict[str, Any]:
    """Give altered content a digest of its own, as a forger would."""
    body = {key: data[key] for key in ("version", "policy", "state")}
    text = json.dumps(body, sort_keys=True)
    return {**body, "digest": hashlib.sha256(text.encode()).hexdigest()}


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to everything that holds no more."""
    if isinstance(value, (dict, list)) and value:
        keys = value if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield from leaves(value[key], (*path, key))
    else:
        yield path


def replaced(data: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    altered: Any = copy.deepcopy(data)
    place = altered
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return dict(altered)


@pytest.mark.parametrize("kind", KINDS)
def test_any_changed_number_or_word_is_noticed(kind: str) -> None:
    data = sample(kind).to_dict()
    paths = [path for path in leaves(data) if path[0] in ("policy", "state", "digest")]
    assert len(paths) > 20
    for path in paths:
        value: Any = data
        for key in path:
            value = value[key]
        changed = value + 1 if isinstance(value, (int, float)) else "something else"
        with pytest.raises(sb.InvalidValueError, match="digest does not match"):
            sb.Learner.from_dict(replaced(data, path, changed))


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_wholes_are_refused(kind: str) -> None:
    data = sample(kind).to_dict()
    for key in data:
        with pytest.raises(sb.SparseBanditsError):
            sb.Learner.from_dict({k: v for k, v in data.items() if k != key})
    for version in (0, 1, 2, "3", None):
        with pytest.raises(sb.InvalidValueError, match="this release reads version 3"):
            sb.Learner.from_dict(sealed({**data, "version": version}))
    junk: list[Any] = [None, [], "x", 3, {}]
    for whole in junk:
        with pytest.raises(sb.InvalidValueError, match="has the keys version, policy"):
            sb.Learner.from_dict(whole)
        for key in ("policy", "state"):
            with pytest.raises(sb.SparseBanditsError):
                sb.Learner.from_dict(sealed({**data, key: whole}))
    for strange in ("unheard-of", None, ["apsee"], 3):
        other = sealed(replaced(data, ("policy", "kind"), strange))
        with pytest.raises(sb.InvalidValueError, match=r"must be of kind .*'apsee'"):
            sb.Learner.from_dict(other)
    for value in (float("nan"), {1}, object()):
        with pytest.raises(sb.InvalidValueError, match="plain JSON"):
            sb.Learner.from_dict(replaced(data, ("state", "next_id"), value))


@pytest.mark.parametrize("kind", KINDS)
def test_keys_that_are_missing_or_unknown_are_named(kind: str) -> None:
    data = sample(kind).to_dict()
    for key in data["state"]:
        state = {k: v for k, v in data["state"].items() if k != key}
        with pytest.raises(sb.InvalidValueError, match=rf"state must have the keys .*{key}"):
            sb.Learner.from_dict(sealed({**data, "state": state}))
    more = {**data["state"], "extra": 1}
    with pytest.raises(sb.InvalidValueError, match="extra"):
        sb.Learner.from_dict(sealed({**data, "state": more}))
    for key in data["policy"]:
        policy = {k: v for k, v in data["policy"].items() if k != key}
        if key in ("kind", "action_set", "sparsity", "basis"):
            with pytest.raises(sb.SparseBanditsError, match=key):
                sb.Learner.from_dict(sealed({**data, "policy": policy}))
    with pytest.raises(sb.SparseBanditsError, match="surplus"):
        sb.Learner.from_dict(sealed({**data, "policy": {**data["policy"], "surplus": 1}}))


EVERYWHERE: list[tuple[str, Any]] = [
    ("next_id", 0),
    ("next_id", "x"),
    ("next_id", 2),
    ("open", None),
    ("open", [[1]]),
    *(
        ("open", records)
        for records in (
            [[0, [0], [1.0], -1]],
            [[10**6, [0], [1.0], -1]],
            [[3, [0], [1.0], -1], [3, [0], [1.0], -1]],
            [[4, [0], [1.0], -1], [3, [0], [1.0], -1]],
            [["3", [0], [1.0], -1]],
            [[3, [0], [1.0, 2.0], -1]],
            [[3, [0, 1], [1.0], -1]],
            [[3, [DIM], [1.0], -1]],
            [[3, [-1], [1.0], -1]],
            [[3, [1, 0], [1.0, 2.0], -1]],
            [[3, [0, 0], [1.0, 2.0], -1]],
            [[3, [0.5], [1.0], -1]],
            [[3, [0], [None], -1]],
            [[3, [0], ["x"], -1]],
            [[3, [], [1.0], -1]],
            [[3, None, None, -1]],
            [[3, [0], [1.0], -2]],
            [[3, [0], [1.0], 10**6]],
            [[3, [0], [1.0], True]],
            [[3, [0], [1.0], "explore"]],
        )
    ),
    ("generator", None),
    ("generator", {}),
    ("generator", {"bit_generator": "MT19937"}),
]
IN_CYCLES: list[tuple[str, Any]] = [
    ("cycle", 0),
    ("cycle", 10**6),
    ("tested", 10**6),
    ("information", 1e9),
    ("support", [DIM, -1]),
    ("gram", {}),
    ("gram", 7),
    ("gram", [[[1.0, 0.0], [0.0, 1.0]], [[0.0] * 2] * 2, 0]),
    ("gram", [(-np.eye(DIM + 1)).tolist(), np.zeros((DIM + 1, DIM + 1)).tolist(), 1]),
    ("last_test", None),
    ("last_test", [1.0, 2.0]),
    ("last_test", ["1.0"]),
]
NONSENSE = [
    *((kind, name, value) for kind in KINDS for name, value in EVERYWHERE),
    *((kind, name, value) for kind in CYCLES for name, value in IN_CYCLES),
    *((kind, "left", 3) for kind in CYCLES if kind != "explore-then-commit"),
    *((kind, "open", [[3, [0], [0.123], 1]]) for kind in CYCLES if kind != "moving"),
    ("all-data", "gram", None),
    ("moving", "gram", None),
    ("compact", "locked", True),
]


@pytest.mark.parametrize("kind", KINDS)
def test_nonsense_under_a_valid_digest_is_refused_and_the_field_named(kind: str) -> None:
    data = sample(kind).to_dict()
    for owner, name, value in NONSENSE:
        if owner != kind:
            continue
        forged = sealed(replaced(data, ("state", name), value))
        with pytest.raises(sb.SparseBanditsError) as refusal:
            sb.Learner.from_dict(forged)
        words = {
            "gram": ("gram", "moments"),
            "locked": ("support",),
            "next_id": ("next_id", "open"),
        }.get(name, (name,))
        assert any(f"state.{word}" in str(refusal.value) for word in words), (name, value)


@pytest.mark.parametrize("kind", KINDS)
def test_every_array_of_a_rule_is_checked_and_named(kind: str) -> None:
    """Wrong shapes, words, nothing, parts of a count, negative counts and sums of squares."""
    data = sample(kind).to_dict()
    own = set(data["state"]) - {"next_id", "open", "told_rewards", "generator", "gram", "last_test"}
    if kind not in CYCLES and "gram" in data["state"]:
        own.add("gram")
    assert own or kind == "random-sparse"
    for name in own:
        value: Any = data["state"][name]
        wrong: list[Any] = [None, "x", "1", {}, [], [[[[1.0]]]], [1, [2]], np.ones(99).tolist()]
        numbers = np.array(value)
        if not numbers.size:
            continue  # where there is a basis no axis is counted
        wrong += [np.full(numbers.shape, "1").tolist(), np.full(numbers.shape, None).tolist()]
        if isinstance(value, list):
            wrong += [value[:-1], [*value, value[0]], value[0], [value]]
        if numbers.dtype.kind in "bi":
            least = -1 if name in ("chosen", "support") else 0
            for bad in (0.5, least - 1, 10**18, 1e300):
                wrong.append(np.full(numbers.shape, bad).tolist())
        if numbers.dtype.kind == "b":
            wrong.append(np.full(numbers.shape, 2).tolist())
        if name in ("squares", "spread", "log_det", "sigma"):
            wrong.append(-1.0)
        if name == "gram":
            wrong.append((-np.eye(DIM)).tolist())
            wrong.append((np.eye(DIM) + np.eye(DIM, k=1)).tolist())
            wrong.append((np.ones((DIM, DIM)) - 0.5 * np.eye(DIM)).tolist())
        for bad in wrong:
            forged = sealed(replaced(data, ("state", name), bad))
            with pytest.raises(sb.InvalidValueError, match=rf"state\.{name} must"):
                sb.Learner.from_dict(forged)


def test_arrays_that_contradict_each_other_are_refused() -> None:
    cases: list[tuple[str, dict[str, Any]]] = [
        ("pege", {"left": 3, "due": [True] * DIM}),
        ("pege", {"left": 2**53, "due": [False] * DIM, "closed": True, "planned": True}),
        ("lin-ts", {"theta_hat": [5.0] * DIM}),
        ("lin-ts", {"root": np.eye(DIM).tolist()}),
        ("csar", {"accepted": [True] * DIM, "rejected": [False] * DIM}),
        ("csar", {"accepted": [True] + [False] * 3, "rejected": [True] + [False] * 3}),
        ("csar", {"phase": 0}),
        ("csar", {"phase": 10**6}),
        ("support-elimination", {"alive": [False] * 6, "survivors": 0}),
        ("support-elimination", {"survivors": 2, "alive": [True] * 6}),
        ("support-elimination", {"chosen": 6}),
        ("support-elimination", {"phase": 0}),
    ]
    for kind, changes in cases:
        data = sample(kind).to_dict()
        assert set(changes) <= set(data["state"])
        forged = sealed({**data, "state": {**data["state"], **changes}})
        with pytest.raises(sb.InvalidValueError, match="state"):
            sb.Learner.from_dict(forged)


@pytest.mark.parametrize("kind", SCHEDULED)
def test_exploitation_needs_an_estimate_and_a_closed_exploration(kind: str) -> None:
    data = sample(kind).to_dict()
    state, cycle = data["state"], data["state"]["cycle"]
    ready = {"due": [False] * DIM, "closed": True, "planned": True, "left": 1}
    sb.Learner.from_dict(sealed({**data, "state": {**state, **ready}}))
    for change in (
        {"planned": False},
        {"closed": False},
        {"due": [True] * DIM},
        {"left": cycle + 1},
    ):
        with pytest.raises(sb.InvalidValueError, match=r"state\.(left|closed)"):
            sb.Learner.from_dict(sealed({**data, "state": {**state, **ready, **change}}))


@pytest.mark.parametrize(
    "kind",
    [
        "apsee",
        *(pytest.param(kind, marks=pytest.mark.thorough) for kind in SCHEDULED[1:]),
        *ADAPTIVE,
    ],
)
def test_junk_anywhere_is_refused_or_harmless(kind: str) -> None:
    """Whatever is accepted under a forged digest can at least be asked and told for a while."""
    data = sample(kind).to_dict()
    junk: list[Any] = [None, -1, 0, 10**6, 1.5, -1.5, "x", [], {}, True, [[]]]
    if kind in ADAPTIVE:  # of the words and lists, one each
        junk = [None, -1, 10**6, 1.5, "x", []]
    refused = 0
    for path in leaves({"policy": data["policy"], "state": data["state"]}):
        for value in junk:
            if kind in ADAPTIVE and path[0] == "policy" and value == 10**6:
                continue  # a million coordinates, starts or rounds are legal, and take their time
            try:
                learner = sb.Learner.from_dict(sealed(replaced(data, path, value)))
                play(learner, 2 * DIM if kind in SCHEDULED else 2)
            except sb.SparseBanditsError:
                refused += 1
    assert refused > (300 if kind in SCHEDULED else 60)


def test_a_policy_that_no_machine_could_hold_is_refused() -> None:
    data = apsee().to_dict()
    data["action_set"]["dim"] = 10**30
    with pytest.raises(sb.InvalidValueError, match="dim must be at most"):
        sb.Policy.from_dict(data)
