"""A pytest plugin: case files as tests of your own project.

    # conftest.py
    pytest_plugins = ["penstock.testing.fixture"]

    # test_views.py
    def test_views(penstock_cases):
        penstock_cases("views.yaml")

The failure's message holds each case that does not pass. Override `penstock_spark` to bring a session of your own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.backends.spark.session import open_session
from penstock.testing.case_run import PASSED, Options, run_case
from penstock.testing.cases import read_cases

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def penstock_spark() -> Iterator[SparkSession]:
    """The Spark session of all cases."""
    session = open_session(master="local[2]", app_name="penstock-cases")
    yield session
    session.stop()


@pytest.fixture
def penstock_cases(penstock_spark: SparkSession) -> Callable[..., None]:
    """A function that runs a case file and fails with every case that does not pass."""

    def run(path: str | Path, options: Options | None = None) -> None:
        cases = read_cases(Path(path))
        results = [run_case(case, str(path), lambda: penstock_spark, options) for case in cases]
        wrong = [f"{result.case}: {result.status}: {result.detail}" for result in results if result.status != PASSED]
        if wrong:
            pytest.fail("\n".join(wrong), pytrace=False)

    return run
