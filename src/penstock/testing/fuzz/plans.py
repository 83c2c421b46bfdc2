"""Single queries in batch: the bound plan against the query's own text, over one random content.

No engine takes part, so it is quick; what the binder or a rewriting rule gets wrong shows here first.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from penstock.backends.spark.batch import batch_frame
from penstock.backends.spark.fetched import fetched_rows
from penstock.backends.spark.workspace import Workspace
from penstock.bind.program.compile import compile_program
from penstock.bind.program.queries import bind_query
from penstock.catalog.model import Catalog
from penstock.errors import PenstockError, UnsupportedError
from penstock.rewrite import rewrite
from penstock.sql.parse import parse_query
from penstock.testing.cases import Case, Step
from penstock.testing.fuzz.changes import Changes
from penstock.testing.fuzz.check import Finding, Probe, first_line
from penstock.testing.fuzz.dice import Dice
from penstock.testing.fuzz.duck import Duck
from penstock.testing.fuzz.programs import Program
from penstock.testing.fuzz.queries import Queries
from penstock.testing.fuzz.tables import Relation, random_table, sql_type, written
from penstock.testing.multisets import consolidate, difference

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Contents:
    """Some random tables with rows, known to Spark, to the compiler, and if `shared` to DuckDB."""

    def __init__(self, spark: SparkSession, random: Random, *, shared: bool = False) -> None:

        self.spark = spark
        self.dice = Dice(random, shared=shared)
        self.tables = [random_table(self.dice, f"t{number}") for number in (1, 2)]
        changes = Changes(self.dice, self.tables)
        inserted = [changes.insert(table) for table in self.tables for _ in range(self.dice.number(3, 9))]
        self.step = Step(operations=tuple(inserted))
        self.compared = 0
        self.sql = "\n".join(table.ddl for table in self.tables)
        self.inserts = "\n".join(_insert(table, changes.rows(table)) for table in self.tables)
        self.catalog: Catalog = compile_program(self.sql).catalog
        self.probe = Probe(spark, "penstock")
        self.frames: dict[str, DataFrame] = {}
        self.workspace = Workspace(spark)
        self.duck = Duck(self.tables) if shared else None
        for table in self.tables:
            text = _select(table, changes.rows(table))
            frame = spark.sql(text)
            self.frames[table.name] = frame.localCheckpoint()
            self.probe.declare(table.name, text)
            if self.duck is not None:
                self.duck.fill(table.name, changes.rows(table))

    def query(self, depth: int) -> str:
        """A random query over the tables."""
        self.dice.used = set()
        return Queries(self.dice, self.tables).query(depth)[0]

    def program(self, text: str) -> Program:
        """The query as a view, over the same content."""
        case = Case(name="query", sql="", dialect="penstock", steps=(self.step,))
        return Program(tuple(self.tables), (("v1", text),), case, shared=self.dice.shared)

    def judge(self, text: str) -> Finding | None:
        """The fault in the query's plan; None if there is none, or if Spark refuses the query as well."""
        if not self.probe.accepts("asked", text):
            return None
        try:
            expected = _rows(self.probe.answer(text))
        except Exception:  # noqa: BLE001 - Spark has errors of its own; there is nothing to compare with
            return None
        try:
            actual = _rows(self._planned(text))
        except UnsupportedError as error:
            return Finding("unsupported", error.diagnostics[0].code)
        except PenstockError as error:
            return Finding("refused", error.render())
        except Exception as error:  # noqa: BLE001 - whatever escapes is a finding
            return Finding("crash", first_line(error))
        found = difference(expected, actual, 1e-9)
        if found:
            return Finding("differs", found.describe())
        second = None if self.duck is None else self.duck.answer(text)
        self.compared += second is not None
        found = difference(actual if second is None else second, actual, 1e-9)
        return Finding("differs", f"DuckDB: {found.describe()}") if found else None

    def _planned(self, text: str) -> DataFrame:

        plan = rewrite(bind_query(parse_query(text), self.catalog, text))
        return batch_frame(self.workspace, plan, self.frames)


def _rows(frame: DataFrame) -> list[tuple[int, tuple[Any, ...]]]:

    return consolidate((1, row) for row in fetched_rows(frame))


def _values(table: Relation, rows: list[tuple[Any, ...]]) -> str:
    kinds = [kind for _, kind in table.columns]
    return ", ".join(
        f"({', '.join(written(value, kind) for value, kind in zip(row, kinds, strict=True))})" for row in rows
    )


def _insert(table: Relation, rows: list[tuple[Any, ...]]) -> str:
    return f"INSERT INTO {table.name} VALUES {_values(table, rows)};"


def _select(table: Relation, rows: list[tuple[Any, ...]]) -> str:
    names = ", ".join(f"CAST({name} AS {sql_type(kind)}) AS {name}" for name, kind in table.columns)
    return f"SELECT {names} FROM VALUES {_values(table, rows)} AS v({', '.join(name for name, _ in table.columns)})"
