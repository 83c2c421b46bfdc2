"""What the benchmark says: no time without a right answer, ratios and their mean, what could not run."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from bench.net import net
from bench.nexmark import page, report, run, worker
from bench.nexmark.answers import Answer
from bench.nexmark.files import Data
from bench.nexmark.generate import Stream
from bench.nexmark.measure import Measured
from bench.nexmark.page import plot
from bench.nexmark.queries import Query
from bench.nexmark.run import Wanted, _equal, quickest_right
from bench.nexmark.systems import on_flink
from bench.nexmark.systems.spark import Run, quicker
from bench.nexmark.task import SYSTEMS, Task
from bench.nexmark.worker import as_line, from_line

from penstock.cli.commands import bench
from penstock.cli.main import main


def measured(query: str, system: str, seconds: float | None, **more: object) -> Measured:
    return Measured(
        query,
        system,
        1_000_000,
        seconds,
        **{"steps": None if seconds is None else [seconds / 2] * 2, "equal": True, **more},
    )


RESULTS = [
    measured("q0", "penstock", 2.0, peak_mib=100, state_rows=0),
    measured("q0", "batch", 1.0),
    measured("q1", "penstock", 1.0),
    measured("q1", "batch", 8.0),
    Measured("q6", "flink", 1_000_000, refused="OVER over changes"),
]


def test_one_object_for_each_query_and_system() -> None:
    assert RESULTS[0].as_object() == {
        "query": "q0",
        "system": "penstock",
        "events": 1_000_000,
        "seconds": 2.0,
        "events_per_s": 500_000,
        "steps": 2,
        "p50_ms": 1000.0,
        "p99_ms": 1000.0,
        "peak_mib": 100,
        "state_rows": 0,
        "equal": True,
    }


def test_of_two_ways_the_quickest_counts_that_is_right() -> None:
    right = Measured("q9", "oracle", 1_000_000, answers=[Answer(7, 1), Answer(7, 2)])
    slower = measured("q9", "flink", 2.0, answers=[Answer(7, 2)], note="with mini-batch")
    quicker = measured("q9", "flink", 1.0, answers=[Answer(9, 2)], note="without mini-batch", slower=(slower,))
    chosen = quickest_right(from_line(as_line(quicker)), right)
    assert (chosen.seconds, chosen.equal, chosen.slower) == (2.0, True, ())
    assert chosen.note == "with mini-batch; quicker without mini-batch, but that answer was wrong"
    alike = measured("q9", "flink", 1.0, answers=[Answer(7, 2)], note="without mini-batch", slower=(slower,))
    assert (quickest_right(alike, right).seconds, quickest_right(alike, right).note) == (1.0, "without mini-batch")
    wrong = measured("q9", "flink", 1.0, answers=[Answer(9, 2)])
    assert quickest_right(wrong, right).equal is False


@pytest.mark.parametrize("equal", [False, None])
def test_a_wrong_answer_has_no_time(equal) -> None:
    said = measured("q0", "flink", 1.0, equal=equal).as_object()
    assert (said["seconds"], said["events_per_s"], said["p50_ms"]) == (None, None, None)
    assert report.rate(measured("q0", "flink", 1.0, equal=equal)) is None


def test_percentiles_are_those_of_the_steps() -> None:
    said = measured("q0", "penstock", 1.0, steps=[number / 1000 for number in range(1, 101)]).as_object()
    assert (said["p50_ms"], said["p99_ms"]) == (50.0, 99.0)


def test_ratios_and_their_geometric_mean() -> None:
    found = report.by_query(RESULTS)
    assert report.ratios(found, "batch") == {"q0": 0.5, "q1": 8.0}
    assert report.mean(report.ratios(found, "batch").values()) == pytest.approx(2.0)
    assert report.mean([]) is None


def test_the_text_has_the_figures_and_what_could_not_run() -> None:
    text = report.text(RESULTS, 250_000)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "|" in line]
    assert ["q0", "500", "–", "1,000", "1,370"] in rows
    assert ["q6", "–", "–", "–", "710"] in rows
    assert "* flink cannot run q6: OVER over changes" in text
    assert ["geometric mean", "–", "2.00", "0.58"] in rows
    assert ["of queries", "0", "2", "2"] in rows
    assert ["penstock: geometric mean at least 4 × Feldera ¹", "0.58 ×", "missed"] in rows


def test_bars_are_for_steps_of_their_size() -> None:
    slow = [measured("q0", "penstock", 4.0), measured("q0", "flink", 1.0), measured("q0", "batch", 1.0)]
    bars = [[cell.strip() for cell in line.split("|")] for line in report.text(slow, 250_000).splitlines()]
    assert ["", "penstock: each query at least 1.3 × flink", "0.25 × (q0)", "missed", ""] in bars
    assert "at least" not in report.text(slow, 1_000_000)


def test_each_of_ours_has_its_own_ratios_and_bars() -> None:
    seconds = {"penstock": 1.0, "penstock-spark": 4.0, "batch": 3.0}
    both = [measured("q0", system, taken) for system, taken in seconds.items()]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in report.text(both, 1_000_000).splitlines()]
    assert ["penstock is", "× penstock on Spark", "× batch", "× Feldera ¹"] in rows
    assert ["q0", "4.00", "3.00", "0.73"] in rows
    assert ["penstock on Spark is", "× batch", "× Feldera ¹"] in rows
    assert ["q0", "0.75", "0.18"] in rows
    assert ["penstock on Spark: geometric mean at least 0.5 × batch", "0.75 ×", "kept"] in rows
    assert [row[0] for row in rows if "p50 ms" in row] == ["penstock", "penstock on Spark"]


def test_what_cannot_run_is_said_once() -> None:
    refused = [Measured(name, "streaming", 10, refused="no windows") for name in ("q6", "q9")]
    assert "* streaming cannot run q6, q9: no windows" in report.text(refused, 10)


def test_the_reason_is_the_innermost_of_spark() -> None:
    said = "[STREAM_FAILED] Query [id = 1] failed: [A.B] Inner sentence. SQLSTATE: 42KDE\nat x"
    assert worker.reason(ValueError(said)) == "[A.B] Inner sentence."
    assert worker.reason(ValueError("plain\nmore")) == "ValueError: plain"


def test_the_plot_is_an_image_with_a_point_for_each_ratio() -> None:
    drawn = plot(report.by_query(RESULTS))
    assert drawn is not None
    root = ET.fromstring(drawn)  # noqa: S314 - our own text
    titles = [item.text for item in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == ["q0: 0.50 × batch", "q1: 8.00 × batch"]
    assert "penstock in units of" in drawn
    assert plot(report.by_query(RESULTS[:1])) is None
    alone = plot(report.by_query([measured("q0", "penstock-spark", 2.0), measured("q0", "batch", 1.0)]))
    assert "penstock on Spark in units of" in alone


def test_answers_are_compared_with_the_oracle() -> None:
    right = Measured("q18", "oracle", 10, answers=[Answer(1, 1), Answer(2, 2), Answer(2, 7)])
    assert _equal(Measured("q18", "penstock", 10, answers=[Answer(1, 1), Answer(2, 2)]), right)
    assert not _equal(Measured("q18", "penstock", 10, answers=[Answer(1, 0), Answer(2, 2)]), right)
    assert _equal(Measured("q18", "duckdb", 10, answers=[Answer(2, 7)]), right)
    assert not _equal(Measured("q18", "duckdb", 10, answers=[Answer(2, 2)]), right)
    assert _equal(Measured("q6", "flink", 10, refused="no"), right) is None


def test_tasks_and_results_go_through_files_unchanged(tmp_path: Path) -> None:
    task = Task("batch", Data(tmp_path, Stream(10, disorder=4), 5), [Query("q1")], tmp_path, every=True)
    assert Task.from_json(task.as_json()) == task
    result = measured("q1", "batch", 1.0, answers=[Answer(1, 2)], note="so")
    assert from_line(as_line(result)) == result
    assert json.loads(as_line(result))["query"] == "q1"


def test_without_the_source_tree_the_command_says_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "_ROOT", tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["bench", "nexmark"])
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert "error[NO_BENCHMARKS]: the benchmarks are not installed with the package" in said
    assert "make bench-nexmark" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--queries", "q23"], "'q23' is no query of NEXMark: there are q0 to q22"),
        (
            ["--against", "storm"],
            "'storm' is no system: there are penstock-spark, flink, streaming, batch, duckdb, all and none",
        ),
    ],
)
def test_wrong_names_are_wrong_usage(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", "nexmark", *arguments])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_a_page_keeps_what_was_measured_before(tmp_path: Path) -> None:
    wanted = Wanted([Query("q0")], ["penstock"], Stream(1_000_000), 250_000)
    small = Wanted([Query("q0")], ["batch"], Stream(10), 10)
    other = Wanted([Query("q0")], ["batch"], Stream(2_000_000), 250_000)
    new = [measured("q0", "batch", 0.5), measured("q2", "penstock", 1.0)]
    for one in (*RESULTS, *new):
        page.keep(tmp_path / "page.md", wanted, one)
    page.keep(tmp_path / "page.md", small, measured("q0", "batch", 9.0))
    for one in RESULTS:
        page.keep(tmp_path / "page.md", other, one)
    page.write(tmp_path / "page.md")
    rows = (tmp_path / "page.md").read_text().splitlines()
    assert any(row.startswith("| q0 ") and "2,000" in row for row in rows)
    assert any(row.startswith("| q1 ") for row in rows)
    settings = [row.partition(",000")[0] for row in rows if row.startswith("## ")]
    assert settings == [settings[0], "## 1", "## 2"]
    assert settings[0].startswith("## 10 events in steps of 10,")
    pictures = ["page-250000.svg", "page-250000-2.svg"]
    assert [row.partition("](")[2] for row in rows if row.startswith("![")] == [f"{name})" for name in pictures]
    assert sorted(path.name for path in tmp_path.glob("*.svg")) == sorted(pictures)


def test_a_run_goes_on_with_what_an_earlier_one_has_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def worked(task: Task) -> Iterator[Measured]:
        asked.append([query.name for query in task.queries])
        yield from (measured(name, task.system, 1.0, answers=[Answer(1, 2)]) for name in asked[-1] if name != "q2")
        yield from (Measured(name, task.system, 10, refused="lost") for name in asked[-1] if name == "q2")

    monkeypatch.setattr(run, "_worked", worked)
    queries = [Query(name) for name in ("q0", "q1", "q2")]
    wanted = Wanted(queries[1:], ["batch"], Stream(10), 5, results=tmp_path)
    task = Task("batch", Data(tmp_path, Stream(10), 5), queries[1:], tmp_path)
    first = list(run._kept_or_worked(task, wanted.kept))
    then = list(run._kept_or_worked(replace(task, queries=queries), wanted.kept))
    assert asked == [["q1", "q2"], ["q0", "q2"]]
    assert (then[0], first[0].machine is not None) == (first[0], True)
    assert [found.query for found in then] == ["q1", "q0", "q2"]
    assert wanted.kept != replace(wanted, memory="8g").kept != replace(wanted, every=True).kept


def test_the_command_names_the_systems_that_there_are() -> None:
    assert bench.SYSTEMS == SYSTEMS


def test_of_two_runs_the_quicker_counts_and_both_have_to_answer_alike() -> None:
    slow, quick = Run([0.2, 0.4], [Answer(1, 2)], 3), Run([0.3, 0.1], [Answer(1, 2)], 3)
    assert quicker([slow, quick]) is quick
    with pytest.raises(AssertionError, match="answered differently"):
        quicker([slow, quick._replace(answers=[Answer(1, 3)])])


def test_a_time_below_the_noise_of_its_start_is_not_measurable() -> None:
    assert net([9.0, 9.2], [8.0, 8.1, 8.05]).seconds == pytest.approx(1.0)
    assert net([8.3, 8.2], [8.0, 8.1, 8.05]).seconds is None  # a twentieth of the start is left out of account
    assert net([20.0, 20.1], [8.0, 21.0]).seconds is None  # another job ran beside one of them
    assert net([5.0], [6.0, 6.1]).seconds is None


def test_what_is_not_measurable_is_said_so_and_enters_no_mean() -> None:
    lost = measured("q3", "flink", None, noise=0.4, answers=[Answer(1, 1)])
    others = [measured("q0", "flink", 4.0), measured("q0", "penstock", 2.0), measured("q3", "penstock", 1.0)]
    found = report.by_query([*others, from_line(as_line(lost))])
    assert report.ratios(found, "flink") == {"q0": 2.0}
    assert report.mean(report.ratios(found, "flink").values()) == pytest.approx(2.0)
    shown = report.text(list(found.values()), 250_000)
    assert any("q3" in line and "not measurable" in line for line in shown.splitlines())
    assert lost.as_object()["events_per_s"] is None
    assert lost.as_object()["not_measurable"] is True
    assert run._line(lost).endswith("not measurable   equal")


def test_of_two_ways_one_that_is_not_measurable_is_the_quicker_one() -> None:
    task = Task("flink", Data(Path(), Stream(1000), 100), [], Path())
    said = [
        {"seconds": 1.5, "noise": 0.4, "rows": 1, "checksum": 1, "peak_mib": 1, "mini_batch": True},
        {"seconds": None, "noise": 0.4, "rows": 1, "checksum": 1, "peak_mib": 1, "mini_batch": False},
    ]
    found = on_flink._ways(task, Query("q3"), said)
    assert (found.seconds, found.is_measurable, found.slower[0].seconds) == (None, False, 1.5)


def test_a_result_of_before_noise_was_noted_is_judged_as_well() -> None:
    old = json.loads(as_line(measured("q3", "flink", 0.001)))
    del old["noise"]
    assert not from_line(json.dumps(old)).is_measurable
    assert from_line(json.dumps(old | {"system": "penstock"})).seconds == 0.001
    assert from_line(json.dumps(old | {"seconds": 3.0})).seconds == 3.0
