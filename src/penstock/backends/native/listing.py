"""docs/reference/proven.md: what is proven, function by function, with the types for which it is.

Nothing of it is written down: each rule is asked for a proof of its call over columns of every type, and over
constants, units and intervals. `page()` is the page.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cache

from penstock.backends.native import aggregates, windows
from penstock.backends.native.aggregates import Calls
from penstock.backends.native.lists import LISTS, listed
from penstock.backends.native.proof import Proven, is_proven
from penstock.backends.native.scalars import RULES, proven
from penstock.catalog.types import FRACTIONAL, INTEGRAL, TEMPORAL, Type
from penstock.plan.forms import Aggregated, Call, Cast, Constant, Form, Keyword, Ordering, Over, Reference, Span

Taken = tuple[str, ...]
TYPES: tuple[Type, ...] = (
    *("boolean", *INTEGRAL, "decimal(10,2)", *FRACTIONAL, "string", "binary", *TEMPORAL),
    *("array<int>", "struct<x:int>", "map<string,int>"),
)
_NUMBERS = (*INTEGRAL, "decimal(10,2)", *FRACTIONAL)
_TEXT, _WHOLE, _UNIT, _INTERVAL = "a text in quotes", "a plain number", "a unit", "an interval"
_CONSTANTS = (_TEXT, _WHOLE, _UNIT, _INTERVAL)
# Several types under one name, the widest first; a constant stands in a name where a column may stand as well.
_FAMILIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("any type", TYPES),
    ("any plain type", tuple(kind for kind in TYPES if "<" not in kind)),
    ("any number", _NUMBERS),
    ("any whole number", INTEGRAL),
    ("any time", TEMPORAL),
)
_COVERED = {_TEXT: "string", _WHOLE: "int"}
_SAID = {"decimal(10,2)": "DECIMAL", "array<int>": "ARRAY", "struct<x:int>": "STRUCT", "map<string,int>": "MAP"}
# Constants that say something: a unit of time, a format, a group of a pattern, the bits of a digest.
_TEXTS = dict.fromkeys(["extract", "date_part", "datepart", "date_trunc", "trunc"], "year")
_TEXTS |= {"date_format": "yyyy", "from_unixtime": "yyyy", "regexp_extract": "(a)b", "next_day": "MO"}
_TEXTS |= {"get_json_object": "$.a"}
_NUMBER = {"sha2": "256"}
_OF_PAIRS = ("corr", "min_by", "max_by", "percentile")
_WINDOW_ARGUMENTS = dict.fromkeys(["row_number", "rank", "dense_rank", "percent_rank", "cume_dist"], 0)
_WINDOW_ARGUMENTS |= {"nth_value": 2}
_ORDERED, _WITHIN = ("listagg", "string_agg"), ("percentile_cont", "percentile_disc")
_KEYS = "whole numbers, BOOLEAN, STRING or times"
_SPECIAL = {
    "sequence": "INT or BIGINT, and a constant between one and the next",
    "get_json_object": "STRING, and a path in quotes of names and places, such as `$.a['b'][0]`",
    **dict.fromkeys(["power", "pow"], "any number, and one of 2, 1 and 0.5"),
    "array_sort": "an ARRAY of plain values, or the entries of a MAP that `map_entries` gives",
    "sort_array": "an ARRAY of plain values, upwards or downwards by a constant",
    "map": f"keys and values in turn, the keys {_KEYS}",
    "map_from_arrays": f"an ARRAY of {_KEYS}, and an ARRAY",
    "map_from_entries": f"an ARRAY of STRUCTs of two fields, the first of them {_KEYS}",
    "map_concat": f"MAPs of one type, whose keys are {_KEYS}",
}
_LEAST, _OPEN = 2, ", …"


@cache
def page() -> str:
    """The page, in Markdown."""
    return "\n".join([*_HEAD.strip().split("\n"), *_functions(), *_aggregates(), *_windows(), *_casts()]) + "\n"


@cache
def signatures(name: str, arity: int | None) -> set[Taken]:
    """The arguments over which a call of a function or operator is proven; without a fixed number, two of them."""
    places = range(_LEAST if arity is None else arity)
    return {
        taken
        for taken in itertools.product((*TYPES, *_CONSTANTS), repeat=len(places))
        if is_proven(lambda taken=taken: proven(*_call(name, taken)))  # type: ignore[misc]
    }


def asked(name: str, arity: int | None) -> str:
    """The same in words."""
    return _SPECIAL.get(name) or said(signatures(name, arity)) + (_OPEN if arity is None else "")


def _call(name: str, taken: Taken) -> tuple[Call, dict[str, Type | None]]:
    """A call over columns and constants, and the types of the columns."""
    forms = tuple(_argument(name, place, item) for place, item in enumerate(taken))
    return Call(name, forms), {f"c{place}": item for place, item in enumerate(taken) if item in TYPES}


def _argument(name: str, place: int, item: str) -> Form:
    if item == _TEXT:
        return Constant("/" if (name, place) == ("like", 2) else _TEXTS.get(name, "a"), "string")
    if item == _WHOLE:
        return Constant(_NUMBER.get(name, "1"), "int")
    if item == _UNIT:
        return Keyword("YEAR" if name in _WITH_YEARS else "DAY")
    return Span("1", "DAY") if item == _INTERVAL else Reference(f"c{place}")


_WITH_YEARS = ("extract", "floor to", "ceil to")


def said(found: Collection[Taken]) -> str:
    """Arguments in words: those that may stand beside the same others together."""
    return "; ".join(", ".join(item) or "no arguments" for item in _alternatives(found)) or "none"


def _alternatives(found: Collection[Taken]) -> tuple[tuple[str, ...], ...]:
    if () in found:
        return ((),)
    behind: dict[str, set[Taken]] = {}
    for first, *rest in found:
        behind.setdefault(first, set()).add(tuple(rest))
    for constant, kind in _COVERED.items():
        if constant in behind and behind[constant] <= behind.get(kind, set()):
            del behind[constant]
    firsts: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for first in (*TYPES, *_CONSTANTS):
        if first in behind:
            firsts.setdefault(_alternatives(behind[first]), []).append(first)
    return tuple((_together(items), *rest) for alternatives, items in firsts.items() for rest in alternatives)


def _together(items: Sequence[str]) -> str:
    left, names = list(items), []
    for name, family in _FAMILIES:
        if set(family) <= set(left):
            names.append(name)
            left = [item for item in left if item not in family]
    return " or ".join([*names, *(_SAID.get(item, item.upper() if item in TYPES else item) for item in left)])


def _functions() -> Iterator[str]:
    taken: dict[str, list[str]] = {}
    for name, arity in RULES:
        taken.setdefault(name, []).append(asked(name, arity))
    yield from _table(
        "Functions and operators",
        "arguments",
        ((name, "; ".join(dict.fromkeys(found))) for name, found in taken.items()),
    )


def _aggregates() -> Iterator[str]:
    rows = ((name, said(aggregated(name))) for name in sorted(aggregates.AGGREGATES))
    yield from _table("Aggregates", "arguments", rows)


def aggregated(name: str) -> set[Taken]:
    """The arguments over which an aggregate is proven."""
    count = _LEAST if name in _OF_PAIRS or name.startswith(("regr_", "covar_")) else 1
    candidates = itertools.product((*TYPES, _WHOLE), repeat=count)
    return {taken for taken in candidates if is_proven(lambda taken=taken: _aggregate(name, taken))}  # type: ignore[misc]


def _aggregate(name: str, taken: Taken) -> Proven:
    call, types = _call(name, taken)
    within = (Ordering(Reference("c0")),) if name in _ORDERED or name in _WITHIN else ()
    if name in _WITHIN:
        call = replace(call, arguments=(Constant("0.5", "decimal(1,1)"),))
    form = listed(call) if name in LISTS else Aggregated(_least_of_most(call), within=within)
    return aggregates.aggregated(form, types, proven, Calls())


def _least_of_most(call: Call) -> Call:
    """MODE as the binder writes it."""
    return replace(call, arguments=(*call.arguments, Constant("true", "boolean"))) if call.function == "mode" else call


def _windows() -> Iterator[str]:
    rows = ((name, said(windowed(name))) for name in sorted(windows.FUNCTIONS))
    yield from _table("Window functions", "arguments", rows)


def windowed(name: str) -> set[Taken]:
    """The arguments over which a window function is proven."""
    candidates = itertools.product((*TYPES, _WHOLE), repeat=_WINDOW_ARGUMENTS.get(name, 1))
    return {taken for taken in candidates if is_proven(lambda taken=taken: _window(name, taken))}  # type: ignore[misc]


def _window(name: str, taken: Taken) -> Proven:
    call, types = _call(name, taken)
    form = Over(call, (Reference("key"),), (Ordering(Reference("key")),))
    return windows.windowed(form, {**types, "key": "int"}, proven, (), Calls())


def _casts() -> Iterator[str]:
    plain = [kind for kind in TYPES if "<" not in kind]
    rows = ((_together([kind]), _together(cast_to(kind)) or "none") for kind in plain)
    yield from _table("Casts", "to", rows, "from")


def cast_to(kind: Type) -> list[Type]:
    """The plain types, in which values of another one are proven to be cast."""
    others = [other for other in TYPES if "<" not in other and other != kind]
    return [other for other in others if is_proven(lambda other=other: _cast(kind, other))]  # type: ignore[misc]


def _cast(kind: Type, other: Type) -> Proven:
    return proven(Cast(Reference("c0"), other), {"c0": kind})


def _table(title: str, what: str, rows: Iterator[tuple[str, str]], first: str = "function") -> Iterator[str]:
    """A table, with functions that take the same in one row."""
    together: dict[str, list[str]] = {}
    for name, taken in rows:
        together.setdefault(taken, []).append(name)
    yield from ("", f"## {title}", "", f"| {first} | {what} |", "| --- | --- |")
    for taken, names in together.items():
        shown = ", ".join(names if first == "from" else (f"`{name}`".replace("|", "\\|") for name in names))
        yield f"| {shown} | {taken} |"


_HEAD = """
# What is proven

