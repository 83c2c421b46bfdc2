"""What the binder says of the columns of a query, names and types, against what Spark's analyser says."""

from __future__ import annotations

import pytest

from penstock.bind.program.compile import compile_program
from penstock.errors import SqlError

TABLE = """id INT, a ARRAY<INT>, b ARRAY<STRING>, o ARRAY<STRUCT<Aa: INT, `b c`: STRING>>, m MAP<STRING, INT>,
    s STRUCT<x: STRUCT<y: INT, z: ARRAY<STRING>>, w: STRING>, j STRING, l ARRAY<ARRAY<INT>>, d DATE,
    ma MAP<STRING, ARRAY<INT>>, `p,q<` STRUCT<`a:b`: INT, `c,d`: ARRAY<INT>>"""

QUERIES = """
SELECT inline(arrays_zip(a, b)) FROM t
SELECT inline(arrays_zip(t.A, b, transform(b, x -> upper(x)))) FROM t
SELECT inline(arrays_zip(o.Aa, s['x'].z, l[0])) FROM t
SELECT inline(arrays_zip(s.x.Z, l[0], get(l, 1))) FROM t
SELECT inline(arrays_zip(ma.k, a)) FROM t
SELECT inline(arrays_zip(r.*, array(1))) FROM (SELECT a, b FROM t) AS r
SELECT inline(arrays_zip(a, array(1, id), split(j, ','), array())) FROM t
SELECT inline(arrays_zip(collect_list(id), collect_set(j))) FROM t
SELECT arrays_zip(a, b).a AS x, arrays_zip(a, b)[0].b AS y, arrays_zip(a, b) z FROM t
SELECT id, x.* FROM t LATERAL VIEW inline(arrays_zip(a, o)) x
SELECT id, x.* FROM t LATERAL VIEW OUTER inline(arrays_zip(a, o)) x AS `1`, two
SELECT id, z.*, z.a + 1 n FROM t LATERAL VIEW explode(arrays_zip(a, o)) x AS z
SELECT p, q.* FROM (SELECT posexplode_outer(arrays_zip(a, b)) AS (p, q) FROM t)
SELECT id, posexplode(arrays_zip(a, b)) FROM t
SELECT e.* FROM t, LATERAL inline(arrays_zip(a, b)) e
SELECT inline(transform(l, x -> arrays_zip(x, a)[0])) FROM t
SELECT inline(flatten(transform(l, x -> arrays_zip(x, a)))) FROM t
SELECT inline(flatten(transform(o, x -> arrays_zip(array(x), a)))) FROM t
SELECT inline(transform(a, x -> struct(x, id, x + 1))) FROM t
SELECT inline(transform(o, x -> struct(x.Aa, x.`b c`, x AS whole, x['Aa'] AS again))) FROM t
SELECT inline(transform(a, (x, i) -> named_struct('v', x, 'at', i, 'a b', 1L))) FROM t
SELECT inline(map_entries(m)) FROM t
SELECT inline(map_entries(map_filter(m, (k, v) -> v > 1))) FROM t
SELECT inline(map_entries(transform_values(m, (k, v) -> struct(k, v)))) FROM t
SELECT inline(map_entries(transform_keys(m, (k, v) -> length(k)))) FROM t
SELECT inline(map_entries(map_zip_with(m, ma, (k, one, two) -> struct(one, two)))) FROM t
SELECT inline(map_entries(map_from_arrays(b, a))) FROM t
SELECT inline(map_values(map('a', struct(id, j), 'b', struct(7 AS id, NULL AS j)))) FROM t
SELECT inline_outer(from_json(j, 'ARRAY<STRUCT<c: DOUBLE, D: INT>>')) FROM t
SELECT inline(from_json(j, 'q INT, items ARRAY<STRUCT<c: DOUBLE NOT NULL, D: INT>>').items) FROM t
SELECT x.* FROM (SELECT from_csv(j, 'a INT, `b c` STRING') x FROM t)
SELECT explode(from_json(j, 'MAP<STRING, STRUCT<u: INT>>')) FROM t
SELECT inline(array(struct(id, s.w, m['k'], b[0], id + 1), struct(id, s.w, m['k'], b[0], id * 2L))) FROM t
SELECT struct(o.Aa, o[0].Aa, m.k, m['k'], s['w'], ma.k[0], t.id, (id), -id, CAST(id AS BIGINT)) x FROM t
SELECT inline(filter(o, x -> x.Aa > 1)) FROM t
SELECT inline(array_sort(collect_list(struct(id, j AS k)))) FROM t
SELECT inline(zip_with(a, b, (x, y) -> struct(x, y AS z, x + 1))) FROM t
SELECT k2.* FROM t LATERAL VIEW explode(map_from_entries(transform(a, p -> struct(p, struct(p, b))))) e AS k1, k2
SELECT inline(sort_array(array_distinct(arrays_zip(a, b)))) FROM t
SELECT inline(slice(array_append(array_repeat(struct(id, j), 2), struct(id, j)), 1, 1)) FROM t
SELECT inline(coalesce(arrays_zip(a, b), array())) FROM t
SELECT inline(coalesce(transform(a, x -> struct(x, NULL AS n)), array(struct(1L AS x, id AS n)))) FROM t
SELECT inline(if(id > 1, arrays_zip(a, b), NULL)) FROM t
SELECT inline(arrays_zip(a, sentences(j), sequence(d, d, INTERVAL 1 DAY), map_keys(m))) FROM t
SELECT inline(concat(array(s.x), array(s.x), array(s.x))) FROM t
SELECT inline(array_union(o, o)) FROM t
SELECT `p,q<`.*, `p,q<`.`c,d` again FROM t
SELECT inline(array(`p,q<`)) FROM t
SELECT aggregate(a, struct(0 AS n, 0L AS s), (c, x) -> struct(c.n + 1 AS n, c.s + x AS s), c -> struct(c, c.n)) r FROM t
SELECT reduce(a, 0L, (c, x) -> c + x) r, element_at(o, 1).Aa e, array_max(a) x, get(o, 0) g FROM t
SELECT (id, j) r, (id, j).j rj, (id + 1, s.w).col1 c FROM t
SELECT stack(2, id, j, 3, 'x') FROM t
SELECT explode(m) FROM t
SELECT explode(array(1, 2L, NULL)) FROM t
SELECT inline(array(struct(1 AS a), struct(2L AS A))) FROM t
SELECT inline(arrays_zip(a, b, a)) AS (x, y, z) FROM t
"""


