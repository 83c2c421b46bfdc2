"""Errors of types: what was found, and a cast or a function that would work."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from penstock.catalog.signatures import NAMES, REFUSED, class_of, signatures
from penstock.catalog.types import Type
from penstock.errors import Diagnostic, Span, SqlError
from penstock.sql.text import span_of, spark_sql
from penstock.types.common import UNCERTAIN

_SQLSTATE = "42K09"
_SHOWN = 60
_NUMBERS, _WHOLE = "bsilfdn", "bsil"
# In this order a cast is proposed: the first class that the value can be cast to and that works there.
_PROPOSED = "ilndDTNox"
# A cast of one kind of value to another says little of what is meant: numbers stay numbers, times stay times.
_ALIKE = dict.fromkeys("bsilfdn", "ilndt") | dict.fromkeys("DTN", "DTNt")
# What gives one class from another where no cast does.
_CONVERSIONS = {
    ("D", "i"): "unix_date(…)",
    ("D", "l"): "unix_date(…)",
    ("D", "d"): "unix_date(…)",
    ("l", "T"): "timestamp_seconds(…)",
    ("a", "t"): "array_join(…, ',')",
    ("m", "t"): "to_json(…)",
    ("r", "t"): "to_json(…)",
}


def mismatch(code: str, message: str, place: exp.Expression, hint: str | None = None) -> SqlError:
    """The error for types that do not fit."""
    return SqlError(Diagnostic(code, message, span_of(place), hint=hint, sqlstate=_SQLSTATE))


def shown(kind: Type | None) -> str:
    """A type as a program writes it; parts that are not certain are left open."""
    return "an unknown type" if kind is None else kind.replace(UNCERTAIN, "…").upper().replace(",", ", ")


def written(tree: exp.Expression) -> str:
    """An expression as a message quotes it: the names of columns without their relations."""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    if isinstance(tree, exp.Column):
        return str(tree.name.rpartition(".")[2])
    text = spark_sql(tree.transform(_plain, copy=True))
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _plain(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.Column):
        return exp.Column(this=exp.Identifier(this=node.name.rpartition(".")[2], quoted=False))
    return node


def operands(
    signs: tuple[str, str], left: exp.Expression, right: exp.Expression, kinds: Sequence[Type | None]
) -> SqlError:
    """Two values between which an operator has no meaning; its sign in the data, and as it was written."""
    sign, name = signs
    message = f"{name} has no meaning between {shown(kinds[0])} and {shown(kinds[1])}"
    one, two = class_of(kinds[0]) or "", class_of(kinds[1]) or ""
    rules = signatures()
    either = (
        (right, two, lambda other: rules.between(sign, one, other) != REFUSED),
        (left, one, lambda other: rules.between(sign, other, two) != REFUSED),
    )
    place = left.parent if isinstance(left.parent, exp.Expression) else left
    return mismatch("TYPE_MISMATCH", message, place, proposed(*either))


def proposed(*values: tuple[exp.Expression, str, Callable[[str], bool]]) -> str | None:
    """A cast, or a function, that makes something that works of one of the values, each given with its class.

    A text is the last resort.
    """
    for classes in (_PROPOSED, ""):
        for tree, letter, works in values:
            found = _cast(tree, letter, works, classes) or (None if classes else _conversion(tree, letter, works))
            if found is not None:
                return f"{found} works there"
    return next((f"{found} works there" for item in values if (found := _cast(*item, "t")) is not None), None)


def _cast(tree: exp.Expression, letter: str, works: Callable[[str], bool], classes: str) -> str | None:
    castable = signatures().casts[letter]
    classes = "".join(other for other in classes if other in _ALIKE.get(letter, classes))
    found = next((other for other in classes if other != letter and other in castable and works(other)), None)
    return None if found is None else f"CAST({written(tree)} AS {NAMES[found]})"


def _conversion(tree: exp.Expression, letter: str, works: Callable[[str], bool]) -> str | None:
    calls = (call for (given, other), call in _CONVERSIONS.items() if given == letter and works(other))
    found = next(calls, None)
    return None if found is None else found.replace("…", written(tree))


def apart(name: str, place: exp.Expression, kinds: Sequence[Type | None], hint: str | None) -> SqlError:
    """Two arguments of a function that do not go together."""
    message = f"{name} does not take {shown(kinds[0])} and {shown(kinds[1])} together"
    return mismatch("ARGUMENT_TYPE", message, place, hint)


def listed(letters: str) -> str:
    """The classes in words."""
    rest = letters.replace("v", "")
    words: list[str] = []
    for group, word in ((_NUMBERS, "numbers"), (_WHOLE, "whole numbers")):
        if set(group) <= set(rest):
            words.append(word)
            rest = "".join(letter for letter in rest if letter not in group)
    words += [NAMES[letter] for letter in rest]
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def no_condition(where: str, tree: exp.Expression, kind: Type) -> SqlError:
    """A value that is neither TRUE nor FALSE where a condition is needed."""
    message = f"{where} needs a condition, and {written(tree)} is {shown(kind)}"
    known = f"{written(tree)} IS NOT NULL"
    hints = {"i": f"{written(tree)} <> 0", "t": f"CAST({written(tree)} AS BOOLEAN)"}
    letter = class_of(kind) or ""
    number = letter in "bsilfdn"
    return mismatch("NOT_A_CONDITION", message, tree, f"such as {hints.get('i' if number else letter, known)}")


def no_common_type(what: str, parts: Sequence[exp.Expression], kinds: Sequence[Type | None]) -> SqlError:
    """Values that must have one type and have none together; the last part is the one that does not fit."""
    before = ", ".join(dict.fromkeys(shown(kind) for kind in kinds[:-1] if kind != "void"))
    message = f"{what} needs values of one type, and {shown(kinds[-1])} has none together with {before}"
    return mismatch("TYPE_MISMATCH", message, parts[-1], f"CAST({written(parts[-1])} AS STRING), for all of them alike")


def no_room(tree: exp.Literal, kind: str) -> SqlError:
    """A number that is larger than its type has room for."""
    number = tree.name if len(tree.name) <= _SHOWN else f"{tree.name[:_SHOWN]}…"
    return mismatch("NUMBER_RANGE", f"the number {number} does not fit into {kind}", tree, None)


def no_cast(tree: exp.Cast, kind: Type, to: Type) -> SqlError:
    """A conversion that Spark does not have."""
    letter, other = class_of(kind) or "", class_of(to) or ""
    call = _CONVERSIONS.get((letter, other))
    text = written(tree.this)
    number = letter == "o" or (other in "bsilfdn" and letter in "TN")
    hint = (
        f"{call.replace('…', text)} does that"
        if call
        else "to_timestamp, unix_seconds and their like say what is meant"
        if number
        else None
    )
    return mismatch("BAD_CAST", f"{shown(kind)} cannot be cast to {shown(to)}", tree, hint)


def no_order(where: str, tree: exp.Expression, kind: Type) -> SqlError:
    """Values that have no order, or of which equal ones cannot be told."""
    hint = f"to_json({written(tree)}) has one" if class_of(kind) in ("m", "V") else None
    return mismatch("TYPE_MISMATCH", f"{where} cannot take {shown(kind)}, whose values have no order", tree, hint)


def window_inside(where: str, place: exp.Expression) -> SqlError:
    """A window function where rows are still being chosen."""
    message = f"a window function cannot stand in {where}"
    hint = "QUALIFY chooses rows by it, or a condition around a query that has it in its SELECT list"
    return SqlError(Diagnostic("WINDOW_NOT_ALLOWED", message, span_of(place), hint=hint, sqlstate="42903"))


def without_over(name: str, place: exp.Expression) -> SqlError:
    """A window function that is not told its window."""
    message, hint = f"{name} is a window function, and has no OVER", f"{name}(…) OVER (PARTITION BY … ORDER BY …)"
    return SqlError(Diagnostic("WINDOW_WITHOUT_OVER", message, span_of(place), hint=hint, sqlstate="42601"))


def columns_apart(column: str, part: exp.Expression, kinds: tuple[Type | None, Type | None]) -> SqlError:
    """A column of a set operation with no type that takes the values of all parts."""
    message = f"the column {column!r} is {shown(kinds[0])} in one part and {shown(kinds[1])} in another"
    return mismatch("TYPE_MISMATCH", message, part, "CAST one of them to the type of the other")


def compared_apart(sign: str, left: exp.Expression, kinds: tuple[Type | None, Type | None]) -> SqlError:
    """A value and the answers of a subquery that cannot be compared."""
    one, two = class_of(kinds[0]) or "", class_of(kinds[1]) or ""
    message = f"{sign} has no meaning between {shown(kinds[0])} and a query of {shown(kinds[1])}"
    rules = signatures()
    return mismatch(
        "TYPE_MISMATCH", message, left, proposed((left, one, lambda other: rules.between("=", other, two) != REFUSED))
    )


def no_room_for(column: str, place: exp.Expression | Span | None, kinds: tuple[Type, Type]) -> SqlError:
    """A value for a column whose type it cannot be cast to."""
    span = span_of(place) if isinstance(place, exp.Expression) else place
    message = f"the column {column!r} is {shown(kinds[1])}, and the value for it is {shown(kinds[0])}"
    tree = place if isinstance(place, exp.Expression) else None
    call = _CONVERSIONS.get((class_of(kinds[0]) or "", class_of(kinds[1]) or ""))
    hint = None if call is None or tree is None else f"{call.replace('…', written(tree))} works there"
    return SqlError(Diagnostic("BAD_CAST", message, span, hint=hint, sqlstate=_SQLSTATE))


def sign_before(sign: str, tree: exp.Expression, kind: Type | None) -> SqlError:
    """A sign before a value that has none."""
    return mismatch("TYPE_MISMATCH", f"{sign} has no meaning before {shown(kind)}", tree)
