"""What the page of growth says of figures, and its pictures."""

from xml.dom import minidom

import pytest
from bench.nexmark import growth, growth_page, longrun
from bench.nexmark.curves import Axis, curves
from bench.nexmark.files import written
from bench.nexmark.generate import Stream
from bench.nexmark.growth import Stepped, long_runs, stepped
from bench.nexmark.longrun import KEYED, Grown, grown
from bench.nexmark.queries import Query
from bench.nexmark.task import Task
from bench.standing import PRINTED

from penstock.catalog.settings import Setting

MILLION = 1_000_000


def run_of(query="q5", *, last=1.0, equal=True, live=None, held=90, **more):
    seconds = [2.0] * 4 + [1.0] * 32 + [last] * 4
    rows = [3, *[5] * 8, 6]
    return Grown(
        query, 10 * MILLION, 250_000, query in KEYED, seconds, [90] * 9 + [held], rows, 6, 4.0, equal, live, **more
    )


def test_tenths_are_of_the_run_or_of_its_first_events():
    assert run_of().tenth(1) == pytest.approx(8.0)
    assert run_of(last=2.0).tenth(10) == pytest.approx(8.0)
    assert run_of(last=2.0).tenth(10, 5 * MILLION) == pytest.approx(4.0)


def test_the_page_keeps_the_last_of_each_and_judges_the_bars(tmp_path):
    page = tmp_path / "growth.md"
    found = [
        run_of(last=9.0),
        run_of(last=1.09),
        run_of("q7", last=1.2),
        run_of("q18", last=3.0, live=7),
        run_of("q20", equal=False, live=6),
        run_of(engine="native", peak_mib=1234),
        run_of(engine="native", limit_mib=300, last=9.0),
        run_of("q4", last=1.3, engine="native"),
        run_of("q7", last=1.3, engine="native"),
        run_of("q18", last=1.4, live=6, engine="native"),
        run_of("q9", last=1.1, held=400, engine="native"),
        run_of("q8", equal=False, limit_mib=300, engine="native"),
        Stepped("q5", 100, 30, 25.0, 60.0, 10.0),
        Stepped("q5", 10_000, 30, 90.0, 170.0, 10.0),
        Stepped("q5", 100, 30, 2.54, 6.0, 10.0, "native"),
        Stepped("q5", 10_000, 30, 9.0, 70.0, 10.0, "native"),
        Stepped("q1", 10_000, 30, 0.4, 2.0, 10.0, "native"),
    ]
    for one in found:
        growth_page.keep(page, one)
    growth_page.write(page)
    lines = [line.replace(" ", "") for line in page.read_text().splitlines()]
    (five,), (seven,), (eighteen,), (twenty,) = (
        [line for line in lines if line.startswith(f"|{name},spark|10|8g|")] for name in ("q5", "q7", "q18", "q20")
    )
    (native,), (limited,) = (
        [line for line in lines if line.startswith(f"|q5,native{more}|")] for more in ("|10|–", ",limited|10|300MiB")
    )
    assert five.endswith("|90→90|–|5→6|4.0|11.1|kept|")
    assert "|90→90|1,234|5→6|" in native
    assert limited.endswith("kept|")
    assert seven.endswith("|stepsmissed|")
    assert eighteen.endswith("|stepsmissed|")
    ends = {
        name: next(line for line in lines if line.startswith(f"|{name},native")).split("|")[-2]
        for name in ("q4keyed", "q7", "q18", "q9keyed", "q8")
    }
    assert ends == {
        "q4keyed": "kept",
        "q7": "stepsmissed",
        "q18": "kept",
        "q9keyed": "heldmissed",
        "q8": "answermissed",
    }
    assert "wronganswer" in twenty
    assert "|q5|25ms=2.5×|90ms=9×|" in lines
    assert "|q5|2.5ms=0.25×|9.0ms=0.9×|" in lines
    assert "q18, spark: 6 of 7" in page.read_text()
    said = "native: of 2 queries the bar is missed by none. Geometric mean 0.19 × bare: kept."
    assert said in page.read_text()
    assert "spark: of 1 queries the bar is missed by q5 9.0 ×." in page.read_text()
    for picture in ("growth-long.svg", "growth-steps.svg"):
        assert minidom.parse(str(tmp_path / picture)).documentElement.tagName == "svg"  # noqa: S318 - our own


