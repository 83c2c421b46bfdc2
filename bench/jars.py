"""Jars that a system needs beside its package: Maven copies each into a folder once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from bench.nexmark.task import UnavailableError


def fetched(artifact: str, folder: Path) -> Path:
    """The jar of `group:name:version`; UnavailableError where it is not there and cannot be fetched."""
    _, name, version = artifact.split(":")
    jar = folder / f"{name}-{version}.jar"
    maven = shutil.which("mvn")
    if not jar.exists() and maven is not None:
        said = ["-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"]
        subprocess.run([maven, *said], check=False)  # noqa: S603 - it says itself what has failed
    if not jar.exists():
        lacking = "there is no Maven to fetch it" if maven is None else "Maven has not fetched it"
        message = f"it needs {jar.name} in {folder.parent.name}/{folder.name}, and {lacking}"
        raise UnavailableError(message)
    return jar
