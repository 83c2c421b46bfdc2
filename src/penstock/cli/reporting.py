"""All that is not a result goes to stderr: diagnostics, notes; and the exit code that an error means.

0 fine · 1 the user's program or data is wrong · 2 wrong usage (click's own) · 3 our bug · 130 Ctrl-C
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

import click

from penstock.backends.native.interrupts import INTERRUPTS
from penstock.errors import Diagnostic, InternalError, PenstockError, render
from penstock.steps.interrupts import interrupt_behind

FINE, WRONG, USAGE, BUG, INTERRUPTED = 0, 1, 2, 3, 130
_REPORT = "This is a mistake of Penstock, not yours; please report it. PENSTOCK_DEBUG=1 shows where it happened."


_TELLERS: list[Callable[[str], object]] = []


def note(text: str) -> None:
    """One line for the person, on stderr, or as whoever tells of the command writes it."""
    if _TELLERS:
        _TELLERS[-1](text)
    else:
        click.echo(text, err=True)


@contextmanager
def told_by(teller: Callable[[str], object]) -> Iterator[None]:
    """Have `teller` write what is noted, by any thread, while the block lasts."""
    _TELLERS.append(teller)
    try:
        yield
    finally:
        _TELLERS.remove(teller)


def warn(warnings: Iterable[Diagnostic], source: str) -> None:
    """Show what the program says in vain."""
    for warning in warnings:
        note(render(warning, source))


def report(error: PenstockError) -> int:
    """Show an error; gives its exit code."""
    note(error.render())
    if isinstance(error, InternalError):
        _where()
        return BUG
    return WRONG


def report_unforeseen(error: Exception) -> int:
    """Show what has come through every border: under the code of its library, where it is one's."""
    from penstock.catalog.model import Catalog  # noqa: PLC0415 - that nobody waits for
    from penstock.steps.failures import translated  # noqa: PLC0415 - that nobody waits for

    known = translated(error, Catalog())
    return report(known) if isinstance(known, PenstockError) else report_bug(error)


def report_bug(error: BaseException) -> int:
    """Show an error that nobody foresaw, on one line; gives its exit code."""
    first = str(error).strip().split("\n", 1)[0][:500]
    note(f"error[INTERNAL]: {type(error).__name__}: {first}" if first else f"error[INTERNAL]: {type(error).__name__}")
    _where()
    return BUG


def _where() -> None:
    if os.environ.get("PENSTOCK_DEBUG"):
        note(traceback.format_exc())
    note(_REPORT)


def end_as_interrupted() -> None:
    """Have SIGTERM, and SIGHUP unless it is ignored (nohup), do what Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)
            INTERRUPTS.stop_at(number)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a script's `&` has it, which is about the terminal alone
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.raise_signal(signal.SIGINT)


@contextmanager
def exit_codes() -> Iterator[None]:
    """Turn every error into a message and an exit code; no traceback reaches the user."""
    try:
        yield
    except PenstockError as error:
        sys.exit(report(error))
    except (click.exceptions.Exit, click.ClickException, click.Abort):
        raise
    except KeyboardInterrupt:
        note("interrupted")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has gone, which is its right; Python must not complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FINE)
    except OSError as error:
        note(f"error[{_os_code(error)}]: {error.strerror or error}: {error.filename or ''}".rstrip(": "))
        sys.exit(WRONG)
    except Exception as error:  # noqa: BLE001 - the last line of defence; it is reported as our bug
        if interrupt_behind(error) is not None:
            note("interrupted")
            sys.exit(INTERRUPTED)
        sys.exit(report_unforeseen(error))


def _os_code(error: OSError) -> str:
    return "FILE_NOT_FOUND" if isinstance(error, FileNotFoundError) else "CANNOT_ACCESS"
