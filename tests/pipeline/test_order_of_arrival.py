"""What goes by the order in which rows arrive: after each step it is what plain Python finds in the rows so far."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiers import examples

from penstock import LaterSession, Pipeline
from penstock.errors import PenstockError

STREAM = "CREATE STREAM s (k string, v int);"
VIEWS = """
CREATE VIEW plain AS SELECT k, v, lag(v) AS one, lag(v, 2, -1) AS two, neighbor(v, -3) AS three FROM s;
CREATE VIEW by_key AS SELECT k, v, lag(v) OVER (PARTITION BY k) AS one FROM s;
CREATE VIEW some AS SELECT v, lag(v) AS one FROM s WHERE v > 1;
"""
ROWS = st.lists(st.tuples(st.sampled_from([None, "a", "b"]), st.none() | st.integers(0, 3)), max_size=4)


@LaterSession
def no_spark():
    pytest.fail("Spark was asked for")


def before(values, place, distance, default=None):
    return values[place - distance] if place >= distance else default


def looked_back(rows):
    values = [v for _, v in rows]
    plain, by_key, some, keyed = [], [], [], {}
    for place, (k, v) in enumerate(rows):
        back = (before(values, place, 1), before(values, place, 2, -1), before(values, place, 3))
        plain.append((k, v, *back))
        own = keyed.setdefault(k, [])
        by_key.append((k, v, own[-1] if own else None))
        own.append(v)
    large = [v for v in values if v is not None and v > 1]
    some = [(v, before(large, place, 1)) for place, v in enumerate(large)]
    return {"plain": plain, "by_key": by_key, "some": some}


@examples(4, 15)
@given(steps=st.lists(ROWS, max_size=5))
def test_lag_is_the_row_that_came_before(steps):
    with Pipeline(STREAM + VIEWS, dialect="timeplus", spark=no_spark) as pipeline:
        query = pipeline.subscribe("SELECT k, v, lag(v), v - lag(v, 2, 0) FROM s PARTITION BY k")
        rows = []
        for step in steps:
            pipeline.step({"s": step}, clock="2025-01-01 10:00:00")  # which stands still: it does not tell the order
            rows += step
            for name, expected in looked_back(rows).items():
                assert Counter(pipeline.content(name).rows) == Counter(expected), name
            assert Counter(read(query)) == Counter(partitioned(rows)[len(rows) - len(step) :])


def partitioned(rows):
    found, keyed = [], {}
    for k, v in rows:
        own = keyed.setdefault(k, [])
        second = own[-2] if len(own) > 1 else 0
        found.append((k, v, own[-1] if own else None, None if v is None or second is None else v - second))
        own.append(v)
    return found


def read(query):
    found = []
    while (emission := query.get(0)) is not None:
        found += list(emission)
    return found


@examples(4, 15)
@given(
    steps=st.lists(st.lists(st.tuples(st.sampled_from("+-"), st.sampled_from("abc"), st.integers(0, 2))), max_size=5)
)
def test_rows_that_are_replaced_or_go_change_what_is_before_the_others(steps):
    program = """
    CREATE STREAM s (k string, v int) PRIMARY KEY k SETTINGS mode = 'changelog_kv';
    CREATE VIEW plain AS SELECT k, v, lag(v) AS one FROM s;
    """
    with Pipeline(program, dialect="timeplus", spark=no_spark) as pipeline:
        rows = {}
        for step in steps:
            pipeline.step({"s": [(sign, (k, v)) for sign, k, v in step]})
            for sign, k, v in step:
                rows.pop(k, None)
                if sign == "+":
                    rows[k] = v
            values = list(rows.values())
            expected = [(k, v, before(values, place, 1)) for place, (k, v) in enumerate(rows.items())]
            assert Counter(pipeline.content("plain").rows) == Counter(expected)


@pytest.mark.parametrize(
    "given_as",
    [list, lambda rows: pa.table({"k": [k for k, _ in rows], "v": [v for _, v in rows]}), pd.DataFrame],
    ids=["tuples", "arrow", "pandas"],
)
def test_the_order_of_a_step_is_that_of_its_rows(given_as):
    rows = [("b", 3), ("a", 1), ("b", 2), ("a", 1)]
    given = given_as(rows)
    if isinstance(given, pd.DataFrame):
        given.columns = ["k", "v"]
    with Pipeline(STREAM + VIEWS, dialect="timeplus", spark=no_spark) as pipeline:
        pipeline.step({"s": given})
        assert Counter(pipeline.content("plain").rows) == Counter(looked_back(rows)["plain"])


def test_the_order_is_kept_with_the_rows(tmp_path: Path):
    rows = [("b", 3), ("a", 1), ("b", 2)]
    with Pipeline(STREAM, dialect="timeplus", spark=no_spark, directory=tmp_path) as pipeline:
        pipeline.step({"s": rows})
        pipeline.execute(VIEWS)
        pipeline.step({"s": [("a", 0)]})
        assert Counter(pipeline.content("plain").rows) == Counter(looked_back([*rows, ("a", 0)])["plain"])


def test_groups_of_windows_arrive_with_their_windows():
    with Pipeline(STREAM, dialect="timeplus", spark=no_spark) as pipeline:
        query = pipeline.subscribe("SELECT sum(v) AS total, lag(total) FROM tumble(s, 5s) GROUP BY window_end")
        for second, v in ((1, 1), (2, 2), (6, 4), (11, 8), (26, 16), (31, 0)):
            pipeline.step({"s": [("a", v)]}, clock=f"2025-01-01 10:00:{second:02}")
        assert read(query) == [(3, None), (4, 3), (8, 4), (16, 8)]


@examples(4, 15)
@given(steps=st.lists(ROWS, max_size=5))
def test_first_and_last_values_go_by_arrival(steps):
    views = """
    CREATE VIEW ends AS SELECT k, earliest(v), latest(v), first_value(v + 1), last_value_if(v, v > 1) FROM s GROUP BY k;
    CREATE VIEW within AS SELECT latest(w) FROM (SELECT v * 2 AS w FROM s WHERE v > 0);
    """
    with Pipeline(STREAM + views, dialect="timeplus", spark=no_spark) as pipeline:
        rows = []
        for step in steps:
            pipeline.step({"s": step}, clock="2025-01-01 10:00:00")
            rows += step
            keyed, large = {}, [2 * v for _, v in rows if v]
            for k, v in rows:
                keyed.setdefault(k, []).append(v)
            expected = [(k, v[0], v[-1], None if v[0] is None else v[0] + 1, last_large(v)) for k, v in keyed.items()]
            assert Counter(pipeline.content("ends").rows) == Counter(expected)
            assert pipeline.content("within").rows == [(large[-1] if large else None,)]


def last_large(values):
    large = [v for v in values if v is not None and v > 1]
    return large[-1] if large else None


def test_rows_of_a_join_arrive_with_the_later_side():
    program = STREAM + "CREATE STREAM t (k string, w int);"
    with Pipeline(program, dialect="timeplus", spark=no_spark) as pipeline:
        query = pipeline.subscribe("SELECT v, w, lag(v) FROM s JOIN t ON s.k = t.k")
        pipeline.step({"s": [("a", 1), ("b", 2)]})
        pipeline.step({"t": [("b", 10)]})
        pipeline.step({"t": [("a", 11)]})
        assert read(query) == [(2, 10, None), (1, 11, 2)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("lag(v, 0) FROM s", "LOOKING_BACK"),
        ("lag(v, -1) FROM s", "LOOKING_BACK"),
        ("lag(v, v) FROM s", "LOOKING_BACK"),
        ("lag() FROM s", "LOOKING_BACK"),
        ("lag(v, 1, 2, 3) FROM s", "LOOKING_BACK"),
        ("lags(v, 2) FROM s", "LOOKING_BACK"),
        ("lags(v, 2, 1) FROM s", "LOOKING_BACK"),
        ("neighbor(v, 1) FROM s", "LOOKING_BACK"),
        ("count(), lag(count()) FROM s", "NO_ARRIVAL"),
        ("k, lag(count()) FROM s GROUP BY k", "NO_ARRIVAL"),
        ("lag(v) FROM (SELECT DISTINCT v FROM s)", "NO_ARRIVAL"),
        ("lag(v) FROM m", "NO_ARRIVAL"),
    ],
)
def test_what_cannot_look_back_is_refused(text, code):
    program = STREAM + "CREATE STREAM m (v int) SETTINGS mode = 'changelog';"
    with Pipeline(program, dialect="timeplus", spark=no_spark) as pipeline:
        with pytest.raises(PenstockError) as refused:
            pipeline.subscribe(f"SELECT {text}")
        assert refused.value.code == code, refused.value.render()


def test_other_orders_are_those_of_sql():
    with Pipeline(STREAM, dialect="timeplus", spark=no_spark) as pipeline:
        pipeline.execute("CREATE VIEW ordered AS SELECT v, lag(v) OVER (ORDER BY v DESC) AS larger FROM s")
        pipeline.step({"s": [("a", 1), ("a", 3), ("a", 2)]})
        assert sorted(pipeline.content("ordered").rows) == [(1, 2), (2, 3), (3, None)]


CLOCKS = st.lists(st.tuples(st.integers(0, 3), ROWS), max_size=6)


def first_rows(rows, seconds, most):
    """The rows (clock in seconds, k, v) that dedup(s, k) lets through."""
    found, remembered = [], {}
    for clock, k, v in rows:
        remembered = {key: since for key, since in remembered.items() if not seconds or clock - since < seconds}
        if k not in remembered:
            found.append((k, v))
            remembered[k] = clock
            if len(remembered) > most:
                del remembered[next(iter(remembered))]
    return found


@examples(4, 15)
@given(steps=CLOCKS, seconds=st.integers(0, 3), most=st.integers(1, 3))
def test_dedup_lets_pass_what_is_not_remembered(steps, seconds, most):
    with Pipeline(STREAM, dialect="timeplus", spark=no_spark) as pipeline:
        query = pipeline.subscribe(f"SELECT k, v FROM dedup(s, k, {seconds}s, {most})")
        begun = pipeline.subscribe(f"SELECT k, v FROM dedup(s, k, {seconds}s, {most}) SETTINGS seek_to = 'earliest'")
        rows, shown, clock = [], [], 0
        for passed, step in steps:
            clock += passed
            rows += [(clock, k, v) for k, v in step]
            pipeline.step({"s": step}, clock=f"2025-01-01 10:00:{clock:02}")
            shown += read(query)
            assert Counter(shown) == Counter(first_rows(rows, seconds, most))
        late = pipeline.subscribe(f"SELECT k, v FROM dedup(s, k, {seconds}s, {most}) SETTINGS seek_to = 'earliest'")
        pipeline.step({})
        assert Counter(read(late)) == Counter(read(begun)) == Counter(shown), "the steps make no difference"


def limited(seconds, most):
    return f"SELECT k, v FROM dedup(s, k, {seconds}s, {most})"


RULES = st.tuples(st.integers(0, 3), st.integers(1, 3))


@examples(3, 6)
@given(steps=CLOCKS, rule=RULES, again=st.sets(st.integers(0, 5)), kept=st.booleans())
def test_a_view_lets_pass_what_is_not_remembered(steps, rule, again, kept, tmp_path_factory):
    seconds, most = rule
    program = f"""
    {"SET state_seconds = '0';" if kept else ""}
    {STREAM}
    CREATE VIEW first AS {limited(seconds, most)};
    CREATE VIEW counted AS SELECT k, count() AS n FROM first GROUP BY k;
    CREATE VIEW twice AS SELECT k, v FROM dedup(dedup(s, k, {seconds}s, {most}), v, 2s, 1);
    """
    given = {"dialect": "timeplus", "spark": no_spark, "directory": tmp_path_factory.mktemp("dedup")}
    pipeline = Pipeline(program, **given)
    rows, clock = [], 0
    for at, (passed, step) in enumerate(steps):
        clock += passed
        rows += [(clock, k, v) for k, v in step]
        changes = pipeline.step({"s": step}, clock=f"2025-01-01 10:00:{clock:02}")
        expected = Counter(first_rows(rows, seconds, most))
        assert Counter(pipeline.query(limited(seconds, most)).rows) == expected
        assert Counter(pipeline.query(limited(seconds, most).replace("dedup(s", "dedup(table(s)")).rows) == expected
        assert Counter(pipeline.content("first").rows) == expected
        assert dict(pipeline.content("counted").rows) == Counter(k for k, _ in expected.elements())
        assert all(weight > 0 for weight, _ in changes["first"].rows)
        if at in again:
            pipeline.close()
            pipeline = Pipeline(program, **given)
    pipeline.execute(f"CREATE VIEW late AS {limited(seconds, most)}; CREATE VIEW over AS SELECT k, v FROM first")
    for _ in range(2):
        for name in ("late", "over", "first"):
            found = Counter(pipeline.content(name).rows)
            assert found == Counter(first_rows(rows, seconds, most)), name
        pipeline.step({}, clock=f"2025-01-01 10:00:{clock:02}")
    pipeline.close()


def test_what_passes_comes_and_goes_with_its_view():
    program = f"{STREAM} CREATE VIEW first AS {limited(1, 9)}; CREATE VIEW once AS SELECT k FROM dedup(first, k);"
    with Pipeline(program, dialect="timeplus", spark=no_spark) as pipeline:
        pipeline.step({"s": [("a", 1)]}, clock="2025-01-01 10:00:00")
        pipeline.step({"s": [("a", 2)]}, clock="2025-01-01 10:00:01")
        assert [view.name for view in pipeline.catalog.relations()] == ["s", "first", "once"]
        assert sorted(pipeline.content("first").rows) == [("a", 1), ("a", 2)]
        assert pipeline.content("once").rows == [("a",)]
        for statement in ("DROP VIEW first", f"CREATE OR REPLACE VIEW first AS {limited(9, 9)}", "DROP STREAM s"):
            with pytest.raises(PenstockError) as refused:
                pipeline.execute(statement)
            assert refused.value.code == "HAS_DEPENDANTS", statement
            assert "(rows)" not in str(refused.value)
        pipeline.execute("DROP VIEW once")
        pipeline.execute(f"CREATE OR REPLACE VIEW first AS {limited(9, 9)}")
        pipeline.step({}, clock="2025-01-01 10:00:02")
        assert pipeline.content("first").rows == [("a", 1)]
        pipeline.execute("CREATE OR REPLACE VIEW first AS SELECT k, v FROM s")
        assert list(pipeline.catalog.views) == ["first"]


def test_what_had_passed_by_a_step_and_what_passes_in_a_transaction():
    with Pipeline(f"{STREAM} CREATE VIEW first AS {limited(2, 9)};", dialect="timeplus", spark=no_spark) as pipeline:
        for second, v in ((0, 1), (1, 2), (2, 3)):
            pipeline.step({"s": [("a", v)]}, clock=f"2025-01-01 10:00:0{second}")
        assert [pipeline.query(f"SELECT v FROM first AS OF STEP {step}").rows for step in (1, 2)] == [[(1,)], [(1,)]]
        assert sorted(pipeline.query("SELECT v FROM first").rows) == [(1,), (3,)]
        pipeline.execute("BEGIN", clock="2025-01-01 10:00:04")
        pipeline.execute("INSERT INTO s (k, v) VALUES ('a', 4), ('a', 5), ('b', 6)")
        assert sorted(pipeline.query("SELECT v FROM first").rows) == [(1,), (3,), (4,), (6,)]
        pipeline.execute("COMMIT")
        assert sorted(v for _, v in pipeline.content("first").rows) == [1, 3, 4, 6]


def test_another_time_to_live_makes_a_view_anew():
    program = f"{STREAM} CREATE VIEW first AS {limited(9, 9)}; CREATE VIEW n AS SELECT count() AS n FROM first;"
    with Pipeline(program, dialect="timeplus", spark=no_spark) as pipeline:
        pipeline.step({"s": [("a", 1)]}, clock="2025-01-01 10:00:00")
        pipeline.step({"s": [("a", 2)]}, clock="2025-01-01 10:00:01")
        same, other = pipeline.deployment(program), pipeline.deployment(program.replace("9s", "1s"))
        assert {item.what for item in same.differences} == {"unchanged"}
        assert [(item.name, item.what) for item in other.differences] == [
            ("s", "unchanged"),
            ("first", "changed"),
            ("n", "rebuilt"),
        ]
        changes = pipeline.deploy(program.replace("9s", "1s"))
        assert changes["first"].rows == [(1, ("a", 2))]
        assert sorted(changes["n"].rows) == [(-1, (1,)), (1, (2,))]
        assert pipeline.content("n").rows == [(2,)]
        pipeline.step({"s": [("a", 3)]}, clock="2025-01-01 10:00:02")
        assert pipeline.content("n").rows == [(3,)]


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("CREATE VIEW v AS SELECT * FROM dedup(kv, k, 1s)", "streams, and tables of which no row goes"),
        ("SELECT * FROM dedup(kv, k, 1s)", "streams, and tables of which no row goes"),
        ("SELECT * FROM dedup(changelog(s, k), k, 1s)", "streams, and tables of which no row goes"),
        ("INSERT INTO s (k, v) SELECT k, v FROM dedup(table(s), k, 1s)", "read the view"),
    ],
)
def test_where_nothing_is_remembered(query, hint):
    program = STREAM + "CREATE STREAM kv (k string, v int) PRIMARY KEY k SETTINGS mode = 'versioned_kv';"
    with Pipeline(program, dialect="timeplus", spark=no_spark) as pipeline:
        with pytest.raises(PenstockError) as refused:
            (pipeline.query if query.startswith("SELECT") else pipeline.execute)(query)
        assert refused.value.code == "TABLE_FUNCTION"
        assert hint in refused.value.render()


def test_a_step_that_is_refused_is_not_remembered():
    with Pipeline(STREAM, dialect="timeplus", spark=no_spark) as pipeline:
        query = pipeline.subscribe("SELECT k, 10 / v FROM dedup(s, k)")
        for rows in ([("a", 1)], [("b", 0)], [("a", 2), ("b", 5)]):
            if rows == [("b", 0)]:
                with pytest.raises(PenstockError):
                    pipeline.step({"s": rows})
            else:
                pipeline.step({"s": rows})
        assert sorted(read(query)) == [("a", 10.0), ("b", 2.0)]


def last_rows(rows):
    """The last row of each key."""
    return list({row[0]: row for row in rows}.values())


def _before(one, other):
    return one is None or (other is not None and one <= other)


@examples(4, 15)
@given(steps=st.lists(ROWS, max_size=5))
def test_changelog_is_the_last_row_of_each_key(steps):
    program = (
        STREAM
        + """
    CREATE VIEW last AS SELECT k, v FROM changelog(s, k);
    CREATE VIEW newest AS SELECT k, v FROM changelog(s, k, v, true);
    CREATE VIEW first AS SELECT k, v FROM dedup(s, k);
    """
    )
    with Pipeline(program, dialect="timeplus", spark=no_spark) as pipeline:
        query = pipeline.subscribe("SELECT k, v, _tp_delta FROM changelog(s, k)")
        rows, shown = [], Counter()
        for step in steps:
            pipeline.step({"s": step})
            rows += step
            for k, v, delta in read(query):
                shown[k, v] += delta
            last = Counter(last_rows(rows))
            assert +shown == last == Counter(pipeline.content("last").rows)
            assert Counter(pipeline.content("first").rows) == Counter(last_rows(rows[::-1]))
            newest = {}
            for k, v in rows:
                newest[k] = v if k not in newest or _before(newest[k], v) else newest[k]
            assert Counter(pipeline.content("newest").rows) == Counter(newest.items())


@pytest.mark.parametrize(
    "function",
    [
        "changelog(s)",
        "changelog(s, k, true, true)",
        "changelog(s, true)",
        "changelog(kv, k)",
        "dedup(s)",
        "dedup(s, 1s)",
        "dedup(s, k, 10)",
        "dedup(s, k, 1s, 0)",
        "dedup(s, k, 1s, 'x')",
        "dedup(table(s), k, 1s)",
        "dedup(kv, k, 1s)",
    ],
)
def test_functions_that_go_by_arrival_and_their_arguments(function):
    program = STREAM + "CREATE STREAM kv (k string, v int) PRIMARY KEY k SETTINGS mode = 'versioned_kv';"
    with Pipeline(program, dialect="timeplus", spark=no_spark) as pipeline:
        with pytest.raises(PenstockError) as refused:
            pipeline.subscribe(f"SELECT * FROM {function}")
        assert refused.value.code == "TABLE_FUNCTION", refused.value.render()


def test_windows_over_the_first_rows():
    with Pipeline(STREAM, dialect="timeplus", spark=no_spark) as pipeline:
        query = pipeline.subscribe("SELECT count() FROM tumble(dedup(s, k), 5s) GROUP BY window_end")
        for second, k in ((1, "a"), (2, "b"), (3, "a"), (6, "c")):
            pipeline.step({"s": [(k, 1)]}, clock=f"2025-01-01 10:00:{second:02}")
        assert read(query) == [(2,)]
