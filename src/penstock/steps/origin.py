"""All on which the form of a snapshot depends beside the log: the code to its last byte, libraries, and settings."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import penstock
from penstock.backends.libraries import LIBRARIES


@dataclass(frozen=True)
class Origin:
    """The writer of a snapshot: `program` is a digest of what the directory began with, `place` that of operators."""

    release: str
    code: str
    libraries: str
    settings: str
    retain: str
    place: str
    program: str

    @classmethod
    def here(cls, settings: Mapping[str, object], retain: str, place: str, program: str) -> Origin:
        """The origin of what the process writes that works for a program."""
        told = ", ".join(f"{name} = {value}" for name, value in sorted(settings.items()))
        digest = blake2b(program.encode(), digest_size=12).hexdigest()
        return cls(penstock.__version__, code_digest(), _libraries(), told, retain, place, digest)

    def differs(self, other: Mapping[str, Any] | None) -> str:
        """The respects in which another origin is not this one."""
        own, others = asdict(self), other or {}
        names = [name for name, value in own.items() if others.get(name) != value]
        told = [f"{name} {others.get(name)!r}, here {own[name]!r}" for name in names if name not in {"code", "program"}]
        told += ["other code"] * ("code" in names and "release" not in names)
        told += ["another program"] * ("program" in names)
        return f"it was written by {'; '.join(told) or 'another format'}"


@cache
def code_digest() -> str:
    """A digest of the code's files."""
    root = Path(penstock.__file__).parent
    digest = blake2b(digest_size=12)
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def _libraries() -> str:
    """Python and the libraries whose values are written."""
    versions = (f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES)
    return ", ".join((f"Python {platform.python_version()}", *versions))
