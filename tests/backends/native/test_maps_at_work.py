"""MAP columns in the process beside Spark: the same changes after the same steps, and what a batch answers.

Rows are of few values, so that equal ones come and go, and each MAP of several entries is there in two orders of these,
which differ as rows, and tie where rows are ordered.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.backends.native.test_nested_at_work import plain

import penstock
from penstock.backends.native.store import Store
from penstock.errors import DataError
from penstock.steps.failures import EvaluationError

TABLES = """
CREATE TABLE n (
  k INT, m MAP<STRING, INT>, d MAP<DOUBLE, ARRAY<DOUBLE>>, s STRUCT<p: MAP<STRING, INT>, q: INT>,
  o MAP<INT, MAP<STRING, INT>>, a ARRAY<MAP<STRING, INT>>
);
CREATE TABLE u (k INT, y INT);
CREATE TABLE l (k INT, m MAP<STRING, INT>) WITH ('append_only' = 'true');
"""
MAPS = {
    "kept": "SELECT k, m, d, s, o, a FROM n WHERE k > 1",
    "read": "SELECT k, m['a'] AS a, element_at(o, 1)['b'] AS b, s.p['a'] AS s, size(m) AS c, map_keys(d) AS ks FROM n",
    "made": "SELECT named_struct('k', k, 'm', m) AS s, array(m, m) AS ms, map_entries(o) AS es FROM n",
    "joined": "SELECT n.k, n.m, n.o, u.y FROM n JOIN u ON n.k = u.k",
    "joined_by_values": "SELECT n.k, n.m, u.y FROM n JOIN u ON n.m['a'] = u.y",
    "outer_joined": "SELECT u.y, n.m, n.s, n.a FROM u LEFT JOIN n ON n.k = u.k",
    "semi_joined": "SELECT m, d FROM n WHERE k IN (SELECT k FROM u)",
    "ends": (
        "SELECT k, first(m) AS m, last(m) AS n, any_value(o) AS o, max_by(s, k) AS s, min_by(a, k) AS a, "
        "first(d) IGNORE NULLS AS d FROM n GROUP BY k"
    ),
    "lists": "SELECT k, collect_list(m) AS ms, collect_list(s) AS ss FROM n GROUP BY k",
    "counts": "SELECT k, count(m) AS c, sum(m['a']) AS t, max(size(o)) AS g FROM n GROUP BY k",
    "best": "SELECT k, m, d, o FROM n QUALIFY row_number() OVER (PARTITION BY k ORDER BY m['a'] DESC) <= 2",
    "numbered": "SELECT m, row_number() OVER (PARTITION BY k ORDER BY s.q) AS r FROM n QUALIFY r <= 3",
    "top": "SELECT k, m, s, a FROM n ORDER BY k DESC LIMIT 3",
    "windows": (
        "SELECT k, m, lag(m) OVER (PARTITION BY k ORDER BY s.q) AS l, "
        "first_value(o) OVER (PARTITION BY k ORDER BY size(m) DESC) AS f, count(*) OVER (PARTITION BY k) AS c FROM n"
    ),
    "exploded": "SELECT k, q, v FROM n LATERAL VIEW explode(m) AS q, v",
    "exploded_outer": "SELECT k, p, q, v FROM n LATERAL VIEW OUTER posexplode(o) AS p, q, v",
    "exploded_array": "SELECT k, e, e['a'] AS v FROM n LATERAL VIEW explode(a) AS e",
    "united": "SELECT k, m, o FROM n WHERE k > 1 UNION ALL SELECT k, m, o FROM n",
    "best_of_log": "SELECT k, m FROM l QUALIFY row_number() OVER (PARTITION BY k ORDER BY m['b'] DESC) <= 2",
    "first_of_log": "SELECT k, m, row_number() OVER (PARTITION BY k ORDER BY k) AS r FROM l QUALIFY r <= 3",
    "ends_of_log": "SELECT k, first(m) AS f, max_by(m, k) AS g FROM l GROUP BY k",
}
AB, BA = {"a": 1, "b": None}, {"b": None, "a": 1}
VALUES = (
    [None, 1, 2],
    [None, {}, AB, BA, {"a": None}, {"a": 2, "b": 1, "é": 3}, {"é": 3, "b": 1, "a": 2}],
    [None, {}, {math.nan: [1.0], 0.0: None}, {0.0: None, math.nan: [1.0]}, {-math.inf: [], 1.5: [None, math.nan]}],
    [None, {"p": AB, "q": 1}, {"p": BA, "q": 1}, {"p": None, "q": None}, {"p": {}, "q": 2}],
    [None, {}, {1: AB, 2: None}, {1: BA, 2: None}, {2: None, 1: AB}, {2: None, 1: BA}, {3: {}}],
    [None, [], [AB, BA], [BA, AB], [None, AB], [{}]],
)


def steps_of(seed, count=4):
    """Changes of the tables: some rows come, now and then twice, and some of those that are there go."""
    chance, there = random.Random(seed), []
    for _ in range(count):
        chance.shuffle(there)
        gone, there = there[: len(there) // 3], there[len(there) // 3 :]
        new = [tuple(map(chance.choice, VALUES)) for _ in range(12)]
        new += new[:2]
        there += new
        others = [(chance.choice([None, 1, 2, 3]), chance.randint(0, 3)) for _ in range(2)]
        yield {"n": [*new, *(("-", row) for row in gone)], "u": others, "l": [row[:2] for row in new]}


def program(views):
    return TABLES + "".join(f"CREATE VIEW {name} AS {query};\n" for name, query in views.items())


def changes(pipeline, seed):
    found = []
    for step in steps_of(seed):
        change = pipeline.step(step)
        found.append({name: Counter(map(plain, item.rows)) for name, item in change.items() if name in MAPS})
    return found


SOME = dict(list(MAPS.items())[1::3])


@pytest.mark.parametrize(
    ("seed", "views"),
    [(1, SOME), *(pytest.param(seed, MAPS, marks=pytest.mark.extended) for seed in (1, 2))],
    ids=["1-some", "1-all", "2-all"],
)
def test_oracle_maps_change_as_on_spark(interpreting, seed, views):
    opened = [penstock.Pipeline(program(views), spark=interpreting, engine=engine) for engine in ("spark", "native")]
    with opened[0] as there, opened[1] as here:
        for wanted, found in zip(changes(there, seed), changes(here, seed), strict=True):
            assert wanted.keys() == found.keys() == views.keys()
            for name in views:
                assert found[name] == wanted[name], name
        assert all(here.verify(name) for name in views)


TIMED = """
CREATE TABLE t (k INT, at TIMESTAMP, m MAP<STRING, INT>);
CREATE TABLE r (k INT, at TIMESTAMP, m MAP<STRING, INT>);
CREATE VIEW followed AS SELECT t.k, t.m, r.m AS n FROM t LEFT ASOF JOIN r MATCH_CONDITION (t.at >= r.at) USING (k);
CREATE VIEW matched AS SELECT k, a, b FROM t MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY at MEASURES FIRST(A.m) AS a, LAST(B.m) AS b PATTERN (A B+) DEFINE B AS size(B.m) > 0
) AS x;
CREATE VIEW hours AS SELECT first(m) AS f, last(m) AS l FROM t GROUP BY window(at, '1 hour');
CREATE VIEW quiet AS SELECT k, first(m) AS f FROM t GROUP BY k, session_window(at, '10 minutes');
"""


def timed_steps(seed, count=4):
    chance = random.Random(seed)
    there = {"t": [], "r": []}
    times = [None, *(datetime(2024, 1, 1, hour, minute, tzinfo=UTC) for hour in (0, 1) for minute in (0, 8, 40))]
    for _ in range(count):
        step = {}
        for name, known in there.items():
            chance.shuffle(known)
            gone, there[name] = known[: len(known) // 3], known[len(known) // 3 :]
            new = [(chance.choice([1, 2]), chance.choice(times), chance.choice(VALUES[1])) for _ in range(8)]
            there[name] += new
            step[name] = [*new, *(("-", row) for row in gone)]
        yield step


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.extended)])
def test_oracle_maps_beside_times_change_as_on_spark(interpreting, seed):
    opened = [penstock.Pipeline(TIMED, spark=interpreting, engine=engine) for engine in ("spark", "native")]
    with opened[0] as there, opened[1] as here:
        for step in timed_steps(seed):
            wanted, found = there.step(step), here.step(step)
            for name in ("followed", "matched", "hours", "quiet"):
                rows = [Counter(map(plain, change[name].rows)) for change in (wanted, found)]
                assert rows[1] == rows[0], name
        assert all(here.verify(name) for name in ("followed", "hours", "quiet"))


@penstock.LaterSession
def no_spark():
    pytest.fail("Spark was asked for")


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.extended)])
def test_contents_after_retractions_are_those_of_the_query_without_spark(seed):
    """What the changes add up to is what the query answers at once; tables of few rows know what goes themselves."""
    with penstock.Pipeline(program(MAPS), spark=no_spark, engine="native") as pipeline:
        shown = {name: Counter() for name in MAPS}
        for step in steps_of(seed):
            for name, change in pipeline.step(step).items():
                if name in shown:
                    for weight, row in change.rows:
                        shown[name][plain(row)] += weight
            pipeline.compact()
        for name, query in MAPS.items():
            wanted = Counter(map(plain, pipeline.query(query).rows))
            assert {row: weight for row, weight in shown[name].items() if weight} == dict(wanted), name


@pytest.mark.parametrize(
    "query",
    [
        "SELECT m, count(*) AS c FROM n GROUP BY m",
        "SELECT s, count(*) AS c FROM n GROUP BY s",
        "SELECT a, o, max(k) AS k FROM n GROUP BY a, o",
    ],
)
def test_what_tells_maps_apart_is_sparks(query):
    with penstock.Pipeline(f"{TABLES} CREATE VIEW v AS {query};", spark=no_spark) as pipeline:
        assert "on Spark, for" in pipeline.explain("v", ["circuit"])


@pytest.mark.parametrize(
    "made",
    ["CAST(m AS MAP<STRING, STRING>)", "from_json(t, 'MAP<STRING, INT>')", "array(CAST(m AS MAP<STRING, DOUBLE>))"],
)
def test_what_reads_maps_that_spark_has_made_is_sparks(made):
    """In these a key may stand twice: the process has no such MAP."""
    text = f"""
        CREATE TABLE n (k INT, t STRING, m MAP<STRING, INT>);
        CREATE VIEW made AS SELECT k, {made} AS m, xxhash64(t) AS h FROM n;
        CREATE VIEW v AS SELECT k, m, row_number() OVER (PARTITION BY k ORDER BY h) AS r FROM made QUALIFY r < 3;
        CREATE VIEW w AS SELECT k, max(h) AS h FROM made GROUP BY k;
    """
    with penstock.Pipeline(text, spark=no_spark) as pipeline:
        assert "MAPs that it has made" in pipeline.explain("v", ["circuit"])


def test_a_map_with_nested_keys_is_sparks():
    text = "CREATE TABLE n (k INT, m MAP<ARRAY<INT>, INT>); CREATE VIEW v AS SELECT k, m FROM n WHERE k > 1;"
    with penstock.Pipeline(text, spark=no_spark) as pipeline:
        assert "values of type map<array<int>,int> as a column" in pipeline.explain("v", ["circuit"])


def test_an_operator_on_spark_hands_on_the_maps_of_its_input(interpreting):
    """A key that stands twice in a MAP that Spark makes is nowhere an error of the process."""
    text = """
        CREATE TABLE n (k INT, t STRING, m MAP<STRING, INT>);
        CREATE VIEW hashed AS SELECT k, m, xxhash64(t) AS h FROM n;
        CREATE VIEW v AS SELECT k, m FROM hashed QUALIFY row_number() OVER (PARTITION BY k ORDER BY h) = 1;
        CREATE MATERIALIZED VIEW twice AS SELECT k, from_json(t, 'MAP<STRING, INT>') AS m FROM n;
        CREATE VIEW lost AS SELECT k, m FROM twice QUALIFY row_number() OVER (PARTITION BY k ORDER BY k) = 1;
    """
    with penstock.Pipeline(text, spark=interpreting) as pipeline:
        change = pipeline.step({"n": [(1, '{"a": 1, "a": 2}', AB), (1, "{}", BA), (2, None, None)]})
        assert change["v"].rows
        assert pipeline.query("SELECT map_keys(m) AS m FROM twice WHERE size(m) = 2").rows == [(["a", "a"],)]
        assert all(pipeline.verify(name) for name in ("v", "hashed", "twice", "lost"))


STATEMENTS = """
INSERT INTO t VALUES (1, map('a', 1, 'b', 2)), (2, NULL), (3, CAST(map() AS MAP<STRING, INT>));
INSERT INTO t SELECT k + 10, map_concat(m, map('new', k)) FROM t;
UPDATE t SET m = map_filter(m, (k, v) -> v > 1) WHERE k = 1;
UPDATE t SET m = transform_values(m, (k, v) -> v + 1) WHERE k > 10;
DELETE FROM t WHERE m['new'] = 4;
INSERT INTO b VALUES (1, map('a', 1L), map(1, map('x', array(1, NULL)))), (1, map('a', 1), NULL);
DELETE FROM b WHERE o[1]['x'][0] = 1;
"""
WRITTEN = """
CREATE TABLE t (k INT, m MAP<STRING, INT>, PRIMARY KEY (k));
CREATE TABLE b (k INT, m MAP<STRING, BIGINT>, o MAP<INT, MAP<STRING, ARRAY<INT>>>);
CREATE MATERIALIZED VIEW v AS SELECT k, m FROM t WHERE k <> 2;
CREATE VIEW w AS SELECT k, m, o FROM b;
"""


def test_statements_write_maps_without_spark():
    with penstock.Pipeline(WRITTEN, spark=no_spark, engine="native") as pipeline:
        for statement in filter(str.strip, STATEMENTS.split(";")):
            pipeline.execute(statement)
        assert sorted(pipeline.query("SELECT * FROM v").rows) == [
            (1, {"b": 2}),
            (3, {}),
            (11, {"a": 2, "b": 3, "new": 2}),
            (12, None),
        ]
        assert pipeline.lookup("v", 11).rows == [(11, {"a": 2, "b": 3, "new": 2})]
        assert pipeline.query("SELECT * FROM w").rows == [(1, {"a": 1}, None)]
        with pytest.raises(EvaluationError, match="Duplicate map key a was found"):
            pipeline.execute("INSERT INTO t SELECT 20, map_concat(map('a', k), map('a', k)) FROM t")


def test_maps_come_from_files_and_dataframes_without_spark(tmp_path):
    for kind in ("json", "parquet"):
        (tmp_path / kind).mkdir()
    (tmp_path / "json" / "1.json").write_text('{"k": 1, "m": {"b": 2, "a": null}}\n{"k": 2}\n', encoding="utf-8")
    rows = pa.table(
        {"k": [1, 2, 3], "m": pa.array([[("b", 2), ("a", None)], None, []], pa.map_(pa.string(), pa.int32()))}
    )
    pq.write_table(rows, tmp_path / "parquet" / "1.parquet")
    files = "".join(
        f"CREATE TABLE {kind} (k INT, m MAP<STRING, INT>) "
        f"WITH ('connector' = 'files', 'path' = '{tmp_path / kind}', 'format' = '{kind}');"
        f"CREATE VIEW of_{kind} AS SELECT k, m, m['b'] AS b FROM {kind};"
        for kind in ("json", "parquet")
    )
    text = f"CREATE TABLE n (k INT, m MAP<STRING, INT>); CREATE VIEW v AS SELECT k, m FROM n; {files}"
    with penstock.Pipeline(text, spark=no_spark, engine="native") as pipeline:
        pipeline.run(once=True)
        found = [(1, {"b": 2, "a": None}, 2), (2, None, None)]
        assert sorted(pipeline.query("SELECT * FROM of_json").rows) == found
        assert sorted(pipeline.query("SELECT * FROM of_parquet").rows) == [*found, (3, {}, None)]
        pipeline.step({"n": rows})
        pipeline.step({"n": rows.to_pandas()})
        assert len(pipeline.query("SELECT * FROM v WHERE m['b'] = 2").rows) == 2
        twice = pa.table({"k": [1], "m": pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int32()))})
        with pytest.raises(DataError, match=r"found the key 'a' .* twice"):
            pipeline.step({"n": twice})


def test_a_map_that_the_process_cannot_hold_is_an_error_of_the_row():
    twice = pa.table({"m": pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int32()))})
    store = Store()
    with store.given(twice) as given, pytest.raises(DataError, match="a key stands twice"):
        store.made(store.name(), f"SELECT m FROM {given}")
    store.close()


MOVED = {name: MAPS[name] for name in ("kept", "ends", "best", "windows", "joined", "lists", "best_of_log")}


@pytest.mark.parametrize(
    "engines",
    [
        ("native", "native", "native", "native"),
        pytest.param(("native", "spark", "auto", "spark"), marks=pytest.mark.extended),
    ],
    ids=["one", "moved"],
)
def test_maps_are_in_the_state_of_a_directory(interpreting, tmp_path, engines):
    """What goes on from the state that a directory has makes the changes of one that went on all the time."""
    text = f"SET state_seconds = 0; {program(MOVED)} CREATE MATERIALIZED VIEW whole AS SELECT k, m, o FROM n;"
    with penstock.Pipeline(text, spark=interpreting, engine="spark") as other:
        wanted = changes(other, 3)
    found = []
    for engine, step in zip(engines, steps_of(3), strict=True):
        spark = no_spark if set(engines) == {"native"} else interpreting
        with penstock.Pipeline(text, spark=spark, engine=engine, directory=tmp_path / "directory") as pipeline:
            change = pipeline.step(step)
            found.append({name: Counter(map(plain, item.rows)) for name, item in change.items() if name in MAPS})
            if spark is interpreting:
                assert pipeline.verify("whole")
    assert found == wanted
