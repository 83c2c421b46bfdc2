"""Program text from files, stdin and -e; one statement of it alone, at its place; what keeps all it makes."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from penstock.errors import DataError, Diagnostic, Span
from penstock.source_text import SourceText


@contextmanager
def uncollected() -> Iterator[None]:
    """Collect no garbage meanwhile.

    A command that only reads a program keeps what it makes until it ends: looking through it for garbage again and
    again took a sixth of the time of `explain` over 1,000 views, and looking through it once at the end a twelfth: it
    is left where it is.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.freeze()
            gc.enable()


def read_text(name: str) -> str:
    """The text of a file, or of stdin for '-'; DataError if it is not UTF-8."""
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        shown = "stdin" if name == "-" else name
        line = data[: error.start].count(b"\n") + 1
        message = f"{shown} is not UTF-8: line {line} holds the byte 0x{data[error.start]:02x}"
        raise DataError(Diagnostic("NOT_UTF8", message, hint="Save the file as UTF-8.")) from None


def program_text(
    arguments: Sequence[str], files: Sequence[str], texts: Sequence[str], *, needed: bool = True
) -> SourceText:
    """All sources in the order: arguments, -f, -e. Without any it is wrong usage, unless no program is needed.

    It knows its files; text of -e, which is in none, has the name `-e` beside others.
    """
    named = [(read_text(name), "stdin" if name == "-" else name) for name in (*arguments, *files)]
    unnamed = "-e" if named else None
    parts = [*named, *((text, unnamed if len(texts) == 1 else f"-e {at}") for at, text in enumerate(texts, 1))]
    if not parts and needed:
        message = "There is no program: name a file, or '-' for stdin, or give SQL with -e."
        raise click.UsageError(message)
    return SourceText.joined(
        (_ended(part) if at < len(parts) - 1 else part, name) for at, (part, name) in enumerate(parts)
    )


def _ended(text: str) -> str:
    """The text with a semicolon behind it, so that the next source begins a new statement."""
    return text if text.rstrip().endswith(";") or not text.strip() else f"{text.rstrip()}\n;"


def only(source: str, span: Span) -> str:
    """The source with all but one statement blanked out, so that lines and columns stay what they are."""
    return _in_place(source, _blank(source[: span.start]) + source[span.start : span.end])


def without(source: str, spans: Iterable[Span]) -> str:
    """The source with these statements (and their semicolons) blanked out."""
    text = source
    for span in spans:
        end = span.end
        rest = text[end:]
        if rest.lstrip().startswith(";"):
            end += len(rest) - len(rest.lstrip()) + 1
        text = text[: span.start] + _blank(text[span.start : end]) + text[end:]
    return _in_place(source, text)


def _in_place(source: str, text: str) -> str:
    """A text with the files of that which it stands for."""
    return source.with_text(text) if isinstance(source, SourceText) else text


def _blank(text: str) -> str:
    return "".join(character if character in "\r\n" else " " for character in text)
