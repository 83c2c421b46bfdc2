from __future__ import annotations

import pytest
from rich.console import Console

import penstock
from penstock.demo.gain import Gain
from penstock.demo.places import places_of

PROGRAM = """
CREATE TABLE t (id INT, name STRING);
CREATE VIEW counted AS SELECT id, COUNT(*) AS n FROM t GROUP BY id;
CREATE VIEW spelt AS SELECT soundex(name) AS s FROM t;
CREATE VIEW mixed AS SELECT soundex(name) AS s, COUNT(*) AS n FROM t GROUP BY soundex(name);
"""


def said(engine: str, master: str = "local[*]") -> list[str]:
    places = places_of(penstock.Pipeline(PROGRAM, engine=engine, master=master))
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(places.render())
    return [line.rstrip() for line in console.export_text().splitlines()]


def test_each_view_has_its_place_and_the_first_reason():
    assert said("auto") == [
        "Where the views work:",
        "  counted  in the process",
        "  spelt    on Spark, for soundex(string)",
        "  mixed    in the process, 2 of 3 on Spark, for soundex(string)",
    ]


@pytest.mark.parametrize(
    ("engine", "master", "why"),
    [("spark", "local[*]", "engine = 'spark'"), ("auto", "spark://far:7077", "a master that is not this machine")],
)
def test_what_is_all_on_spark_is_one_line(engine, master, why, monkeypatch):
    monkeypatch.setattr("penstock.pipeline.opening.running_session", lambda: None)  # another test may have left one
    assert said(engine, master) == [f"Every view works on Spark, for {why}."]


def test_the_gain_is_that_of_the_median_step():
    gain = Gain(placed=(0.5, 0.2, 9.0), on_spark=(1.0, 0.1, 2.0), events=10_000)
    assert gain.ratio == 2
    assert gain.line() == (
        "A step of 10,000 flight events takes 0.50 s with the views where they work, and 1.00 s with all of them on "
        "Spark: 2.0 times as long (medians of 3 steps, here and now)"
    )


def test_a_gain_that_is_a_loss_says_so():
    assert ": 0.5 times as long" in Gain((2.0,), (1.0,), 10).line()
