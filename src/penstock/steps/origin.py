"""All on which the form of a snapshot depends beside the log: the code that makes state, libraries, and settings."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Container, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import penstock
from penstock.backends.libraries import LIBRARIES, PARSER

# The form of state, as what code makes of it. It is raised with a change after which the code would not read what
# other code has made before, or would mean something else by it (tests/recovery/test_form_of_state.py).
FORM = 6
_PORTABLE = ("release", "form", "libraries", "engine", "place")  # in which state may differ that is gone on from
# Of these nothing is remembered, and nothing of what is depends on them.
APART = ("cli", "demo", "explain", "outputs", "relational", "sources", "testing", "watching")


@dataclass(frozen=True)
class Origin:
    """The writer of a snapshot: `program` is a digest of what the directory began with, `place` that of operators.

    State is bound to the `code` that makes and reads it, whatever the release is called; it can be moved to another
    engine or place, and read with other libraries. Where there is nothing else to go on from, state of the same `form`
    is read that other code has made.
    """

    release: str
    code: str
    form: int
    libraries: str
    parser: str
    settings: str
    retain: str
    engine: str
    place: str
    program: str

    @classmethod
    def here(cls, settings: Mapping[str, object], retain: str, engine: str, place: str, program: str) -> Origin:
        """The origin of what the process writes that works for a program."""
        told = ", ".join(f"{name} = {value}" for name, value in sorted(settings.items()))
        digest = blake2b(program.encode(), digest_size=12).hexdigest()
        return cls(
            penstock.__version__,
            code_digest(),
            FORM,
            _libraries(),
            _version(PARSER),
            told,
            retain,
            engine,
            place,
            digest,
        )

    def reads(self, other: Mapping[str, Any] | None, *, last_resort: bool = False) -> bool:
        """True if what that one has written can be gone on from; as a `last_resort` also what other code has."""
        return not self._apart(other, (*_PORTABLE, "code") if last_resort and self._alike(other) else _PORTABLE)

    def is_of_other_code(self, other: Mapping[str, Any] | None) -> bool:
        """True if other code has written it."""
        return (other or {}).get("code") != self.code

    def _alike(self, other: Mapping[str, Any] | None) -> bool:
        return (other or {}).get("form") == self.form

    def is_elsewhere(self, other: Mapping[str, Any]) -> bool:
        """True if what that one has written is to be moved."""
        return bool(self._apart(other, ("release", "libraries")))

    def _apart(self, other: Mapping[str, Any] | None, but: Container[str] = ()) -> list[str]:
        others = other or {}
        return [name for name, value in asdict(self).items() if name not in but and others.get(name) != value]

    def differs(self, other: Mapping[str, Any] | None) -> str:
        """The respects in which another origin is not this one, so that it cannot be gone on from."""
        own, others = asdict(self), other or {}
        names = self._apart(other, _PORTABLE)
        told = [f"{name} {others.get(name)!r}, here {own[name]!r}" for name in names if name not in {"code", "program"}]
        if "code" in names:
            same = others.get("release") == self.release
            told += ["other code" if same else f"release {others.get('release')!r}, here {self.release!r}"]
            told += [] if self._alike(other) else [f"its state has form {others.get('form', 0)}, here {self.form}"]
        told += ["another program"] * ("program" in names)
        return f"it was written by {'; '.join(told) or 'another format'}"


@cache
def code_digest() -> str:
    """A digest of the files of code on which the form and the meaning of state depend."""
    root = Path(penstock.__file__).parent
    digest = blake2b(digest_size=12)
    for path in sorted(root.rglob("*.py")):
        package = path.relative_to(root).parts[0]
        if package in APART or path == Path(penstock.__file__):
            continue
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def _libraries() -> str:
    """Python and the libraries whose values are written."""
    return ", ".join((f"Python {platform.python_version()}", *map(_version, LIBRARIES)))


def _version(library: str) -> str:
    return f"{library} {importlib.metadata.version(library)}"
