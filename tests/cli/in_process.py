"""Commands in this process: the same code, without the time to start Python.

What only a process of its own shows (exit codes of the shell, signals, pipes) is in
`test_endings.py`.
"""

import contextlib
import io
from dataclasses import dataclass

import pytest

from sparsebandits.cli import app


@dataclass
class Done:
    """How a command ended, and what it said."""

    returncode: int
    stdout: str
    stderr: str


def run(*arguments: object) -> Done:
    """Run a command to its end; without a terminal a line is as wide as COLUMNS says."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as ended,
        ):
            app.run([str(argument) for argument in arguments])
    code = ended.value.code
    return Done(code if isinstance(code, int) else 0, out.getvalue(), err.getvalue())
