"""Operators in the process within a pipeline: placed, mixed with others, refused, failed, collected, merged."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from pyspark.errors import PySparkException

import penstock
from penstock.backends.native import collecting, trace
from penstock.errors import DataError, SqlError, UnsupportedError
from penstock.plan.forms import Call

TABLES = """
CREATE TABLE t (k INT, x BIGINT, d DOUBLE, s STRING);
CREATE TABLE u (k INT, y INT);
"""
VIEWS = """
CREATE VIEW sums AS SELECT k, count(*) AS n, sum(x) AS sx, avg(x) AS ax FROM t GROUP BY k;
CREATE VIEW extremes AS SELECT k, max(x) AS mx, sum(d) AS sd FROM t GROUP BY k;
CREATE VIEW joined AS SELECT t.k, t.x, u.y FROM t LEFT JOIN u ON t.k = u.k AND t.x > u.y;
CREATE VIEW best AS SELECT k, x FROM t QUALIFY row_number() OVER (PARTITION BY k ORDER BY x DESC) = 1;
CREATE VIEW both AS SELECT s.k, s.n, e.mx FROM sums s JOIN extremes e ON s.k = e.k;
"""
ROWS = [(1, 5, 1.5, "a"), (1, 7, 2.5, "b"), (2, 1, 0.0, "c"), (None, 3, None, "é")]
STEPS = (
    {"t": ROWS, "u": [(1, 6), (2, 0)]},
    {"t": [("-", ROWS[1])]},
    {"t": [(3, 3, 3.0, "d"), (3, 3, 3.0, "d")], "u": [("-", (1, 6)), (3, 1)]},
    {},
)
# A function that only Spark has, between operators that are proven.
MIXED = """
CREATE VIEW hashed AS SELECT k, x, xxhash64(s) AS h FROM t WHERE x > 1;
CREATE VIEW counted AS SELECT h, count(*) AS n, max(x) AS mx FROM hashed GROUP BY h;
CREATE VIEW most AS SELECT k, max(xxhash64(s)) AS h, collect_list(xxhash64(s)) AS hs, count(x) AS n FROM t GROUP BY k;
CREATE VIEW kept AS SELECT xxhash64(s) % 2 AS bit, sum(x) AS sx, min(xxhash64(s)) FILTER (WHERE crc32(s) > 0) AS m
FROM t GROUP BY xxhash64(s) % 2;
"""
# The same in keys and conditions of joins, in orders and in windows.
BESIDE = """
CREATE VIEW inner_key AS SELECT t.x, u.y FROM t JOIN u ON crc32(t.s) % 3 = u.y AND levenshtein(t.s, 'a') < t.x + u.k;
CREATE VIEW outer_key AS SELECT t.x, t.s, u.y FROM t FULL JOIN u ON crc32(t.s) % 3 = crc32(CAST(u.y AS STRING)) % 3;
CREATE VIEW missing AS SELECT k, x, s FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.y = crc32(t.s) % 3);
CREATE VIEW firsts AS SELECT k, x, s FROM t ORDER BY crc32(s) LIMIT 2;
CREATE VIEW best_of AS SELECT k, x, s FROM t QUALIFY row_number() OVER (PARTITION BY k % 2 ORDER BY crc32(s) DESC) = 1;
CREATE VIEW before AS
SELECT k, x, lag(x) OVER (PARTITION BY crc32(s) % 2 ORDER BY x) AS b, max(crc32(s)) OVER (PARTITION BY k) AS m FROM t;
"""


def opened(spark, text, engine):
    return penstock.Pipeline(TABLES + text, spark=spark, engine=engine)


def changes(pipeline, steps=STEPS):
    return [{name: sorted(map(repr, change.rows)) for name, change in pipeline.step(step).items()} for step in steps]


def places(pipeline):
    """The classes of the operators in the process, and for the others what is not proven."""
    installed = pipeline._opened().stepper.engine.installed
    native = [type(operator.operator).__name__ for item in installed for operator in item.native.values()]
    return native, [place.not_proven for item in installed for place in item.others.values()]


def test_changes_are_those_of_spark(interpreting):
    with opened(interpreting, VIEWS, "spark") as one, opened(interpreting, VIEWS, "native") as other:
        assert changes(one) == changes(other)
        assert places(one) == ([], [])
        assert {"Linear", "Additive", "Keyed", "Bilinear"} <= set(places(other)[0])
        assert all(other.verify(view) for view in ("sums", "extremes", "joined", "best", "both"))


def test_an_operator_that_is_not_proven_works_on_spark_in_the_same_step(interpreting):
    with opened(interpreting, MIXED, "spark") as one, opened(interpreting, MIXED, "auto") as other:
        assert changes(one) == changes(other)
        native, reasons = places(other)
        assert "Additive" in native or "Keyed" in native
        assert any("xxhash64" in reason for reason in reasons)
        where = {(item.where, item.not_proven) for item in other.state() if "counted" in item.views}
        assert ("process", "") in where


@pytest.mark.parametrize(
    ("seed", "steps"), [(2, 2), *(pytest.param(seed, 3, marks=pytest.mark.extended) for seed in (1, 2))]
)
def test_oracle_what_is_computed_beside_joins_and_windows_changes_nothing(interpreting, seed, steps):
    with opened(interpreting, BESIDE, "auto") as pipeline:
        chance, rows = random.Random(seed), {"t": [], "u": []}
        for _ in range(steps):
            pipeline.step({table: random_change(chance, table, rows[table]) for table in rows})
            assert all(pipeline.verify(view) for view in pipeline.catalog.views)
        native, reasons = places(pipeline)
        assert {"Bilinear", "Keyed", "Ranked"} <= set(native)
        assert reasons
        assert all("crc32" in reason or "levenshtein" in reason for reason in reasons)


def random_change(chance, table, rows):
    """Some rows that come, now and then twice, and some of those that are there, which go."""
    gone = chance.sample(rows, chance.randint(0, len(rows)))
    for row in gone:
        rows.remove(row)
    numbers, texts = [None, 0, 1, 2, 3], [None, "", "a", "é"]
    new = [(chance.choice(numbers), chance.choice(numbers)) for _ in range(chance.randint(0, 5))]
    new = [(*row, 0.5, chance.choice(texts)) if table == "t" else row for row in new]
    rows += new
    return [("-", row) for row in gone] + new


def test_places_that_are_foreseen_are_those_of_the_engine(interpreting):
    with opened(interpreting, VIEWS + MIXED, "auto") as pipeline:
        views = json.loads(pipeline.explain(options=["json"]))["views"]
        foreseen = {item["operator"]: (item["where"], item["not_proven"] or "") for v in views for item in v["places"]}
        pipeline.step({})
        (installed,) = pipeline._opened().stepper.engine.installed
        found = {number: installed.place_of(number) for number in foreseen}
        assert foreseen == {number: (place.where, place.not_proven) for number, place in found.items()}
        assert {"process", "spark"} == {where for where, _ in foreseen.values()}


def test_a_profile_says_where(interpreting):
    program = "SET profile = 'on'; SET engine = 'auto';" + TABLES + MIXED
    with penstock.Pipeline(program, spark=interpreting) as pipeline:
        pipeline.step(STEPS[0])
        (view,) = json.loads(pipeline.explain("hashed", ["analyze", "json"]))["views"]
        places = [(item["class"], item["where"], item["not_proven"]) for item in view["profile"]["operators"]]
        assert places == [("Source", "spark", None), ("Linear", "spark", "xxhash64(string)")]
        shown = pipeline.explain("counted", ["analyze"])
        assert "on Spark, for xxhash64(string); 1 step" in shown
        assert "in the process; 1 step" in shown


def test_a_program_that_needs_spark_is_refused_with_what_is_not_proven(interpreting):
    with pytest.raises(UnsupportedError) as refused, opened(interpreting, MIXED, "native") as pipeline:
        pipeline.step({})
    (found,) = refused.value.diagnostics
    assert found.code == "NOT_NATIVE"
    assert "xxhash64" in found.message
    assert "hashed" in found.message
    assert (TABLES + MIXED)[found.span.start :].startswith("xxhash64(s) AS h")


def test_another_zone_than_utc_is_sparks(interpreting):
    zone = "SET TIME ZONE 'Europe/Rome';" + VIEWS
    with opened(interpreting, zone, "auto") as pipeline:
        pipeline.step(STEPS[0])
        assert places(pipeline) == ([], [])
    with pytest.raises(UnsupportedError, match="UTC"), opened(interpreting, zone, "native") as pipeline:
        pipeline.step({})


def test_an_engine_that_is_none_is_refused():
    with pytest.raises(SqlError, match="'natve'") as refused:
        penstock.Pipeline("SET engine = 'natve';")
    assert refused.value.diagnostics[0].candidates == ("native",)
    with pytest.raises(SqlError, match="'quick'"):
        penstock.Pipeline(TABLES, engine="quick")


@pytest.mark.parametrize(
    ("view", "row"),
    [
        ("SELECT k, 10 / x AS q FROM t", (1, 0, 1.0, "a")),
        pytest.param("SELECT CAST(s AS INT) AS q FROM t", (1, 1, 1.0, "a"), marks=pytest.mark.extended),
        pytest.param(
            "SELECT k, sum(x + 9223372036854775807) AS q FROM t GROUP BY k",
            (1, 1, 1.0, "a"),
            marks=pytest.mark.extended,
        ),
    ],
)
def test_what_raises_is_said_as_on_spark_and_leaves_no_trace(interpreting, view, row):
    said = []
    for engine in ("spark", "native"):
        with opened(interpreting, f"CREATE VIEW v AS {view}; {VIEWS}", engine) as pipeline:
            before = changes(pipeline, [{"t": [(2, 5, 1.0, "7")]} if "sum" not in view else {"u": [(1, 1)]}])
            with pytest.raises(DataError) as raised:
                pipeline.step({"t": [(1, 5, 1.0, "5"), row]})
            (found,) = raised.value.diagnostics
            after = changes(pipeline, [{"u": [(5, 5)]}, {"t": [(1, -5, 1.0, "5")]}])
            said.append((found.code, found.message, found.span, found.sqlstate, before, after))
    assert said[0] == said[1]


LONG = "long overflow. Use 'try_add' to tolerate overflow and return NULL instead."
# Sums whose answer has no room, each with the sentence and the part of it that is named; `{t}` is a table of its own.
OVERFLOWING = (
    ("SELECT k, sum(x) AS q, avg(x) AS a, count(*) AS n FROM {t} GROUP BY k", LONG, "sum(x)"),
    ("SELECT sum(x) AS q FROM {t}", LONG, "sum(x)"),
    ("SELECT sum(x) AS q, max(x) AS m FROM {t}", LONG, "sum(x)"),
    ("SELECT k, sum(x) FILTER (WHERE i > 1) + 1 AS q FROM {t} GROUP BY k", LONG, "sum(x) FILTER (WHERE i > 1)"),
    ("SELECT k, sum(x) AS q FROM {t} GROUP BY k HAVING sum(x) > 5 ORDER BY q LIMIT 1", LONG, "sum(x)"),
    ("SELECT k, (SELECT sum(x) FROM {t} u WHERE u.k = o.k) AS q FROM {t} o", LONG, "sum(x)"),
    ("SELECT k, sum(x + i) AS q FROM {t} GROUP BY k", LONG, "x + i"),
    (
        "SELECT k, sum(d) AS q FROM {t} GROUP BY k",
        "Overflow in sum of decimals. Use 'try_sum' to tolerate overflow and return NULL instead.",
        "sum(d)",
    ),
    (
        "SELECT k, sum(d) OVER (PARTITION BY k) AS q FROM {t}",
        "199999999999999999999999999999999999996 cannot be represented as Decimal(38, 0).",
        "sum(d) OVER (PARTITION BY k)",
    ),
)
# Those whose place Spark does not tell: it is told as long as no other sum may be meant.
ALONE = (
    ("SELECT k, sum(DISTINCT x) AS q FROM {t} GROUP BY k", LONG, "sum(DISTINCT x)"),
    ("SELECT k, sum(x) AS q, stddev(i) AS l FROM {t} GROUP BY k", LONG, "sum(x)"),
    ("SELECT k, sum(x) OVER (PARTITION BY k) AS q FROM {t}", LONG, "sum(x) OVER (PARTITION BY k)"),
)
NEVER = "SELECT k, try_sum(x) AS q, avg(x) AS a, sum(i) AS i, sum(e) AS e FROM {t} GROUP BY k"


@pytest.mark.parametrize(
    "views",
    [
        OVERFLOWING[:4],
        *(pytest.param(items, marks=pytest.mark.extended) for items in (OVERFLOWING[4:], *((item,) for item in ALONE))),
    ],
)
def test_a_sum_without_room_is_said_as_on_spark(interpreting, views):
    """The sentence is that of Spark's batch; the place is that of the call."""
    names = [f"t{number}" for number in range(len(views))]
    columns = "k INT, x BIGINT, i INT, d DECIMAL(38,0), e DECIMAL(18,2)"
    program = "".join(f"CREATE TABLE {name} ({columns});" for name in [*names, "fine"])
    for name, (view, _, _) in zip(names, views, strict=True):
        program += f"CREATE VIEW v_{name} AS {view.format(t=name)};"
    program += f"CREATE VIEW never AS {NEVER.format(t='fine')};"
    largest, wide, cents = 2**63 - 1, Decimal(10**38 - 2), Decimal(10**18 - 1) / 100
    first = (1, largest, 1, wide, cents)
    twice = [(1, largest, 2, wide, cents), (1, largest - 1, 3, wide, cents)]
    said = []
    for engine in ("spark", "auto"):
        with penstock.Pipeline(program, spark=interpreting, engine=engine) as pipeline:
            told = [pipeline.step({"fine": [first, *twice]})["never"].rows]
            for name, (_, sentence, part) in zip(names, views, strict=True):
                pipeline.step({name: [(2, 7, 1, Decimal(3), Decimal(1))]})
                with pytest.raises(DataError) as raised:
                    pipeline.step({name: twice})
                (found,) = raised.value.diagnostics
                assert (found.code, found.sqlstate) == ("EVALUATION_ERROR", "22003")
                assert found.message.startswith(f"view v_{name}: {sentence} in "), found.message
                assert program[found.span.start : found.span.end] == part
                after = pipeline.step({name: [(2, -7, 1, Decimal(-3), Decimal(1))]})
                told += [
                    found.message,
                    found.span,
                    {name: sorted(map(repr, item.rows)) for name, item in after.items()},
                ]
            said.append(list(map(repr, told)))
            assert pipeline.verify(f"v_{names[0]}")
            if engine == "auto":
                assert not any("try_sum" in why for why in places(pipeline)[1])
    assert said[0] == said[1]


