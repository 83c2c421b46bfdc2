"""`python -m penstock.testing.borrowed FOLDER`: queries that others wrote for Spark, each as a view in random steps.

FOLDER holds `.sql` files like those of Spark's own tests (`sql-tests/inputs` in the jar `spark-sql_2.13` with the
classifier `tests`, which Maven fetches): statements that declare views and tables, and queries over them. Each query
that Spark can answer becomes a view over tables with the same rows, which come in two steps, some of them leaving and
coming back. After each step the view is what the oracle says. Nothing of the files is kept.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from penstock.backends.spark.session import open_session
from penstock.bind.program.compile import compile_program
from penstock.errors import PenstockError, message_of
from penstock.plan.scalar import quoted
from penstock.testing.cases import Case
from penstock.testing.content import Observed
from penstock.testing.fuzz.check import first_line, opened
from penstock.testing.fuzz.programs import Setting
from penstock.testing.spark_settings import INTERPRETED, SETTINGS

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Row, SparkSession

_DECLARING = ("create", "insert", "drop", "use", "alter", "delete", "update", "cache", "uncache")
_ASKING = ("select", "with", "values", "from", "table")
_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|/\*.*?\*/|--[^\n]*|;", re.DOTALL)
_MOST_ROWS = 3000
_STAYING, _LEAVING = 0.6, 0.4
REFUSED, WRONG, UNSAID, RIGHT = "refused", "wrong", "unsaid", "right"


@dataclass(frozen=True)
class Relation:
    """A table that a query reads: names and types of its columns, and its rows."""

    columns: tuple[tuple[str, str], ...]
    rows: pa.Table

    def tuples(self) -> list[tuple[Any, ...]]:
        """The rows as Python's values."""
        columns = [column.to_pylist() for column in self.rows.columns]
        return [tuple(column[index] for column in columns) for index in range(self.rows.num_rows)]


@dataclass(frozen=True)
class Borrowed:
    """One query of a file, by its number among those, with what it reads."""

    place: str
    query: str
    width: int
    tables: dict[str, Relation]

    @property
    def program(self) -> str:
        """The tables and the view, whose columns have names of their own."""
        tables = [
            f"CREATE TABLE {quoted(name)} ({', '.join(f'{quoted(column)} {kind}' for column, kind in table.columns)});"
            for name, table in self.tables.items()
        ]
        names = ", ".join(f"c{index}" for index in range(self.width))
        return "\n".join([*tables, f"CREATE VIEW borrowed ({names}) AS\n{self.query};"])


@dataclass
class Verdicts:
    """The number of queries that came to each end, what was refused why, and what is wrong."""

    ends: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def add(self, borrowed: Borrowed, end: str, detail: str) -> None:
        """One more query."""
        self.ends[end] += 1
        if end == REFUSED:
            self.reasons[re.sub(r"'[^']*'|`[^`]*`|\d+", "…", detail.split("\n", 1)[0])] += 1
        if end == WRONG:
            self.wrong.append(f"{borrowed.place}\n{borrowed.query}\n  => {detail}")

    def lines(self) -> Iterator[str]:
        """All of it, for people."""
        yield from self.wrong
        yield from (f"{times:5} refused: {reason}" for reason, times in self.reasons.most_common())
        yield ", ".join(f"{self.ends[end]} {end}" for end in (RIGHT, REFUSED, UNSAID, WRONG))


def statements(text: str) -> Iterator[str]:
    """The statements of a file, without comments."""
    parts, place = [""], 0
    for found in _TEXT.finditer(text):
        parts[-1] += text[place : found.start()]
        place = found.end()
        if found.group() == ";":
            parts.append("")
        elif not found.group().startswith(("--", "/*")):
            parts[-1] += found.group()
    parts[-1] += text[place:]
    return (part.strip() for part in parts if part.strip())


def gathered(spark: SparkSession, path: Path, place: str) -> Iterator[Borrowed]:
    """The queries of a file that Spark can analyse, with the rows of all that they name."""
    known: dict[str, Relation] = {}
    number = 0
    for text in statements(path.read_text(encoding="utf-8")):
        word = text.lstrip("( \n").split(None, 1)[0].lower() if text.strip("( \n") else ""
        try:
            if word in _DECLARING:
                spark.sql(text)
                known.clear()
            elif word in _ASKING:
                number += 1
                width = len(spark.sql(text).schema)
                named = [item.tableName for item in _declared(spark) if _names(text, item.tableName)]
                tables = {name: known.get(name) or _relation(spark, name) for name in named}
                known.update(tables)
                yield Borrowed(f"{place} {number}", text, width, tables)
        except (PySparkException, Py4JJavaError):  # an error that the file shows on purpose, or one of Spark's own
            continue


def _declared(spark: SparkSession) -> list[Row]:
    return spark.sql("SHOW TABLES").collect()


def _names(text: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE) is not None


def _relation(spark: SparkSession, name: str) -> Relation:
    frame = spark.table(quoted(name))
    columns = tuple((item.name, item.dataType.simpleString()) for item in frame.schema)
    return Relation(columns, frame.limit(_MOST_ROWS).toArrow())


