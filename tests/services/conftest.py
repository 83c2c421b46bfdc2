"""Real services for tests: started by scripts/services.sh where they are not running, at addresses that it says.

Everything in this folder is marked `services`. A service that cannot be had fails the tests that want it.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SCRIPT = HERE.parents[1] / "scripts" / "services.sh"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.services)


def scripted(*words: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """What `services.sh` says; with a folder of a set of services of its own."""
    environment = os.environ if folder is None else {**os.environ, "PENSTOCK_SERVICES": str(folder)}
    return subprocess.run(["bash", SCRIPT, *words], env=environment, check=False, capture_output=True, text=True)


@contextmanager
def running(name: str, folder: Path | None = None) -> Iterator[str]:
    """The address of a service, which is stopped again if it was not running before."""
    found = scripted("start", name, folder=folder)
    if found.returncode:
        pytest.fail(f"the service {name} cannot be had:\n{found.stderr}", pytrace=False)
    yield found.stdout.strip()
    worker = "PYTEST_XDIST_WORKER" in os.environ  # others may still use it: who started the workers stops it
    if "has started" in found.stderr and not worker:
        scripted("stop", name, folder=folder)


@pytest.fixture(scope="session")
def kafka() -> Iterator[str]:
    """The address of a Kafka broker, for `bootstrap.servers`."""
    with running("kafka") as address:
        yield address
