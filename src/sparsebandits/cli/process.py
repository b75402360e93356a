"""What the process of a command owes to whoever started it, however the command ends.

Ctrl-C ends it with one line, also while modules are imported or workers start; nothing is left in
the temporary folder; libraries that are torn down at the end say nothing.
"""

import atexit
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from multiprocessing import resource_tracker
from types import FrameType

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 and the number of the signal, as shells have it."""

_MOMENT = 0.05
"""Seconds after which an interrupt that came in vain is repeated."""

_STARTS = {("threading", "start"), ("concurrent.futures.thread", "_adjust_thread_count")}
"""Where a thread is started: it would run on, and Python wait for it, though nobody knew of it."""

_interrupted = threading.Event()


def was_interrupted() -> bool:
    """Return whether Ctrl-C has come, whatever was raised because of it."""
    return _interrupted.is_set()


def say(message: str) -> None:
    """Write one line on standard error; where that cannot be written nobody is listening."""
    with contextlib.suppress(OSError, ValueError):
        print(f"sparsebandits: {' '.join(message.split())}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Guard the rest of this process; it is meant to end right after."""
    try:
        with _interrupts_held_back():  # one in its midst would leave something there
            _own_temporary_folder()
        _answer_interrupts()
        yield
    except KeyboardInterrupt:
        say("Interrupted.")
        _end()
        raise SystemExit(INTERRUPTED) from None
    except SystemExit:
        _end()
        raise
    except Exception:
        # An import cut short may raise anything.
        if not was_interrupted():
            raise
        say("Interrupted.")
        _end()
        raise SystemExit(INTERRUPTED) from None


def _answer_interrupts() -> None:
    """Let Ctrl-C reach the main thread of this process, and nothing else.

    A terminal sends SIGINT to the workers too, and one that is still importing answers with a
    traceback. A blocked signal stays blocked in processes started later, so SIGINT is blocked
    here, and a thread that waits for it passes it on as another signal.
    """
    if sys.platform == "win32" or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        return
    sys.unraisablehook = _once_more
    signal.signal(signal.SIGUSR1, _interrupt)
    signal.signal(signal.SIGALRM, _repeat)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    threading.Thread(target=_pass_on, args=(threading.get_ident(),), daemon=True).start()


def shield_workers() -> None:
    """Start what Python starts with the first worker, and what would unblock SIGINT as it does."""
    if sys.platform != "win32":
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        # It outlives the command, and would report what an interrupt left behind.
        kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        try:
            resource_tracker.ensure_running()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            os.close(nowhere)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _pass_on(main_thread: int) -> None:
    while sys.platform != "win32":
        signal.sigwait({signal.SIGINT})
        _interrupted.set()
        # What is cut short, such as a coroutine that was never awaited, is not worth a word.
        warnings.simplefilter("ignore")
        signal.pthread_kill(main_thread, signal.SIGUSR1)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, but not while a thread is being started."""
    inner = frame
    while inner is not None:
        if (inner.f_globals.get("__name__"), inner.f_code.co_name) in _STARTS:
            _again()
            return
        inner = inner.f_back
    signal.default_int_handler(number, frame)


def _again() -> None:
    """Interrupt once more in a moment; no thread is needed for it."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, _MOMENT)


def _repeat(number: int, frame: FrameType | None) -> None:
    if sys.platform != "win32":
        signal.raise_signal(signal.SIGUSR1)  # a server answers it in its own way


def _once_more(unraisable: "sys.UnraisableHookArgs") -> None:
    """Interrupt again where the interrupt came inside a callback, which cannot raise it."""
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        if not was_interrupted():
            sys.__unraisablehook__(unraisable)
    elif not sys.is_finalizing():
        _again()  # raised at once it would end this hook, with a traceback of its own


@contextlib.contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Let Ctrl-C wait for the end of a few lines."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _own_temporary_folder() -> None:
    """Put everything temporary into one folder, removed after all else that runs at exit."""
    try:
        folder = tempfile.mkdtemp(prefix="sparsebandits-")
    except OSError:
        return  # Most commands need none; one that does will say what is wrong.
    atexit.register(_remove, folder)
    tempfile.tempdir = folder
    os.environ["TMPDIR"] = folder  # for worker processes


def _ignore_interrupts() -> None:
    with contextlib.suppress(KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if sys.platform != "win32":
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)
            signal.signal(signal.SIGALRM, signal.SIG_IGN)


def _remove(folder: str) -> None:
    """Remove a folder, also where a worker that ends still writes to it."""
    for _ in range(5):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
        time.sleep(_MOMENT)


def _end() -> None:
    """Answer no interrupt any more and say no more: the command has ended, and has said why."""
    _ignore_interrupts()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
