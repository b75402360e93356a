"""A saved state altered under a valid digest is refused, or its learner plays and learns soundly.

A forger may change any number; one who invents a whole consistent life cannot be told from a
learner that lived it.
"""

import copy
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.policies import POLICIES, Learner
from sparsebandits.policies.ridge_rule import RidgeRule
from sparsebandits.policies.saved_state import sealed
from tests.policies.examples import DIM, EXAMPLES, THETA, Make, reward_of

STEPS = 60
FORGERIES = 45
COMMITTING = ("explore-then-commit", "estc", "csar", "support-elimination")
"""Kinds that may play one action for ever, once they have a support."""

Path = tuple[Any, ...]


def lived(make: Make, seed: int) -> Learner:
    """A learner with late and lost rewards, masks and logs behind it, and decisions open."""
    learner, rng = make().start(seed=seed), np.random.default_rng(seed)
    waiting = []
    for step in range(30 + seed):
        waiting.append(learner.ask(available=[0, 1, 3] if step % 7 == 3 else None))
        while len(waiting) > 3 or (waiting and rng.random() < 0.5):
            decision = waiting.pop(int(rng.integers(len(waiting))))
            if rng.random() < 0.1:
                learner.forget(decision)
            else:
                learner.tell(decision, reward_of(decision) + 0.1 * float(rng.standard_normal()))
        if step == 12 and seed % 2:
            logged = 0.5 * rng.standard_normal((6, DIM))
            learner.warm_start(logged, logged @ THETA)
    return learner


# ---------------------------------------------------------------------- the forger


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """The paths to every list, and to everything that holds no more."""
    if isinstance(value, list):
        yield path
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))
    else:
        yield path


