"""Every figure of the benchmarks is made at toy size: both engines answer alike, and each line has its cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from bench.__main__ import ON_SPARK, WITHOUT_SPARK
from bench.measure import Effort
from bench.report import Figure, Line, renewed
from bench.stopping import _STATEMENTS
from bench.terminal import Terminal
from bench.ways import WAYS, Way, bars

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
    assert "sql, to its prompt" in [line.what for line in figure.lines]
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


def test_a_page_keeps_the_other_figures() -> None:
    before = "# Old\n\n## a. First\n\nkept\n\n## b. Second\n\nold\n"
    after = renewed(before, "# New\n", Figure("b", "Second", [Line("new", ("1",) * 4)]), "here")
    assert after.startswith("# New\n\n## a. First\n\nkept\n\n## b. Second\n\nhere\n")
    assert "old" not in after
