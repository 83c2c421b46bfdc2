"""An expression over values each of which is computed once, in Spark's order.

DuckDB has no name for a part of an expression; a parameter of a lambda over a list of one element is one:

    list_transform([a + b], lambda v1: CASE WHEN v1 > 9 THEN error('…') ELSE v1 END)[1]

That takes some 100 ns a row: a value that is short is written as often as it is needed instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import count

from penstock.backends.native.proof import Proven

_SHORT, _RAISING = 200, 600
_PARAMETER = re.compile(r"\bv(\d+)\b", re.IGNORECASE)
_marks = count()


def once(values: Sequence[Proven | str], body: Callable[..., str]) -> str:
    """The body over the values, which are all computed before it."""
    texts = [value if isinstance(value, str) else value.text for value in values]
    named = [_name(text) for text in texts]
    made = body(*named)
    for text, name in zip(reversed(texts), reversed(named), strict=True):
        if name != text:
            parameter = f"v{1 + max(map(int, _PARAMETER.findall(made + text)), default=0)}"
            made = f"list_transform([{text}], lambda {parameter}: {made.replace(name, parameter)})[1]"
    return made


def applied(function: str, values: str, body: Callable[[str], str]) -> str:
    """A function of lists with a lambda of one parameter."""
    mark = f"\1once {next(_marks)}\1"
    made = body(mark)
    parameter = f"v{1 + max(map(int, _PARAMETER.findall(made + values)), default=0)}"
    return f"{function}({values}, lambda {parameter}: {made.replace(mark, parameter)})"


def ordered(values: str, key: Callable[[str], str]) -> str:
    """The elements of a list, which is not NULL, in the order of a key of each; equal ones stay in their order."""

    def paired(pair: str) -> str:
        return f"struct_pack(k := {key(f'{pair}[1]')}, i := {pair}[2], v := {pair}[1])"

    pairs = applied("list_transform", f"list_zip({values}, range(len({values})))", paired)
    return applied("list_transform", f"list_sort({pairs})", lambda pair: f"{pair}.v")


def reduced(values: str, initial: str, body: Callable[[str, str], str]) -> str:
    """The elements of a list taken in one after the other, by a lambda of what there is and the next one."""
    marks = [f"\1once {next(_marks)}\1" for _ in range(2)]
    made = body(*marks)
    first = 1 + max(map(int, _PARAMETER.findall(made + values + initial)), default=0)
    names = [f"v{first}", f"v{first + 1}"]
    for mark, name in zip(marks, names, strict=True):
        made = made.replace(mark, name)
    return f"list_reduce({values}, lambda {', '.join(names)}: {made}, {initial})"


def _name(text: str) -> str:
    """A mark for the value until all of the expression is known; the value itself if it is short."""
    errors = text.count("error(")
    short = len(text) <= (_RAISING if errors else _SHORT) and errors <= 1
    return text if short else f"\1once {next(_marks)}\1"


def in_order(values: Sequence[Proven], body: Callable[..., str]) -> str:
    """The body over values from left to right: behind one that is NULL nothing is computed, and the answer is NULL."""
    cut = next((place for place, value in enumerate(values) if place and value.raises), None)
    if cut is None:
        return once(values, body)
    behind = values[cut:]

    def guarded(*known: str) -> str:
        rest = in_order(behind, lambda *others: body(*known, *others))
        here = " OR ".join(f"{text} IS NULL" for text in known)
        return f"CASE WHEN {here} THEN NULL ELSE {rest} END"

    return once(values[:cut], guarded)


def in_turn(absorbing: str, word: str, texts: Sequence[str]) -> str:
    """AND or OR of parts, each of which is computed once, and only if none before it was FALSE, or TRUE."""
    first, *rest = texts
    if not rest:
        return first
    behind = in_turn(absorbing, word, rest)
    return once(
        [first], lambda known: f"CASE WHEN {known} IS {absorbing} THEN {absorbing} ELSE ({known}{word}{behind}) END"
    )
