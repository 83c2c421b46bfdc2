"""Real services for tests: started by scripts/services.sh where they are not running, at addresses that it says.

Everything in this folder is marked `services`. A service that cannot be had fails the tests that want it.
"""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from tests.services.topics import Topics

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
    try:
        yield found.stdout.strip()
    finally:
        # A common one may still be used by other workers: who started these stops it.
        common = folder is None and "PYTEST_XDIST_WORKER" in os.environ
        if "has started" in found.stderr and not common:
            scripted("stop", name, folder=folder)


@pytest.fixture(scope="session")
def kafka() -> Iterator[str]:
    """The address of a Kafka broker, for `bootstrap.servers`."""
    with running("kafka") as address:
        yield address


@pytest.fixture(scope="session")
def topics(kafka: str) -> Topics:
    """Topics of that broker."""
    return Topics(kafka)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL server, as libpq takes it."""
    with running("postgres") as address:
        yield address


@pytest.fixture
def database(postgres) -> Iterator[str]:
    """A database of the test's own, which is dropped with its slots and whoever is connected."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield f"{postgres.rpartition('/')[0]}/{name}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
        slots = "SELECT slot_name FROM pg_replication_slots WHERE database = %s AND NOT active"
        for (slot,) in connection.execute(slots, (name,)).fetchall():
            connection.execute("SELECT pg_drop_replication_slot(%s)", (slot,))
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