<!-- written by `make docs` from the proofs, which src/penstock/backends/native/listing.py asks -->

An operator [works in the process](engines.md) if all of its expressions are proven to give there what Spark gives.
These are, with the types of their arguments; whatever is not here makes its operator one of Spark's. Which constructs
of SQL work in the process stands in [What is incremental](incremental.md).

DECIMAL stands for one with ten digits; where an answer would have no room for its digits it is Spark's. "A text in
quotes" and "a plain number" are constants: a column there is not proven, nor is every constant, such as a pattern or a
format that only Spark has. A few calls depend on more than types; `explain` says it of each operator. ARRAYs,
STRUCTs and MAPs of all these types, also within each other, are columns like others, and rows are ordered by them; what
tells them apart is Spark's, such as `GROUP BY`, `DISTINCT`, a key of a join or `=`. A MAP there has plain keys, none of
them twice: what reads MAPs that Spark has made is Spark's too. Beside what is here, proven are `CASE`, fields of
STRUCTs, casts of a STRUCT to a STRUCT and of an ARRAY to an ARRAY, whose parts are cast by their place, and of a MAP
whose whole numbers become wider, with lambdas `transform`, `filter`, `aggregate`, `map_filter`, `transform_keys` and
`transform_values`, literals, and `explode`, `posexplode` and `inline`; and all of it
with times in UTC.

Sketches and estimates are Spark's alone, such as `approx_count_distinct`, `percentile_approx` and `count_min_sketch`:
their answers follow from how they are computed. `skewness` and `kurtosis` are as well, for their last digits.
"""
