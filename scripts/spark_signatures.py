"""Writes src/penstock/catalog/signatures.json: what types Spark's operators and functions take, asked of Spark itself.

Run it after `spark_functions.py`, with the Spark version that the lock pins: `python scripts/spark_signatures.py`.
Names of functions behind it ask again for these alone, `--operators` or `--functions` for one of the two parts.
Every operator and function is written with a column of each type, and with a constant of each type, in each of its
places; Spark's analyser says of each whether it takes it and what type comes of it. Only a refusal because of types
counts as one: what Spark refuses for another reason (it wants a constant, or another value) is taken here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from sqlglot import exp

from penstock.errors import PenstockError
from penstock.sql.parse import parse_query
from penstock.sql.text import spark_sql
from penstock.testing.analyser import REFUSED, UNKNOWN, Analyser
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


def _class(kind: str) -> str:
    if kind in LETTER_OF:
        return LETTER_OF[kind]
    for start, letter in (("decimal", "n"), ("array", "a"), ("map", "m"), ("struct", "r"), ("time(", "H")):
        if kind.startswith(start):
            return letter
    if kind.startswith("interval"):
        return "Y" if "year" in kind or "month" in kind else "Z"
    return UNKNOWN


def _held(kind: str) -> str:
    """The type of what an array holds, or of the keys of a map to INT."""
    return kind.partition("<")[2][:-1].removesuffix(",int" if kind.startswith("map<") else "")


# Types of what is in an array, or is a map's key, beside the first of each class.
HELD = [*FIRST.values(), "decimal(38,0)", "struct<a:int,b:int>"]
NO_KEY = ("variant", "interval", "map<string,int>", "void")
HOLDING = {
    f"{head}{place}": kind
    for head, text in (("a", "array<{}>"), ("m", "map<{},int>"))
    for place, kind in enumerate(text.format(held) for held in HELD if head == "a" or held not in NO_KEY)
}
# The letter of the head, and that of what is in it.
CODE_OF = {name: name[0] + _class(_held(kind)) for name, kind in HOLDING.items()}
# A number with room for any whole one.
WIDE = "CAST(NULL AS DECIMAL(38,0))"
# A constant of these classes may go where a column does not.
AS_CONSTANT = "int"
# Where one argument depends on what is in another: arrays and maps of every simple type.
NESTED = ("array<{}>", "map<{},int>", "map<string,{}>")
INSIDE = {
    head.format(kind): f"n{place}_{number}"
    for place, head in enumerate(NESTED)
    for number, kind in enumerate(FIRST[letter] for letter in LETTERS[: LETTERS.index("a")])
    if (place, kind) not in {(1, "variant"), (1, "interval")}
}
_OPERATORS, _FUNCTIONS, _INSIDE = "--operators", "--functions", "--inside"

BINARY = {
    **{sign: f"{{0}} {sign} {{1}}" for sign in ("+", "-", "*", "/", "%", "DIV", "&", "|", "^", "<<", ">>", ">>>")},
    **{sign: f"{{0}} {sign} {{1}}" for sign in ("||", "=", "<=>", "<", "AND", "LIKE", "RLIKE")},
    "IN": "{0} IN ({1})",
    "CASE": "CASE WHEN true THEN {0} ELSE {1} END",
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
# What a lambda gives, where not anything will do: written with its value, and with the value it began with.
RESULTS: dict[str, str] = {
    "filter": "array(1), x -> {1}",
    "exists": "array(1), x -> {1}",
    "forall": "array(1), x -> {1}",
    "array_sort": "array(1), (x, y) -> {1}",
    "map_filter": "map(1, 1), (k, v) -> {1}",
    "transform_keys": "map(1, 1), (k, v) -> {1}",
    "aggregate": "array(1), {0}, (a, x) -> {1}",
    "reduce": "array(1), {0}, (a, x) -> {1}",
}
SUBSCRIPT = "[]"
# Syntax, or functions that do more than compute; what they take is not learned.
LEFT_OUT = frozenset(
    {"window", "session_window", "window_time", "grouping", "grouping_id", "struct", "named_struct", "stack", "any"}
    | {"reflect", "java_method", "try_reflect", "raise_error", "assert_true", "when", "json_tuple", "map", "array"}
    | {"from_json", "from_csv", "from_xml", "schema_of_json", "schema_of_csv", "schema_of_xml", "cast"}
)
MOST = 4


def opened() -> tuple[SparkSession, Analyser]:
    """A session, and the analyser over a relation with a column of each type."""
    settings = {"spark.ui.enabled": "false", "spark.sql.timeType.enabled": "true"}
    spark = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    columns = {name: kind for kind, name in [*COLUMN_OF.items(), *INSIDE.items()]} | HOLDING
    spark.sql("SELECT 1 AS one").createOrReplaceTempView("q")
    return spark, Analyser(spark, "p", columns)


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
        if self.name == SUBSCRIPT:
            return f"{arguments[0]}[{arguments[1]}]"
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
    if asked.kind == "generator" or asked.name in LAMBDAS:  # a lambda says nothing where its array is none
        answers = [UNKNOWN if spark.accepts(f"SELECT {text} FROM p") else REFUSED for _, text in attempts]
    else:
        answers = spark.types([text for _, text in attempts])
    taken = [(classes, found) for (classes, _), found in zip(attempts, answers, strict=True) if found != REFUSED]
    if not taken:
        return None
    if asked.kind != "generator" and asked.name not in LAMBDAS:
        taken += _of_elements(spark, asked, _places(taken, asked.count))
    places = _places(taken, asked.count)
    found: dict[str, Any] = {"takes": places, "gives": _given(taken)}
    pairs = _pairs(taken, places) if asked.count == 2 else None  # noqa: PLR2004
    return found | ({} if pairs is None else {"pairs": pairs})


def _places(taken: Sequence[tuple[tuple[str, ...], str]], count: int) -> list[str]:
    """The classes that each place takes."""
    return ["".join(letter for letter in LETTERS if any(c[i] == letter for c, _ in taken)) for i in range(count)]


def _of_elements(spark: Analyser, asked: Asked, places: Sequence[str]) -> list[tuple[tuple[str, ...], str]]:
    """What is taken beside arrays and maps of each type, by functions that take those."""
    attempts: list[tuple[tuple[str, ...], str]] = []
    for place, other in product(range(asked.count), repeat=2):
        if place == other or not set("am") & set(places[place]) or set(LETTERS) <= set(places[place]):
            continue
        for (kind, column), (beside, text) in product(INSIDE.items(), [*COLUMN_OF.items(), *INSIDE.items()]):
            if beside in INSIDE and kind.partition("<")[2] != beside.partition("<")[2]:
                continue
            arguments = ["NULL"] * asked.count
            arguments[place], arguments[other] = column, text
            classes = [UNKNOWN] * asked.count
            classes[place], classes[other] = kind[0], LETTER_OF.get(beside, beside[0])
            attempts.append((tuple(classes), asked.call(arguments)))
    answers = spark.types([text for _, text in attempts])
    return [(classes, found) for (classes, _), found in zip(attempts, answers, strict=True) if found != REFUSED]


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


def arguments_of(session: SparkSession, names: Sequence[str]) -> dict[tuple[str, int], list[list[str]]]:
    """Function and number of arguments → arguments of Spark's own examples."""
    found: dict[tuple[str, int], list[list[str]]] = {}
    for example in examples(session, names):
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


