"""Where the parts of a result are kept: in a folder, safe from any crash, or in memory."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from sparsebandits.simulation import Run
from sparsebandits.sweeps.files import explained, writing
from sparsebandits.sweeps.schema import Names, decode, encode, seconds_of

STEPS = "steps.parquet"
"""The folder of all parts: readers of Parquet take it for one table."""

_NAME = re.compile(r"(\d{9,})-(\d+)-[0-9a-f]{32}\.parquet")


class Parts:
    """Parts by the fingerprint of their cell; these are kept in memory."""

    def __init__(self) -> None:
        self._runs: dict[str, dict[int, Run]] = {}

    def landed(self, fingerprint: str) -> list[tuple[int, int, float]]:
        """Return what can be used: first trial, number of trials, seconds; in order."""
        return [(first, run.trials, run.seconds) for first, run in self.runs(fingerprint)]

    def save(
        self, fingerprint: str, names: Names, first: int, run: Run, saved: int | None = None
    ) -> None:
        """Keep the trials from `first` on; an error tells how many parts were `saved` before."""
        self._runs.setdefault(fingerprint, {})[first] = run

    def runs(self, fingerprint: str) -> Iterator[tuple[int, Run]]:
        """Yield the first trial and the run of every part, in order, one at a time."""
        yield from sorted(self._runs.get(fingerprint, {}).items())


class PartFiles(Parts):
    """Parquet files in ``folder/steps.parquet/fingerprint``, one for each part.

    The name of a file ends in a digest of all its bytes and of the place it belongs to: a part is
    there whole and as it was written, or as good as missing.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def landed(self, fingerprint: str) -> list[tuple[int, int, float]]:
        """Return what can be used; what cannot is deleted, so that no reader meets it.

        To be called by the only writer of the folder.
        """
        usable = {}
        for path, first, content in self._contents(fingerprint):
            seconds = seconds_of(content)
            if seconds is not None:
                usable[path] = (first, int(path.name.split("-")[1]), seconds)
        for path, _, _ in self._files(fingerprint):
            if path not in usable:
                with explained(path):
                    path.unlink(missing_ok=True)
        return list(usable.values())

    def save(
        self, fingerprint: str, names: Names, first: int, run: Run, saved: int | None = None
    ) -> None:
        """Write a part so that it is there whole or not at all."""
        home = self.folder / STEPS / fingerprint
        content = encode(run, first, names)
        path = home / _name(fingerprint, first, run.trials, content)
        with explained(home, saved):
            home.mkdir(parents=True, exist_ok=True)
        # Not among the parts while it is being written: somebody may read them as they land.
        with writing(path, saved, scratch=self.folder) as unfinished:
            unfinished.write_bytes(content)

    def runs(self, fingerprint: str) -> Iterator[tuple[int, Run]]:
        """Yield the first trial and the run of every part that can be used, in order."""
        for _, first, content in self._contents(fingerprint):
            run = decode(content)
            if run is not None:
                yield first, run

    def _contents(self, fingerprint: str) -> Iterator[tuple[Path, int, bytes]]:
        """Yield path, first trial and bytes of what is whole; of files that overlap, of one."""
        end = 0
        for path, first, count in self._files(fingerprint):
            if first >= end:
                try:
                    content = path.read_bytes()
                except OSError:
                    continue
                if path.name == _name(fingerprint, first, count, content):
                    end = first + count
                    yield path, first, content

    def _files(self, fingerprint: str) -> list[tuple[Path, int, int]]:
        """Return path, first trial and number of trials by the names of the files, in order."""
        home = self.folder / STEPS / fingerprint
        matches = [_NAME.fullmatch(path.name) for path in home.iterdir()] if home.is_dir() else []
        return sorted(
            ((home / match[0], int(match[1]), int(match[2])) for match in matches if match),
            key=lambda file: (file[1], file[0]),
        )


def _name(fingerprint: str, first: int, count: int, content: bytes) -> str:
    place = f"{first:09d}-{count}"
    digest = hashlib.sha256(f"{fingerprint}/{place}\n".encode() + content).hexdigest()
    return f"{place}-{digest[:32]}.parquet"
