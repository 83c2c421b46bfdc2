"""What the page of growth says of figures, and its pictures."""

from xml.dom import minidom

import pytest
from bench.nexmark import growth, growth_page
from bench.nexmark.curves import Axis, curves
from bench.nexmark.files import written
from bench.nexmark.generate import Stream
from bench.nexmark.growth import KEYED, Grown, Stepped, grown, stepped
from bench.nexmark.queries import Query
from bench.nexmark.task import Task

MILLION = 1_000_000


def run_of(query="q5", *, last=1.0, equal=True, live=None):
    seconds = [2.0] * 4 + [1.0] * 32 + [last] * 4
    rows = [3, *[5] * 8, 6]
    return Grown(query, 10 * MILLION, 250_000, query in KEYED, seconds, [90] * 10, rows, 6, 4.0, equal, live)


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
        Stepped("q5", 100, 30, 25.0, 60.0, 10.0),
        Stepped("q5", 10_000, 30, 50.0, 70.0, 10.0),
    ]
    for one in found:
        growth_page.keep(page, one)
    growth_page.write(page)
    lines = [line.replace(" ", "") for line in page.read_text().splitlines()]
    (five,), (seven,), (eighteen,), (twenty,) = (
        [line for line in lines if line.startswith(f"|{name}|10|8g|")] for name in ("q5", "q7", "q18", "q20")
    )
    assert five.endswith("|90→90|5→6|4.0|11.1|kept|")
    assert seven.endswith("missed|")
    assert eighteen.endswith("missed|")
    assert "wronganswer" in twenty
    assert "|q5|25ms=2.5×|50ms=5.0×|" in lines
    assert "q18: 6 of 7" in page.read_text()
    for picture in ("growth-long.svg", "growth-steps.svg"):
        assert minidom.parse(str(tmp_path / picture)).documentElement.tagName == "svg"  # noqa: S318 - our own


def test_what_is_measured_of_a_long_run_and_of_small_steps(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(growth, "_WARMING", 1)
    data = written(tmp_path, Stream(1500), 150)
    query = Query("q18")
    found = grown(spark, Task("penstock", data, [query], tmp_path), query)
    assert found.equal
    assert (len(found.seconds), len(found.heap_mib), found.live) == (10, 10, found.compacted)
    small = stepped(spark, Query("q1"), 50, warm=1, steps=3)
    assert (small.size, small.steps) == (50, 3)
    assert 0 < small.p50_ms <= small.most_ms


def test_curves_lie_within_their_axes():
    drawn = curves("t", {"a": [(100, 1.0), (10_000, 700.0)]}, Axis("x", log=True), Axis("y"))
    (line,) = minidom.parseString(drawn).getElementsByTagName("polyline")  # noqa: S318 - our own
    first, last = ([float(part) for part in point.split(",")] for point in line.getAttribute("points").split())
    assert first[0] == pytest.approx(70.0)
    assert last == pytest.approx([610.0, 40 + 330 * 0.125], abs=0.1)
