"""Where the parts of a result are kept: in a folder, safe from any crash, or in memory."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sparsebandits.simulation import Run
from sparsebandits.sweeps.files import cannot_write, writing
from sparsebandits.sweeps.schema import Names, decode, encode, seconds_of

STEPS = "steps.parquet"
"""The folder of all parts: readers of Parquet take it for one table."""

_NAME = re.compile(r"(\d{9,})-(\d+)-[0-9a-f]{32}\.parquet")


class Parts(Protocol):
    """Parts by the fingerprint of their cell."""

    def landed(self, fingerprint: str) -> list[tuple[int, int, float]]:
        """Return what can be used: first trial, number of trials, seconds; in order."""

    def save(self, fingerprint: str, names: Names, first: int, run: Run, saved: int) -> None:
        """Keep the trials from `first` on; `saved` parts were kept before."""

    def runs(self, fingerprint: str) -> Iterator[tuple[int, Run]]:
        """Yield the first trial and the run of every part, in order, one at a time."""


class PartsInMemory:
    """Parts that nobody asks for again."""

    def __init__(self) -> None:
        self._runs: dict[str, dict[int, Run]] = {}

    def landed(self, fingerprint: str) -> list[tuple[int, int, float]]:
        """Return what can be used: first trial, number of trials, seconds; in order."""
        return [(first, run.trials, run.seconds) for first, run in self.runs(fingerprint)]

    def save(self, fingerprint: str, names: Names, first: int, run: Run, saved: int) -> None:
        """Keep the trials from `first` on."""
        self._runs.setdefault(fingerprint, {})[first] = run

    def runs(self, fingerprint: str) -> Iterator[tuple[int, Run]]:
        """Yield the first trial and the run of every part, in order."""
        yield from sorted(self._runs.get(fingerprint, {}).items())


class PartFiles:
    """Parquet files in ``folder/steps.parquet/fingerprint``, one for each part.

    The name of a file ends in a digest of all its bytes and of the place it belongs to: a part is
    there whole and as it was written, or as good as missing.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def home(self, fingerprint: str) -> Path:
        """Return the folder of a cell's parts."""
        return self.folder / STEPS / fingerprint

    def landed(self, fingerprint: str) -> list[tuple[int, int, float]]:
        """Return what can be used; what cannot is deleted, so that no reader meets it.

        To be called by the only writer of the folder.
        """
        usable, end = [], 0
        for file in _files(self.home(fingerprint)):
            content = file.content() if file.first >= end else None
            seconds = None if content is None else seconds_of(content)
            if seconds is None:
                try:
                    file.path.unlink(missing_ok=True)
                except OSError as error:
                    raise cannot_write(file.path, error) from error
            else:
                usable.append((file.first, file.count, seconds))
                end = file.first + file.count
        return usable

    def save(
        self, fingerprint: str, names: Names, first: int, run: Run, saved: int | None = None
    ) -> None:
        """Write a part so that it is there whole or not at all; errors tell what was `saved`."""
        home = self.home(fingerprint)
        content = encode(run, first, names)
        path = home / _name(home, first, run.trials, content)
        try:
            home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(home, error, saved) from error
        # Not among the parts while it is being written: somebody may read them as they land.
        with writing(path, saved, scratch=self.folder) as unfinished:
            unfinished.write_bytes(content)

    def runs(self, fingerprint: str) -> Iterator[tuple[int, Run]]:
        """Yield the first trial and the run of every part that can be used, in order."""
        end = 0
        for file in _files(self.home(fingerprint)):
            content = file.content() if file.first >= end else None
            run = None if content is None else decode(content)
            if run is not None:
                end = file.first + file.count
                yield file.first, run


@dataclass(frozen=True)
class _File:
    path: Path
    first: int
    count: int

    def content(self) -> bytes | None:
        """Return the bytes; None where they are missing, damaged or another part's."""
        try:
            content = self.path.read_bytes()
        except OSError:
            return None
        name = _name(self.path.parent, self.first, self.count, content)
        return content if name == self.path.name else None


def _files(home: Path) -> list[_File]:
    """Return the files of a cell in the order of their trials, unread."""
    paths = home.iterdir() if home.is_dir() else ()
    matches = [(path, _NAME.fullmatch(path.name)) for path in paths]
    files = [_File(path, int(match[1]), int(match[2])) for path, match in matches if match]
    return sorted(files, key=lambda file: (file.first, file.path.name))


def _name(home: Path, first: int, count: int, content: bytes) -> str:
    place = f"{first:09d}-{count}"
    digest = hashlib.sha256(f"{home.name}/{place}\n".encode() + content).hexdigest()
    return f"{place}-{digest[:32]}.parquet"
