"""Expressions on Spark and on DuckDB over the same rows: values, types, and which rows raise what."""

import math
import struct
from collections import Counter
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa
from tests.backends.native import rows

from penstock.backends.native.expressions.kinds import storage
from penstock.backends.native.functions import know_functions
from penstock.backends.native.proof import NotProvenError, Proven
from penstock.backends.native.scalars import proven
from penstock.backends.spark.raised import fragment_of, message_of
from penstock.backends.spark.telling import told
from penstock.circuit.raised import diagnosed
from penstock.errors import PenstockError
from penstock.plan.scalar import parsed
from penstock.plan.writing import text_of
from penstock.steps.failing_expression import bare

AT_ONCE = 60


@dataclass
class Entry:
    """An expression of Spark and what it is in DuckDB; `shape` names others that differ from it in types alone."""

    text: str
    proof: Proven
    shape: str
    raising: list = field(default_factory=list)
    values: list = field(default_factory=list)


class Engines:
    """Both engines with the same rows: those that could go wrong, or columns that are given by name with their types.

    `most_said` is how many errors of a shape and code are compared word by word.
    """

    def __init__(self, spark, columns=None, most_said=1):
        table = rows.rows() if columns is None else rows.given(columns)
        self.types = (
            rows.types() if columns is None else {"id": "int"} | {name: kind for name, (kind, _) in columns.items()}
        )
        self.most_said = most_said
        self.session = spark
        given = spark.createDataFrame(table)
        real = {name: kind for name, kind in self.types.items() if kind == "timestamp_ntz"}
        self.frame = given.withColumns({name: given[name].cast(kind) for name, kind in real.items()}).cache()
        self.frame.createOrReplaceTempView("given_rows")
        self.duck = duckdb.connect()
        self.duck.execute("SET disabled_optimizers = 'common_subplan'")
        know_functions(self.duck, lambda kind, texts: told(spark, kind, texts))
        rows.create(self.duck, table, self.types)
        self.said = Counter()

    def entry(self, text, shape=""):
        """The expression, None if it is not proven."""
        try:
            form = parsed(text)
            return Entry(text_of(form), proven(form, self.types), shape or text)
        except (NotProvenError, PenstockError):
            return None

    def differences(self, entries, rows_raising=8):
        """What is not the same on both, in words; one error of each shape and code is compared word by word."""
        found = []
        for begin in range(0, len(entries), AT_ONCE):
            part = entries[begin : begin + AT_ONCE]
            self._ask_spark(part)
            for entry in part:
                found += self._compared(entry, rows_raising)
                entry.values = []
        return found

    def _ask_spark(self, entries):
        answer = self.frame.select(*(self._tried(entry.text).alias(f"x{n}") for n, entry in enumerate(entries)))
        kinds = [item.dataType["v"].dataType.simpleString() for item in answer.schema]
        table = answer.toArrow()
        for number, entry in enumerate(entries):
            assert kinds[number] == entry.proof.type, (entry.text, kinds[number], entry.proof.type)
            column = table.column(number).combine_chunks()
            there = column.is_valid().to_pylist()
            entry.raising = [place for place, value in enumerate(there) if not value]
            entry.values = plain(column.field("v"))

    def _tried(self, text):
        """A struct of the value, or NULL where it raises."""
        from pyspark.sql.classic.column import Column

        java = self.session._jvm.org.apache.spark.sql
        item = f"named_struct('v', CASE WHEN id >= 0 THEN {text} END)"
        inner = self.session._jsparkSession.sessionState().sqlParser().parseExpression(item)
        return Column(java.classic.ExpressionUtils.column(java.catalyst.expressions.TryEval(inner)))

    def _compared(self, entry, rows_raising):
        raising = entry.raising
        if raising and not entry.proof.raises:
            return [f"{entry.text}: raises on Spark in row {self._row(entry, raising[0])}"]
        rest = f" WHERE id NOT IN ({', '.join(map(str, raising))})" if raising else ""
        try:
            answer = self.duck.sql(f"SELECT id, {entry.proof.text} AS v FROM given_rows{rest}")
            kind = entry.proof.type
            if kind != "void" and answer.types[1] != self.duck.type(storage(kind)):
                return [f"{entry.text}: {answer.types[1]} on DuckDB, and not {storage(kind)}"]
            table = answer.to_arrow_table()
        except duckdb.Error as error:
            return [f"{entry.text}: raises on DuckDB alone: {str(error)[:300]}\n   {entry.proof.text[:1500]}"]
        for place, value in zip(table.column(0).to_pylist(), plain(table.column(1).combine_chunks()), strict=True):
            if entry.values[place] != value:
                said = f"{entry.values[place]!r} on Spark, {value!r} on DuckDB in row {self._row(entry, place)}"
                return [f"{entry.text}: {said}\n   {entry.proof.text[:1500]}"]
        return self._raised(entry, raising[:: max(1, len(raising) // rows_raising)])

    def _raised(self, entry, raising):
        """Rows that raise on Spark do on DuckDB, with the same message and place."""
        found = []
        for place in raising:
            try:
                value = self.duck.execute(f"SELECT {entry.proof.text} FROM given_rows WHERE id = {place}").fetchall()
            except duckdb.Error as error:
                raised = diagnosed(error)
                if raised is None:
                    return [f"{entry.text}: an error that is not ours in row {self._row(entry, place)}: {error}"]
                if self.said[entry.shape, raised.code] < self.most_said:
                    self.said[entry.shape, raised.code] += 1
                    found += self._said(entry, place, raised)
            else:
                return [f"{entry.text}: raises on Spark, {value} on DuckDB in row {self._row(entry, place)}"]
        return found

    def _said(self, entry, place, raised):
        from pyspark.errors import PySparkException

        try:
            self.session.sql(f"SELECT {entry.text} FROM given_rows WHERE id = {place}").collect()
        except PySparkException as error:
            ours = (raised.code, raised.sqlstate or None, message_of(raised.message), bare(raised.fragment))
            theirs = (error.getCondition(), error.getSqlState(), message_of(error), bare(fragment_of(error) or ""))
            return [] if ours == theirs else [f"{entry.text}: {theirs} on Spark, {ours} on DuckDB"]
        return [f"{entry.text}: raises only when it is tried, in row {self._row(entry, place)}"]

    def _row(self, entry, place):
        names = [f"CAST({name} AS VARCHAR)" for name in self.types if name in entry.text]
        return self.duck.execute(f"SELECT {', '.join(names) or 'id'} FROM given_rows WHERE id = {place}").fetchall()


def plain(array):
    """Values that are equal only to the same values: floats by their bits, dates and times as numbers."""
    kind = array.type
    if pa.types.is_date(kind):
        array = array.cast(pa.int32())
    elif pa.types.is_list(kind) and pa.types.is_timestamp(kind.value_type):
        array = array.cast(pa.list_(pa.int64()))
    elif pa.types.is_timestamp(kind):
        array = array.cast(pa.int64())
    return [bits(item) for item in array.to_pylist()]


def bits(value):
    """A value in which -0.0 is not 0.0, and NaN is NaN."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else struct.pack("d", value)
    if isinstance(value, dict):
        return {name: bits(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [bits(item) for item in value]
    return value.replace(tzinfo=None) if getattr(value, "tzinfo", None) is not None else value
