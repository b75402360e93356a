"""A core read back continues bit for bit, is small, and is refused where it contradicts itself."""

import base64
import json
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.estimation.core_ridge import FRESH
from sparsebandits.policies import Decision, Learner
from sparsebandits.policies.saved_arrays import pack
from sparsebandits.policies.saved_state import sealed
from sparsebandits.validation import FloatArray
from tests.policies.cores import core_of, cube, fill, play, reward_of, thompson, told
from tests.policies.examples import through_json
from tests.policies.test_forged import altered

DIM = 300


def wander(learner: Learner, rng: np.random.Generator, steps: int) -> Iterator[Decision]:
    """Ask with and without masks, tell in any order, forget, bring in logs and strange rewards."""
    dim = learner.policy.action_set.dim
    for _ in range(steps):
        move = rng.random()
        if move < 0.45 or not learner.open_decisions:
            yield learner.ask()
        elif move < 0.5:
            yield learner.ask(available=rng.random(dim) < 0.5)
        elif move < 0.94:
            learner.tell(int(rng.choice(learner.open_decisions)), float(rng.standard_normal()))
        elif move < 0.95:
            learner.forget(learner.open_decisions[0])
        elif move < 0.97:
            logged = rng.random((2, dim)) * (rng.random((2, dim)) < 4 / dim)
            learner.warm_start(logged, logged.sum(axis=1))
        else:
            some = np.sort(rng.choice(dim, 7, replace=False))
            told(learner, some.tolist(), float(rng.standard_normal()), 0.4)


def through_bytes(learner: Learner) -> Learner:
    return sb.Learner.from_bytes(learner.to_bytes())


@pytest.mark.parametrize("through", [through_json, through_bytes])
@pytest.mark.parametrize("make", [sb.LpBall, cube], ids=["l2", "cube"])
def test_read_back_it_continues_bit_for_bit(small_cores: None, make: Any, through: Any) -> None:
    """Saved at random moments, beside one that never was; slots given away, deviates kept."""
    straight, saved = (thompson(make(DIM)).start(seed=3) for _ in range(2))
    one, two, when = (np.random.default_rng(seed) for seed in (11, 11, 12))
    for _ in range(25):
        steps = int(when.integers(1, 20))
        left, right = list(wander(straight, one, steps)), list(wander(saved, two, steps))
        assert [d.action.tobytes() for d in left] == [d.action.tobytes() for d in right]
        read = through(saved)
        assert read.to_dict() == saved.to_dict()
        assert read.open_decisions == saved.open_decisions
        saved = read
    assert straight.to_dict() == saved.to_dict()
    assert core_of(saved).slots.ids.size == 24
    assert core_of(saved).slots.model.spent > 0


def test_beyond_so_many_columns_that_draws_are_kept() -> None:
    straight, saved = (thompson(sb.LpBall(10**5), 34).start(seed=4) for _ in range(2))
    theta = np.random.default_rng(5).uniform(-1, 1, 10**5)
    for turn in range(4):
        left, right = play(straight, theta, 3, turn), play(saved, theta, 3, turn)
        assert [d.action.tobytes() for d in left] == [d.action.tobytes() for d in right]
        saved = through_bytes(saved)
    assert core_of(saved).slots.model.size > FRESH
    assert straight.to_dict() == saved.to_dict()


# ---------------------------------------------------------------------- size


def test_a_full_core_among_a_million_is_below_5_mb_saved() -> None:
    learner = thompson(sb.LpBall(10**6), 5).start(seed=0)
    fill(learner)
    play(learner, np.ones(10**6), 3)
    assert core_of(learner).slots.ids.size == 512
    data = learner.to_bytes()
    assert len(data) < 5_000_000
    assert len(json.dumps(learner.to_dict())) < 5_000_000
    read, theta = sb.Learner.from_bytes(data), np.ones(10**6)
    for one, two in zip(play(read, theta, 3), play(learner, theta, 3), strict=True):
        assert one.action.tobytes() == two.action.tobytes()


@pytest.mark.parametrize("make", [sb.LpBall, cube], ids=["l2", "cube"])
def test_a_learner_of_twenty_knobs_is_below_20_kb_saved(make: Any) -> None:
    learner = thompson(make(20), 5).start(seed=0)
    play(learner, np.linspace(-1, 1, 20), 300)
    assert len(json.dumps(learner.to_dict())) < 20_000
    assert len(learner.to_bytes()) < 20_000


# ---------------------------------------------------------------------- forged


def unpacked(text: str) -> FloatArray:
    return np.frombuffer(base64.b64decode(text), dtype="<f8").copy()


def lived(dim: int = 150) -> Learner:
    """A learner with decisions open and rewards set aside, and deviates."""
    learner, rng = thompson(cube(dim)).start(seed=6), np.random.default_rng(7)
    list(wander(learner, rng, 80))
    learner.tell(learner.ask(), 0.7)
    assert learner.to_dict()["state"]["told"] == 1
    return learner


def forgeries(learner: Learner, rng: np.random.Generator, turns: int) -> Iterator[dict[str, Any]]:
    """States with one number changed in one field after the other; matrices keep their packing."""
    data = learner.to_dict()
    names = sorted(data["state"].keys() - {"generator", "open", "next_id"})
    for turn in range(turns * len(names)):
        name = names[turn % len(names)]
        state = json.loads(json.dumps(data["state"]))
        value = state[name]
        if isinstance(value, str) and (numbers := unpacked(value)).size:
            place = int(rng.integers(numbers.size))
            changed = altered(float(numbers[place]), rng)
            numbers[place] = 0.0 if changed is None else changed
            state[name] = pack(numbers)
        elif isinstance(value, list) and value:
            place = int(rng.integers(len(value)))
            value[place] = altered(value[place], rng)
        else:
            state[name] = altered(value, rng)
        yield sealed(data["policy"], state)


