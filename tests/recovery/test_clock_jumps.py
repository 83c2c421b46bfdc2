"""The clock jumps: that of the steps never goes back, also over a restart, and follows when it has caught up."""

from __future__ import annotations

from datetime import datetime

import penstock

PROGRAM = "CREATE TABLE t (at TIMESTAMP); CREATE VIEW recent AS SELECT at FROM t WHERE at > now() - INTERVAL 1 HOUR;"


def test_a_clock_that_goes_back_stays_and_one_that_goes_on_is_followed(monkeypatch, tmp_path):
    def at(text):
        found = datetime.fromisoformat(text)
        monkeypatch.setattr("penstock.pipeline.pipeline.now", lambda: found)
        return found

    noon = at("2025-01-02 12:00:00")
    with penstock.Pipeline(PROGRAM, engine="native", directory=tmp_path) as pipeline:
        assert pipeline.step({"t": [(noon,)]})["recent"].clock == noon
        at("2025-01-01 12:00:00")
        assert pipeline.step({})["recent"].clock == noon
    with penstock.Pipeline(PROGRAM, engine="native", directory=tmp_path) as pipeline:
        assert pipeline.step({})["recent"].clock == noon
        assert pipeline.content("recent").rows == [(noon,)]
        later = at("2025-01-02 14:00:00")
        gone = pipeline.step({})["recent"]
        assert (gone.clock, gone.rows) == (later, [(-1, (noon,))])
