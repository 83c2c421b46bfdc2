"""Secrets in properties: `'${env:NAME}'` is a variable of the environment, `'${file:PATH}'` what a file holds.

They are put in where a connector opens what it reads or writes, and nowhere else: the program, SHOW CREATE, manifests
and messages have the text as it was written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from penstock.errors import DataError, Diagnostic

_SECRET = re.compile(r"\$\{(env|file):([^}]*)\}")
_HIDDEN = "***"


def expanded(text: str, where: str) -> str:
    """The text with its secrets; DataError, which says `where` it stands, for one that is not there."""
    return _SECRET.sub(lambda found: _value(found[1], found[2].strip(), where), text)


def expanded_all(properties: Mapping[str, str], where: str) -> dict[str, str]:
    """The values of properties with their secrets."""
    return {name: expanded(value, f"{where}: '{name}'") for name, value in properties.items()}


def secrets_in(text: str) -> list[str]:
    """The secrets of a text as they are written: `${env:NAME}`."""
    return [found[0] for found in _SECRET.finditer(text)]


def secret_values(texts: Iterable[str]) -> set[str]:
    """The secrets that stand in texts, so far as they are there."""
    found = set()
    for text in texts:
        for kind, name in _SECRET.findall(text):
            try:
                found.add(_value(kind, name.strip(), ""))
            except DataError:  # said where it is put in
                continue
    return {value for value in found if value}


def masked(text: str, secrets: Iterable[str]) -> str:
    """A text, as of somebody else's error, without the secrets."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    return text


def _value(kind: str, name: str, where: str) -> str:
    return _of_environment(name, where) if kind == "env" else _of_file(name, where)


def _of_environment(name: str, where: str) -> str:
    found = os.environ.get(name)
    if found is None:
        message = f"{where}: the environment has no variable {name[:100]!r}"
        raise DataError(Diagnostic("MISSING_SECRET", message, hint=f"set it before Penstock is started: {name}=…"))
    return found


def _of_file(name: str, where: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise DataError(Diagnostic("MISSING_SECRET", f"{where}: the file {name[:200]} cannot be read: {why}")) from None
