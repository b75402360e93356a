"""What the events of a learner's log mean, and how a learner is made from them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from sparsebandits.action_sets import AllBut
from sparsebandits.policies import Learner, Policy
from sparsebandits.service import learners
from sparsebandits.service.learners import Choice, Pair
from sparsebandits.store import DamagedStoreError, Event

ASK, TELL, FORGET, EXPIRE = "ask", "tell", "forget", "expire"
CORRECT, REBUILD, OBSERVE, IMPORT = "correct", "rebuild", "observe", "import"
"""A correction is made by the learner, or by rebuilding it where it cannot take a reward back."""


class Asked(msgspec.Struct, frozen=True):
    """Decisions that were given out, the first under the id of the event."""

    choices: list[Choice]
    available: list[int] | None = None
    context: list[float] | None = None
    all_but: list[int] | None = None

    @classmethod
    def of(
        cls,
        choices: list[Choice],
        offer: list[int] | AllBut | None,
        context: list[float] | None,
    ) -> "Asked":
        """Log what was asked: what was on offer is kept as short as it was said."""
        if isinstance(offer, AllBut):
            left_out = [int(index) for index in offer.coordinates]
            return cls(choices, None, context, left_out)
        return cls(choices, offer, context)

    @property
    def offer(self) -> list[int] | AllBut | None:
        """What could be used."""
        return self.available if self.all_but is None else AllBut(self.all_but)


class Rewarded(msgspec.Struct, frozen=True):
    """The reward of a decision; None if it will never come."""

    reward: float | None


class Observed(msgspec.Struct, frozen=True):
    """Logged pairs."""

    pairs: list[Pair]


class Imported(msgspec.Struct, frozen=True):
    """A learner that was not made here; `rewards` are those behind its estimate."""

    state: bytes
    decisions: int
    open: list[int]
    rewards: int = 0


Content = Asked | Rewarded | Observed | Imported
_CONTENTS: dict[str, type[Content]] = {
    ASK: Asked,
    TELL: Rewarded,
    FORGET: Rewarded,
    EXPIRE: Rewarded,
    CORRECT: Rewarded,
    REBUILD: Rewarded,
    OBSERVE: Observed,
    IMPORT: Imported,
}
_encode = msgspec.msgpack.Encoder().encode
_decoders = {kind: msgspec.msgpack.Decoder(kept) for kind, kept in _CONTENTS.items()}


def write(content: Content) -> bytes:
    """Return the body of an event."""
    return _encode(content)


def read(event: Event) -> Content:
    """Return the content of an event."""
    try:
        content: Content = _decoders[event.kind].decode(event.body)
    except (KeyError, msgspec.DecodeError) as error:
        raise DamagedStoreError(
            f"Event {event.sequence} of learner {event.learner} cannot be read: {error}."
        ) from None
    return content


def reward_of(event: Event) -> float | None:
    """Return the reward in an event that closes a decision."""
    content = read(event)
    assert isinstance(content, Rewarded)
    return content.reward


@dataclass
class Lived:
    """A learner and what the log says of it beside.

    Attributes
    ----------
    open : dict
        Since when each open decision is waited for, by id, the oldest first.
    mismatches : int
        Actions that came out otherwise than they were logged; the log wins.
    """

    policy: Policy
    learner: Learner
    sequence: int = 0
    open: dict[int, float] = field(default_factory=dict)
    mismatches: int = 0

    def set_back(self, now: float) -> None:
        """Wait from now on for what was asked when the clock was ahead of now."""
        for number, asked_at in reversed(self.open.items()):
            if asked_at <= now:
                break  # as were all before it
            self.open[number] = now

    def apply(self, event: Event, count_mismatches: bool = True) -> None:
        """Go one event further."""
        if event.sequence != self.sequence + 1:
            raise DamagedStoreError(
                f"The log of learner {event.learner} has event {event.sequence} after "
                f"{self.sequence}; restore a backup."
            )
        match event.kind, read(event):
            case _, Asked() as asked:
                self._ask(event, asked, count_mismatches)
            case "rebuild", _:
                pass  # `rebuilt` has seen to it
            case "correct", Rewarded(reward=float(reward)):
                assert event.decision is not None
                self.learner.correct(event.decision, reward)
            case _, Rewarded(reward=reward):
                assert event.decision is not None
                del self.open[event.decision]
                if reward is None:
                    self.learner.forget(event.decision)
                else:
                    self.learner.tell(event.decision, reward)
            case _, Observed(pairs=pairs):
                learners.observe(self.learner, pairs)
            case _, Imported() as imported:
                self.learner = learners.from_bytes(self.policy, imported.state)
                self.open = dict.fromkeys(imported.open, event.at)
        self.sequence = event.sequence

    def _ask(self, event: Event, asked: Asked, count_mismatches: bool) -> None:
        found = learners.ask(self.learner, asked.offer, asked.context, len(asked.choices))
        assert event.decision is not None
        for number, (choice, logged) in enumerate(
            zip(found, asked.choices, strict=True), start=event.decision
        ):
            self.open[number] = event.at
            if (choice.indices, choice.values) != (logged.indices, logged.values):
                self.mismatches += count_mismatches
                learners.force(self.learner, number, logged)


def needs_rebuild(events: Iterable[Event]) -> bool:
    """Whether events cannot be applied one after another: one reaches into the past."""
    return any(event.kind == REBUILD for event in events)


def replay(policy: Policy, seed: int | None, events: Sequence[Event]) -> Lived:
    """Return the learner of a whole log."""
    last = max((place for place, event in enumerate(events, 1) if event.kind == REBUILD), default=0)
    lived = rebuild(policy, seed, events[:last])
    for event in events[last:]:
        lived.apply(event)
    return lived


def rebuild(policy: Policy, seed: int | None, events: Sequence[Event]) -> Lived:
    """Return the learner that was told every reward right from the start.

    What had been asked for before a correction was chosen without it, so the actions are taken from
    the log without a word.
    """
    corrected = {event.decision: event for event in events if event.kind in (CORRECT, REBUILD)}
    lived = Lived(policy, policy.start(seed))
    for event in events:
        told = event
        if event.kind in (TELL, FORGET, EXPIRE) and event.decision in corrected:
            told = msgspec.structs.replace(event, body=corrected[event.decision].body)
        elif event.kind == CORRECT:
            told = msgspec.structs.replace(event, kind=REBUILD)
        lived.apply(told, count_mismatches=False)
    return lived


def count(events: Iterable[Event]) -> tuple[int, int, int]:
    """Return how many decisions were given out, rewards told, and decisions are open."""
    decisions = rewards = 0
    closed: dict[int | None, bool] = {}
    still_open = 0
    for event in events:
        match read(event):
            case Asked(choices=choices):
                decisions += len(choices)
                still_open += len(choices)
            case Rewarded(reward=reward):
                still_open -= event.decision not in closed
                closed[event.decision] = reward is not None
            case Observed(pairs=pairs):
                rewards += len(pairs)
            case Imported(decisions=given, open=ids, rewards=known):
                decisions += given
                rewards += known
                still_open += len(ids)
    return decisions, rewards + sum(closed.values()), still_open
