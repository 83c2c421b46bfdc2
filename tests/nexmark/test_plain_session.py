"""The systems of Spark beside Penstock have Spark as its users have it, also where a pipeline refuses that."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from bench.nexmark.systems import spark as systems

pytestmark = pytest.mark.spark


def test_a_plain_session_has_what_plain_spark_has(spark, monkeypatch):
    before = {name: spark.conf.get(name, None) for name in systems.PLAIN}
    monkeypatch.setattr(systems, "session_for", lambda _task: spark)
    try:
        plain = systems.plain_session(SimpleNamespace())
        assert {name: plain.conf.get(name) for name in systems.PLAIN} == systems.PLAIN
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)
