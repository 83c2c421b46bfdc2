"""Windows in GROUP BY are shown as those in FROM are, under each policy; without a JVM."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiers import examples

import penstock

START = datetime(2024, 1, 1)  # noqa: DTZ001 - UTC
TABLES = {
    "penstock": """CREATE TABLE plain (k STRING, x INT, at TIMESTAMP); CREATE TABLE d (k STRING, n INT);
CREATE TABLE t (k STRING, x INT, at TIMESTAMP LATENESS INTERVAL 5 SECONDS);""",
    "flink": """CREATE TABLE plain (k STRING, x INT, at TIMESTAMP(3)); CREATE TABLE d (k STRING, n INT);
CREATE TABLE t (k STRING, x INT, at TIMESTAMP(3), WATERMARK FOR at AS at - INTERVAL '5' SECOND);""",
}
MINUTE, HALF = "INTERVAL '1' MINUTE", "INTERVAL '30' SECOND"
TUMBLED = f"TABLE(TUMBLE(TABLE {{t}}, DESCRIPTOR(at), {MINUTE}))"
HOPPED = f"TABLE(HOP(TABLE {{t}}, DESCRIPTOR(at), {HALF}, {MINUTE}))"
SESSIONS = f"TABLE(SESSION(TABLE {{t}} PARTITION BY k, DESCRIPTOR(at), {HALF}))"
FORMS = {
    "end": (
        f"SELECT k, TUMBLE_END(at, {MINUTE}) AS e, SUM(x) AS s FROM {{t}} GROUP BY k, TUMBLE(at, {MINUTE})",
        f"SELECT k, window_end AS e, SUM(x) AS s FROM {TUMBLED} GROUP BY k, window_start, window_end",
    ),
    "no bounds": (
        f"SELECT SUM(x) AS s FROM {{t}} WHERE x > 0 GROUP BY TUMBLE(at, {MINUTE}) HAVING COUNT(*) > 0",
        f"SELECT SUM(x) AS s FROM {TUMBLED} WHERE x > 0 GROUP BY window_start, window_end HAVING COUNT(*) > 0",
    ),
    "hop": (
        f"SELECT HOP_START(at, {HALF}, {MINUTE}) AS b, SUM(x) AS s FROM {{t}} GROUP BY HOP(at, {HALF}, {MINUTE})",
        f"SELECT window_start AS b, SUM(x) AS s FROM {HOPPED} GROUP BY window_start, window_end",
    ),
    "session": (
        f"SELECT k, SESSION_END(at, {HALF}) AS e, SUM(x) AS s FROM {{t}} GROUP BY k, SESSION(at, {HALF})",
        f"SELECT k, window_end AS e, SUM(x) AS s FROM {SESSIONS} GROUP BY k, window_start, window_end",
    ),
    "window of Spark": (
        "SELECT k, window.end AS e, SUM(x) AS s FROM {t} GROUP BY k, window(at, '1 minute')",
        f"SELECT k, window_end AS e, SUM(x) AS s FROM {TUMBLED} GROUP BY k, window_start, window_end",
    ),
    "hop of Spark": (
        "SELECT SUM(x) AS s FROM {t} GROUP BY window(at, '1 minute', '30 seconds')",
        f"SELECT SUM(x) AS s FROM {HOPPED} GROUP BY window_start, window_end",
    ),
    "subquery": (
        f"SELECT s FROM (SELECT SUM(x) AS s FROM {{t}} GROUP BY TUMBLE(at, {MINUTE})) AS q WHERE s > 1",
        f"SELECT s FROM (SELECT SUM(x) AS s FROM {TUMBLED} GROUP BY window_start, window_end) AS q WHERE s > 1",
    ),
    "join": (
        f"SELECT n, SUM(x) AS s FROM {{t}} AS q LEFT JOIN d ON q.k = d.k GROUP BY n, TUMBLE(q.at, {MINUTE})",
        f"SELECT n, SUM(x) AS s FROM {TUMBLED} AS q LEFT JOIN d ON q.k = d.k GROUP BY n, window_start, window_end",
    ),
}
POLICIES = (
    "EMIT AFTER WATERMARK",
    "EMIT AFTER WATERMARK WITH DELAY 10s",
    "EMIT TIMEOUT 3s",
    "EMIT STREAM",
    "EMIT PERIODIC 2s",
    "EMIT STREAM AFTER DELAY 2s AND AFTER WATERMARK",
    "SETTINGS first_result = '-20 seconds', late_updates = 'on', last_result = '30 seconds', result_state = 'on'",
    "EMIT STREAM SETTINGS first_result = '-20 seconds', update_rate = '5 seconds'",
)
COLUMNS = st.sampled_from("ab"), st.none() | st.integers(0, 2), st.none() | st.integers(0, 200)
STEPS = st.lists(st.tuples(st.integers(0, 3), st.lists(st.tuples(*COLUMNS), max_size=3)), min_size=1, max_size=6)


@penstock.LaterSession
def no_spark():
    pytest.fail("Spark was asked for")


def opened(program=TABLES["penstock"], **options):
    return penstock.Pipeline(program, spark=no_spark, engine="auto", **options)


def shown(pipeline, text):
    """The query; or the refusal, in which nothing may tell which of the forms it is of."""
    try:
        return pipeline.subscribe(text, clock=START)
    except penstock.PenstockError as error:
        return error.summary.splitlines()[0]


def emitted(query):
    return [] if isinstance(query, str) else [Counter(map(tuple, item)) for item in iter(lambda: query.get(0), None)]


def rows_of(rows):
    return [(k, x, None if at is None else START + timedelta(seconds=at)) for k, x, at in rows]


@pytest.mark.parametrize("table", ["plain", "t"])
@pytest.mark.parametrize("form", FORMS)
@given(steps=STEPS, policy=st.sampled_from(POLICIES))
@examples(2, 4)
def test_both_forms_show_the_same(form, table, steps, policy):
    with opened() as pipeline:
        grouped, in_from = (shown(pipeline, f"{text.format(t=table)} {policy}") for text in FORMS[form])
        assert not isinstance(grouped, str) or grouped == in_from
        clock = START
        for seconds, rows in steps:
            clock += timedelta(seconds=seconds)
            pipeline.step({table: rows_of(rows), "d": [(k, 1) for k, _, _ in rows[:1]]}, clock=clock)
            assert emitted(grouped) == emitted(in_from)
        pipeline.end_of_input()
        assert emitted(grouped) == emitted(in_from)


SESSIONS_OF_SPARK = (
    "SELECT k, session_window.end AS e, SUM(x) AS s FROM {t} GROUP BY k, session_window(at, '30 seconds')"
)


@pytest.mark.parametrize("asked", ["EMIT AFTER WATERMARK", "STREAM"])
@given(steps=STEPS)
@examples(3, 6)
def test_oracle_sessions_of_spark_are_shown_once_and_all(asked, steps):
    """Rows that are just a gap apart are of one session, so one that ends at the waterline may still grow."""
    text = SESSIONS_OF_SPARK.format(t="t")
    with opened("CREATE STREAM t (k STRING, x INT, at TIMESTAMP LATENESS INTERVAL 5 SECONDS);") as pipeline:
        pipeline.execute(f"CREATE VIEW whole AS {text}")
        text = text.replace("SELECT", "SELECT STREAM") if asked == "STREAM" else f"{text} {asked}"
        query, clock, found = pipeline.subscribe(text, clock=START), START, Counter()
        for seconds, rows in steps:
            clock += timedelta(seconds=seconds)
            pipeline.step({"t": rows_of(rows)}, clock=clock)
            found += sum(emitted(query), Counter())
        pipeline.end_of_input()
        found += sum(emitted(query), Counter())
        assert found == Counter(pipeline.query("SELECT * FROM whole").rows)


WINDOW = "window(at, '1 minute')"


@pytest.mark.spark
@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"SELECT {WINDOW}, COUNT(*) AS n FROM t GROUP BY {WINDOW}", ("window", "n")),
        (f"SELECT {WINDOW} AS w, COUNT(*) AS n FROM t GROUP BY w", ("w", "n")),
        (f"SELECT {WINDOW} AS w, COUNT(*) AS n FROM t GROUP BY 1", ("w", "n")),
        (f"SELECT window, COUNT(*) AS n FROM t GROUP BY {WINDOW}", ("window", "n")),
    ],
)
def test_a_window_of_spark_is_shown_as_a_struct(spark, text, names):
    with penstock.Pipeline(TABLES["penstock"], spark=spark) as pipeline:
        query = pipeline.subscribe(f"{text} EMIT AFTER WATERMARK", clock=START)
        pipeline.step({"t": rows_of([("a", 1, 10), ("b", 1, 30), ("a", 1, 70)])}, clock=START)
        shown_ = query.get(0)
        assert shown_.columns == names
        assert list(shown_) == [({"start": START, "end": START + timedelta(minutes=1)}, 2)]


def changes(program, dialect):
    """What a view `h` shows at each second from its start on, as rows come."""
    moments = {1: [("a", 1, 0)], 2: [("a", 3, 45)], 3: [("a", 1, 58)], 4: [("z", 0, 62)], 9: []}
    with opened(program, dialect=dialect) as pipeline:
        found = {}
        for second, rows in moments.items():
            given_ = {"t": rows_of(rows)} if rows else {}
            change = pipeline.step(given_, clock=START + timedelta(seconds=second)).get("h")
            found[second] = [] if change is None else [row[-1] for _, row in change.rows]
        return found


def test_early_results_of_flink():
    early = "SET 'table.exec.emit.early-fire.enabled' = 'true'; SET 'table.exec.emit.early-fire.delay' = '2 s';"
    found = changes(
        f"{TABLES['flink']} {early} CREATE VIEW h AS {FORMS['end'][0].format(t='t')} EMIT CHANGES;", "flink"
    )
    assert found == {1: [], 2: [], 3: [5], 4: [], 9: [0]}


@pytest.mark.parametrize(
    "settings_",
    [
        "SET 'table.exec.emit.late-fire.enabled' = 'true';",
        "SET 'table.exec.emit.early-fire.enabled' = 'true'; SET 'table.exec.emit.early-fire.delay' = '-2 s';",
    ],
)
def test_settings_of_flink_that_are_refused(settings_):
    text = f"{TABLES['flink']} {settings_} CREATE VIEW h AS {FORMS['end'][0].format(t='t')} EMIT CHANGES;"
    with pytest.raises(penstock.PenstockError, match=r"table\.exec\.emit"):
        opened(text, dialect="flink").close()


@pytest.mark.parametrize(
    ("settings_", "marked", "said"),
    [
        ("SET 'table.exec.emit.early-fire.enabled' = 'yes';", "'yes'", "table.exec.emit.early-fire.enabled = 'on'"),
        ("SET 'table.exec.emit.early-fire.delay' = '-2 s';", "'-2 s'", "early-fire.delay' = '10 min'"),
        ("SET 'table.exec.emit.allow-lateness' = 'long';", "'long'", "allow-lateness' = '10 min'"),
        ("SET 'table.exec.emit.late-fire.enabled' = 'true';", "EMIT CHANGES", "allow-lateness' = '10 min'"),
        (
            (
                "SET 'table.exec.emit.early-fire.enabled' = 'true'; SET 'table.exec.emit.early-fire.delay' = '2 s'; "
                "SET 'table.exec.emit.allow-lateness' = '1 min';"
            ),
            "EMIT CHANGES",
            "SET 'table.exec.emit.early-fire.delay' = '0 s'",
        ),
        (
            "SET 'table.exec.emit.early-fire.enabld' = 'true';",
            "'table.exec.emit.early-fire.enabld'",
            "the settings are",
        ),
    ],
)
def test_refusals_of_flinks_settings_have_a_place_and_what_works(settings_, marked, said):
    text = f"{TABLES['flink']} {settings_} CREATE VIEW h AS {FORMS['end'][0].format(t='t')} EMIT CHANGES;"
    with pytest.raises(penstock.PenstockError) as error:
        opened(text, dialect="flink").close()
    (found,) = error.value.diagnostics
    assert text[found.span.start : found.span.end] == marked
    assert said in found.hint


def test_versions_are_counted_for_each_window():
    with opened() as pipeline:
        query = pipeline.subscribe(f"{FORMS['end'][0].format(t='plain')} EMIT STREAM", clock=START)
        for second, at in enumerate((0, 70, 5, 75)):
            pipeline.step({"plain": rows_of([("a", 1, at)])}, clock=START + timedelta(seconds=second))
        versions = Counter((row[1], row[-1]) for item in iter(lambda: query.get(0), None) for row in item)
        ends = (START + timedelta(minutes=minutes) for minutes in (1, 2))
        assert versions == Counter((end, version) for end in ends for version in range(3))


@pytest.mark.parametrize("text", ["SELECT COUNT(*) AS n FROM plain", "SELECT k, x FROM plain"])
@pytest.mark.parametrize("policy", ["TIMEOUT 2s", "PERIODIC 1s AND TIMEOUT 2s"])
def test_timeout_without_windows(text, policy):
    with opened() as pipeline, pytest.raises(penstock.PenstockError, match="TIMEOUT closes windows"):
        pipeline.subscribe(f"{text} EMIT {policy}", clock=START)


def test_windows_of_months_close_by_no_waterline_of_the_query():
    query = "SELECT COUNT(*) AS n FROM {} GROUP BY TUMBLE(at, INTERVAL 1 MONTH) EMIT AFTER WATERMARK"
    with opened() as pipeline:
        said = shown(pipeline, query.format("plain"))
        assert said == "TUMBLE of months, which have no fixed length, in a query that keeps its own waterline"
