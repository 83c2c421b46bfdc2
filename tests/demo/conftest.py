from __future__ import annotations

import pytest

from penstock.demo.dataset import Dataset, load
from penstock.demo.timeline import Timeline, timeline


@pytest.fixture(scope="session")
def dataset() -> Dataset:
    return load()


@pytest.fixture(scope="session")
def year(dataset: Dataset) -> Timeline:
    return timeline(dataset)


@pytest.fixture(scope="session")
def week(dataset: Dataset) -> Timeline:
    return timeline(dataset, days=7)
