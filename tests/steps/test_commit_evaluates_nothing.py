"""Behind a step's manifest nothing is evaluated: what could raise has done so while the step could still fail."""

from __future__ import annotations

from typing import Any

import pytest

import penstock
from penstock.backends.native.store import Store
from penstock.backends.spark import change, trace
from penstock.backends.spark.workspace import Workspace
from penstock.steps import committing

PROGRAM = """
    CREATE TABLE t (id INT, k STRING, x DOUBLE);
    CREATE TABLE keyed (id INT PRIMARY KEY, k STRING);
    CREATE MATERIALIZED VIEW lists AS SELECT id, array_repeat(NULL, 3) AS x, array_compact(NULL) AS y FROM t;
    CREATE MATERIALIZED VIEW sums AS SELECT k, SUM(x) AS s, MAX(id) AS m, COUNT(DISTINCT x) AS n FROM t GROUP BY k;
    CREATE VIEW joined AS SELECT t.id, keyed.k FROM t LEFT JOIN keyed ON t.id = keyed.id;
    CREATE VIEW ranked AS SELECT id, row_number() OVER (PARTITION BY k ORDER BY x) AS n FROM t;
"""
STATEMENTS = (
    "INSERT INTO t VALUES (1, 'a', 1.5), (2, 'a', NULL), (3, NULL, 2.5)",
    "INSERT INTO keyed VALUES (1, 'p'), (2, 'q')",
    "INSERT INTO keyed VALUES (2, 'r'), (3, NULL)",
    "DELETE FROM t WHERE id = 1",
    "DELETE FROM keyed WHERE id = 2",
)


@pytest.fixture
def no_evaluation(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every way to evaluate something raises while a commit goes on; gives the names of the calls that were made."""
    within: list[bool] = []
    calls: list[str] = []
    follow = committing._follow

    def following(*arguments: Any) -> None:
        within.append(True)
        try:
            follow(*arguments)
        finally:
            within.pop()

    monkeypatch.setattr(committing, "_follow", following)
    for owner, name in (
        (Workspace, "sql"),
        (Store, "arrow"),
        (Store, "changed"),
        (trace.Trace, "appended"),
        (trace, "fetched_arrow"),
        (change, "fetched_arrow"),
    ):
        plain = getattr(owner, name)

        def guarded(*arguments: Any, _plain: Any = plain, _name: str = name, **named: Any) -> Any:
            calls.append(_name)
            if within:
                pytest.fail(f"{_name} is called behind the manifest")
            return _plain(*arguments, **named)

        monkeypatch.setattr(owner, name, guarded)
    return calls


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("engine", ["auto", "spark"])
def test_a_commit_evaluates_nothing(engine: str, no_evaluation: list[str]) -> None:
    with penstock.Pipeline(f"SET engine = '{engine}';{PROGRAM}") as pipeline:
        for statement in STATEMENTS:
            pipeline.execute(statement)
        assert no_evaluation
        assert sorted(pipeline.query("SELECT * FROM lists").rows) == [(2, [None] * 3, None), (3, [None] * 3, None)]
        assert sorted(pipeline.query("SELECT * FROM joined").rows) == [(2, None), (3, None)]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("engine", ["auto", "spark"])
@pytest.mark.parametrize(
    "value", ["array_repeat(NULL, 3)", "array(array())", "map(id, NULL)", "struct(NULL AS a, array(NULL) AS b)", "NULL"]
)
def test_values_of_the_type_void_are_kept_and_fetched(engine: str, value: str) -> None:
    program = f"SET engine = '{engine}'; CREATE TABLE t (id INT); CREATE VIEW v AS SELECT id, {value} AS x FROM t"
    with penstock.Pipeline(program) as pipeline:
        pipeline.execute("INSERT INTO t VALUES (1), (2)")
        pipeline.execute("DELETE FROM t WHERE id = 1")
        assert len(pipeline.query("SELECT * FROM v").rows) == 1
        assert pipeline.verify("v").ok


def test_a_map_without_a_type_is_refused() -> None:
    program = "CREATE TABLE t (id INT); CREATE VIEW v AS SELECT id, map() AS x FROM t"
    with penstock.Pipeline(program) as pipeline, pytest.raises(penstock.PenstockError, match="MAP<VOID,VOID>"):
        pipeline.execute("INSERT INTO t VALUES (1)")