def functions(session: SparkSession, spark: Analyser, names: Sequence[str], found: dict[str, Any]) -> dict[str, Any]:
    """Function → number of arguments → what is learned; what `found` has is asked again only where it is named."""
    listed = json.loads((CATALOG / "functions.json").read_text(encoding="utf-8"))["functions"]
    wanted = [name for name in listed if name not in LEFT_OUT and listed[name]["kind"] != "table"]
    wanted = [name for name in wanted if not names or name in names]
    known = arguments_of(session, wanted)
    for name in wanted:
        learnt = {
            str(count): learned(spark, Asked(name, listed[name]["kind"], places), known.get((name, count), [])[:3])
            for count, places in counts(name, listed[name])
        }
        found[name] = {count: item for count, item in learnt.items() if item is not None}
        print(name, spark.asked, flush=True)
    return {name: found[name] for name in sorted(found) if found[name]}


def inside(session: SparkSession, spark: Analyser, found: dict[str, Any]) -> dict[str, Any]:
    """What functions take beside, and in, arrays and maps: of functions whose signature is known, and of `x[i]`."""
    listed = json.loads((CATALOG / "functions.json").read_text(encoding="utf-8"))["functions"]
    subscript = {SUBSCRIPT: {"2": {"takes": ["am", LETTERS]}}}
    relations: list[dict[str, str]] = []
    asked: dict[str, Any] = {}
    known = arguments_of(session, list(found))
    for name, counted in sorted({**found, **subscript}.items()):
        for count, item in counted.items():
            takes = item["takes"]
            open_end = int(count) > 2 and listed.get(name, {}).get("max") is None  # noqa: PLR2004 - two say it all
            if name in {*LAMBDAS, *RESULTS} or open_end or not any(map(_nested_only, takes)):
                continue
            kind = listed.get(name, {}).get("kind", "scalar")
            learnt = _inside(spark, Asked(name, kind, int(count)), takes, known.get((name, int(count)), [])[:2])
            for places, relation in learnt.pop("beside", {}).items():
                if relation not in relations:
                    relations.append(relation)
                learnt.setdefault("beside", {})[places] = relations.index(relation)
                other = int(places[1])  # what goes beside some array is taken
                plain = {letter for row in relation.values() for letter in row.partition(" ")[0]} | {*takes[other]}
                takes[other] = "".join(letter for letter in LETTERS if letter in plain)
            if learnt:
                asked.setdefault(name, {})[count] = learnt
        print(name, spark.asked, flush=True)
    lambdas = {name: _of_lambda(spark, name, text) for name, text in RESULTS.items()}
    return {"functions": dict(sorted(asked.items())), "relations": relations, "lambdas": lambdas}


