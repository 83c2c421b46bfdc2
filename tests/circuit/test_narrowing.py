"""Sources give the columns that somebody reads, and whoever reads them names no other."""

import pytest

from penstock.bind.program.compile import compile_program
from penstock.circuit.build import build_circuit
from penstock.circuit.narrowing import narrowed
from penstock.circuit.operators import Source
from penstock.plan.nodes import Scan
from penstock.rewrite import rewrite_views

TABLES = "CREATE TABLE t (a INT, b STRING, c ARRAY<INT>, d DOUBLE); CREATE TABLE u (a INT, x INT, y STRING);"


def sources(*queries, rewritten=True):
    views = "".join(f"CREATE VIEW v{at} AS {query};" for at, query in enumerate(queries))
    catalog = compile_program(TABLES + views).catalog
    catalog = rewrite_views(catalog) if rewritten else catalog
    plans = {name: view.plan for name, view in catalog.views.items() if name.startswith("v")}
    circuit = narrowed(build_circuit(plans, catalog))
    fields = {f"#{operator.number}": operator.fields for operator in circuit.operators}
    for operator in circuit.operators:
        for node in operator.node.walk():
            if isinstance(node, Scan) and node.relation in fields:
                assert node.fields == fields[node.relation]
    return {item.relation: ",".join(item.node.names) for item in circuit.operators if isinstance(item, Source)}


@pytest.mark.parametrize(
    ("queries", "read"),
    [
        (["SELECT a FROM t"], {"t": "a"}),
        (["SELECT a + 1 AS n FROM t WHERE d > 2"], {"t": "a,d"}),
        (["SELECT count(*) AS n FROM t"], {"t": "a"}),
        (["SELECT 1 AS one FROM t"], {"t": "a"}),
        (["SELECT * FROM t"], {"t": "a,b,c,d"}),
        (["SELECT b FROM t", "SELECT d FROM t"], {"t": "b,d"}),
        (["SELECT DISTINCT b FROM t"], {"t": "b"}),
        (["SELECT DISTINCT * FROM u"], {"u": "a,x,y"}),
        (["SELECT t.b, u.x FROM t JOIN u ON t.a = u.a"], {"t": "a,b", "u": "a,x"}),
        (["SELECT b, e FROM t LATERAL VIEW explode(c) AS e"], {"t": "b,c"}),
        (["SELECT a FROM t UNION ALL SELECT x FROM u"], {"t": "a", "u": "x"}),
        (["SELECT a FROM (SELECT a, d FROM t UNION ALL SELECT a, x FROM u)"], {"t": "a", "u": "a"}),
        (["SELECT a, sum(d) AS s FROM t WHERE b LIKE 'x%' GROUP BY a"], {"t": "a,b,d"}),
        (["SELECT b FROM t WHERE now() > timestamp_seconds(a)"], {"t": "a,b"}),
        (["SELECT b FROM t WHERE a IN (SELECT x FROM u)"], {"t": "a,b", "u": "x"}),
        (["SELECT a, rank() OVER (PARTITION BY b ORDER BY d) AS r FROM t"], {"t": "a,b,d"}),
    ],
)
def test_a_source_is_as_narrow_as_its_readers(queries, read):
    assert sources(*queries) == read


def test_a_column_that_only_a_projection_names_stays():
    assert sources("SELECT a FROM t WHERE b = 'x'", rewritten=False) == {"t": "a,b,c,d"}
