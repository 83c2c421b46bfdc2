"""Random programs with one expression that may raise, and how Spark's batch and both engines are compared on them.

    SELECT k, CASE WHEN h <> 0 THEN i DIV h END AS q FROM t        over rows near the limits of their types

A step raises if and only if batch does over the rows that the tables would have; both engines say the same of it, and
it leaves no trace. Where rows are set aside instead, both engines set the same ones aside, and no row if batch does not
raise.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from penstock.backends.spark.raised import message_of, reported
from penstock.errors import DataError
from penstock.pipeline.pipeline import Pipeline
from penstock.testing.cases import Case, Operation, Step
from penstock.testing.content import Observed
from penstock.testing.fuzz.check import Finding, Tally, first_line
from penstock.testing.fuzz.dice import Dice
from penstock.testing.fuzz.mirrored import inputs_of
from penstock.testing.fuzz.programs import Program
from penstock.testing.fuzz.tables import Relation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENGINES = ("spark", "auto")
_T = Relation(
    "t",
    (
        ("k", "int"), ("i", "int"), ("h", "int"), ("n", "bigint"), ("m", "bigint"), ("p", "bigint"), ("b", "tinyint"),
        ("c", "string"), ("e", "decimal(38,2)"),
    ),
)  # fmt: skip
_U = Relation("u", (("l", "int"), ("g", "int")))
_INTS = (1, 0, 2, 3, -1, 13, 46341, 2**31 - 1, -(2**31))
_VALUES: dict[str, tuple[Any, ...]] = {
    "k": (1, 2, 3),
    "l": (1, 2, 3),
    "i": _INTS,
    "h": _INTS,
    "g": _INTS,
    "n": (1, 0, 5, -1, 300, 3037000500, 2**62, 2**63 - 1, -(2**63)),
    "m": (1, 0, 7, -1, 3037000500, 2**63 - 1, -(2**63)),
    "p": (1, 0, 2**31, 2**61, 2**62, 2**63 - 1),  # none below zero: batch adds them up in any order
    "b": (1, 2, 0, 12, 13, 127, -128),
    "c": ("1", "2", "x", "", " 7 ", "12.5", "300", "2147483648", "true", "1e3", "2024-02-29", "2024-02-30", "NaN"),
    "e": ("1.00", "0.00", "-2.50", "2147483648.00", "999999999999999999999999999999999999.99"),
}
# Expressions that raise for some values; of those over `g` an operand is of the other table.
_RAISING = (
    "i + h", "i - h", "i * h", "-i", "abs(i)", "n + m", "n - m", "n * m", "-n", "abs(n)", "b + b", "b * b", "-b",
    "i / h", "n / i", "n % m", "i % h", "n DIV i", "i DIV h", "pmod(i, h)", "mod(n, h)", "i + 1", "2147483647 - i",
    "CAST(c AS INT)", "CAST(c AS BIGINT)", "CAST(c AS TINYINT)", "CAST(c AS DOUBLE)", "CAST(c AS DATE)",
    "CAST(c AS BOOLEAN)", "CAST(c AS TIMESTAMP)", "CAST(c AS DECIMAL(10,2))", "CAST(n AS INT)", "CAST(i AS TINYINT)",
    "CAST(n AS SMALLINT)", "CAST(e AS INT)", "CAST(e AS DECIMAL(10,2))", "CAST(n AS DECIMAL(5,0))", "e + e", "e * e",
    "e / h", "array(i, h)[b]", "element_at(array(i, h), h)", "make_date(2024, b, 1)", "timestamp_seconds(n)",
    "date_add(DATE '2024-01-01', i)", "to_date(c, 'yyyy-MM-dd')",
)  # fmt: skip
_OF_BOTH = ("i + g", "i - g", "i * g", "i / g", "n DIV g", "n % g", "n * g", "i DIV (g - 1)")
_GUARDS = (
    "h <> 0", "h > 0", "i > 0", "i < 1000", "k = 1", "n BETWEEN 0 AND 1000", "b BETWEEN 1 AND 12", "h = 0",
    "c RLIKE '^[0-9]+$'", "e < 100", "m IS NULL", "c IS NOT NULL",
)  # fmt: skip
_GUARDED = (
    "{raising}", "{raising}", "CASE WHEN {guard} THEN {raising} END", "if({guard}, {raising}, NULL)",
    "CASE WHEN {guard} THEN NULL ELSE {raising} END", "coalesce(CASE WHEN {guard} THEN NULL END, {raising})",
)  # fmt: skip
_FORMS = (
    "SELECT k, {value} AS q FROM t",
    "SELECT k, {value} AS q FROM t WHERE {guard}",
    "SELECT k FROM t WHERE CAST({value} AS STRING) <> '5'",
    "SELECT k FROM t WHERE {guard} AND CAST({value} AS STRING) <> '5'",
    "SELECT k FROM t WHERE {guard} OR CAST({value} AS STRING) <> '5'",
    "SELECT k, count(*) AS n, max({value}) AS q FROM t GROUP BY k",
    "SELECT k, min({value}) FILTER (WHERE {guard}) AS q FROM t GROUP BY k",
    "SELECT {value} AS q, count(*) AS n FROM t GROUP BY 1",
    "SELECT DISTINCT {value} AS q FROM t",
    "SELECT k, {value} AS q FROM t ORDER BY q, k LIMIT 2",
    "SELECT k, max({value}) OVER (PARTITION BY k) AS q FROM t",
    "SELECT q, count(*) AS n FROM (SELECT k, {value} AS q FROM t WHERE {guard}) GROUP BY q",
)
_SUMS = (
    "SELECT k, sum(p) AS q, count(*) AS n FROM t GROUP BY k",
    "SELECT sum(p) AS q FROM t",
    "SELECT k, sum(p) AS q, avg(p) AS a FROM t GROUP BY k HAVING count(*) > 0",
    "SELECT k, sum(DISTINCT p) AS q FROM t GROUP BY k",
    "SELECT k, sum(p) FILTER (WHERE {guard}) AS q FROM t GROUP BY k",
    "SELECT k, sum(p) AS q, max(c) AS c FROM t GROUP BY k",
    "SELECT k, sum(p) OVER (PARTITION BY k) AS q FROM t",
    "SELECT l, q, g FROM (SELECT k, sum(p) AS q FROM t GROUP BY k) JOIN u ON k = l",
)
_JOINS = (
    "SELECT k, {value} AS q FROM t JOIN u ON k = l",
    "SELECT k, {value} AS q FROM t LEFT JOIN u ON k = l",
    "SELECT k, g FROM t JOIN u ON k = l AND CAST({value} AS STRING) <> '5'",
    "SELECT k, max({value}) AS q FROM t JOIN u ON k = l GROUP BY k",
)
_VALUE = re.compile(r"'[^']*'|[-+]?\d[\d.]*(?:E[-+]?\d+)?(?:BD|L|S|Y|D)?|\b(?:NaN|Infinity)\b")
_MOST_ALONE = 12  # rows that batch is asked about alone, to know which errors there are


@dataclass(frozen=True)
class RaisingProgram:
    """A program whose view `v` may raise; with `spares` its rows come from files, and those at fault are set aside."""

    program: Program
    spares: bool = False


def raising_program(random: Random, steps: int = 3, name: str = "raising") -> RaisingProgram:
    """A program and its steps; the same random state makes the same program."""
    dice = Dice(random)
    spares = dice.often(0.3)
    tables = tuple(_without_decimals(table) for table in (_T, _U)) if spares else (_T, _U)
    text = _query(dice, decimals=not spares)
    contents: dict[str, list[tuple[Any, ...]]] = {table.name: [] for table in tables}
    made = tuple(_step(dice, tables, contents, spares=spares) for _ in range(dice.number(2, 1 + steps)))
    case = Case(name=name, sql="", dialect="penstock", steps=made)
    return RaisingProgram(Program(tables, (("v", text),), case), spares)


def _without_decimals(table: Relation) -> Relation:
    """The table without what JSON has no values of."""
    return replace(table, columns=tuple(item for item in table.columns if not item[1].startswith("decimal")))


def _query(dice: Dice, *, decimals: bool) -> str:
    forms, raising = dice.weighted(((6, (_FORMS, _RAISING)), (2, (_SUMS, _RAISING)), (2, (_JOINS, _OF_BOTH))))
    of_decimals = re.compile(r"\be\b")
    if not decimals:
        raising = tuple(text for text in raising if not of_decimals.search(text))
    guards = tuple(text for text in _GUARDS if decimals or not of_decimals.search(text))
    value = dice.pick(_GUARDED).format(guard=dice.pick(guards), raising=dice.pick(raising))
    return dice.pick(forms).format(value=value, guard=dice.pick(guards))


def _step(dice: Dice, tables: Sequence[Relation], contents: dict[str, list[tuple[Any, ...]]], *, spares: bool) -> Step:
    """Rows that come, few, so that few of them raise, and one that was there, which goes."""
    operations: list[Operation] = []
    rows = list(contents["t"])
    for table in tables:
        for _ in range(dice.number(0, 3) if table.name == "t" else dice.number(0, 1)):
            row = tuple(None if dice.often(0.08) else dice.pick(_VALUES[name]) for name, _ in table.columns)
            contents[table.name].append(row)
            operations.append(Operation(table.name, "+", row))
    if rows and not spares and dice.often(0.3):  # a row that comes and goes in one step is evaluated, as in no batch
        operations.append(Operation("t", "-", dice.pick(rows)))
    return Step(operations=tuple(operations))


@dataclass(frozen=True)
class Said:
    """An error: its SQLSTATE, its sentence without the values in it, and where it stands if that is known."""

    sqlstate: str | None
    sentence: str
    place: str | None = None

    @property
    def general(self) -> tuple[str | None, str]:
        """The error without its place, which batch tells in another text."""
        return self.sqlstate, self.sentence


class RaisingChecker:
    """Judges such programs on one Spark session."""

    def __init__(self, spark: SparkSession, tally: Tally | None = None) -> None:
        self.spark = spark
        self.tally = tally or Tally()

    def check(self, given: RaisingProgram) -> Finding | None:
        """The first thing that is wrong with a program."""
        self.tally.raising += 1
        try:
            with ExitStack() as stack:
                return self._spared(given.program, stack) if given.spares else self._refused(given.program, stack)
        except Exception as error:  # noqa: BLE001 - whatever escapes is a finding
            return Finding("crash", first_line(error), "v")

    # Steps that are refused

    def _refused(self, program: Program, stack: ExitStack) -> Finding | None:
        pipelines = [stack.enter_context(Pipeline(program.sql, spark=self.spark, engine=name)) for name in ENGINES]
        observed = [Observed(pipeline, program.case) for pipeline in pipelines]
        for item in observed:
            stack.callback(item.close)
        before: list[Operation] = []
        for number, step in enumerate(program.case.steps, 1):
            wanted = _possible(step, before)
            said = [self._stepped(*item, wanted, program.sql) for item in zip(pipelines, observed, strict=True)]
            wrong = self._violation(program, before, wanted, said)
            if all(item is None for item in said):
                before += wanted.operations
                wrong = wrong or next((found for item in observed if (found := item.violation())), None)
            if wrong:
                return Finding("raises", f"step {number}: {wrong}", "v")
        return None

    @staticmethod
    def _stepped(pipeline: Pipeline, observed: Observed, step: Step, sql: str) -> Said | str | None:
        try:
            found = observed.take(pipeline.step(inputs_of(step)))
        except DataError as error:
            (told,) = error.diagnostics
            place = None if told.span is None else sql[told.span.start : told.span.end]
            sentence = told.message.removeprefix("view v: ").partition(" in ")[0]
            return (
                Said(told.sqlstate, general(sentence), place) if told.code == "EVALUATION_ERROR" else message_of(error)
            )
        return found if isinstance(found, str) else None

    def _violation(
        self, program: Program, before: Sequence[Operation], step: Step, said: Sequence[Said | str | None]
    ) -> str | None:
        expected = self._batch(program, [*before, *step.operations])
        told = ", ".join(f"{name}: {item}" for name, item in zip(ENGINES, said, strict=True))
        if any(isinstance(item, str) for item in said):
            return told
        if any((item is None) != (expected is None) for item in said):
            return f"batch: {expected}, {told}"
        errors = [item for item in said if isinstance(item, Said)]
        if expected is None or not errors:
            return None
        self.tally.raised += 1
        if len({item.place for item in errors}) > 1:
            return f"places: {told}"
        if {item.general for item in errors} != {expected.general}:
            possible = self._each(program, before, step) | {expected.general}
            if not {item.general for item in errors} <= possible:
                return f"batch: {possible}, {told}"
        return None

    def _each(self, program: Program, before: Sequence[Operation], step: Step) -> set[tuple[str | None, str]]:
        """The words of batch for each new row alone: another engine meets another one first."""
        new = [item for item in step.operations if item.kind == "+"][:_MOST_ALONE]
        found = [self._batch(program, [*before, item]) for item in new]
        return {item.general for item in found if item is not None}

    def _batch(self, program: Program, operations: Sequence[Operation]) -> Said | None:
        """The error of the view's query in batch, over the rows that these operations leave."""
        for table in program.tables:
            rows = [_typed(table, row) for row in contents_of(operations, table.name)]
            schema = ", ".join(f"{name} {kind}" for name, kind in table.columns)
            self.spark.createDataFrame(rows, schema).createOrReplaceTempView(table.name)
        try:
            self.spark.sql(program.views[0][1]).collect()
        except PySparkException as error:
            found = reported(error)
            return Said(None if found is None else found.sqlstate, general(message_of(error)))
        finally:
            for table in program.tables:
                self.spark.catalog.dropTempView(table.name)
        return None

    # Rows that are set aside

    def _spared(self, program: Program, stack: ExitStack) -> Finding | None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        text = _from_files(program, folder)
        pipelines = [stack.enter_context(Pipeline(text, spark=self.spark, engine=name)) for name in ENGINES]
        kept: list[Operation] = []
        before = 0
        for number, step in enumerate(program.case.steps, 1):
            for table in program.tables:
                rows = [item.row for item in step.operations if item.table == table.name]
                _put(folder / table.name / f"{number}.json", table, rows)
            expected = self._batch(program, [*kept, *step.operations])
            for pipeline in pipelines:
                pipeline.run(once=True)
            found = [_seen(pipeline, program) for pipeline in pipelines]
            if found[0] != found[1]:
                told = ", ".join(f"{name}: {item}" for name, item in zip(ENGINES, found, strict=True))
                return Finding("aside", f"step {number}: {told}", "v")
            if not all(pipeline.verify("v") for pipeline in pipelines):
                return Finding("differs", f"step {number}: v is not its query", "v")
            aside, before = len(found[0]["error_view"]) - before, len(found[0]["error_view"])
            if (expected is None) != (aside == 0):
                return Finding("aside", f"step {number}: {aside} rows set aside, batch: {expected}", "v")
            self.tally.aside += aside
            kept = [Operation(table.name, "+", row) for table in program.tables for row in found[0][table.name]]
        return None