def forget(spark: SparkSession) -> None:
    """Drop what a file has declared."""
    spark.sql("USE default")
    views = {item.viewName for item in spark.sql("SHOW VIEWS").collect()}
    for item in _declared(spark):
        spark.sql(f"DROP {'VIEW' if item.tableName in views else 'TABLE'} IF EXISTS {quoted(item.tableName)}")


def judged(spark: SparkSession, borrowed: Borrowed, seed: int) -> tuple[str, str]:
    """The end of the query as a view, and the reason."""
    try:
        compile_program(borrowed.program)
    except PenstockError as error:
        return REFUSED, message_of(error)
    except Exception as error:  # noqa: BLE001 - whatever escapes is a finding
        return WRONG, first_line(error)
    dice = random.Random(seed)  # noqa: S311 - a test's choices
    setting = Setting(driver_rows=0, memory_rows=0) if dice.random() < 1 / 4 else Setting()
    try:
        with opened(spark, borrowed.program, setting) as pipeline:
            observed = Observed(pipeline, Case("borrowed", borrowed.program, "penstock"))
            try:
                for number, step in enumerate(_steps(borrowed, dice), 1):
                    found = observed.take(pipeline.step(step))
                    wrong = found if isinstance(found, str) else observed.violation()
                    if wrong:
                        return WRONG, f"step {number}: {wrong}"
            finally:
                observed.close()
    except PenstockError as error:
        return (UNSAID if _spark_fails(spark, borrowed) else WRONG), error.render()
    except Exception as error:  # noqa: BLE001 - whatever escapes is a finding
        text = first_line(error)
        return (UNSAID if "testing/oracle/" in text else WRONG), text
    return RIGHT, ""


def _steps(borrowed: Borrowed, dice: random.Random) -> list[dict[str, list[Any]]]:
    """Some rows; the others, while some of the first leave; and those again."""
    steps: list[dict[str, list[Any]]] = [{}, {}, {}]
    for name, table in borrowed.tables.items():
        first: list[Any] = []
        rest: list[Any] = []
        for row in table.tuples():
            (first if dice.random() < _STAYING else rest).append(row)
        gone = [row for row in first if dice.random() < _LEAVING]
        back = [("+", row) for row in gone]
        changes = ([("+", row) for row in first], [("-", row) for row in gone] + [("+", row) for row in rest], back)
        for step, rows in zip(steps, changes, strict=True):
            if rows:
                step[name] = rows
    return steps


def _spark_fails(spark: SparkSession, borrowed: Borrowed) -> bool:
    """True if Spark has no answer either, over all rows."""
    try:
        for name, table in borrowed.tables.items():
            kinds = ", ".join(f"{quoted(column)} {kind}" for column, kind in table.columns)
            spark.createDataFrame(table.rows, kinds).createOrReplaceTempView(quoted(name))
        spark.sql(borrowed.query).collect()
    except (PySparkException, Py4JJavaError):
        return True
    finally:
        for name in borrowed.tables:
            spark.catalog.dropTempView(name)
    return False


def main(arguments: list[str] | None = None) -> int:
    """Judge all files of a folder; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m penstock.testing.borrowed", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="files whose path matches this expression")
    parser.add_argument("--minutes", type=float, default=600, help="no further query after so long")
    parser.add_argument("--share", type=float, default=1, help="of the queries, so many by chance")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--master", default="local[2]")
    options = parser.parse_args(arguments)
    files = [item for item in sorted(options.folder.rglob("*.sql")) if re.search(options.only, str(item))]
    if not files:
        parser.error(f"no .sql file in {options.folder}")
    verdicts, end = Verdicts(), time.monotonic() + options.minutes * 60
    with tempfile.TemporaryDirectory() as warehouse:
        conf = {**SETTINGS, **INTERPRETED, "spark.sql.warehouse.dir": warehouse}
        spark = open_session(master=options.master, conf=conf, app_name="penstock-borrowed")
        try:
            for path in files:
                _file(spark, path, options, verdicts, end)
        except KeyboardInterrupt:
            sys.stderr.write("stopped\n")
        finally:
            spark.stop()
    sys.stdout.write("".join(f"{line}\n" for line in verdicts.lines()))
    return 1 if verdicts.wrong else 0


def _file(spark: SparkSession, path: Path, options: argparse.Namespace, verdicts: Verdicts, end: float) -> None:
    if time.monotonic() > end:
        return
    try:
        found = list(gathered(spark, path, str(path.relative_to(options.folder))))
    finally:
        forget(spark)
    for borrowed in found:
        dice = random.Random(f"{options.seed} {borrowed.place}")  # noqa: S311 - a test's choices
        if time.monotonic() > end or dice.random() > options.share:
            continue
        outcome, detail = judged(spark, borrowed, dice.randrange(2**31))
        verdicts.add(borrowed, outcome, detail)
        if outcome == WRONG:
            sys.stderr.write(f"{verdicts.wrong[-1]}\n")
    sys.stderr.write(f"{path.name}: {', '.join(f'{n} {end}' for end, n in verdicts.ends.items())}\n")


if __name__ == "__main__":
    sys.exit(main())
