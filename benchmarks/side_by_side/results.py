"""Results as lines of JSON, one for each player, problem and seed; written as they come."""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from side_by_side.problems import EDITION

Key = tuple[str, str, int, int]
"""Player, reward, d and seed."""


@dataclass(frozen=True)
class Results:
    """A file of results. Of two lines with the same key the later counts."""

    path: Path

    def read(self) -> dict[Key, dict[str, Any]]:
        """Return what was measured; a line that was cut short is as good as missing."""
        found: dict[Key, dict[str, Any]] = {}
        if not self.path.exists():
            return found
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if record["edition"] == EDITION:
                found[record["player"], record["reward"], record["dim"], record["seed"]] = record
        return found

    def add(self, record: dict[str, Any]) -> None:
        """Append a line; it is on the disk when this returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            # What an interrupted run left of its last line must not spoil this one.
            is_torn = file.tell() > 0 and _last_byte(self.path) != b"\n"
            file.write(
                (b"\n" if is_torn else b"")
                + json.dumps({**record, "edition": EDITION}).encode()
                + b"\n"
            )
            file.flush()
            os.fsync(file.fileno())

    def tidy(self, order: Iterable[str]) -> None:
        """Rewrite the file without lines that do not count, sorted, players in the given order."""
        places = {name: place for place, name in enumerate(order)}
        records = sorted(
            self.read().items(),
            key=lambda item: (places.get(item[0][0], len(places)), *item[0]),
        )
        draft = self.path.with_suffix(".draft")
        draft.write_text("".join(json.dumps(r) + "\n" for _, r in records), encoding="utf-8")
        draft.replace(self.path)


def _last_byte(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read()
