"""What all tests share: one Spark session for the whole run, started by the first test that asks for it."""

from __future__ import annotations

import importlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from tests.tiers import EXTENDED

from penstock.backends.spark.session import open_session, running_session
from penstock.testing.spark_settings import INTERPRETED, SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A step runs Spark jobs: no deadline fits it. `CI` finds the same examples at every run; `fuzz` looks for new ones.
_SLOW = {"deadline": None, "suppress_health_check": list(HealthCheck), "print_blob": True}
settings.register_profile("ci", max_examples=20, derandomize=True, **_SLOW)
settings.register_profile("local", max_examples=20, **_SLOW)
settings.register_profile("fuzz", max_examples=200, **_SLOW)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "local"))

# "1/12": of the extended tests those of the second twelfth alone.
SHARE = "PENSTOCK_SHARE"

# A command leaves pandas out where nothing has loaded it; here it shares a process with tests that give DataFrames.
importlib.import_module("pandas")

# A process that a test starts loads what another has compiled, as at a user's; compiling everything takes it seconds.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what uses Spark, so that `-m "not spark"` starts no JVM; leave out what is not of this run's share.

    What is of both tiers is one of the extended tests where these run (`tests/tiers.py`).
    """
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
        if EXTENDED and item.get_closest_marker("both"):
            item.add_marker(pytest.mark.extended)
    share = os.environ.get(SHARE)
    if share:
        place, of = map(int, share.split("/"))
        others = {item for item in items if item.get_closest_marker("extended") and _place(item, of) != place}
        config.hook.pytest_deselected(items=list(others))
        items[:] = [item for item in items if item not in others]


def _place(item: pytest.Item, of: int) -> int:
    return zlib.crc32(item.nodeid.encode()) % of


@pytest.fixture(autouse=True)
def starts_no_jvm(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quick test that does not say that it uses Spark starts no JVM; one that another test has started may run."""
    if request.node.get_closest_marker("spark") is None and request.node.get_closest_marker("extended") is None:

        def opened(**settings: Any) -> SparkSession:
            if running_session() is None:
                pytest.fail("this test starts a JVM: mark it `spark`, or give it the fixture")
            return open_session(**settings)

        monkeypatch.setattr("penstock.pipeline.opening.open_session", opened)
        monkeypatch.setattr("penstock.pipeline.opening.Aside.begin", lambda _: None)  # nor in the background


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session that all tests share; only the extended tests have it compile queries, which takes longer."""
    conf = SETTINGS if EXTENDED else {**SETTINGS, **INTERPRETED}
    session = open_session(master="local[2]", conf=conf, app_name="penstock-tests")
    yield session
    session.stop()


@pytest.fixture
def interpreting(spark: SparkSession) -> Iterator[SparkSession]:
    """The same session while it compiles no query, also for extended tests: each query runs but a few times."""
    before = {name: spark.conf.get(name, None) for name in INTERPRETED}
    for name, value in INTERPRETED.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.unset(name) if value is None else spark.conf.set(name, value)


@pytest.fixture(scope="session")
def repository() -> Path:
    """The folder that holds the README."""
    return Path(__file__).resolve().parent.parent
