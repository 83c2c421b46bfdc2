"""Long and deep statements: they work, or are refused with a place; and their cost grows as they do."""

import pytest

import penstock
from penstock.errors import SqlError
from penstock.plan import writing
from penstock.sql.parse import parse

TABLE = "SET engine = 'native'; CREATE TABLE t (id BIGINT, s STRING, b BOOLEAN); INSERT INTO t VALUES (1, 'a', true); "
LONG = {
    "or": "SELECT id FROM t WHERE " + " OR ".join(f"id = {number}" for number in range(500)),
    "and": "SELECT id FROM t WHERE " + " AND ".join(f"id <> {number + 2}" for number in range(500)),
    "union": " UNION ALL ".join(["SELECT id FROM t WHERE id = 1", *["SELECT id FROM t WHERE id = 2"] * 199]),
    "with": "WITH w0 AS (SELECT id FROM t), "
    + ", ".join(f"w{number} AS (SELECT id FROM w{number - 1})" for number in range(1, 100))
    + " SELECT id FROM w99",
    "columns": f"SELECT id, {', '.join(f'id + {number} AS c{number}' for number in range(500))} FROM t",
    "parentheses": f"SELECT {'(' * 140}id{')' * 140} AS id FROM t",
    "sum": f"SELECT {' + '.join(['id'] * 60)} AS x FROM t",
}
DEEP = {
    "sum": (" + ".join(["id"] * 500), "operations"),
    "texts": (" || ".join(["s"] * 500), "operations"),
    "signs": ("- " * 300 + "id", "operations"),
    "parentheses": ("(" * 200 + "id" + ")" * 200, "parentheses"),
    "type": (f"CAST(NULL AS {'ARRAY<' * 61}INT{'>' * 61})", "types"),
    "map": (f"CAST(NULL AS {'MAP<INT, ' * 61}INT{'>' * 61})", "types"),
}


@pytest.mark.parametrize("name", LONG)
def test_long_statements_work(name: str) -> None:
    """Nothing is too long that is not nested."""
    with penstock.Pipeline(f"{TABLE} CREATE VIEW v AS {LONG[name]}") as pipeline:
        (row,) = pipeline.query("SELECT * FROM v").rows
        assert row[0] == (60 if name == "sum" else 1)
        assert "v" in pipeline.explain("v")


@pytest.mark.parametrize("name", DEEP)
def test_what_is_nested_too_deeply_has_a_place(name: str) -> None:
    """The refusal names what is nested and where, and is Penstock's own."""
    expression, what = DEEP[name]
    with pytest.raises(SqlError, match=f"{what} are nested more than") as caught:
        parse(f"SELECT {expression} FROM t")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "NESTED_TOO_DEEPLY"
    assert diagnostic.span is not None


def test_the_limit_can_be_set() -> None:
    """`max_nesting` holds from where it is set on, in later texts and after RESET too."""
    deep = f"SELECT {' + '.join(['id'] * 40)} FROM t"
    with penstock.Pipeline(f"{TABLE} SET max_nesting = '30'") as pipeline:
        with pytest.raises(SqlError, match="more than 30 deep"):
            pipeline.query(deep)
        pipeline.execute("SET max_nesting = '100'")
        assert pipeline.query(deep).rows == [(40,)]
        pipeline.execute("RESET max_nesting")
        assert pipeline.query(deep).rows == [(40,)]
    with pytest.raises(SqlError, match="max_nesting cannot be"):
        penstock.Pipeline("SET max_nesting = 'deep'")


def test_an_array_in_arrays_that_arrow_cannot_hold_is_nested_too_deeply() -> None:
    """What no text shows is found out where rows come out, with the view."""
    with (
        pytest.raises(SqlError, match=r"NESTED_TOO_DEEPLY.*view v"),
        penstock.Pipeline(f"{TABLE} CREATE VIEW v AS SELECT {'array(' * 70}id{')' * 70} AS x FROM t") as pipeline,
    ):
        pipeline.query("SELECT * FROM v")


def test_a_long_case_is_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each arm is translated without the text of all of them."""
    calls: list[object] = []
    whole = writing.spark_sql
    monkeypatch.setattr(writing, "spark_sql", lambda tree: calls.append(tree) or whole(tree))

    def written(arms: int) -> int:
        calls.clear()
        branches = " ".join(f"WHEN id = {number} THEN 'w{number}'" for number in range(arms))
        with penstock.Pipeline(f"{TABLE} CREATE VIEW v AS SELECT CASE {branches} ELSE s END AS x FROM t") as pipeline:
            assert pipeline.query("SELECT x FROM v").rows == [("w1",)]
        return len(calls)

    assert 0 < written(40) == written(20)


@pytest.mark.parametrize("text", ["SELECT '\ud800'", "INSERT INTO t VALUES ('\udfff')", "SELECT 1 AS `\ud83d`"])
def test_a_lone_surrogate_is_no_character(text: str) -> None:
    """Neither DuckDB nor a file could hold it."""
    with pytest.raises(SqlError, match=r"INVALID_CHARACTER.*lone surrogate"):
        parse(text)