def general(sentence: str) -> str:
    """A sentence without the values in it: another row may be met first."""
    return _VALUE.sub("?", sentence)


def contents_of(operations: Sequence[Operation], table: str) -> list[tuple[Any, ...]]:
    """The rows that a table without a key holds after some operations."""
    rows: list[tuple[Any, ...]] = []
    for item in operations:
        if item.table != table:
            continue
        if item.kind == "+":
            rows.append(item.row)
        else:
            rows.remove(item.row)
    return rows


def _possible(step: Step, before: Sequence[Operation]) -> Step:
    """The step without deletions of rows that are not there, since the step that brought them was refused."""
    rows = contents_of(before, "t")
    kept = []
    for item in step.operations:
        if item.kind == "-":
            if item.row not in rows:
                continue
            rows.remove(item.row)
        kept.append(item)
    return replace(step, operations=tuple(kept))


def _typed(table: Relation, row: tuple[Any, ...]) -> tuple[Any, ...]:
    kinds = [kind for _, kind in table.columns]
    return tuple(
        Decimal(value) if value is not None and kind.startswith("decimal") else value
        for value, kind in zip(row, kinds, strict=True)
    )


def _from_files(program: Program, folder: Path) -> str:
    """The program whose tables are read from files of JSON."""
    lines = []
    for table in program.tables:
        (folder / table.name).mkdir()
        source = f"'connector' = 'files', 'path' = '{folder / table.name}', 'format' = 'json'"
        lines.append(f"{table.ddl.removesuffix(';')} WITH ({source});")
    return "\n".join([*lines, *(f"CREATE VIEW {name} AS {text};" for name, text in program.views)])


def _put(path: Path, table: Relation, rows: Iterable[tuple[Any, ...]]) -> None:
    names = [name for name, _ in table.columns]
    lines = (json.dumps(dict(zip(names, row, strict=True))) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _seen(pipeline: Pipeline, program: Program) -> dict[str, list[tuple[Any, ...]]]:
    """The rows that have been set aside, with what was said of them, and the rows of the tables."""
    relations = ("error_view", *(table.name for table in program.tables))
    return {name: sorted(pipeline.query(f"SELECT * FROM {name}").rows, key=repr) for name in relations}
