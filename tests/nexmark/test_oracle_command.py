"""The benchmark's command from end to end: each system in a process of its own, its answers beside the oracle's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.cli.main import main


@pytest.mark.spark  # in processes of its own
@pytest.mark.extended
def test_every_system_is_measured_in_its_own_process_and_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    options = ["--events", "2000", "--step", "1000", "--queries", "q4", "--data", str(tmp_path / "events")]
    shown = [
        "--against",
        "duckdb,streaming,penstock-spark",
        "--every-step",
        "--memory",
        "1g",
        "--page",
        str(page),
        "--format",
        "json",
    ]
    with pytest.raises(SystemExit) as ended:
        main(["bench", "nexmark", *options, *shown])
    said = capsys.readouterr()
    assert ended.value.code in (0, None), said.err
    found = {(one["system"], one["query"]): one for one in map(json.loads, said.out.splitlines())}
    assert list(found) == [(system, "q4") for system in ("penstock", "penstock-spark", "streaming", "duckdb")]
    for (system, _), one in found.items():
        assert one["events"] == 2000
        assert one["equal"] is (None if system == "streaming" else True), one
    for system in ("penstock", "penstock-spark"):
        ours = found[system, "q4"]
        assert (ours["steps"], ours["state_rows"] > 0, ours["peak_mib"] > 0) == (2, True, True)
        assert ours["events_per_s"] == pytest.approx(2000 / ours["seconds"], rel=0.01)
    assert "AnalysisException" in found["streaming", "q4"]["refused"]
    assert "oracle: Spark batch over the events of every step" in said.err
    assert "| q4 " in page.read_text()
    assert (tmp_path / "page-1000.svg").exists()
