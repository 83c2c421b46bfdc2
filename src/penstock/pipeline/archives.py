"""A pipeline's directory as one file: a tar archive whose last member says what it has to have.

    program.json, id, outputs.json, openings.json, log/…, state/000000000042/…, outbox/…    as they lie in the directory
    archive.json                                                             format, step, a digest of each of them

What is under way (`.tmp`), has been set aside, or is of the process alone (`lock`, sockets, spilled rows) is left out.
"""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import penstock
from penstock.backends.surroundings import writing
from penstock.errors import DataError, Diagnostic, message_of
from penstock.pipeline.recovery import program_record
from penstock.steps.checked_files import digest_of
from penstock.steps.directory import DirectoryLock
from penstock.steps.durable import sync
from penstock.steps.recorded import check_format

FORMAT = 1
_CONTENTS = "archive.json"
_TOP = ("program.json", "id", "outputs.json", "openings.json")
_FOLDERS = ("log", "state", "outbox")
_PASSING = (".tmp", ".aside")


def export_directory(directory: Path, target: Path) -> int:
    """Write the archive of a directory that nobody works in; gives the number of its files. DataError."""
    if program_record(directory) is None:
        message = f"{directory} is not the directory of a pipeline"
        raise DataError(Diagnostic("NO_PIPELINE", message, hint="name what `penstock run --dir` was given"))
    lock = DirectoryLock(directory)
    lock.take()
    temporary = target.with_name(f"{target.name}.tmp")
    try:
        with writing(target):
            found = _written(directory, temporary)
            temporary.replace(target)
            sync(target.parent)
    finally:
        temporary.unlink(missing_ok=True)
        lock.release()
    return found


def _written(directory: Path, target: Path) -> int:
    digests: dict[str, str] = {}
    with tarfile.open(target, mode="w") as archive:
        for path in _files(directory):
            name = path.relative_to(directory).as_posix()
            digests[name] = digest_of(path)
            archive.add(path, name, recursive=False)
        contents = {"format": FORMAT, "release": penstock.__version__, "files": digests}
        data = json.dumps(contents, ensure_ascii=False).encode()
        member = tarfile.TarInfo(_CONTENTS)
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    sync(target)
    return len(digests)


def _files(directory: Path) -> Iterator[Path]:
    yield from (directory / name for name in _TOP if (directory / name).exists())
    for name in _FOLDERS:
        for path in sorted((directory / name).rglob("*")):
            passing = any(part.endswith(_PASSING) for part in path.relative_to(directory).parts)
            if path.is_file() and not passing:
                yield path


def import_directory(source: Path, directory: Path) -> int:
    """Have a directory be what an archive has, whole or not at all; gives the number of files. DataError."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        message = f"{directory} is there already"
        raise DataError(Diagnostic("DIRECTORY_NOT_EMPTY", message, hint="name a directory that is not there, or empty"))
    temporary = directory.with_name(f"{directory.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        with writing(directory):
            temporary.mkdir(parents=True)
            found = _read(source, temporary)
            if directory.exists():
                directory.rmdir()
            temporary.replace(directory)
            sync(directory.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return found


def _read(source: Path, folder: Path) -> int:
    try:
        with tarfile.open(source, mode="r:") as archive:
            archive.extractall(folder, filter="data")
        contents: dict[str, Any] = json.loads((folder / _CONTENTS).read_text(encoding="utf-8"))
        (folder / _CONTENTS).unlink()
        digests: dict[str, str] = contents["files"]
    except (tarfile.TarError, OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, OSError) and error.errno is not None and not isinstance(error, tarfile.TarError):
            raise  # of the disk that is written to, which `writing` names
        raise _damaged(source, message_of(error)) from error
    check_format(source, contents["format"], FORMAT)
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    if there != digests.keys():
        raise _damaged(source, f"it lacks or has too much: {min(there ^ digests.keys())}")
    for name, digest in digests.items():
        path = folder / PurePosixPath(name)
        if digest_of(path) != digest:
            raise _damaged(source, f"{name} is not what was written")
        sync(path)
    return len(digests)


def _damaged(source: Path, why: str) -> DataError:
    message = f"{source} is not the whole archive of a pipeline's directory: {why}"
    return DataError(Diagnostic("BAD_ARCHIVE", message, hint="write it again: penstock state DIR --export FILE"))
