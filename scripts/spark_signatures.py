"""Writes src/penstock/catalog/signatures.json: what types Spark's operators and functions take, asked of Spark itself.

Run it after `spark_functions.py`, with the Spark version that the lock pins: `python scripts/spark_signatures.py`.
Names of functions behind it ask again for these alone, `--operators` or `--functions` for one of the two parts.
Every operator and function is written with a column of each type, and with a constant of each type, in each of its
places; Spark's analyser says of each whether it takes it and what type comes of it. Only a refusal because of types
counts as one: what Spark refuses for another reason (it wants a constant, or another value) is taken here.

One analysis answers for hundreds of expressions: without the last check an expression that does not resolve leaves
the others alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import py4j.java_gateway
import py4j.protocol
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from sqlglot import exp

from penstock.errors import PenstockError
from penstock.sql.parse import parse_query
from penstock.sql.text import spark_sql
from penstock.testing.fuzz.reference import examples

CATALOG = Path(__file__).resolve().parent.parent / "src" / "penstock" / "catalog"
TARGET = CATALOG / "signatures.json"
# One letter for each class of types, with types of the class and a constant of each.
CLASSES: dict[str, dict[str, str]] = {
    "b": {"tinyint": "CAST(1 AS TINYINT)"},
    "s": {"smallint": "CAST(1 AS SMALLINT)"},
    "i": {"int": "1"},
    "l": {"bigint": "1L"},
    "f": {"float": "CAST(1 AS FLOAT)"},
    "d": {"double": "1D"},
    "n": {"decimal(10,2)": "1.5", "decimal(5,0)": "5BD"},
    "t": {"string": "'1'"},
    "o": {"boolean": "true"},
    "D": {"date": "DATE '2020-01-01'"},
    "T": {"timestamp": "TIMESTAMP '2020-01-01 00:00:00'"},
    "N": {"timestamp_ntz": "TIMESTAMP_NTZ '2020-01-01 00:00:00'"},
    "H": {"time(6)": "TIME '10:00:00'"},
    "x": {"binary": "X'31'"},
    "Y": {"interval year to month": "INTERVAL '1-1' YEAR TO MONTH", "interval year": "INTERVAL '1' YEAR"},
    "Z": {"interval day to second": "INTERVAL '1 01:00:00' DAY TO SECOND", "interval day": "INTERVAL '1' DAY"},
    "C": {"interval": "make_interval(1)"},
    "V": {"variant": "parse_json('1')"},
    "a": {
        "array<int>": "array(1)",
        "array<string>": "array('a')",
        "array<struct<a:int,b:string>>": "array(struct(1, 'a'))",
        "array<array<int>>": "array(array(1))",
    },
    "m": {"map<string,int>": "map('a', 1)"},
    "r": {"struct<a:int>": "named_struct('a', 1)"},
    "v": {"void": "NULL"},
}
LETTERS = "".join(CLASSES)
FIRST = {letter: next(iter(types)) for letter, types in CLASSES.items()}
LETTER_OF = {kind: letter for letter, types in CLASSES.items() for kind in types}
COLUMN_OF = {kind: f"c{number}" for number, kind in enumerate(LETTER_OF)}
CONSTANT_OF = {kind: text for types in CLASSES.values() for kind, text in types.items()}
# Refusals that say nothing of types.
OF_VALUES = ("NON_FOLDABLE", "UNEXPECTED_NULL", "VALUE_OUT_OF_RANGE", "INVALID_JSON_SCHEMA", "INVALID_ARG_VALUE")
BATCH = 500
REFUSED, UNKNOWN = "-", "?"
_OPERATORS, _FUNCTIONS = "--operators", "--functions"

BINARY = {
    **{sign: f"{{0}} {sign} {{1}}" for sign in ("+", "-", "*", "/", "%", "DIV", "&", "|", "^", "<<", ">>", ">>>")},
    **{sign: f"{{0}} {sign} {{1}}" for sign in ("||", "=", "<=>", "<", "AND", "LIKE", "RLIKE")},
    "IN": "{0} IN ({1})",
    "CASE": "CASE WHEN true THEN {0} ELSE {1} END",
    "[]": "{0}[{1}]",
}
UNARY = {"- x": "- {0}", "~": "~ {0}", "NOT": "NOT {0}", "IS TRUE": "{0} IS TRUE", "WHEN": "CASE WHEN {0} THEN 1 END"}
# Whole queries, which only the last check of the analysis refuses.
CLAUSES = {
    "WHERE": "SELECT 1 FROM p WHERE {0}",
    "ON": "SELECT 1 FROM p JOIN q ON {0}",
    "FILTER": "SELECT count(1) FILTER (WHERE {0}) FROM p",
    "ORDER BY": "SELECT 1 FROM p ORDER BY {0}",
    "PARTITION BY": "SELECT row_number() OVER (PARTITION BY {0} ORDER BY c2) FROM p",
    "GROUP BY": "SELECT count(1) FROM p GROUP BY {0}",
    "DISTINCT": "SELECT DISTINCT {0} FROM p",
    "INTERSECT": "SELECT {0} FROM p INTERSECT SELECT {0} FROM p",
}
# With a lambda behind the arguments: how many there are with it, how many without, and how they are written.
LAMBDAS: dict[str, tuple[int, int, str]] = {
    "transform": (2, 1, "{0}, x -> 1"),
    "filter": (2, 1, "{0}, x -> true"),
    "exists": (2, 1, "{0}, x -> true"),
    "forall": (2, 1, "{0}, x -> true"),
    "aggregate": (3, 2, "{0}, {1}, (a, x) -> a"),
    "reduce": (3, 2, "{0}, {1}, (a, x) -> a"),
    "zip_with": (3, 2, "{0}, {1}, (x, y) -> 1"),
    "map_filter": (2, 1, "{0}, (k, v) -> true"),
    "map_zip_with": (3, 2, "{0}, {1}, (k, a, b) -> 1"),
    "transform_keys": (2, 1, "{0}, (k, v) -> k"),
    "transform_values": (2, 1, "{0}, (k, v) -> 1"),
}
# Syntax, or functions that do more than compute; what they take is not learned.
LEFT_OUT = frozenset(
    {"window", "session_window", "window_time", "grouping", "grouping_id", "struct", "named_struct", "stack", "any"}
    | {"reflect", "java_method", "try_reflect", "raise_error", "assert_true", "when", "json_tuple", "map", "array"}
    | {"from_json", "from_csv", "from_xml", "schema_of_json", "schema_of_csv", "schema_of_xml", "cast"}
)
MOST = 4


class Analyser:
    """Asks Spark for the types of expressions over one relation with a column of each type."""

    def __init__(self) -> None:
        settings = {"spark.ui.enabled": "false", "spark.sql.timeType.enabled": "true"}
        builder = SparkSession.builder.master("local[1]")
        for key, value in settings.items():
            builder = builder.config(key, value)
        self.spark = builder.getOrCreate()
        # Spark's own handler reads the whole trace of every refusal, which takes most of the time.
        py4j.java_gateway.get_return_value = py4j.protocol.get_return_value
        self.spark.sparkContext.setLogLevel("OFF")
        self._state = self.spark._jsparkSession.sessionState()  # noqa: SLF001
        listed = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for kind, name in COLUMN_OF.items())
        frame = self.spark._jsparkSession.sql(f"SELECT {listed}")  # noqa: SLF001
        frame.createOrReplaceTempView("p")
        self.spark._jsparkSession.sql("SELECT 1 AS one").createOrReplaceTempView("q")  # noqa: SLF001
        self.asked = 0
        self.reasons: dict[str, int] = {}

    def types(self, expressions: Sequence[str]) -> list[str]:
        """For each expression the type, `-` where its types are refused, `?` where nothing is known."""
        found: list[str] = []
        for start in range(0, len(expressions), BATCH):
            found += self._batch(expressions[start : start + BATCH])
        return found

    def accepts(self, query: str) -> bool:
        """Whether the whole analysis takes a query."""
        try:
            self.spark._jsparkSession.sql(query)  # noqa: SLF001
        except Py4JJavaError as error:
            return not self._of_types(str(error.java_exception.getCondition() or ""))
        return True

    def _batch(self, expressions: Sequence[str]) -> list[str]:
        self.asked += len(expressions)
        try:
            plan = self._state.sqlParser().parsePlan(f"SELECT {', '.join(expressions)} FROM p")
            found = self._state.analyzer().execute(plan).expressions()
            return [self._type(found.apply(place)) for place in range(len(expressions))]
        except Py4JJavaError as error:
            if len(expressions) == 1:
                return [self._thrown(error)]
        middle = len(expressions) // 2
        return self._batch(expressions[:middle]) + self._batch(expressions[middle:])

    def _type(self, expression: Any) -> str:
        if expression.resolved():
            return str(expression.dataType().simpleString())
        return REFUSED if self._of_types(self._reason(expression)) else UNKNOWN

    def _thrown(self, error: Py4JJavaError) -> str:
        try:
            condition = str(error.java_exception.getCondition() or "")
        except py4j.protocol.Py4JError:
            condition = "no condition"
        return REFUSED if condition.startswith("DATATYPE_MISMATCH") and self._of_types(condition) else UNKNOWN

    def _of_types(self, reason: str) -> bool:
        self.reasons[reason] = self.reasons.get(reason, 0) + 1
        return not reason.startswith("no ") and not any(part in reason for part in OF_VALUES)

    def _reason(self, expression: Any) -> str:
        """The condition of the innermost part that does not resolve."""
        parts = expression.children()
        for place in range(parts.size()):
            part = parts.apply(place)
            if not part.resolved():
                return self._reason(part)
        try:
            checked = expression.checkInputDataTypes()
            return str(checked.errorSubClass()) if checked.isFailure() else "no failure"
        except (Py4JJavaError, py4j.protocol.Py4JError, TypeError):
            return "no check"


@dataclass
class Taken:
    """What came of the tuples of classes that were tried."""

    results: dict[tuple[str, ...], set[str]] = field(default_factory=dict)
    refused: set[tuple[str, ...]] = field(default_factory=set)

    def add(self, classes: tuple[str, ...], found: str) -> None:
        """One more answer."""
        if found == REFUSED:
            self.refused.add(classes)
        else:
            self.results.setdefault(classes, set()).add(found)

    def result(self, classes: tuple[str, ...]) -> str:
        """One letter for a tuple: the class of the result, `-` or `?`."""
        return letter_of(self.results[classes]) if classes in self.results else REFUSED


def letter_of(types: Iterable[str]) -> str:
    """The class that all these types are of, `?` if there is none."""
    classes = {_class(kind) for kind in types}
    return classes.pop() if len(classes) == 1 else UNKNOWN


def _class(kind: str) -> str:
    if kind in LETTER_OF:
        return LETTER_OF[kind]
    for start, letter in (("decimal", "n"), ("array", "a"), ("map", "m"), ("struct", "r"), ("time(", "H")):
        if kind.startswith(start):
            return letter
    if kind.startswith("interval"):
        return "Y" if "year" in kind or "month" in kind else "Z"
    return UNKNOWN


def written(kind: str) -> Iterator[str]:
    """A column and a constant of a type."""
    yield COLUMN_OF[kind]
    yield CONSTANT_OF[kind]


def matrix(spark: Analyser, template: str) -> dict[str, str]:
    """Left class → what comes of it with each class on the right, over columns and constants."""
    taken = Taken()
    pairs = [
        (one, two, template.format(left, right))
        for one, two in product(LETTER_OF, repeat=2)
        for left, right in product(written(one), written(two))
    ]
    for (one, two, _), found in zip(pairs, spark.types([text for _, _, text in pairs]), strict=True):
        taken.add((LETTER_OF[one], LETTER_OF[two]), found)
    return {one: "".join(taken.result((one, two)) for two in LETTERS) for one in LETTERS}


def row(spark: Analyser, template: str) -> str:
    """What comes of each class."""
    taken = Taken()
    asked = [(kind, template.format(text)) for kind in LETTER_OF for text in written(kind)]
    for (kind, _), found in zip(asked, spark.types([text for _, text in asked]), strict=True):
        taken.add((LETTER_OF[kind],), found)
    return "".join(taken.result((letter,)) for letter in LETTERS)


def clause(spark: Analyser, template: str) -> str:
    """The classes that a clause takes."""
    return "".join(
        letter
        for letter, types in CLASSES.items()
        if any(spark.accepts(template.format(text)) for kind in types for text in written(kind))
    )


def casts(spark: Analyser) -> dict[str, str]:
    """Class → the classes that it can be cast to."""
    found = {}
    for letter, types in CLASSES.items():
        texts = [text for kind in types for text in written(kind)]
        asked = [(to, f"CAST({text} AS {kind})") for to, kind in FIRST.items() if to != "v" for text in texts]
        answers = zip(asked, spark.types([text for _, text in asked]), strict=True)
        found[letter] = "".join(sorted({to for (to, _), answer in answers if answer != REFUSED}, key=LETTERS.index))
    return found


def unions(spark: Analyser) -> dict[str, str]:
    """Class → the classes that can stand in the same column of a UNION."""
    return {
        one: "".join(
            two
            for two in LETTERS
            if any(
                spark.accepts(f"SELECT {COLUMN_OF[left]} FROM p UNION ALL SELECT {COLUMN_OF[right]} FROM p")
                for left, right in product(CLASSES[one], CLASSES[two])
            )
        )
        for one in LETTERS
    }


def operators(spark: Analyser) -> dict[str, Any]:
    """Everything about operators and clauses."""
    return {
        "binary": {name: matrix(spark, template) for name, template in BINARY.items()},
        "unary": {name: row(spark, template) for name, template in UNARY.items()},
        "clauses": {name: clause(spark, template) for name, template in CLAUSES.items()},
        "casts": casts(spark),
        "union": unions(spark),
    }


def rendered(value: Any, depth: int = 3, indent: str = "") -> str:
    """JSON with one line for each value below a depth."""
    if depth == 0 or not isinstance(value, dict):
        return json.dumps(value, separators=(",", ":"))
    inner = ",\n".join(
        f"{indent} {json.dumps(key)}:{rendered(item, depth - 1, indent + ' ')}" for key, item in value.items()
    )
    return f"{{\n{inner}\n{indent}}}"


@dataclass(frozen=True)
class Asked:
    """A function with so many arguments, and how a call of it is written."""

    name: str
    kind: str
    count: int

    def call(self, arguments: Sequence[str]) -> str:
        """The call over arguments."""
        inner = LAMBDAS[self.name][2].format(*arguments) if self.name in LAMBDAS else ", ".join(arguments)
        return f"`{self.name}`({inner})" + (" OVER (ORDER BY c2)" if self.kind == "window" else "")

    def attempts(self, examples: Sequence[Sequence[str]]) -> Iterator[tuple[tuple[str, ...], str]]:
        """The classes of arguments that are tried, `?` for one of an example, and the call."""
        if self.count <= 2:  # noqa: PLR2004 - all pairs
            for kinds in product(LETTER_OF, repeat=self.count):
                yield tuple(LETTER_OF[kind] for kind in kinds), self.call([COLUMN_OF[kind] for kind in kinds])
        for place, kind in product(range(self.count), LETTER_OF):
            for text in written(kind):
                for example in examples:
                    arguments = [*example[:place], text, *example[place + 1 :]]
                    yield self._one(place, kind, UNKNOWN), self.call(arguments)
                for other in FIRST if self.count > 2 and text == COLUMN_OF[kind] else "v":  # noqa: PLR2004
                    arguments = [COLUMN_OF[FIRST[other]]] * self.count
                    arguments[place] = text
                    yield self._one(place, kind, other), self.call(arguments)

    def _one(self, place: int, kind: str, other: str) -> tuple[str, ...]:
        return tuple(LETTER_OF[kind] if index == place else other for index in range(self.count))


def learned(spark: Analyser, asked: Asked, examples: Sequence[Sequence[str]]) -> dict[str, Any] | None:
    """The classes that each place takes, the class of the result, and pairs where the places depend on each other."""
    attempts = list(asked.attempts(examples)) or [((), asked.call(()))]
    if asked.kind == "generator":
        answers = [UNKNOWN if spark.accepts(f"SELECT {text} FROM p") else REFUSED for _, text in attempts]
    else:
        answers = spark.types([text for _, text in attempts])
    taken = [(classes, found) for (classes, _), found in zip(attempts, answers, strict=True) if found != REFUSED]
    if not taken:
        return None
    places = [
        "".join(letter for letter in LETTERS if any(c[i] == letter for c, _ in taken)) for i in range(asked.count)
    ]
    found: dict[str, Any] = {"takes": places, "gives": _given(taken)}
    pairs = _pairs(taken, places) if asked.count == 2 else None  # noqa: PLR2004
    return found | ({} if pairs is None else {"pairs": pairs})


def _given(taken: Sequence[tuple[tuple[str, ...], str]]) -> str:
    """One letter, or one for each class of the first argument."""
    every = {letter_of({kind}) for _, kind in taken}
    if len(every) == 1:
        return every.pop()
    of_first = {letter: {kind for classes, kind in taken if classes[0] == letter} for letter in LETTERS}
    return "".join(letter_of(of_first[letter]) if of_first[letter] else REFUSED for letter in LETTERS)


def _pairs(taken: Sequence[tuple[tuple[str, ...], str]], places: Sequence[str]) -> dict[str, str] | None:
    """First class → the second ones; None where any that a place takes goes with any of the other."""
    both = {classes for classes, _ in taken}
    rows = {one: "".join(two for two in places[1] if (one, two) in both) for one in places[0]}
    return None if all(row == places[1] for row in rows.values()) else {one: row for one, row in rows.items() if row}


def arguments_of(names: Sequence[str]) -> dict[tuple[str, int], list[list[str]]]:
    """Function and number of arguments → arguments of Spark's own examples."""
    found: dict[tuple[str, int], list[list[str]]] = {}
    for example in examples(SparkSession.active(), names):
        try:
            tree = parse_query(example.text)
        except PenstockError:
            continue
        for node in tree.find_all(exp.Anonymous):
            constant = node.find(exp.Column, exp.Lambda, exp.Star, exp.Distinct, exp.Query) is None
            if str(node.this).lower() == example.function and constant:
                listed = [spark_sql(item) for item in node.expressions]
                found.setdefault((example.function, len(listed)), []).append(listed)
    return found


