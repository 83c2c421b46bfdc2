"""Every figure of the benchmarks is made at toy size: both engines answer alike, and each line has its cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from bench.__main__ import ON_SPARK, WITHOUT_SPARK
from bench.measure import Cost, Effort, jvm_memory
from bench.report import Figure, Line, renewed
from bench.stopping import _STATEMENTS
from bench.terminal import Terminal
from bench.ways import WAYS, Way, bars, bars_in_units

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUICK = Effort(quick=True, most=1)


@pytest.mark.extended
@pytest.mark.parametrize("letter", [letter for letter in ON_SPARK if letter != "i"])
def test_a_figure_is_made_at_toy_size(spark: SparkSession, letter: str) -> None:
    figure = ON_SPARK[letter](spark, effort=QUICK)
    assert figure.letter == letter
    assert {len(line.cells) for line in figure.lines} == {len(figure.heads)}
    assert f"## {letter}. " in figure.text()


def test_checking_is_measured_without_spark() -> None:
    figure = WITHOUT_SPARK["f"](effort=QUICK)
    assert [line.what for line in figure.lines] == ["1 view", "20 views"]


@pytest.mark.extended
def test_stopping_is_measured_and_leaves_nothing() -> None:
    figure = WITHOUT_SPARK["m"](effort=QUICK)
    assert len(figure.lines) == len(_STATEMENTS)
    assert {len(line.bars) for line in figure.lines} == {1}


@pytest.mark.spark  # in processes of its own
@pytest.mark.extended
def test_starting_is_measured_to_the_prompt_and_the_answer() -> None:
    figure = WITHOUT_SPARK["h"](effort=QUICK)
    judged = {line.what: [bar.text for bar in line.bars] for line in figure.lines if line.bars}
    assert judged == {
        "sql, to its prompt": ["native ≤ 1 s"],
        "sql, from the first INSERT to the view's change": ["native ≤ 0.2 s"],
        "run --once, one file of three rows": ["native ≤ 2 s"],
    }
    assert {len(line.cells) for line in figure.lines} == {2}


def test_a_command_that_does_not_show_what_is_waited_for_fails_with_what_it_has_shown() -> None:
    with Terminal(("sh", "-c", "echo one; read line; echo two")) as terminal:
        assert terminal.until("one") > 0
        with pytest.raises(RuntimeError, match=r"'three' was not shown, but .*two"):
            terminal.until("three", typed="\r")


def test_bars_are_judged_for_each_engine_over_all_its_ways() -> None:
    ratios = {way: 2.0 if way == Way("spark", directory=True) else 0.5 for way in WAYS}
    assert [str(bar) for bar in bars(ratios, 1, "bare")] == ["native ≤ 1 × bare: kept", "spark ≤ 1 × bare: missed"]
    assert [bar.kept for bar in bars(ratios, 1, "bare", least=True)] == [False, False]
    text = Figure("x", "Title", [Line("what", ("1",) * 4, bars(ratios, 1, "bare")), Line("more", ("2",) * 4)]).text()
    assert "| what | 1      | 1     | 1                 | 1                | native ≤ 1 × bare: kept; spark" in text


def test_each_engine_may_have_its_own_bound_and_its_own_unit() -> None:
    ratios = dict.fromkeys(WAYS, 1.5)
    assert [bar.kept for bar in bars(ratios, {"native": 1.3, "spark": 2.0}, "x")] == [False, True]
    costs = {"grouped": Cost(1, 1), "bare": Cost(50, 50), "step": Cost(8, 8)}
    slow = costs | {"step": Cost(9, 9)}
    found = {way: slow if way == Way("native", directory=True) else costs for way in WAYS}
    assert [str(bar) for bar in bars_in_units(dict.fromkeys(WAYS, costs), "step", {"native": 8, "spark": 3})] == [
        "native ≤ 8 × grouped: kept",
        "spark ≤ 3 × bare: kept",
    ]
    assert [bar.kept for bar in bars_in_units(found, "step", {"native": 8, "spark": 0.16})] == [False, True]
    assert [bar.kept for bar in bars_in_units(found, "step", {"native": 9, "spark": 0.15})] == [True, False]


def test_the_figures_have_more_memory_where_there_is_more(monkeypatch: pytest.MonkeyPatch) -> None:
    for gigabytes, wanted in ((19.9, "4g"), (20, "10g"), (24, "10g")):
        there = int(gigabytes * (1 << 30))
        monkeypatch.setattr("penstock.backends.native.memory.machine_memory", lambda size=there: size)
        assert jvm_memory() == wanted


def test_a_page_keeps_the_other_figures() -> None:
    before = "# Old\n\n## a. First\n\nkept\n\n## b. Second\n\nold\n"
    after = renewed(before, "# New\n", Figure("b", "Second", [Line("new", ("1",) * 4)]), "here")
    assert after.startswith("# New\n\n## a. First\n\nkept\n\n## b. Second\n\nhere\n")
    assert "old" not in after