@pytest.mark.extended
@pytest.mark.parametrize("query", [line for line in QUERIES.splitlines() if line])
def test_columns_are_those_that_spark_gives(spark, query):
    from pyspark.sql.types import DataType

    session = _with_table(spark)
    expected = [(field.name, field.dataType.simpleString()) for field in session.sql(query).schema.fields]
    view = compile_program(f"CREATE TABLE t ({TABLE}); CREATE VIEW v AS {query};").catalog.views["v"]
    assert [column.name for column in view.columns] == [name for name, _ in expected]
    inferred = [column.type and DataType.fromDDL(column.type).simpleString() for column in view.columns]
    assert [kind for kind in inferred if kind] == [
        kind for kind, known in zip((kind for _, kind in expected), inferred, strict=True) if known
    ]


def test_names_are_known_beside_types_that_are_not():
    text = "CREATE VIEW v AS SELECT inline(arrays_zip(a, transform(b, x -> aes_decrypt(x, x)) AS q)) FROM t;"
    view = compile_program(f"CREATE TABLE t ({TABLE}); {text}").catalog.views["v"]
    assert [(column.name, column.type) for column in view.columns] == [("a", "int"), ("q", None)]


def test_a_star_behind_a_call_is_refused():
    with pytest.raises(SqlError, match=r"stands behind a name"):
        compile_program(f"CREATE TABLE t ({TABLE}); CREATE VIEW v AS SELECT get(o, 0).* FROM t;")


def _with_table(spark):
    session = spark.newSession()
    session.createDataFrame([], TABLE).createOrReplaceTempView("t")
    return session
