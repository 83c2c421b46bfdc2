"""The prompt of the shell on a terminal: history, completion, highlighting, several lines until the semicolon."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TextIO, cast

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import ThreadedCompleter
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.patch_stdout import StdoutProxy
from pygments.lexers.sql import SqlLexer

from penstock.catalog.model import Catalog
from penstock.cli.repl.complete import CatalogCompleter
from penstock.cli.repl.statement import is_complete

CONTINUATION = "     ...> "


def terminal_reader(catalog: Callable[[], Catalog]) -> Callable[[str], str]:
    """A reader on the terminal: history, completion, highlighting, several lines until the semicolon."""
    prompt = terminal_prompt(catalog)

    def read(text: str) -> str:
        # What a run in the background shows meanwhile goes above the prompt, unless it goes into a file.
        with above_prompt() if sys.stdout.isatty() else nullcontext():
            return str(prompt.prompt(text))

    return read


class _AbovePrompt(StdoutProxy):
    """The place above the prompt, as a stream."""

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts, as the outputs of changes do."""
        self.write("".join(lines))


@contextmanager
def above_prompt() -> Iterator[None]:
    """Write what goes to stdout and stderr above the prompt while the block lasts."""
    with _AbovePrompt() as proxy, redirect_stdout(cast("TextIO", proxy)), redirect_stderr(cast("TextIO", proxy)):
        yield


def terminal_prompt(catalog: Callable[[], Catalog]) -> PromptSession[str]:
    """The prompt of the shell."""
    keys = KeyBindings()

    @keys.add("enter")
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    path = history_path()
    history: History = InMemoryHistory() if path is None else FileHistory(str(path))
    return PromptSession(
        history=history,
        auto_suggest=AutoSuggestFromHistory(),
        completer=ThreadedCompleter(CatalogCompleter(catalog)),
        complete_while_typing=True,
        lexer=PygmentsLexer(SqlLexer),
        multiline=True,
        key_bindings=keys,
        prompt_continuation=CONTINUATION,
    )


def history_path() -> Path | None:
    """The file of the history (PENSTOCK_HISTORY, or under the user's state folder), None where it cannot be written."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    path = Path(os.environ.get("PENSTOCK_HISTORY") or f"{state}/penstock/history").expanduser()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError:
        return None
    return path
