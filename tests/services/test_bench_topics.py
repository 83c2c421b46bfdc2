"""The figure from topic to topic is made at toy size: what is written is right, and each line has its cells."""

from bench.measure import Effort
from bench.topics import events
from bench.topics.figure import figure


def test_a_figure_from_topic_to_topic_is_made():
    found = figure(effort=Effort(quick=True, most=1))
    assert found.heads == ("penstock", "penstock, at least once")
    rates = found.lines[0].cells
    assert all(int(rate.replace(",", "")) > 0 for rate in rates)


def test_what_is_right_is_what_counting_gives():
    made = events.at_rest(50_000)
    rows = [{"closed": row[0].isoformat(sep=" "), "k": row[1], "n": row[2], "s": row[3]} for row in made.right]
    assert made.is_right(rows)
    assert not made.is_right(rows[1:])
    assert sum(row["n"] for row in rows) == 50_000
