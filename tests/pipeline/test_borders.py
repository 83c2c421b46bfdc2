"""Nothing that a library raises reaches a user as it is: it has a code, the view at work and its place.

No program is known that makes a library raise what nobody has foreseen, so each border is tried with a library that is
made to raise.
"""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
import sqlglot.errors

import penstock
from penstock.backends.native.store import Store
from penstock.bind.level import Level
from penstock.engine.native import NativeRunner
from penstock.plan.nodes import Aggregate
from penstock.sql.cursor import Cursor

PROGRAM = """SET engine = 'native';
CREATE TABLE t (a INT, b INT);
CREATE VIEW fine AS SELECT a FROM t;
CREATE VIEW failing AS SELECT a, SUM(a + b) AS s
FROM t GROUP BY a;
"""
LIBRARIES = {
    "DUCKDB_FAILED": duckdb.BinderException("Binder Error: no function matches\nand more"),
    "ARROW_FAILED": pa.ArrowInvalid("offset overflow"),
    "PARSER_FAILED": sqlglot.errors.ParseError("Required keyword: 'this' missing for <class>"),
}


@pytest.fixture
def pipeline():
    with penstock.Pipeline(PROGRAM) as opened:
        opened.execute("INSERT INTO t VALUES (1, 2)")
        yield opened


@pytest.mark.parametrize("code", LIBRARIES)
def test_what_fails_in_a_step_names_the_view_and_its_place(pipeline, monkeypatch, code):
    step = NativeRunner.step

    def raising(self, *arguments, **options):
        if isinstance(self.native.operator.node, Aggregate):
            raise LIBRARIES[code]
        return step(self, *arguments, **options)

    monkeypatch.setattr(NativeRunner, "step", raising)
    with pytest.raises(penstock.InternalError) as caught:
        pipeline.execute("INSERT INTO t VALUES (3, 4)")
    assert caught.value.code == code
    assert caught.value.summary.startswith("view failing: ")
    assert str(caught.value.location).startswith("line 4, column ")
    assert isinstance(caught.value.__cause__, type(LIBRARIES[code]))
    monkeypatch.undo()
    pipeline.execute("INSERT INTO t VALUES (3, 4)")
    assert pipeline.query("SELECT * FROM failing ORDER BY a").rows == [(1, 3), (3, 7)]


@pytest.mark.parametrize("code", LIBRARIES)
def test_what_fails_in_a_query_has_a_code(pipeline, monkeypatch, code):
    def raising(*_, **__):
        raise LIBRARIES[code]

    monkeypatch.setattr(Store, "arrow", raising)
    monkeypatch.setattr(Store, "apart", raising)
    with pytest.raises(penstock.InternalError) as caught:
        pipeline.query("SELECT SUM(b) FROM t")
    assert caught.value.code == code


STATEMENTS = [
    "SELECT a FROM t",
    "INSERT INTO t SELECT a, b FROM t",
    "DELETE FROM t WHERE a = 1",
    "CREATE VIEW v AS SELECT a FROM t",
]


@pytest.mark.parametrize(
    "error", [sqlglot.errors.ParseError("Required keyword"), AttributeError("name"), KeyError("x")]
)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_what_fails_while_a_statement_is_read_has_its_place(pipeline, monkeypatch, statement, error):
    def raising(*_, **__):
        raise error

    for name in ("query", "expression", "name"):
        if hasattr(Cursor, name):
            monkeypatch.setattr(Cursor, name, raising)
    with pytest.raises(penstock.InternalError) as caught:
        (pipeline.query if statement.startswith("SELECT") else pipeline.execute)(f"\n{statement}")
    expected = "PARSER_FAILED" if isinstance(error, sqlglot.errors.ParseError) else "INTERNAL"
    assert (caught.value.code, str(caught.value.location)) == (expected, "line 2, column 1")


@pytest.mark.parametrize("statement", STATEMENTS)
def test_what_fails_while_a_statement_is_bound_has_its_place(pipeline, monkeypatch, statement):
    def raising(*_, **__):
        return None.name

    monkeypatch.setattr(Level, "bind", raising)
    with pytest.raises(penstock.InternalError) as caught:
        (pipeline.query if statement.startswith("SELECT") else pipeline.execute)(statement)
    assert caught.value.code == "INTERNAL"
    assert caught.value.location.line == 1
    assert "AttributeError: 'NoneType' object has no attribute 'name'" in caught.value.summary


def test_a_mistake_of_ours_stands_beside_those_of_the_program(monkeypatch):
    bind = Level.bind

    def raising(self, tree):
        if "broken" in tree.sql():
            return {}["broken"]
        return bind(self, tree)

    monkeypatch.setattr(Level, "bind", raising)
    tables = "CREATE TABLE t (a INT);\nCREATE VIEW v AS SELECT b FROM t;"
    program = f"{tables}\nCREATE VIEW w AS SELECT a FROM t WHERE a = 'broken'"
    with pytest.raises(penstock.InternalError) as caught:
        penstock.Pipeline(program)
    assert [item.code for item in caught.value.diagnostics] == ["UNKNOWN_COLUMN", "INTERNAL"]
    assert str(caught.value).count("\n  at line ") == 2


@pytest.mark.parametrize("raised", ["python", "jvm"])
def test_what_spark_fails_with_in_a_step_names_the_view(spark, monkeypatch, raised):
    from pyspark.errors import PySparkRuntimeError

    from penstock.backends.spark.operators.linear import LinearRunner

    said = "nobody has foreseen this"
    with penstock.Pipeline(PROGRAM.replace("'native'", "'spark'"), spark=spark) as opened:
        opened.execute("INSERT INTO t VALUES (1, 2)")

        def raising(*_, **__):
            if raised == "jvm":
                spark._jvm.java.util.ArrayList().get(7)
            raise PySparkRuntimeError(said)

        monkeypatch.setattr(LinearRunner, "step", raising)
        with pytest.raises(penstock.PenstockError) as caught:
            opened.execute("INSERT INTO t VALUES (3, 4)")
        assert caught.value.code in {"SPARK_FAILED", "EVALUATION_ERROR"}
        assert "view " in caught.value.summary
        assert caught.value.location is not None