@pytest.mark.parametrize(("view", "sentence", "_part"), [*OVERFLOWING, *ALONE])
def test_batch_says_that_sentence(interpreting, view, sentence, _part):
    frame = interpreting.createDataFrame(
        [(1, 2**63 - 1, 2, Decimal(10**38 - 2)), (1, 2**63 - 2, 3, Decimal(10**38 - 2))],
        "k INT, x BIGINT, i INT, d DECIMAL(38,0)",
    )
    frame.createOrReplaceTempView("summed")
    with pytest.raises(PySparkException) as raised:
        interpreting.sql(view.format(t="summed")).collect()
    assert sentence in str(raised.value)
    assert raised.value.getSqlState() == "22003"


@pytest.mark.parametrize(
    ("view", "gone"),
    [
        ("SELECT k, sum(x) AS q FROM t GROUP BY k", {3, 4}),
        ("SELECT k, sum(x) AS q FROM t GROUP BY k ORDER BY q LIMIT 1", {3, 4}),
        ("SELECT a.k, a.q, u.y FROM (SELECT k, sum(x) AS q FROM t GROUP BY k) a JOIN u ON a.k = u.k", {3, 4}),
        ("SELECT id, 12 DIV (x - 5) AS q FROM t WHERE k = 1", {2}),
        ("SELECT id, CASE WHEN k = 2 THEN 12 DIV (id - 4) END AS q FROM t", {4}),
    ],
)
def test_the_same_rows_are_set_aside_as_on_spark(interpreting, tmp_path, view, gone):
    rows = [(1, 1, 4), (2, 1, 5), (3, 2, 2**62), (4, 2, 2**62), (5, 3, 7)]
    (tmp_path / "1.json").write_text("".join(json.dumps({"id": i, "k": k, "x": x}) + "\n" for i, k, x in rows))
    program = f"""
    CREATE TABLE t (id INT, k INT, x BIGINT) WITH ('connector' = 'files', 'path' = '{tmp_path}', 'format' = 'json');
    CREATE TABLE u (k INT, y INT); CREATE VIEW v AS {view};
    """
    found = []
    for engine in ("spark", "native"):
        with penstock.Pipeline(program, spark=interpreting, engine=engine) as pipeline:
            pipeline.step({"u": [(1, 1), (2, 2)]})
            pipeline.run(once=True)
            aside = [json.loads(row[2]) for row in pipeline.query("SELECT * FROM error_view").rows]
            assert {json.loads(item["row"])["id"] for item in aside} == gone
            found.append((sorted(map(str, aside)), sorted(map(repr, pipeline.query("SELECT * FROM v").rows))))
    assert found[0] == found[1]