def _nested_only(taken: str) -> bool:
    """True for a place that takes arrays or maps, and nothing but them."""
    return bool(set("am") & set(taken)) and set(taken) <= set("amrv")


def _inside(spark: Analyser, asked: Asked, takes: Sequence[str], examples: Sequence[Sequence[str]]) -> dict[str, Any]:
    """`holds`: place → head → what may be in it; `beside`: two places → what goes with what is in the first."""
    fillings = [["NULL"] * asked.count, *(list(item) for item in examples if asked.count > 1)]
    holds: dict[str, dict[str, set[str]]] = {}
    beside: dict[str, dict[str, str]] = {}
    for place in range(asked.count):
        if not _nested_only(takes[place]):
            continue
        heads = {head for head in "am" if head in takes[place]}
        nested = [name for name in HOLDING if name[0] in heads]
        taken = {CODE_OF[n] for (n,), ok in _tried(spark, asked, fillings, [(place, nested)]) if ok}
        for other in range(asked.count):
            if other == place or (other < place and _nested_only(takes[other])):
                continue
            some = LETTERS if asked.count > 2 else {*takes[other], *"amr"}  # noqa: PLR2004 - all pairs of two are known
            kinds = [kind for kind in LETTER_OF if LETTER_OF[kind] in some]
            texts = {COLUMN_OF[kind]: LETTER_OF[kind] for kind in kinds}
            texts |= {CONSTANT_OF[kind]: LETTER_OF[kind] for kind in kinds if LETTER_OF[kind] in AS_CONSTANT}
            texts |= {WIDE: "n"} if "n" in some else {}
            texts |= {name: f" {CODE_OF[name]}" for name in HOLDING if name[0] in takes[other]}
            used = fillings if asked.count > 2 else fillings[:1]  # noqa: PLR2004 - of two, none is left to fill
            tried = _tried(spark, asked, used, [(place, nested), (other, list(texts))])
            pairs = {(CODE_OF[one], texts[two]) for (one, two), ok in tried if ok}
            taken |= {one for one, _ in pairs}
            relation = _relation(pairs)
            if len({*relation.values()}) > 1:
                beside[f"{place}{other}"] = relation
        if any(map(_nested_only, takes[:place])):  # it is asked beside the one before it
            continue
        for head in sorted(heads):
            of_head = "".join(letter for letter in LETTERS if head + letter in taken)
            asked_of = {code[1] for code in CODE_OF.values() if code[0] == head}
            if of_head and set(of_head) != asked_of:
                holds.setdefault(str(place), {})[head] = of_head
    return ({"holds": holds} if holds else {}) | ({"beside": beside} if beside else {})


