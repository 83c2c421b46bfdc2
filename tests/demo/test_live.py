"""The demo itself, on the first days of the year."""

from __future__ import annotations

from io import StringIO

import pandas as pd
import pytest
from rich.console import Console

from penstock.demo.live import located_program, run
from penstock.errors import DataError

DAYS = 2


def test_located_program_reads_from_the_folder(tmp_path):
    text = located_program(tmp_path / "it's here")
    assert text.count("it''s here/") == 4
    assert "'data/" not in text


def test_a_folder_with_an_earlier_replay_is_refused(tmp_path):
    (tmp_path / "data" / "flights").mkdir(parents=True)
    with pytest.raises(DataError, match="already holds a replay"):
        run(days=1, directory=tmp_path, console=Console(file=StringIO()))


@pytest.mark.spark
def test_the_first_days(interpreting, tmp_path, monkeypatch):
    monkeypatch.setattr("penstock.demo.gain.STEPS", 2)
    monkeypatch.setattr("penstock.demo.gain.WARM", 1)
    said = StringIO()
    summary = run(days=DAYS, directory=tmp_path, console=Console(file=said, width=160), spark=interpreting)
    text = said.getvalue()
    assert summary.ok, text
    assert summary.progress.events == summary.progress.total
    assert {found.view for found in summary.verified} == {
        "delay_by_carrier", "worst_routes", "in_the_air", "air_traffic", "delay_by_weather",
        "late_news",
    }  # fmt: skip
    assert "planes in the air, worst route" in text
    assert f"{summary.progress.total:,} events in" in text
    assert (tmp_path / "flights.sql").is_file()
    assert "  in_the_air        in the process" in text
    assert "GROUP BY window_start, window_end EMIT AFTER WATERMARK" in text
    assert "day of 2013-01-01: " in text
    assert "flights landed, " in text
    assert summary.gain is not None
    assert len(summary.gain.placed) == len(summary.gain.on_spark) == 1
    assert summary.gain.line() in text


@pytest.mark.extended
@pytest.mark.spark
def test_carriers_are_as_pandas_has_them_with_all_on_spark(spark, dataset, tmp_path):
    """An independent count from the data set itself, for the flights whose news was not late."""
    from penstock.demo.live import Follower

    seen: list[Follower] = []
    original = Follower.close

    def keep(self: Follower) -> None:
        seen.append(self)
        original(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Follower, "close", keep)
        said = Console(file=StringIO(), width=160, record=True)
        summary = run(days=1, directory=tmp_path, console=said, spark=spark, engine="spark")
    assert summary.ok
    assert summary.gain is None
    assert "Every view works on Spark, for engine = 'spark'." in said.export_text()
    assert not summary.rejected
    flights = dataset.flights
    first = flights[(flights["month"] == 1) & (flights["day"] == 1) & flights["dep_delay"].notna()]
    by_carrier = first.groupby("carrier")["dep_delay"].agg(["size", "mean"])
    names = dataset.airlines.set_index("carrier")["name"]
    expected = {names[carrier]: (row["size"], row["mean"]) for carrier, row in by_carrier.iterrows()}
    shown = {row[0]: (row[2], row[3]) for row in seen[0].board.content["delay_by_carrier"]}
    assert shown.keys() == expected.keys()
    for airline, (departed, delay) in shown.items():
        assert departed == expected[airline][0]
        assert delay == pytest.approx(expected[airline][1], abs=0.051)
    assert pd.Series(shown).notna().all()
