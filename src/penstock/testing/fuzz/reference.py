"""Spark's own examples of its functions, as views over tables that hold their arguments.

`SELECT substr('Spark SQL', 5)` becomes `SELECT substr(c1, c2) FROM args` where Spark takes columns there; what must be
constant stays as it is. The rows of an example's own VALUES become a table's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlglot import exp

from penstock.sql.parse import parse_query
from penstock.sql.text import spark_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LIFTED = frozenset({"int", "bigint", "string", "double", "boolean", "date", "timestamp", "binary", "float"})
ARGUMENTS = "arguments"
_QUERY = re.compile(r"^\s*> (.*)$")


@dataclass(frozen=True)
class Example:
    """One example: its function, its number from 1, its text."""

    function: str
    number: int
    text: str

    @property
    def name(self) -> str:
        """Its name in lists."""
        return f"{self.function} {self.number}"


@dataclass(frozen=True)
class Lifted:
    """An example as a view: its name, the tables with their rows as SQL, and its query.

    Examples with arguments of their own name the same table ARGUMENTS, each with its columns of it.
    """

    example: Example
    name: str
    tables: tuple[tuple[str, tuple[tuple[str, str], ...], tuple[str, ...]], ...]
    query: str


def function_names(spark: SparkSession) -> list[str]:
    """Every function that Spark has."""
    return [row[0] for row in spark.sql("SHOW FUNCTIONS").collect()]


def examples(spark: SparkSession, names: Sequence[str]) -> Iterator[Example]:
    """The examples of functions, in their order."""
    for name in names:
        text = "\n".join(row[0] for row in spark.sql(f"DESCRIBE FUNCTION EXTENDED `{name}`").collect())
        for number, query in enumerate(_queries(text), 1):
            yield Example(name, number, query)


def _queries(text: str) -> Iterator[str]:
    """The queries of a description; one may go over several lines until its semicolon."""
    lines = iter(text.split("\n"))
    for line in lines:
        found = _QUERY.match(line)
        if found is None:
            continue
        query = found[1]
        while not query.rstrip().endswith(";"):
            following = next(lines, None)
            if following is None:
                break
            query += "\n" + following
        yield query.rstrip().removesuffix(";")


class Lifting:
    """Turns examples into views; `spark` says what it takes and of which types the values are."""

    def __init__(self, spark: SparkSession) -> None:
        self._session = spark.newSession()

    def view(self, example: Example, prefix: str) -> Lifted:
        """The example as a view over tables named with the prefix. Raises PenstockError if we cannot read it."""
        tree = parse_query(example.text)
        values = [item for item in tree.find_all(exp.Values) if isinstance(item.parent, exp.From | exp.Join)]
        if values or tree.find(exp.From) is not None:
            return self._over_values(example, tree, values, prefix)
        return self._over_literals(example, tree, prefix)

    def _over_values(
        self, example: Example, tree: exp.Expression, values: Sequence[exp.Expression], prefix: str
    ) -> Lifted:
        tables = []
        for number, item in enumerate(values, 1):
            alias = item.args.get("alias")
            names = [part.name for part in alias.args.get("columns") or []] if alias is not None else []
            table = f"{prefix}_{number}"
            rows = tuple(_row(row) for row in item.expressions)
            schema = self._session.sql(f"SELECT * FROM VALUES {', '.join(rows)}").schema.fields
            named = zip(names or [field.name for field in schema], schema, strict=True)
            columns = tuple((name, _declared(field.dataType.simpleString())) for name, field in named)
            tables.append((table, columns, rows))
            name = exp.TableAlias(this=exp.to_identifier(alias.name if alias is not None and alias.name else table))
            item.replace(exp.Table(this=exp.to_identifier(table), alias=name))
        return Lifted(example, f"v_{prefix}", tuple(tables), spark_sql(tree))

    def _over_literals(self, example: Example, tree: exp.Expression, prefix: str) -> Lifted:
        table = ARGUMENTS
        literals = [node for node in tree.find_all(exp.Literal, exp.Boolean) if _is_argument(node)]
        kinds = [self._kind(node) for node in literals]
        columns = [("present", "int")]
        row = ["1"]
        tree.set("from_", exp.From(this=exp.Table(this=exp.to_identifier(table))))
        self._declare(table, columns)
        for number, (node, kind) in enumerate(zip(literals, kinds, strict=True), 1):
            if kind not in _LIFTED:
                continue
            name = f"{prefix}_c{number}"
            column = exp.column(name)
            text = spark_sql(node)
            node.replace(column)
            self._declare(table, [*columns, (name, kind)])
            if self._taken(tree):
                columns.append((name, kind))
                row.append(text)
            else:
                column.replace(node)
        tables = ((table, tuple(columns), (f"({', '.join(row)})",)),)
        return Lifted(example, f"v_{prefix}", tables, spark_sql(tree))

    def _kind(self, node: exp.Expression) -> str:
        return self._session.sql(f"SELECT {spark_sql(node)}").schema.fields[0].dataType.simpleString()

    def _declare(self, table: str, columns: list[tuple[str, str]]) -> None:
        listed = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for name, kind in columns)
        self._session.sql(f"SELECT {listed} WHERE FALSE").createOrReplaceTempView(table)

    def _taken(self, tree: exp.Expression) -> bool:
        """True if Spark takes the query with this column in it."""
        return _succeeds(lambda: self._session.sql(spark_sql(tree)).schema)


def _is_argument(node: exp.Expression) -> bool:
    """True if a literal is a direct argument of a function or an operator."""
    return isinstance(node.parent, exp.Anonymous | exp.Binary | exp.Cast | exp.In | exp.Between | exp.Like) and (
        not isinstance(node.parent, exp.Cast) or not node.parent.meta
    )


def _declared(kind: str) -> str:
    """The type of a table's column for values of a type; NULLs alone can be texts."""
    return "string" if kind == "void" else kind


def _row(row: exp.Expression) -> str:
    text = spark_sql(row)
    return text if isinstance(row, exp.Tuple) else f"({text.removeprefix('(').removesuffix(')')})"


def _succeeds(work: Callable[[], object]) -> bool:
    try:
        work()
    except Exception:  # noqa: BLE001 - Spark raises more than its own exceptions; all mean no
        return False
    return True


@dataclass(frozen=True)
class Unanswered:
    """Examples that a view does not answer: an expression that finds them, and the reason."""

    expression: str
    reason: str

    def covers(self, example: Example) -> bool:
        """True if the example is one of them."""
        return re.search(self.expression, f"{example.name}: {example.text}") is not None


def unanswered() -> tuple[Unanswered, ...]:
    """The list in unanswered.txt."""
    text = Path(__file__).with_name("unanswered.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return tuple(Unanswered(*(part.strip() for part in line.rsplit(" | ", 1))) for line in lines)