def _tried(
    spark: Analyser,
    asked: Asked,
    fillings: Sequence[Sequence[str]],
    places: Sequence[tuple[int, Sequence[str]]],
) -> list[tuple[tuple[str, ...], bool]]:
    """Texts at places, and whether Spark takes them with any of the other arguments."""
    attempts: list[tuple[tuple[str, ...], str]] = []
    for texts, filling in product(product(*(texts for _, texts in places)), fillings):
        arguments = list(filling)
        for (place, _), text in zip(places, texts, strict=True):
            arguments[place] = text
        attempts.append((texts, asked.call(arguments)))
    if asked.kind == "generator":
        answers = [UNKNOWN if spark.accepts(f"SELECT {text} FROM p") else REFUSED for _, text in attempts]
    else:
        answers = spark.types([text for _, text in attempts])
    return [(texts, found != REFUSED) for (texts, _), found in zip(attempts, answers, strict=True)]


def _relation(pairs: set[tuple[str, str]]) -> dict[str, str]:
    """Code → the classes that go with it, then the elements of arrays, then the keys of maps, with spaces between."""
    found = {}
    for code in sorted({one for one, _ in pairs}):
        with_it = {two for one, two in pairs if one == code}
        plain = {two.strip()[0] for two in with_it}
        parts = [plain, *({two[2] for two in with_it if two.startswith(f" {head}")} for head in "am")]
        found[code] = " ".join("".join(letter for letter in LETTERS if letter in part) for part in parts)
    return found


def _of_lambda(spark: Analyser, name: str, text: str) -> dict[str, str] | str:
    """The classes that a lambda may give; one text for each class of the value it began with, where there is one."""
    begun = LETTER_OF if "{0}" in text else ["void"]
    asked = [
        ((LETTER_OF[one], LETTER_OF[kind]), f"{name}({text.format(first, given)})")
        for one, kind in product(begun, LETTER_OF)
        for first, given in product(written(one), written(kind))
    ]
    # What Spark says of a query that asks for the types alone leaves lambdas out.
    pairs = {classes for classes, call in asked if spark.accepts(f"SELECT {call} FROM p")}
    if "{0}" not in text:
        return "".join(two for two in LETTERS if ("v", two) in pairs)
    return {one: "".join(two for two in LETTERS if (one, two) in pairs) for one in LETTERS if (one, "v") in pairs}


def main(names: Sequence[str]) -> int:
    """Ask Spark and write the file."""
    session, spark = opened()
    found = json.loads(TARGET.read_text(encoding="utf-8")) if TARGET.exists() else {"functions": {}}
    if not names or names == [_OPERATORS]:
        answers = {"spark": session.version, "classes": FIRST, "operators": operators(spark)}
        found = answers | {"functions": found["functions"]}
        TARGET.write_text(rendered(found) + "\n", encoding="utf-8")
    if names not in ([_OPERATORS], [_INSIDE]):
        found["functions"] = functions(
            session, spark, [name for name in names if name != _FUNCTIONS], found["functions"]
        )
        TARGET.write_text(rendered(found) + "\n", encoding="utf-8")
    if names in ([], [_INSIDE]):
        found["inside"] = inside(session, spark, found["functions"])
        TARGET.write_text(rendered(found) + "\n", encoding="utf-8")
    print(f"{spark.asked} expressions;", dict(spark.reasons))
    session.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
