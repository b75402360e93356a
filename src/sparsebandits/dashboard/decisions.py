"""The decisions of a learner as a table: filtered, in pages, and as files."""

import csv
import io
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebandits.action_sets.names import place_of_text
from sparsebandits.dashboard.charts import clock
from sparsebandits.dashboard.history import EXPIRED, FORGOTTEN, OPEN, TOLD, History
from sparsebandits.dashboard.words import number
from sparsebandits.errors import InvalidValueError
from sparsebandits.validation import BoolArray, IntArray

PAGE = 50
"""Decisions on a page."""

FILTERS: dict[str, Callable[[History], BoolArray]] = {
    "all": lambda history: np.ones(len(history), dtype=bool),
    "open": lambda history: np.asarray(history.states == OPEN),
    "told": lambda history: np.asarray(history.states == TOLD),
    "late": lambda history: history.late,
    "corrected": lambda history: history.corrected,
    "expired": lambda history: np.asarray(history.states == EXPIRED),
    "forgotten": lambda history: np.asarray(history.states == FORGOTTEN),
}
"""What may be asked for, by name."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which decisions: by what became of them, phase, and a coordinate that was on."""

    state: str = "all"
    phase: str = ""
    coordinate: str = ""
    page: int = 1


@dataclass(frozen=True, kw_only=True)
class Row:
    """One decision for a person; `delay` in seconds, nan where it is not known."""

    id: int
    asked_at: str
    state: str
    phase: str
    action: str
    context: str
    reward: float
    delay: float
    is_open: bool


@dataclass(frozen=True, kw_only=True)
class Table:
    """A page of decisions, the newest first."""

    rows: tuple[Row, ...]
    found: int
    pages: int
    page: int
    counts: dict[str, int]
    """Decisions of every filter's state."""


def matching(history: History, wanted: Wanted, names: Sequence[str] | None) -> IntArray:
    """Return the places of the decisions that are wanted, ascending."""
    if wanted.state not in FILTERS:
        raise InvalidValueError(
            f"There are decisions that are {', '.join(FILTERS)}; got {wanted.state[:40]!r}."
        )
    kept = FILTERS[wanted.state](history)
    if wanted.phase:
        kept = kept & (history.phases == wanted.phase)
    if wanted.coordinate:
        places = {name: place for place, name in enumerate(names or ())}
        index = place_of_text(wanted.coordinate, places, history.dim)
        rows = np.repeat(np.arange(len(history)), np.diff(history.starts))
        on = np.zeros(len(history), dtype=bool)
        on[rows[history.columns == index]] = True
        kept = kept & on
    return np.flatnonzero(kept)


def table_of(history: History, wanted: Wanted, names: Sequence[str] | None) -> Table:
    """Return the wanted page."""
    places = matching(history, wanted, names)[::-1]
    pages = max(1, math.ceil(places.size / PAGE))
    page = min(max(wanted.page, 1), pages)
    shown = places[(page - 1) * PAGE : page * PAGE]
    return Table(
        rows=tuple(_row(history, int(place), names) for place in shown),
        found=int(places.size),
        pages=pages,
        page=page,
        counts={name: int(holds(history).sum()) for name, holds in FILTERS.items()},
    )


def _row(history: History, place: int, names: Sequence[str] | None) -> Row:
    asked = float(history.asked_at[place])
    action = named_action(history, place, names)
    return Row(
        id=int(history.ids[place]),
        asked_at=clock(asked) if math.isfinite(asked) else "",
        state=_word(history, place),
        phase=str(history.phases[place]),
        action=", ".join(f"{name}: {number(x, 4)}" for name, x in action.items()) or "nothing",
        context=", ".join(number(each) for each in _context(history, place)),
        reward=float(history.rewards[place]),
        delay=float(history.closed_at[place]) - asked,
        is_open=bool(history.states[place] == OPEN),
    )


def _context(history: History, place: int) -> list[float]:
    return [] if history.contexts is None else history.contexts[place].tolist()


def _word(history: History, place: int) -> str:
    flags = (("late", history.late), ("corrected", history.corrected))
    words = [name for name, flag in flags if flag[place]]
    return ", ".join(words) or str(history.states[place])


def named_action(history: History, place: int, names: Sequence[str] | None) -> dict[str, float]:
    """Return the non-zeros of an action by name, or by index as text."""
    indices, values = history.action(place)
    labels = [str(i) if names is None else names[i] for i in indices.tolist()]
    return dict(zip(labels, values.tolist(), strict=True))


# ---------------------------------------------------------------------- files


def _columns(
    history: History, places: IntArray, names: Sequence[str] | None
) -> dict[str, list[Any]]:
    """Return what a file holds, None where there is nothing."""

    def moments(array: Any) -> list[str | None]:
        seconds = array[places].tolist()
        return [clock(moment) if math.isfinite(moment) else None for moment in seconds]

    contexts = history.contexts
    rewards = history.rewards[places].tolist()
    return {
        "id": history.ids[places].tolist(),
        "asked_at": moments(history.asked_at),
        "closed_at": moments(history.closed_at),
        "state": history.states[places].tolist(),
        "late": history.late[places].tolist(),
        "corrected": history.corrected[places].tolist(),
        "phase": history.phases[places].tolist(),
        "reward": [reward if math.isfinite(reward) else None for reward in rewards],
        "action": [named_action(history, place, names) for place in places.tolist()],
        "context": [None] * places.size if contexts is None else contexts[places].tolist(),
    }


def to_csv(history: History, places: IntArray, names: Sequence[str] | None) -> bytes:
    """Return decisions as CSV; an action is JSON, its non-zeros by name."""
    columns = _columns(history, places, names)
    columns["action"] = [json.dumps(action) for action in columns["action"]]
    columns["context"] = [None if z is None else json.dumps(z) for z in columns["context"]]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode()


def to_parquet(history: History, places: IntArray, names: Sequence[str] | None) -> bytes:
    """Return decisions as Parquet; an action is a map from name to dose."""
    from sparsebandits.sweeps.schema import arrow, parquet  # simulations come along

    pa = arrow()
    columns = _columns(history, places, names)
    kinds = {
        "id": pa.int64(),
        "late": pa.bool_(),
        "corrected": pa.bool_(),
        "reward": pa.float64(),
        "action": pa.map_(pa.string(), pa.float64()),
        "context": pa.list_(pa.float64()),
    }
    columns["action"] = [list(action.items()) for action in columns["action"]]
    table = pa.table(
        {name: pa.array(cells, kinds.get(name, pa.string())) for name, cells in columns.items()}
    )
    stream = pa.BufferOutputStream()
    parquet().write_table(table, stream)
    content: bytes = stream.getvalue().to_pybytes()
    return content