def assert_sound(learner: Learner, rng: np.random.Generator) -> None:
    """Play on: inside X, H-sparse, with an estimate that solves its sums, and saved again."""
    X, theta = learner.policy.action_set, np.linspace(-1, 1, learner.policy.action_set.dim)
    for number in learner.open_decisions:
        learner.tell(number, float(rng.standard_normal()))
    for step in range(12):
        mask = None if step % 5 else rng.random(X.dim) < 0.5
        decision = learner.ask(available=mask)
        assert X.contains(decision.action)
        assert decision.indices.size <= learner.policy.sparsity
        learner.tell(decision, reward_of(decision, theta, 0.3 * float(rng.standard_normal())))
    estimate = learner.theta_hat
    assert estimate is not None
    assert np.isfinite(estimate).all()
    assert core_of(learner).slots.model.agrees()
    learner.certificate(draws=2)
    assert through_json(learner) is not None


@pytest.mark.parametrize(
    "turns", [8, pytest.param(40, marks=pytest.mark.thorough)], ids=["few", "many"]
)
def test_a_forged_core_is_refused_or_sound(small_cores: None, turns: int) -> None:
    learner, rng = lived(), np.random.default_rng(8)
    assert_sound(through_json(learner), rng)
    refused = 0
    for data in forgeries(learner, rng, turns):
        try:
            forged = sb.Learner.from_dict(data)
        except sb.SparseBanditsError:
            refused += 1
            continue
        assert_sound(forged, rng)
    assert refused > 5 * turns


CONTRADICTIONS: list[tuple[str, Any, str]] = [
    ("ids", [1, 1], r"state\.ids must hold distinct"),
    ("ids", list(range(25)), r"state\.ids must be at most 24"),
    ("ids", [10**6], r"state\.ids must hold distinct indices in 0..149"),
    ("held", [[0, 1, 2, 3], [1.0] * 4], r"state\.held must be an action on state\.ids"),
    ("held", [[], [1.0]], r"state\.held must hold one value per index"),
    ("told", 10.0**9, r"state\.told and state\.awaited must be together at most"),
    ("awaited", 10**9, r"state\.told and state\.awaited must be together at most"),
    ("told", -1.0, r"state\.told, state\.mean and state\.spread must be"),
    ("mean", 1e200, r"state\.told, state\.mean and state\.spread must be"),
    ("told", 0.0, r"state\.told, state\.mean and state\.spread must be"),
    ("renewal", -1.0, r"state\.renewal must be non-negative"),
    ("left", 10**6, r"state\.left must be at most"),
    ("counts", pack(-1.0), "contradict the sums"),
    ("counts", pack(0.0), "contradict the sums"),
    ("squares", pack(-1.0), "contradict the sums"),
    ("spent", pack(-1.0), "contradict the sums"),
    ("anchor", pack(1e300), "contradict the sums"),
    ("gram", "AAAA", r"state\.gram must be .* finite numbers, packed"),
    ("theta", np.full(1, np.nan), r"state\.theta must be \d+ finite numbers, packed"),
    ("theta", np.ones(1), "contradict the sums"),
    ("prior", np.ones(1), r"state\.prior contradicts the policy"),
    ("deviates", np.full((3, 1), 1e9), "contradict the sums"),
]


@pytest.mark.parametrize(("name", "value", "words"), CONTRADICTIONS)
def test_what_contradicts_itself_is_refused_by_name(
    small_cores: None, name: str, value: Any, words: str
) -> None:
    data = lived().to_dict()
    assert len(data["state"]["ids"]) == 24
    assert name in data["state"]
    if name == "held":
        value = [*value, *data["state"]["held"][2:]]
    if isinstance(value, np.ndarray):
        value = pack(np.repeat(value, unpacked(data["state"]["theta"]).size, axis=-1))
    with pytest.raises(sb.SparseBanditsError, match=words):
        sb.Learner.from_dict(sealed(data["policy"], {**data["state"], name: value}))


def test_before_any_reward_there_is_nothing_but_the_prior() -> None:
    learner = thompson(cube(DIM)).start(seed=0)
    learner.ask()
    data = learner.to_dict()
    for name in ("covariance", "gram", "theta", "response"):
        numbers = unpacked(data["state"][name])
        numbers[0] += 1e-3
        state = {**data["state"], name: pack(numbers)}
        with pytest.raises(sb.InvalidValueError, match="contradict the sums"):
            sb.Learner.from_dict(sealed(data["policy"], state))


@pytest.mark.parametrize(
    "data", ["text", b"", b"no learner", zlib.compress(b"nonsense"), zlib.compress(b"\xff\xfe")]
)
def test_bytes_of_something_else_are_refused(data: Any) -> None:
    with pytest.raises(sb.InvalidValueError, match="not the bytes of a learner"):
        sb.Learner.from_bytes(data)
    with pytest.raises(sb.InvalidValueError, match="A saved learner has the keys"):
        sb.Learner.from_bytes(zlib.compress(b"[1, 2]"))
