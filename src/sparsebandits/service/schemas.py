"""The bodies of requests and answers; OpenAPI is written from these classes."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sparsebandits.action_sets import ActionSet, AllBut
from sparsebandits.action_sets.names import refuse_doubled
from sparsebandits.errors import InvalidTypeError, InvalidValueError
from sparsebandits.oracles import Limit, Supports
from sparsebandits.service.log import Lived
from sparsebandits.service.times import as_text
from sparsebandits.store import LearnerRow

KEY_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._:@~-]{0,127}$"
LARGEST_COUNT = 1000
LARGEST_SEED = 2**63 - 1
LONGEST_WAIT = 1e9

Key = Annotated[str, Meta(pattern=KEY_PATTERN, description="1 to 128 of A-Z a-z 0-9 . _ : @ ~ -")]
Reward = Annotated[float, Meta(description="A finite number.")]
Coordinates = Annotated[
    list[bool | int | str],
    Meta(description="What may be used now: indices, names, or a mask with an entry each."),
]
Count = Annotated[int, Meta(ge=1, le=LARGEST_COUNT, description="How many decisions.")]
Id = Annotated[int, Meta(ge=1, le=LARGEST_SEED)]
Items = Meta(min_length=1, max_length=LARGEST_COUNT)


class Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a request: an unknown key is refused."""


class AllButView(Body, frozen=True):
    """Everything may be used now but these, by index or name."""

    all_but: list[int | str]


Availability = Coordinates | AllButView


class CreateBody(Body, frozen=True):
    """A learner to make."""

    policy: dict[str, Any]
    seed: Annotated[int, Meta(ge=0, le=LARGEST_SEED)] = 0
    reward_wait: Annotated[float, Meta(gt=0, le=LONGEST_WAIT)] | None = None
    default_reward: Reward | None = None


class AskBody(Body, frozen=True):
    """What may be used now, and how many decisions are wanted."""

    available: Availability | None = None
    context: list[float] | None = None
    count: Count = 1


class RewardBody(Body, frozen=True):
    """The reward of a decision."""

    reward: Reward


class ObserveBody(Body, frozen=True):
    """Logged pairs; an action is a list of all its entries, or only the non-zeros by key."""

    actions: Annotated[list[list[float] | dict[str, float]], Meta(min_length=1, max_length=100_000)]
    rewards: Annotated[list[Reward], Meta(min_length=1, max_length=100_000)]


class AskItem(AskBody, frozen=True, kw_only=True):
    """An ask of one of many learners."""

    learner: Key


class TellItem(Body, frozen=True):
    """A reward for one of many learners."""

    learner: Key
    id: Id
    reward: Reward
    correct: bool = False


class AskManyBody(Body, frozen=True):
    """Asks of many learners."""

    asks: Annotated[list[AskItem], Items]


class TellManyBody(Body, frozen=True):
    """Rewards for many learners."""

    tells: Annotated[list[TellItem], Items]


class ImportBody(Body, frozen=True):
    """A learner as `Learner.to_dict()` saved it."""

    key: Key
    learner: dict[str, Any]


class SolveBody(Body, frozen=True):
    """A problem for the oracle alone; sparsity is a number, or rules as `Supports` has them."""

    action_set: dict[str, Any]
    theta: list[float]
    sparsity: Annotated[int, Meta(ge=1, le=LARGEST_SEED)] | dict[str, Any]
    method: str = "auto"
    available: Availability | None = None
    time_limit: Annotated[float, Meta(gt=0, le=10)] = 5.0


# ---------------------------------------------------------------------- answers


class DecisionView(msgspec.Struct, frozen=True, kw_only=True):
    """A decision: the non-zeros of its action by name, or by index where there are no names."""

    id: int
    action: dict[str, float]
    indices: list[int]
    phase: str
    cycle: int
    asked_at: str


class LearnerView(msgspec.Struct, frozen=True, kw_only=True):
    """A learner in short."""

    key: str
    policy: str
    dim: int
    sparsity: int | dict[str, Any]
    names: Sequence[str] | None
    seed: int | None
    reward_wait: float | None
    default_reward: float | None
    created_at: str
    removed_at: str | None
    last_at: str
    sequence: int
    decisions: int
    rewards: int
    open: int
    support: tuple[int, ...] | None


def learner_view(lived: Lived, row: LearnerRow) -> LearnerView:
    """Return what is said of a learner in short."""
    policy = lived.policy
    return LearnerView(
        key=row.key,
        policy=policy.kind,
        dim=policy.action_set.dim,
        sparsity=described(policy.sparsity),
        names=policy.action_set.names,
        seed=row.seed,
        reward_wait=row.reward_wait,
        default_reward=row.default_reward,
        created_at=as_text(row.created_at),
        removed_at=None if row.removed_at is None else as_text(row.removed_at),
        last_at=as_text(row.last_at),
        sequence=row.head,
        decisions=row.decisions,
        rewards=row.rewards,
        open=row.open,
        support=lived.learner.support,
    )


def described(limit: Limit) -> int | dict[str, Any]:
    """Return H, or the rules that stand for it, as JSON has them."""
    return limit.to_dict() if isinstance(limit, Supports) else limit


def action_view(
    indices: Sequence[int], values: Sequence[float], names: Sequence[str] | None
) -> dict[str, float]:
    """Return an action by names, or by indices as texts."""
    keys = map(str, indices) if names is None else (names[index] for index in indices)
    return dict(zip(keys, values, strict=True))


# ---------------------------------------------------------------------- what clients may write


Offer = list[int] | AllBut | None
"""What may be used now, by index: these, all but these, or everything."""


def availability(given: Sequence[Any] | AllButView | None, action_set: ActionSet) -> Offer:
    """Return what is meant by indices, names, a mask, or all but some."""
    if given is None:
        return None
    if isinstance(given, AllButView):
        return AllBut(_distinct(given.all_but, action_set))
    dim = action_set.dim
    if all(isinstance(entry, bool) for entry in given) and given:
        if len(given) != dim:
            raise InvalidValueError(
                f"available must have an entry for each of the {dim} coordinates where it is a "
                f"mask, got {len(given)}."
            )
        return [index for index, entry in enumerate(given) if entry]
    if any(isinstance(entry, bool) for entry in given):
        raise InvalidTypeError("available must hold indices, names or booleans, got a mixture.")
    return _distinct(given, action_set)


def _distinct(given: Sequence[int | str], action_set: ActionSet) -> list[int]:
    """Return the indices of coordinates, ascending; refuse one that stands twice."""
    places = [action_set.index_of_text(str(entry)) for entry in given]
    refuse_doubled(given, places)
    return sorted(places)


def nonzeros(
    action: list[float] | dict[str, float], action_set: ActionSet
) -> tuple[list[int], list[float]]:
    """Return the indices and values of an action's non-zeros."""
    dim = action_set.dim
    if isinstance(action, dict):
        names = list(action)
        places = [action_set.index_of_text(name) for name in names]
        refuse_doubled(names, places)
        entries = sorted(zip(places, action.values(), strict=True))
    elif len(action) == dim:
        entries = list(enumerate(action))
    else:
        raise InvalidValueError(f"An action must have {dim} entries, got {len(action)}.")
    kept = [(index, float(value)) for index, value in entries if value != 0]
    return [index for index, _ in kept], [value for _, value in kept]