def altered(value: Any, rng: np.random.Generator) -> Any:
    """Another value for a place: a list of wrong order or length, or a strange number."""
    if isinstance(value, list):
        order = rng.permutation(len(value)).tolist()
        lists: list[Any] = [[value[i] for i in order], value[:-1], value + value[:1], []]
        return lists[int(rng.integers(len(lists)))]
    values: list[Any] = [0, 1, -1, 2, 5.0, 1e8, 1e90, 1e300, -1e300, 1e-300, 2**52, None]
    if isinstance(value, bool):
        values += 6 * [not value]
    elif isinstance(value, (int, float)):
        values += [-value, value + 1, 2 * value, 1.001 * value, value // 1 - 1]
    return values[int(rng.integers(len(values)))]


def replaced(state: dict[str, Any], path: Path, rng: np.random.Generator) -> None:
    place: Any = state
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = altered(place[path[-1]], rng)


def forgeries(learner: Learner, rng: np.random.Generator, number: int) -> Iterator[dict[str, Any]]:
    """States with one place changed, or two, or three; every field is met alike often."""
    data = learner.to_dict()
    fields = [list(places(value, (name,))) for name, value in data["state"].items()]
    # The hold of SparseThompson has a test of its own.
    own = learner.policy.kind == "sparse-thompson"
    fields = [paths for paths in fields if not (own and paths[0][0] in ("left", "held"))]
    for turn in range(number):
        state = copy.deepcopy(data["state"])
        chosen = {turn % len(fields), *rng.integers(0, len(fields), turn % 3).tolist()}
        for field in sorted(chosen):
            paths = fields[field]
            replaced(state, paths[int(rng.integers(len(paths)))], rng)
        yield sealed(data["policy"], state)


# ---------------------------------------------------------------------- what must hold


def assert_sound(learner: Learner, rng: np.random.Generator) -> None:
    """Play on: inside X, H-sparse, never frozen, and with an estimate that solves its sums."""
    policy, actions = learner.policy, set()
    before = learner.to_dict()["state"]
    for number in learner.open_decisions:
        learner.tell(number, float(rng.standard_normal()))
    for step in range(STEPS):
        mask = [0, 1, 3] if step % 20 == 9 else None
        current = policy.action_set if mask is None else policy.action_set.restrict(mask)
        decision = learner.ask(available=mask)
        assert current.contains(decision.action), decision
        assert np.count_nonzero(decision.action) <= policy.sparsity, decision
        learner.tell(decision, reward_of(decision) + 0.1 * float(rng.standard_normal()))
        if mask is None:
            actions.add(decision.action.tobytes())
    settled = policy.kind in COMMITTING and learner.support is not None
    exploits = 0 < before.get("left", 0) <= before["next_id"]
    assert len(actions) > 1 or settled or exploits, "frozen"
    rule, theta = learner._rule, learner.theta_hat
    if theta is not None:
        assert np.isfinite(theta).all()
    if isinstance(rule, RidgeRule):
        model = rule.posterior
        precision, right = model.gram[0] + np.diag(model.prior[0]), model.response[0]
        scale = np.abs(precision) @ np.abs(model.theta_hat[0]) + np.abs(right)
        assert (np.abs(precision @ model.theta_hat[0] - right) <= 1e-5 * scale.max()).all()
        assert (model.squares >= 0).all()
    learner.certificate(draws=2)
    assert sb.Learner.from_dict(json.loads(json.dumps(learner.to_dict()))) is not None


@pytest.mark.parametrize("kind", POLICIES)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_a_forged_state_is_refused_or_sound(kind: str, seed: int) -> None:
    rng = np.random.default_rng([list(POLICIES).index(kind), seed])
    refused = 0
    learner = lived(EXAMPLES[kind][0], seed)
    assert_sound(sb.Learner.from_dict(learner.to_dict()), rng)
    for data in forgeries(learner, rng, FORGERIES):
        try:
            forged = sb.Learner.from_dict(data)
        except sb.SparseBanditsError:
            refused += 1
            continue
        assert_sound(forged, rng)
    assert refused > 0


FOREVER = 2**50

CONTRADICTIONS: list[tuple[str, dict[str, Any], str]] = [
    ("pege", {"due": [False] * DIM, "closed": True, "left": FOREVER}, "left"),
    ("pege", {"due": [True] * DIM, "closed": True}, "closed"),
    ("pege", {"counts": [0] * DIM, "gram": None}, "sums"),
    ("pege", {"open": [[1, [0, 1, 2], [0.1, 0.1, 0.1], -1, None]]}, "open"),
    ("pege", {"open": [[1, [0], [1e100], -1, None]]}, "open"),
    ("apsee", {"locked": True, "support": [0, 2], "tested": 0}, "support"),
    ("apsee", {"locked": False, "due": [False] * DIM, "closed": True, "left": 1}, "left"),
    ("time-varying", {"information": -1.0}, "information"),
    ("time-varying", {"open": [[1, [0], [1.0], 1, None]]}, "open"),
    ("estc", {"lost": np.diag([1e-3] * (DIM + 1)).tolist()}, "lost"),
    ("lin-ts", {"theta_hat": [0.0] * DIM}, "theta_hat"),
    ("lin-ts", {"theta_hat": [1e200] * DIM}, "theta_hat"),
    ("lin-ts", {"root": (1e200 * np.eye(DIM)).tolist()}, "root"),
    ("oful", {"log_det": 0.0}, "log_det"),
    ("epsilon-greedy", {"choices": FOREVER}, "choices"),
    ("support-elimination", {"left": FOREVER}, "left"),
    ("support-elimination", {"target": FOREVER}, "target"),
    ("support-elimination", {"phase": FOREVER}, "phase"),
    ("support-elimination", {"needed": [False] * DIM}, "needed"),
    ("support-elimination", {"asked": [FOREVER] * DIM}, "asked"),
    ("support-elimination", {"told": [FOREVER] * DIM}, "told"),
    ("support-elimination", {"told": [0] * DIM, "fresh": [0] * DIM}, "means"),
    ("csar", {"accepted": [True] * 2 + [False] * 2, "rejected": [False] * 4}, "accepted"),
    ("csar", {"accepted": [False] * 4, "rejected": [False] * 4, "counts": [FOREVER] * 8}, "counts"),
    ("csar", {"counts": [0] * 8, "means": [1.0] * 8}, "means"),
]


@pytest.mark.parametrize(("kind", "changes", "name"), CONTRADICTIONS)
def test_what_contradicts_itself_is_refused_by_name(
    kind: str, changes: dict[str, Any], name: str
) -> None:
    data = lived(EXAMPLES[kind][0], 1).to_dict()
    assert set(changes) <= set(data["state"])
    with pytest.raises(sb.InvalidValueError, match=rf"state\..*{name}"):
        sb.Learner.from_dict(sealed(data["policy"], {**data["state"], **changes}))


def test_a_generator_that_would_repeat_itself_is_refused() -> None:
    data = lived(EXAMPLES["random-sparse"][0], 1).to_dict()
    data["state"]["generator"]["state"] = {"state": 0, "inc": 0}
    with pytest.raises(sb.InvalidValueError, match=r"state\.generator .* even increment"):
        sb.Learner.from_dict(sealed(data["policy"], data["state"]))