def test_small_steps_in_the_process_are_judged_one_by_one_and_together(tmp_path):
    page = tmp_path / "growth.md"
    for name, took in (("q1", 4.0), ("q5", 11.0), ("q7", 1.0)):
        growth_page.keep(page, Stepped(name, 10_000, 30, took, 99.0, 10.0, "native"))
    growth_page.write(page)
    assert "the bar is missed by q5 1.1 ×. Geometric mean 0.35 × bare: missed." in page.read_text()


def test_steps_stand_beside_the_latency_of_flink_that_figure_k_has_measured(tmp_path):
    page, ours = tmp_path / "performance.md", [Stepped("q1", 10, 30, 2.5, 9.0, 10.0, "native")]
    assert "has not been measured" in growth_page.beside_flink([], page)
    page.write_text(f"| {PRINTED}   | p50 3.2 ms, p99 6.4 ms      |     |\n")
    said = growth_page.beside_flink(ours, page).replace("\n", " ")
    assert "how old a row is when its result is printed: p50 3.2 ms, p99 6.4 ms for" in said
    assert "of 10 events, take 2.5 ms to 2.5 ms in the process" in said
    page.write_text(f"| {PRINTED} | not run: there is no Flink |\n")
    assert "has not been measured" in growth_page.beside_flink(ours, page)


@pytest.mark.extended
@pytest.mark.parametrize("engine", ["native", "spark"])
def test_what_is_measured_of_a_long_run_and_of_small_steps(spark, tmp_path, monkeypatch, engine):
    monkeypatch.setattr(longrun, "_WARMING", 1)
    data = written(tmp_path, Stream(1500), 150)
    query = Query("q18")
    found = grown(spark, Task("penstock", data, [query], tmp_path), query, engine)
    assert found.equal
    assert (len(found.seconds), len(found.heap_mib), found.live) == (10, 10, found.compacted)
    assert found.peak_mib > 0
    small = stepped(spark, Query("q1"), 50, engine, warm=1, steps=3)
    assert (small.size, small.steps, small.engine) == (50, 3, engine)
    assert 0 < small.p50_ms <= small.most_ms


@pytest.mark.parametrize("known", [True, False])
def test_a_long_run_in_the_process_comes_again_with_half_the_memory(monkeypatch, known):
    limits = []

    def apart(task, query, engine, limit):
        limits.append(limit)
        return run_of(engine=engine, limit_mib=limit, needed_mib=301)

    monkeypatch.setattr(growth, "_apart", apart)
    monkeypatch.setattr(growth, "SETTINGS", (Setting("memory_limit", "how much"),) if known else ())
    assert len(list(long_runs(None, Query("q5"), "native"))) == (2 if known else 1)
    assert len(list(long_runs(None, Query("q5"), "spark"))) == 1
    assert limits == ([None, 150, None] if known else [None, None])
    assert longrun.program(Query("q5"), 150).startswith("SET memory_limit = '150MiB';\nCREATE TABLE")


def test_half_of_less_than_a_step_needs_is_not_tried(monkeypatch):
    monkeypatch.setattr(growth, "_apart", lambda *_: run_of(engine="native", needed_mib=100))
    assert len(list(long_runs(None, Query("q5"), "native"))) == 1


def test_curves_lie_within_their_axes():
    drawn = curves("t", {"a": [(100, 1.0), (10_000, 700.0)]}, Axis("x", log=True), Axis("y"))
    (line,) = minidom.parseString(drawn).getElementsByTagName("polyline")  # noqa: S318 - our own
    first, last = ([float(part) for part in point.split(",")] for point in line.getAttribute("points").split())
    assert first[0] == pytest.approx(70.0)
    assert last == pytest.approx([610.0, 40 + 330 * 0.125], abs=0.1)
