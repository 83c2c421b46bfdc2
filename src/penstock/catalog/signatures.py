"""The types that Spark's operators, clauses and functions take, from a data file that Spark itself was asked for.

`signatures.json` is written by `scripts/spark_signatures.py`. Types go by classes, one letter each: every DECIMAL is
`n`, every ARRAY `a`. A text over all classes, in the order of `LETTERS`, has the class of the result in each class's
place, `-` where Spark refuses it and `?` where it takes it and the result has no one class.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from penstock.catalog.types import Type

LETTERS = "bsilfdntoDTNHxYZCVamrv"
REFUSED, UNCLEAR = "-", "?"
VOID = "v"
_SIMPLE: dict[Type, str] = {
    "tinyint": "b",
    "smallint": "s",
    "int": "i",
    "bigint": "l",
    "float": "f",
    "double": "d",
    "string": "t",
    "boolean": "o",
    "date": "D",
    "timestamp": "T",
    "timestamp_ntz": "N",
    "binary": "x",
    "interval": "C",
    "variant": "V",
    "void": VOID,
}
_STARTS = (("decimal", "n"), ("array<", "a"), ("map<", "m"), ("struct<", "r"), ("time(", "H"))
# Types that say no more than their class does.
_OF_CLASS: dict[str, Type] = {
    **{letter: kind for kind, letter in _SIMPLE.items()},
    "n": "decimal",
    "Y": "interval month",
    "Z": "interval second",
    "H": "time(6)",
}
NAMES: dict[str, str] = {
    **{letter: kind.upper() for kind, letter in _SIMPLE.items()},
    "n": "DECIMAL",
    "H": "TIME",
    "Y": "INTERVAL MONTH",
    "Z": "INTERVAL DAY",
    "a": "ARRAY",
    "m": "MAP",
    "r": "STRUCT",
    VOID: "NULL",
}


def class_of(kind: Type | None) -> str | None:
    """The class of a type, None where the type is not known or Spark was not asked about it."""
    if kind is None or kind in _SIMPLE:
        return None if kind is None else _SIMPLE[kind]
    if kind.startswith("interval "):
        return "Y" if "year" in kind or "month" in kind else "Z"
    return next((letter for start, letter in _STARTS if kind.startswith(start)), None)


def type_of_class(letter: str) -> Type | None:
    """A type of that class, where no more is known; None for nested types."""
    return _OF_CLASS.get(letter)


@dataclass(frozen=True, slots=True)
class Signature:
    """A function with so many arguments: the classes that each place takes, and the class that comes of them.

    `gives` is one letter, or one for each class of the first argument. `pairs` has the second classes for each first
    one, where not all go together.
    """

    takes: tuple[str, ...]
    gives: str
    pairs: Mapping[str, str] | None = None

    def goes_together(self, first: str, second: str) -> bool:
        """True if two columns of these classes can be the arguments of a function of two."""
        return self.pairs is None or second in self.pairs.get(first, "")

    def result(self, first: str | None) -> str:
        """The class of the answer, `?` where that is not known."""
        if len(self.gives) == 1:
            return self.gives
        return UNCLEAR if first is None else self.gives[LETTERS.index(first)]


@dataclass(frozen=True, slots=True)
class Inside:
    """The nested types that a function with so many arguments takes.

    `holds` has for a place, for arrays (`a`) and for maps (`m`), the classes of elements and of keys that it takes.
    `beside` has two places and, by the class of the nested type in the first and that of what it holds, what goes with
    it in the second: classes, those of the elements of arrays, those of the keys of maps, with a space between them.
    """

    holds: Mapping[int, Mapping[str, str]]
    beside: Sequence[tuple[int, int, Mapping[str, str]]]


@dataclass(frozen=True, slots=True)
class Signatures:
    """The whole file: operators by their sign, clauses by their word, casts and UNION by class."""

    binary: Mapping[str, Mapping[str, str]]
    unary: Mapping[str, str]
    clauses: Mapping[str, str]
    casts: Mapping[str, str]
    union: Mapping[str, str]
    functions: Mapping[str, Mapping[str, Mapping[str, Any]]]
    inside: Mapping[str, Any]

    def function(self, name: str, count: int) -> Signature | None:
        """The signature of a function with so many arguments; None where that is not known."""
        found = self.functions.get(name, {}).get(str(count))
        return None if found is None else Signature(tuple(found["takes"]), found["gives"], found.get("pairs"))

    def nested(self, name: str, count: int) -> Inside | None:
        """The nested types that a function with so many arguments takes; None where any will do, or none are known."""
        found = self.inside["functions"].get(name, {}).get(str(count))
        if found is None:
            return None
        relations = self.inside["relations"]
        holds = {int(place): heads for place, heads in found.get("holds", {}).items()}
        beside = [(int(both[0]), int(both[1]), relations[at]) for both, at in found.get("beside", {}).items()]
        return Inside(holds, beside)

    def of_lambda(self, name: str, begun: str | None) -> str | None:
        """The classes that a function's lambda may give, which may depend on that of the value it began with."""
        found = self.inside["lambdas"].get(name)
        return found if found is None or isinstance(found, str) else found.get(begun)

    def between(self, sign: str, left: str, right: str) -> str:
        """The class of `left sign right`, `-` or `?`."""
        return self.binary[sign][left][LETTERS.index(right)]

    def of_one(self, sign: str, operand: str) -> str:
        """The class of an operator with one operand."""
        return self.unary[sign][LETTERS.index(operand)]

    def castable(self, letter: str, to: str) -> bool:
        """True if CAST takes values of one class to another."""
        return to in self.casts[letter]


@cache
def signatures() -> Signatures:
    """The signatures as Spark gave them, read once."""
    text = files("penstock.catalog").joinpath("signatures.json").read_text(encoding="utf-8")
    found = json.loads(text)
    return Signatures(**found["operators"], functions=found["functions"], inside=found["inside"])
