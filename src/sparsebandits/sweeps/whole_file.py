"""A file that is written piece by piece, and there whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sparsebandits.sweeps.files import PART, cannot_write


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """Give another name to write to; on success it becomes `path`, on failure it is removed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with writing(Path(folder) / "a.txt") as path:
    ...         _ = path.write_text("whole")
    ...     (Path(folder) / "a.txt").read_text()
    'whole'
    """
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}-", suffix=PART)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        with temporary.open("rb") as stream:
            os.fsync(stream.fileno())
        # mkstemp keeps others out; results are as readable as any other file of their owner.
        temporary.chmod(0o644)
        os.replace(temporary, path)
    except BaseException as error:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink()
        if isinstance(error, OSError):
            raise cannot_write(path, error) from error
        raise
