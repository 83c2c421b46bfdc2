"""The tests of this folder look at what Spark does, so programs that do not say otherwise work on Spark."""

from __future__ import annotations

import pytest

from penstock.catalog import settings


@pytest.fixture(autouse=True)
def works_on_spark(monkeypatch):
    monkeypatch.setattr(settings, "DEFAULT_ENGINE", settings.ON_SPARK)
