"""Files of a pipeline's directory are believed only as far as their digests say that they are what was written.

    small files in JSON     the last field is the digest of the text before it
    rows of the log         the manifest of their step has the digest of each file; `log/digests.jsonl` those of steps
                            whose manifests are gone, or were written before manifests had digests
    parcels of outputs      the last 32 bytes are a digest of those before
    snapshots               `header.json` has the digest of each file

A file that is not what was written there is DAMAGED_DIRECTORY, and no guess is made at what it was. Files of earlier
releases have no digests; they are read as they are, and get digests when the directory is opened.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.backends.surroundings import writing
from penstock.errors import DataError, Diagnostic, first_line
from penstock.steps.durable import put_on_disk, write_atomically

_FIELD, _END = ', "digest": "', '"}'
_LENGTH = 32  # characters of a digest
_TAIL = len(_FIELD) + _LENGTH + len(_END)
_SEALS = "digests.jsonl"
_REMEMBERED = 100_000  # files that are not checked again while they are as they were
_PIECE = 1 << 20


def digest_of(path: Path) -> str:
    """The digest of a file's bytes."""
    digest = sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()[:_LENGTH]


def digest_of_bytes(data: bytes) -> str:
    """The digest of bytes."""
    return sha256(data).hexdigest()[:_LENGTH]


# Small files in JSON


def facts_text(facts: Mapping[str, Any]) -> str:
    """Facts as the text of a file, with the digest as the last field."""
    text = json.dumps(facts, ensure_ascii=False, default=str)
    return f"{text[:-1]}{_FIELD}{digest_of_bytes(text.encode(errors='surrogatepass'))}{_END}"


def write_facts(path: Path, facts: Mapping[str, Any]) -> None:
    """Write a small file, whole or not at all; DataError if it cannot be."""
    write_atomically(path, facts_text(facts))


def facts_of(path: Path) -> dict[str, Any]:
    """The content of a small file. FileNotFoundError; DataError for one that is damaged."""
    data = path.read_bytes()
    try:
        text = data.decode()
        if (
            _has_digest(text)
            and digest_of_bytes(f"{text[:-_TAIL]}}}".encode()) != text[-_TAIL:][len(_FIELD) :][:_LENGTH]
        ):
            raise damaged(path, "its digest is another")
        facts = json.loads(text)
    except ValueError as error:
        raise damaged(path, first_line(error)) from error
    if not isinstance(facts, dict):
        raise damaged(path, "it is no object of JSON")
    facts.pop("digest", None)
    return facts


def has_digest(path: Path) -> bool:
    """True for a small file that says its own digest."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        return _has_digest("." + file.read().decode(errors="replace"))


def manifest_facts(path: Path) -> dict[str, Any]:
    """The content of a step's manifest, whose digest may be elsewhere. Raises as `facts_of`."""
    facts = facts_of(path)
    if not has_digest(path):
        log = path.parent.parent
        digest = LogDigests(log).sealed().get(path.relative_to(log).as_posix())
        if digest is not None and digest_of(path) != digest:
            raise damaged(path, "its digest is another")
    return facts


def _has_digest(text: str) -> bool:
    return len(text) > _TAIL and text[-_TAIL:].startswith(_FIELD) and text.endswith(_END)


# Rows of the log


