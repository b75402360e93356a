"""Files that are there whole or not at all, and one writer per folder."""

import contextlib
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from sparsebandits.errors import SweepError

if sys.platform != "win32":
    import fcntl

LOCK = "sweep.lock"
UNFINISHED = ".part"
"""How the names of files end that are being written."""


@contextlib.contextmanager
def writing(path: Path, saved: int | None = None, scratch: Path | None = None) -> Iterator[Path]:
    """Give another name to write to; on success it becomes `path`, on failure it is removed.

    It is in the folder `scratch`, on the same file system, or beside `path`. The error of a file
    that cannot be written tells how many chunks were `saved` before.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with writing(Path(folder) / "a.txt") as path:
    ...         _ = path.write_text("whole")
    ...     (Path(folder) / "a.txt").read_text()
    'whole'
    """
    with explained(path, saved):
        handle, name = tempfile.mkstemp(dir=scratch or path.parent, suffix=UNFINISHED)
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            with temporary.open("rb") as stream:
                os.fsync(stream.fileno())
            # mkstemp keeps others out; results are as readable as any other file of their owner.
            temporary.chmod(0o644)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise


@contextlib.contextmanager
def explained(path: Path, saved: int | None = None) -> Iterator[None]:
    """Say which file could not be written, how much space is free, and how to go on."""
    try:
        yield
    except OSError as error:
        place = path
        while not place.is_dir() and place != place.parent:
            place = place.parent
        free = shutil.disk_usage(place).free / 1e6
        reason = error.strerror or str(error)
        safe = "" if saved is None else f"The {saved} chunks that landed are safe. "
        raise SweepError(
            f"Could not write {path}: {reason} ({free:.1f} MB are free in {place}). {safe}Make "
            "room or make the folder writable, then run again with --resume; or choose another "
            "--out."
        ) from error


@contextlib.contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold the folder for this process, and clear away what dead ones left half-written.

    The lock belongs to the open file: the system drops it when its process dies, however it dies,
    so that no lock is ever stale. (On Windows, where there is none of this kind, no lock is held.)
    """
    with explained(folder / LOCK):
        folder.mkdir(parents=True, exist_ok=True)
        stream = (folder / LOCK).open("a+", encoding="utf-8")
    with stream:
        with explained(folder / LOCK):
            _lock(stream, folder)
            _sign(stream, f"process {os.getpid()} on {socket.gethostname()}")
            for unfinished in folder.glob(f"*{UNFINISHED}"):
                unfinished.unlink(missing_ok=True)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                _sign(stream, "")


def _lock(stream: IO[str], folder: Path) -> None:
    if sys.platform == "win32":
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        stream.seek(0)
        owner = stream.read().strip() or "another process"
        raise SweepError(
            f"The folder {folder} is in use by {owner}, and two sweeps must not share one. Wait "
            "until that one is done, or choose another --out."
        ) from error


def _sign(stream: IO[str], text: str) -> None:
    stream.seek(0)
    stream.truncate()
    stream.write(text)
    stream.flush()
