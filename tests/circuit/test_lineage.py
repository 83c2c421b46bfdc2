"""The circuit tells of an operator's rows: the tables that an expression reads, the key, what goes row by row."""

import pytest

from penstock.bind.program.compile import compile_program
from penstock.circuit.build import build_circuit
from penstock.circuit.lineage import (
    evaluated_by_row,
    goes_row_by_row,
    keys_taken,
    operator_of,
    over_sources,
    tables_behind,
)
from penstock.circuit.operators import Additive, Keyed
from penstock.rewrite import rewrite_views

TABLES = "CREATE TABLE t (a INT, b INT, s STRING); CREATE TABLE u (a INT, x INT);"
JOINED = "CREATE VIEW j AS SELECT t.a, t.b, t.s, u.x FROM t JOIN u ON t.a = u.a;"


def circuit_of(query, before=""):
    catalog = rewrite_views(compile_program(f"{TABLES}{before} CREATE VIEW v AS {query};").catalog)
    circuit = build_circuit({name: view.plan for name, view in catalog.views.items()}, catalog)
    return circuit, circuit.outputs["v"]


def saying(part):
    return lambda scalar: part in scalar.text.replace("`", "")


def reading(names, part=""):
    def read(scalar):
        found = {column for column in scalar.columns if column.rpartition(".")[2] in names}
        return found if found and saying(part)(scalar) else None

    return read


@pytest.mark.parametrize(
    ("query", "part", "names", "tables"),
    [
        ("SELECT 1 / b AS y FROM t", "1 /", "b", {"t"}),
        ("SELECT 1 / b AS y FROM j", "1 /", "b", {"t"}),
        ("SELECT b / x AS y FROM j", "/", "bx", {"t", "u"}),
        ("SELECT 1 / x AS y FROM j", "1 /", "x", {"u"}),
        ("SELECT t.b FROM t JOIN u ON t.a = u.a AND 1 / t.b > u.x", "1 /", "b", {"t"}),
        (
            "SELECT CAST(m AS INT) AS n FROM (SELECT max(s) AS m, sum(x) AS y FROM j GROUP BY a)",
            "CAST",
            ["__a0"],
            {"t"},
        ),
        ("SELECT b FROM t", "1 /", "b", None),
    ],
)
def test_the_tables_that_an_expression_reads(query, part, names, tables):
    circuit, number = circuit_of(query, JOINED)
    assert tables_behind(circuit, number, reading(names, part)) == tables


def test_in_a_recursion_all_tables_are_read():
    rows = "SELECT 10 DIV b FROM t UNION SELECT n - 1 FROM r WHERE n > 0"
    circuit, number = circuit_of(f"WITH RECURSIVE r(n) AS ({rows}) SELECT n DIV 2 AS m FROM r")
    assert tables_behind(circuit, number, reading(["n"])) == {"t"}
    assert not goes_row_by_row(circuit, number)
    assert over_sources(circuit, operator_of(circuit, number).node) is None
    assert keys_taken(circuit, number) is None


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("SELECT b, sum(a) AS n FROM t GROUP BY b", ["`b`"]),
        ("SELECT n + 1 AS m FROM (SELECT b, sum(a) AS n FROM t GROUP BY b)", ["`b`"]),
        ("SELECT a, rank() OVER (PARTITION BY b ORDER BY a) AS n FROM t", ["`b`"]),
        ("SELECT a FROM t", None),
    ],
)
def test_the_key_by_which_rows_are_taken(query, keys):
    circuit, number = circuit_of(query)
    found = keys_taken(circuit, number)
    assert (found and [scalar.text.replace("t.", "") for _, scalars in found for scalar in scalars]) == keys


def test_what_is_evaluated_for_each_row_is_told_with_what_is_below_it():
    circuit, _ = circuit_of("SELECT sum(1 / a) AS s FROM (SELECT * FROM t WHERE 2 / b > 0) GROUP BY b")
    grouped = next(item for item in circuit.operators if isinstance(item, Additive | Keyed))
    plan = over_sources(circuit, grouped.node)
    found = [[scalar.text.replace("`", "") for scalar in scalars] for _, scalars in evaluated_by_row(plan, saying("/"))]
    assert ["/" in texts[0] and len(texts) for texts in found] == [1, 1]
    assert found[0][0].startswith("2 /")
    joined, number = circuit_of("SELECT 1 / b AS y FROM j", JOINED)
    assert over_sources(joined, operator_of(joined, number).node) is None
