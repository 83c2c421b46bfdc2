"""ASOF and LATEST joins of Timeplus, and the past that a standing query reads."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiers import examples

from penstock import LaterSession, Pipeline
from penstock.errors import PenstockError

STREAMS = "CREATE STREAM l (k string, i int); CREATE STREAM r (k string, j int);"
ROWS = st.lists(st.tuples(st.sampled_from([None, "a", "b"]), st.integers(0, 3)), max_size=3)


@LaterSession
def no_spark():
    pytest.fail("Spark was asked for")


def read(query):
    found = []
    while (emission := query.get(0)) is not None:
        found += list(emission)
    return found


def latest(lefts, rights, *, keeps):
    last = {k: j for k, j in rights if k is not None}
    return Counter((i, last.get(k)) for k, i in lefts if keeps or k in last)


def closest(lefts, rights):
    found = Counter()
    for k, i in lefts:
        below = [j for key, j in rights if key == k and key is not None and j <= i]
        found[i, max(below, default=None)] += 1
    return found


@examples(6, 25)
@given(steps=st.lists(st.tuples(ROWS, ROWS), max_size=5))
def test_joins_by_arrival_and_by_time(steps):
    texts = {
        "latest": "SELECT i, j, _tp_delta FROM l LATEST JOIN r ON l.k = r.k",
        "left": "SELECT i, j, _tp_delta FROM l LEFT LATEST JOIN r USING (k)",
        "asof": "SELECT i, j, _tp_delta FROM l AS x ASOF LEFT JOIN r ON x.k = r.k AND r.j <= x.i",
    }
    with Pipeline(STREAMS, dialect="timeplus", spark=no_spark) as pipeline:
        queries = {name: pipeline.subscribe(text) for name, text in texts.items()}
        shown = {name: Counter() for name in texts}
        lefts, rights = [], []
        for left, right in steps:
            pipeline.step({"l": left, "r": right})
            lefts += left
            rights += right
            for name, query in queries.items():
                for i, j, delta in read(query):
                    shown[name][i, j] += delta
            assert +shown["latest"] == latest(lefts, rights, keeps=False)
            assert +shown["left"] == latest(lefts, rights, keeps=True)
            assert +shown["asof"] == closest(lefts, rights)


@pytest.mark.parametrize(
    ("join", "code"),
    [
        ("ASOF JOIN r ON l.k = r.k", "ASOF_WITHOUT_MATCH"),
        ("ASOF JOIN r ON l.k = r.k AND l.i > r.j AND l.i < r.j", "ASOF_MATCH"),
        ("LATEST JOIN r ON l.k = r.k AND l.i > r.j", "LATEST_JOIN"),
        ("LATEST JOIN r", "LATEST_JOIN"),
        ("LATEST JOIN (SELECT DISTINCT k FROM r) AS d ON l.k = d.k", "NO_ARRIVAL"),
    ],
)
def test_joins_that_are_refused(join, code):
    with Pipeline(STREAMS, dialect="timeplus", spark=no_spark) as pipeline:
        with pytest.raises(PenstockError) as refused:
            pipeline.subscribe(f"SELECT * FROM l {join}")
        assert refused.value.code == code, refused.value.render()


def test_latest_is_a_name_as_well():
    with Pipeline(STREAMS, dialect="timeplus", spark=no_spark) as pipeline:
        query = pipeline.subscribe("SELECT latest.i AS latest FROM l latest")
        pipeline.step({"l": [("a", 1)]})
        assert read(query) == [(1,)]


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("SETTINGS seek_to = 'latest'", [4, 5]),
        ("SETTINGS seek_to = 'earliest'", [1, 2, 3, 4, 5]),
        ("SETTINGS seek_to = '-1h'", [3, 4, 5]),
        ("SETTINGS seek_to = '-90m'", [2, 3, 4, 5]),
        ("SETTINGS seek_to = '2025-01-01 09:30:00'", [2, 3, 4, 5]),
        ("SETTINGS seek_to = '2025-01-01T11:00:00+01:00'", [3, 4, 5]),
        ("WHERE _tp_time >= '2025-01-01 09:30:00'", [2, 3, 5]),
        ("WHERE at >= '2025-01-01 09:30:00'", [5]),
        ("WHERE _tp_time >= '2025-01-01 09:30:00' SETTINGS seek_to = 'latest'", [5]),
    ],
)
def test_a_query_reads_the_past_from_a_time_on(clauses, expected):
    program = "CREATE STREAM s (i int, at datetime64(3)) SETTINGS event_time_column = 'at';"
    with Pipeline(program, dialect="timeplus", spark=no_spark) as pipeline:
        past = [(1, "2025-01-01 08:00:00"), (2, "2025-01-01 09:30:00"), (3, "2025-01-01 10:00:00")]
        pipeline.step({"s": past}, clock="2025-01-01 11:00:00")
        query = pipeline.subscribe(f"SELECT i FROM s {clauses}")
        pipeline.step({"s": [(4, "2025-01-01 07:00:00"), (5, "2025-01-01 12:00:00")]}, clock="2025-01-01 11:00:00")
        assert sorted(i for (i,) in read(query)) == expected


SECOND = 2 << 32  # the position of the first row of the second step


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        (f"SETTINGS seek_to = '{SECOND}'", [3, 4, 5]),
        (f"SETTINGS seek_to = '{SECOND + 1}'", [4, 5]),
        ("SETTINGS seek_to = '0'", [1, 2, 3, 4, 5]),
        (f"SETTINGS seek_to = '{(3 << 32) + 1}'", []),
        (f"WHERE _tp_sn > {SECOND}", [4, 5]),
        (f"WHERE s._tp_sn <= {SECOND} SETTINGS seek_to = 'earliest'", [1, 2, 3]),
        (f"WHERE _tp_sn > {SECOND} SETTINGS seek_to = 'latest'", [5]),
    ],
)
def test_a_query_reads_the_past_from_a_sequence_number_on(clauses, expected):
    with Pipeline("CREATE STREAM s (i int)", dialect="timeplus", spark=no_spark) as pipeline:
        pipeline.step({"s": [(1,), (2,)]})
        pipeline.step({"s": [(3,), (4,)]})
        query = pipeline.subscribe(f"SELECT i FROM s {clauses}")
        pipeline.step({"s": [(5,)]})
        assert sorted(i for (i,) in read(query)) == expected


def test_a_reader_goes_on_behind_the_last_sequence_number():
    with Pipeline("CREATE STREAM s (i int)", dialect="timeplus", spark=no_spark) as pipeline:
        first = pipeline.subscribe("SELECT _tp_sn, i FROM s")
        pipeline.step({"s": [(1,), (2,)]})
        *_, (last, _) = sorted(read(first))
        first.close()
        pipeline.step({"s": [(3,)]})
        again = pipeline.subscribe(f"SELECT i FROM s SETTINGS seek_to = '{last + 1}'")
        pipeline.step({"s": [(4,)]})
        assert sorted(read(again)) == [(3,), (4,)]


def test_sequence_numbers_in_queries_and_views():
    program = """
    CREATE STREAM s (i int);
    CREATE STREAM own (_tp_sn int);
    CREATE VIEW numbered AS SELECT _tp_sn, i FROM s WHERE i > 1;
    CREATE VIEW some AS SELECT i FROM s WHERE i > 1;
    CREATE VIEW counted AS SELECT count() AS n, max(_tp_sn) AS last FROM some;
    """
    with Pipeline(program, dialect="timeplus", spark=no_spark) as pipeline:
        pipeline.step({"s": [(1,), (2,)], "own": [(7,)]})
        pipeline.step({"s": [(3,)]})
        assert sorted(pipeline.content("numbered").rows) == [((1 << 32) + 1, 2), (SECOND, 3)]
        assert pipeline.query("SELECT * FROM numbered ORDER BY i").columns == ("_tp_sn", "i")
        assert pipeline.content("counted").rows == [(2, SECOND)]
        assert pipeline.query("SELECT _tp_sn FROM table(own)").rows == [(7,)]
        assert "_tp_sn" not in pipeline.query("SELECT * FROM table(s)").columns
        for refused, code in (
            ("INSERT INTO s (i, _tp_sn) VALUES (1, 1)", "UNKNOWN_COLUMN"),
            ("CREATE VIEW v AS SELECT _tp_sn FROM s AS a JOIN s AS b ON a.i = b.i", "AMBIGUOUS_COLUMN"),
            ("CREATE VIEW v AS SELECT _tp_sn FROM counted", "UNKNOWN_COLUMN"),
        ):
            with pytest.raises(PenstockError) as error:
                pipeline.execute(refused)
            assert error.value.code == code, error.value.render()


@pytest.mark.parametrize("place", ["soon", "-2y", "5.5", "2025-13-01", "1" * 19])
def test_no_place_to_begin(place):
    with Pipeline(STREAMS, dialect="timeplus", spark=no_spark) as pipeline:
        with pytest.raises(PenstockError) as refused:
            pipeline.subscribe(f"SELECT i FROM l SETTINGS seek_to = '{place}'")
        assert refused.value.code == "BAD_SETTING", refused.value.render()


ONE = "(SELECT window_end, count() AS n FROM tumble(l, 2s) GROUP BY window_end)"
OTHER = "(SELECT window_end, count() AS m FROM tumble(r, 2s) GROUP BY window_end)"
BOTH = f"FROM {ONE} AS a FULL JOIN {OTHER} AS b ON a.window_end = b.window_end"


@pytest.mark.extended  # six queries over windows in each example
@examples(3, 5)
@given(steps=st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), max_size=6))
def test_windows_close_whether_or_not_their_end_is_shown(steps):
    """Each window is shown once, when it closes, also where its end is NULL, or not among the columns."""
    texts = {
        "both": f"SELECT a.window_end AS e, b.window_end AS f, n, m {BOTH}",
        "left": f"SELECT a.window_end AS e, n, m {BOTH}",
        "right": f"SELECT b.window_end AS f, n, m {BOTH}",
        "neither": f"SELECT n, m {BOTH}",
        "flat": f"SELECT n FROM {ONE}",
        "ended": f"SELECT n, window_end FROM {ONE}",
    }
    with Pipeline(STREAMS, dialect="timeplus", spark=no_spark) as pipeline:
        queries = {name: pipeline.subscribe(text, clock="2025-01-01 10:00:00") for name, text in texts.items()}
        second = 0
        for passed, left, right in steps:
            second += passed
            rows = [("a", 1)]
            pipeline.step({"l": rows * left, "r": rows * right}, clock=f"2025-01-01 10:00:{second:02}")
            check_alike({name: read(query) for name, query in queries.items()})
        pipeline.end_of_input()
        check_alike({name: read(query) for name, query in queries.items()})


def check_alike(shown):
    """All queries show the same windows in a step: those of the one that tells all there is."""
    both = Counter(shown["both"])
    assert Counter(shown["left"]) == Counter((e, n, m) for e, _, n, m in both.elements())
    assert Counter(shown["right"]) == Counter((f, n, m) for _, f, n, m in both.elements())
    assert Counter(shown["neither"]) == Counter((n, m) for _, _, n, m in both.elements())
    assert Counter(shown["flat"]) == Counter((n,) for n, _ in shown["ended"])


def test_a_window_of_one_side_is_shown_when_it_closes():
    with Pipeline(STREAMS, dialect="timeplus", spark=no_spark) as pipeline:
        query = pipeline.subscribe(f"SELECT a.window_end AS e, n, m {BOTH}", clock="2025-01-01 10:00:00")
        found = []
        for second, name in ((1, "r"), (2, "l"), (5, "r"), (6, "l")):
            pipeline.step({name: [("a", 1)]}, clock=f"2025-01-01 10:00:0{second}")
            found.append([(n, m) for _, n, m in read(query)])
        assert found == [[], [], [(None, 1)], [(1, None)]]
