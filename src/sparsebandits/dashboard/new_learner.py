"""A learner from a form: what it would do first, and the lines that do the same elsewhere."""

import dataclasses
import json
import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sparsebandits.action_sets import ActionSet
from sparsebandits.errors import InvalidValueError
from sparsebandits.policies import Policy
from sparsebandits.policies.reader import read_policy
from sparsebandits.policies.table import POLICIES
from sparsebandits.service.limits import check_description
from sparsebandits.service.schemas import LARGEST_SEED, LONGEST_WAIT
from sparsebandits.validation import as_reward

SETS = {
    "budget": "Budget: amounts from 0 to a most, at most a total",
    "box": "Box: each between its own least and most",
    "lp-ball": "Ball: pushes in both directions, together at most a radius",
    "described": "Another: the description of a whole policy, as JSON",
}
"""The kinds of sets that the form knows, in words."""

KINDS = tuple(POLICIES)

DEFAULTS = {
    "key": "",
    "set": "budget",
    "names": "tv, radio, print, search, social, mail",
    "sparsity": "2",
    "total": "1",
    "lower": "0",
    "upper": "1",
    "radius": "1",
    "p": "2",
    "policy": "sparse-thompson",
    "settings": "",
    "sigma": "",
    "seed": "0",
    "reward_wait": "",
    "default_reward": "",
    "described": "",
}
"""The fields of the form, as they are at first."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NewLearner:
    """What the form describes."""

    key: str
    policy: Policy
    seed: int
    reward_wait: float | None = None
    default_reward: float | None = None
    first_action: dict[str, float] = field(default_factory=dict)

    @property
    def body(self) -> dict[str, Any]:
        """The body of the call that makes it; what is as usual is left out."""
        more = {"reward_wait": self.reward_wait, "default_reward": self.default_reward}
        given = {name: value for name, value in more.items() if value is not None}
        return {"policy": short_description(self.policy), "seed": self.seed, **given}


def read_form(given: Mapping[str, str], max_dim: int) -> NewLearner:
    """Return what a form describes, with the action that the learner will choose first.

    Nothing larger than `max_dim` coordinates is made.
    """
    values = {name: given.get(name, default).strip() for name, default in DEFAULTS.items()}
    seed = _seed(values["seed"] or "0")
    reward_wait, default_reward = _patience(values["reward_wait"], values["default_reward"])
    if values["set"] == "described":
        policy = _described(values["described"], max_dim)
    else:
        policy = _policy(values, max_dim)
    learner = policy.start(seed)
    size = getattr(policy, "context", 0)
    first = learner.ask(context=[0.0] * size if size else None)
    return NewLearner(
        key=values["key"],
        policy=policy,
        seed=seed,
        reward_wait=reward_wait,
        default_reward=default_reward,
        first_action=first.named,
    )


def _policy(values: Mapping[str, str], max_dim: int) -> Policy:
    sparsity = _whole("H", values["sparsity"])
    kind, sigma = values["policy"], _optional("the noise level", values["sigma"])
    settings = values["settings"].replace("\n", ",").strip(", ")
    if sigma is not None:
        settings = f"{settings},sigma={sigma!r}" if settings else f"sigma={sigma!r}"
    elif _cannot_estimate_noise(kind) and "sigma" not in settings:
        raise InvalidValueError(f"{kind} cannot estimate the noise level: give it as a number.")
    return read_policy(
        f"{kind}:{settings}" if settings else kind,
        action_set=_action_set(values, max_dim),
        sparsity=sparsity,
        horizon=10_000,
        sigma=math.inf if sigma is None else sigma,
    )


def _cannot_estimate_noise(kind: str) -> bool:
    entries = dataclasses.fields(POLICIES[kind]) if kind in POLICIES else ()
    return any(entry.name == "sigma" and isinstance(entry.default, float) for entry in entries)


def _action_set(values: Mapping[str, str], max_dim: int) -> ActionSet:
    names = [part.strip() for part in values["names"].replace("\n", ",").split(",")]
    names = [name for name in names if name]
    is_count = len(names) == 1 and names[0].isascii() and names[0].isdigit()
    if not names:
        raise InvalidValueError("Give the names of the coordinates, or how many there are.")
    dim = int(names[0][:10]) if is_count else len(names)
    if dim > max_dim:
        raise InvalidValueError(f"This server takes up to {max_dim:,} coordinates, got {dim:,}.")
    described: dict[str, Any] = {"kind": values["set"]}
    match values["set"]:
        case "budget":
            described |= {"total": _number("total", values["total"])}
            described |= {"upper": _each("most", values["upper"], dim)}
        case "box":
            described |= {"lower": _each("least", values["lower"], dim)}
            described |= {"upper": _each("most", values["upper"], dim)}
        case "lp-ball":
            p: float | str = "inf" if values["p"] == "inf" else _number("p", values["p"])
            described |= {"dim": dim, "p": p, "radius": _number("radius", values["radius"])}
        case other:
            raise InvalidValueError(f"Choose one of {', '.join(SETS)}; got {other[:40]!r}.")
    if not is_count:
        described["names"] = names
    return ActionSet.from_dict(described)


def _described(text: str, max_dim: int) -> Policy:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidValueError(f"The description is not JSON: {error}.") from None
    if not isinstance(data, dict):
        raise InvalidValueError("The description must be an object, as Policy.to_dict() returns.")
    check_description(data, max_dim)
    return Policy.from_dict(data)


def _each(name: str, text: str, dim: int) -> list[float]:
    """Return one number for all coordinates, or one of each."""
    numbers = [_number(name, part) for part in text.replace(",", " ").split()]
    if len(numbers) == 1:
        return numbers * dim
    if len(numbers) != dim:
        raise InvalidValueError(f"{name} takes one number, or {dim}; got {len(numbers)}.")
    return numbers


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidValueError(f"{name} must be a number, got {text[:40]!r}.") from None


def _whole(name: str, text: str) -> int:
    number = _number(name, text)
    if not number.is_integer():
        raise InvalidValueError(f"{name} must be a whole number, got {text[:40]!r}.")
    return int(number)


def _seed(text: str) -> int:
    seed = _whole("The seed", text)
    if not 0 <= seed <= LARGEST_SEED:
        raise InvalidValueError(f"The seed must be from 0 to {LARGEST_SEED}, got {text[:40]!r}.")
    return seed


def _patience(wait: str, reward: str) -> tuple[float | None, float | None]:
    """Return how long a reward is waited for, and which one is taken after that."""
    seconds, default = _optional("reward_wait", wait), _optional("default_reward", reward)
    if seconds is not None and not 0 < seconds <= LONGEST_WAIT:
        raise InvalidValueError(
            f"The seconds to wait must be more than 0 and at most {LONGEST_WAIT:g}, got {wait!r}; "
            "leave them empty to wait for ever."
        )
    if default is not None:
        as_reward(default)
        if seconds is None:
            raise InvalidValueError(
                "A reward after that needs the seconds to wait: after how long is it taken?"
            )
    return seconds, default


def _optional(name: str, text: str) -> float | None:
    return _number(name, text) if text else None


# ---------------------------------------------------------------------- lines to copy


def short_description(policy: Policy) -> dict[str, Any]:
    """Return the description without what is as usual."""
    usual = {entry.name: entry.default for entry in dataclasses.fields(policy)}
    return {
        name: value for name, value in policy.to_dict().items() if usual.get(name, ...) != value
    }


def curl_lines(new: NewLearner, address: str) -> str:
    """Return the calls in the shell: make it, ask, tell."""
    url = f"{address}/v1/learners/{new.key}"
    token = '-H "Authorization: Bearer $TOKEN"'
    return "\n".join(
        [
            f"curl -sS -X PUT {url} {token} \\",
            f"  -d {shlex.quote(json.dumps(new.body))}",
            f"curl -sS -X POST {url}/ask {token} -d {shlex.quote(json.dumps(_asked(new)))}",
            f"curl -sS -X PUT {url}/decisions/1/reward {token} -d '{{\"reward\": 0.7}}'",
        ]
    )


def python_lines(new: NewLearner, address: str) -> str:
    """Return the same in Python."""
    more = {name: value for name, value in new.body.items() if name != "policy"}
    keywords = "".join(f", {name}={value!r}" for name, value in more.items())
    asked = ", ".join(f"{name}={value!r}" for name, value in _asked(new).items())
    return "\n".join(
        [
            "import os",
            "",
            "import sparsebandits as sb",
            "",
            f"policy = sb.Policy.from_dict({short_description(new.policy)!r})",
            f'with sb.Client("{address}", os.environ["TOKEN"]) as client:',
            f"    learner = client.learner({new.key!r})",
            f"    learner.create(policy{keywords})",
            f"    decision = learner.ask({asked})",
            "    learner.tell(decision, 0.7)",
        ]
    )


def _asked(new: NewLearner) -> dict[str, Any]:
    size = getattr(new.policy, "context", 0)
    return {"context": [0.0] * size} if size else {}
