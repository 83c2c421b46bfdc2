"""Sessions with limits, as all are in dialect timeplus: by which column, and at which waterline, they close."""

import pytest

from penstock.analysis.waterline import has_waterline
from penstock.bind.emission.standing import bind_standing
from penstock.bind.program.compile import compile_program
from penstock.emit.standing import closing_of, standing_query
from penstock.errors import SqlError
from penstock.sql.parse import parse_query

PROGRAM = """
SET dialect = 'timeplus';
CREATE STREAM s (k STRING, x INT, ts datetime64(3)) SETTINGS event_time_column = 'ts';
CREATE TABLE t (k STRING PRIMARY KEY, name STRING);
CREATE TABLE late (k STRING, at TIMESTAMP NOT NULL LATENESS INTERVAL 1 MINUTE);
"""


def bound(query):
    catalog = compile_program(PROGRAM).catalog
    found = bind_standing(parse_query(query, "timeplus"), catalog, query, "q", has_waterline)
    for view in found.views:
        catalog = catalog.with_view(view)
    return found.view, catalog


def closing(query):
    """The columns that close the rows of a query, each with its waterline."""
    view, catalog = bound(query)
    return {view.plan.names[item.place]: item.waterline.text for item in closing_of(view, catalog)}


OWN = "`q (rows).ts` + INTERVAL '0.000001' SECOND"


@pytest.mark.parametrize(
    ("query", "column", "line"),
    [
        ("SELECT window_start, window_end, count() FROM session(s, 5s) GROUP BY window_start, window_end", None, OWN),
        ("SELECT window_end AS e, k FROM session(s, ts, 5s, 1m) WHERE x > 1 GROUP BY k, window_end", "e", OWN),
        ("SELECT window_end FROM session(s, ts, 5s, [x > 1, x < 0)) GROUP BY 1 HAVING count() > 2", None, OWN),
        ("SELECT window_end, count() FROM (SELECT window_end, x FROM session(s, 5s)) GROUP BY window_end", None, OWN),
        ("SELECT DISTINCT window_end, count() FROM session(s, 5s) GROUP BY window_end, k", None, OWN),
        (
            "SELECT window_end, count() FROM session(late, at, 5s) GROUP BY window_end",
            None,
            "`late.at` + INTERVAL '0.000001' SECOND",
        ),
    ],
)
def test_the_end_of_a_session_closes_it_when_the_waterline_has_reached_it(query, column, line):
    assert closing(query) == {column or "window_end": line}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT window_start, count() FROM session(s, 5s) GROUP BY window_start",
        "SELECT count(), window_start AS a FROM session(s, 5s) AS q GROUP BY a",
        "SELECT k, q.window_start FROM session(s, 5s) q GROUP BY 1, q.window_start EMIT AFTER WATERMARK WITH DELAY 2s",
        "SELECT window_start, count() FROM session(s, 5s) GROUP BY 1 EMIT TIMEOUT 5s",
    ],
)
def test_group_by_the_start_of_a_session_is_by_its_end_as_well(query):
    view, catalog = bound(query)
    (found,) = closing_of(view, catalog)
    assert found.waterline.text == OWN
    assert found.place == view.showing.visible
    assert view.showing.ends == (found.place,)
    assert found.place in view.showing.groups


def test_substreams_close_their_sessions_by_the_end_too():
    """The end of a session that grows is not its start and the idle time."""
    view, _ = bound("SELECT k, window_start, count() FROM session(s, 5s) PARTITION BY k GROUP BY window_start")
    assert [view.plan.names[place] for place in view.showing.partition] == ["k"]
    assert view.showing.ends == (view.showing.visible,)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT window_end, count() FROM session(s, 5s) AS q JOIN t ON q.k = t.k GROUP BY window_end",
        "SELECT window_end, sum(count()) OVER (PARTITION BY k) FROM session(s, 5s) GROUP BY window_end, k",
    ],
)
def test_other_rows_that_can_change_an_ended_session_keep_it_from_closing(query):
    view, catalog = bound(query)
    assert closing_of(view, catalog) == ()
    with pytest.raises(SqlError) as error:
        standing_query(view, catalog)
    assert error.value.code == "NO_WATERLINE"


def test_a_tick_shows_sessions_as_they_are_grouped():
    view, _ = bound("SELECT window_start, count() FROM session(s, 5s) GROUP BY window_start EMIT PERIODIC 1s ON UPDATE")
    assert view.showing.groups == (0,)
    assert view.showing.visible == len(view.columns)