def counts(name: str, item: dict[str, Any]) -> list[tuple[int, int]]:
    """The numbers of arguments that are tried, each with how many of them are values."""
    if name in LAMBDAS:
        return [LAMBDAS[name][:2]]
    most = MOST if item["max"] is None else min(item["max"], MOST)
    return [(count, count) for count in range(item["min"], most + 1)]


def functions(spark: Analyser, names: Sequence[str], found: dict[str, Any]) -> dict[str, Any]:
    """Function → number of arguments → what is learned; what `found` has is asked again only where it is named."""
    listed = json.loads((CATALOG / "functions.json").read_text(encoding="utf-8"))["functions"]
    wanted = [name for name in listed if name not in LEFT_OUT and listed[name]["kind"] != "table"]
    wanted = [name for name in wanted if not names or name in names]
    known = arguments_of(wanted)
    for name in wanted:
        learnt = {
            str(count): learned(spark, Asked(name, listed[name]["kind"], places), known.get((name, count), [])[:3])
            for count, places in counts(name, listed[name])
        }
        found[name] = {count: item for count, item in learnt.items() if item is not None}
        print(name, spark.asked, flush=True)
    return {name: found[name] for name in sorted(found) if found[name]}


def main(names: Sequence[str]) -> int:
    """Ask Spark and write the file."""
    spark = Analyser()
    found = json.loads(TARGET.read_text(encoding="utf-8")) if TARGET.exists() else {"functions": {}}
    if not names or names == [_OPERATORS]:
        answers = {"spark": spark.spark.version, "classes": FIRST, "operators": operators(spark)}
        found = answers | {"functions": found["functions"]}
        TARGET.write_text(rendered(found) + "\n", encoding="utf-8")
    if names != [_OPERATORS]:
        found["functions"] = functions(spark, [name for name in names if name != _FUNCTIONS], found["functions"])
        TARGET.write_text(rendered(found) + "\n", encoding="utf-8")
    print(f"{spark.asked} expressions;", spark.reasons)
    spark.spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