def test_state_below_the_waterline_goes(interpreting, monkeypatch):
    monkeypatch.setattr(collecting, "LEAST_FORGOTTEN_ROWS", 4)
    monkeypatch.setattr(trace, "LEAST_MERGED_ROWS", 4)
    text = """
    CREATE TABLE e (at BIGINT LATENESS 5, k INT, x INT);
    CREATE VIEW sums AS SELECT at, count(*) AS n FROM e GROUP BY at;
    CREATE VIEW extremes AS SELECT at, max(x) AS m FROM e GROUP BY at;
    CREATE VIEW met AS SELECT a.at, a.x, b.x AS y FROM e a JOIN e b ON a.at = b.at AND a.k < b.k;
    """
    sizes = []
    with penstock.Pipeline(text, spark=interpreting, engine="native") as pipeline:
        for begin in range(0, 120, 20):
            pipeline.step({"e": [(begin + place, place % 2, place) for place in range(20)]})
            pipeline.compact()
            sizes.append(sum(item.rows for item in pipeline.state()))
        assert sizes[-1] == sizes[1] < 80
        assert pipeline.rejected() == {}


def test_an_answer_that_each_step_replaces_does_not_pile_up(interpreting):
    text = """
    CREATE TABLE e (k INT, x INT);
    CREATE VIEW one AS SELECT sum(x) AS s FROM e;
    CREATE VIEW all AS SELECT a.s + b.s + c.s AS s FROM one a, one b, one c;
    """
    with penstock.Pipeline(text, spark=interpreting, engine="native") as pipeline:
        for number in range(60):
            change = pipeline.step({"e": [(1, 1)]})["all"]
            assert max(change.rows) == (1, (3 * number + 3,))
        assert max(item.rows for item in pipeline.state()) <= 4 * trace.LEAST_MERGED_ROWS


def test_the_clock_moves_rows_in_the_process(interpreting):
    text = "CREATE TABLE e (at TIMESTAMP, x INT); CREATE VIEW due AS SELECT x FROM e WHERE at <= now();"
    with penstock.Pipeline(text, spark=interpreting, engine="native") as pipeline:
        times = [datetime(2024, 1, 1, 0, minute, tzinfo=UTC) for minute in (1, 2, 3)]
        begun = pipeline.step({"e": list(zip(times, (1, 2, 3), strict=True))}, clock="2024-01-01 00:01:00")
        assert begun["due"].rows == [(1, (1,))]
        assert pipeline.step({}, clock="2024-01-01 00:02:30")["due"].rows == [(1, (2,))]
        assert pipeline.step({}, clock="2024-01-01 00:02:40")["due"].rows == []


def test_a_call_of_another_name_is_not_proven():
    """No name of a function is guessed: what is not in the table is Spark's."""
    from penstock.backends.native.proof import NotProvenError
    from penstock.backends.native.scalars import proven

    with pytest.raises(NotProvenError, match="soundex"):
        proven(Call("soundex", ()), {})