class LogDigests:
    """The digests of a log's files of rows, by their names in the folder of the log."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, paths: Iterable[Path]) -> dict[str, str]:
        """The digests of files, and of the files in folders that Spark has written; they are known from here on."""
        files = [file for path in paths for file in files_of(path)]
        for file in files:
            _CHECKED.add(file)
        return {file.relative_to(self._folder).as_posix(): digest_of(file) for file in files}

    def check(self, path: Path, *, again: bool = False) -> None:
        """DataError if a file, or a folder that Spark has written, is not what was written there.

        One that this process has checked, and that has not changed since by what the system says, is read `again` only
        if that is asked for.
        """
        files = files_of(path)
        if files and not again and all(map(_CHECKED.has, files)):
            return
        known = self._known(path)
        if known is None:
            return
        name = path.relative_to(self._folder).as_posix()
        wanted = {file for file in known if file == name or file.startswith(f"{name}/")}
        there = {file.relative_to(self._folder).as_posix(): file for file in files}
        if wanted != there.keys():
            raise damaged(path, f"{min(wanted ^ there.keys(), default=name)} is not as it was")
        for file, place in there.items():
            if digest_of(place) != known[file]:
                raise damaged(place, "its digest is another")
            _CHECKED.add(place)

    def _known(self, path: Path) -> Mapping[str, str] | None:
        """The digests among which those of a file are; None for one that was written without."""
        manifest = self._folder / "steps" / f"{path.name[:12]}.json"
        if manifest.exists():
            digests: Mapping[str, str] | None = manifest_facts(manifest).get("digests")
            if digests is not None:
                return digests
        sealed = self.sealed()
        name = path.relative_to(self._folder).as_posix()
        return sealed if any(file == name or file.startswith(f"{name}/") for file in sealed) else None

    def sealed(self) -> dict[str, str]:
        """The digests that are not in manifests; DataError if they are damaged."""
        path = self._folder / _SEALS
        return dict(_sealed(path, _facts(path))) if path.exists() else {}

    def seal(self, digests: Mapping[str, str]) -> None:
        """Keep digests where there is no manifest for them; those of files that are gone are dropped now and then."""
        path = self._folder / _SEALS
        known = self.sealed()
        there = {name: digest for name, digest in known.items() if (self._folder / name).exists()}
        if len(there) * 2 < len(known):
            write_atomically(path, _line({**there, **digests}))
        elif digests:
            with writing(path), path.open("a", encoding="utf-8") as file:
                file.write(_line(digests))
                file.flush()
                put_on_disk(file.fileno(), path)


@lru_cache(maxsize=4)
def _sealed(path: Path, _as_it_is: tuple[int, int, int]) -> dict[str, str]:
    sealed: dict[str, str] = {}
    for line in path.read_bytes().splitlines():
        digest, _, text = line.partition(b" ")
        if digest_of_bytes(text).encode() != digest:
            raise damaged(path, "the digest of a line is another")
        sealed |= json.loads(text)
    return sealed


def _line(digests: Mapping[str, str]) -> str:
    text = json.dumps(digests, ensure_ascii=False)
    return f"{digest_of_bytes(text.encode())} {text}\n"


def check_rows(path: Path) -> None:
    """DataError if rows of a log that lies in a directory are not what was written there.

    Nothing is asked of a log in a temporary folder, which has no manifests.
    """
    folder = path.parents[2]
    if (folder / "steps").is_dir():
        LogDigests(folder).check(path)


def files_of(path: Path) -> list[Path]:
    """A file, or the files in a folder that Spark has written, without what it notes for itself."""
    if not path.is_dir():
        return [path] if path.exists() else []
    return [file for file in sorted(path.rglob("*")) if file.is_file() and not file.name.startswith((".", "_"))]


class _Checked:
    """Files that were as they should be, by what the system says of them."""

    def __init__(self) -> None:
        self._files: OrderedDict[str, tuple[int, int, int]] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, path: Path) -> None:
        with self._lock:
            self._files[str(path)] = _facts(path)
            while len(self._files) > _REMEMBERED:
                self._files.popitem(last=False)

    def has(self, path: Path) -> bool:
        return self._files.get(str(path)) == _facts(path)


def _facts(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


_CHECKED = _Checked()


# Bytes with a digest behind them

_MARK = b"\0PENSTOCK SHA256\0"[:16]


def with_digest(data: bytes) -> bytes:
    """Bytes with a digest of them behind."""
    return data + _MARK + sha256(data).digest()[:16]


def without_digest(path: Path) -> bytes:
    """The bytes of such a file without it; DataError if it is damaged. A file of an earlier release is read whole."""
    data = path.read_bytes()
    if data[-32:-16] != _MARK:
        return data
    if sha256(data[:-32]).digest()[:16] != data[-16:]:
        raise damaged(path, "its digest is another")
    return data[:-32]


@contextmanager
def rows_of(path: Path) -> Iterator[None]:
    """Have a file of rows that is damaged be a DataError; what the system says of a file stays an OSError."""
    try:
        yield
    except pa.ArrowInvalid as error:
        raise damaged(path, first_line(error)) from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise damaged(path, first_line(error)) from error  # Arrow's own, for what it cannot make out


def damaged(path: Path, why: str) -> DataError:
    """The error for a file that is not what was written there."""
    message = f"{path} is not what was written there: {why}"
    hint = (
        "`penstock fsck DIR` says what else is damaged and what would mend it; or take the file from a copy of the "
        "directory (`penstock state --export`)"
    )
    return DataError(Diagnostic("DAMAGED_DIRECTORY", message, hint=hint))
