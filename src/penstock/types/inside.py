"""Refuses what does not go with what nested types hold: an element, a key, a field, the answer of a lambda."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import contains

from sqlglot import exp

from penstock.catalog.signatures import Signatures, class_of
from penstock.catalog.types import Type, struct_fields
from penstock.errors import Diagnostic, SqlError, did_you_mean
from penstock.sql.text import span_of
from penstock.types.mismatch import apart, listed, mismatch, no_condition, proposed, shown, written
from penstock.types.nested import element_of, key_of

Kind = Type | None
Kinds = Sequence[Kind]
_CODE = "ARGUMENT_TYPE"
_NESTED = "amr"
_HEADS = {"a": "an ARRAY of", "m": "a MAP with keys of type"}
SUBSCRIPT = "[]"
# The classes that EXTRACT and date_part take parts of.
_IN_PARTS = "tDTNHYZCv"
# Their second argument, whether NULLs are left out, is TRUE or FALSE itself.
_FLAGGED = frozenset({"first", "first_value", "last", "last_value", "any_value"})


def check_inside(name: str, arguments: Sequence[exp.Expression], kinds: Kinds, rules: Signatures) -> None:
    """Raise SqlError for a call whose arrays and maps hold what the function, or another argument, does not take."""
    found = rules.nested(name, len(arguments))
    if found is None:
        return
    for place, heads in found.holds.items():
        head, held = _nested(kinds[place])
        if held is not None and held not in heads.get(head, held):
            message = f"{name} takes {_HEADS[head]} {listed(heads[head])}, not {shown(kinds[place])}"
            raise mismatch(_CODE, message, arguments[place])
    for one, two, relation in found.beside:
        head, held = _nested(kinds[one])
        together = relation.get(f"{head}{held}")
        if together is not None and not _goes(together, held, kinds[two]):
            takes = together.partition(" ")[0]
            hint = proposed((arguments[two], class_of(kinds[two]) or "", partial(contains, takes)))
            raise apart(name, arguments[two], (kinds[one], kinds[two]), hint)


def _nested(kind: Kind) -> tuple[str, str | None]:
    """The class of an array or a map, and that of its elements or keys, None where that is not known."""
    head = class_of(kind) or ""
    held = element_of(kind) if head == "a" else key_of(kind) if head == "m" else None
    return head, class_of(held)


def _goes(together: str, held: str | None, kind: Kind) -> bool:
    """True if a value goes with what is in an array or a map; of nested types in these, only their class is known."""
    letter = class_of(kind)
    if letter is None:
        return True
    plain, *inside = together.split(" ")
    if letter not in plain or held in tuple(_NESTED):
        return letter in plain
    head, other = _nested(kind)
    taken = inside["am".index(head)] if head in ("a", "m") else ""
    return not taken or other is None or other in taken


def check_lambda(name: str, place: exp.Expression, kind: Kind, rules: Signatures) -> None:
    """Raise SqlError for a lambda that gives what its function cannot go on with."""
    letter, taken = class_of(kind), rules.of_lambda(name, None)
    if kind is None or letter is None or taken is None or letter in taken:
        return
    body = place.this if isinstance(place, exp.Lambda) else place
    if taken.strip("v") == "o":
        raise no_condition(name, body, kind)
    message = f"the lambda of {name} must give {listed(taken)}, not {shown(kind)}"
    raise mismatch(_CODE, message, body)


def check_step(name: str, arguments: Sequence[exp.Expression], kinds: tuple[Kind, Kind], rules: Signatures) -> None:
    """Raise SqlError for a lambda that goes on with another type than the value it began with."""
    begun, kind = kinds
    taken = rules.of_lambda(name, class_of(begun))
    letter = class_of(kind)
    if taken is not None and letter is not None and letter not in taken:
        message = f"{name} begins with {shown(begun)}, and its lambda gives {shown(kind)}"
        hint = f"CAST({written(arguments[1])} AS {shown(kind)}) begins with that"
        lambda_ = arguments[2]
        raise mismatch(_CODE, message, lambda_.this if isinstance(lambda_, exp.Lambda) else lambda_, hint)


def check_flag(name: str, arguments: Sequence[exp.Expression], kinds: Kinds) -> None:
    """Raise SqlError where TRUE or FALSE is to be written, and another type is."""
    if name == "sort_array" and len(arguments) > 1 and class_of(kinds[1]) not in (None, "o", "v"):
        message = f"sort_array takes BOOLEAN as its second argument, not {shown(kinds[1])}"
        raise mismatch(_CODE, message, arguments[1], "sort_array(…, FALSE) sorts downwards")
    if name not in _FLAGGED or len(arguments) < 2 or isinstance(arguments[1], exp.Boolean):  # noqa: PLR2004 - the second
        return
    letter = class_of(kinds[1])
    if letter not in (None, "o") or isinstance(arguments[1], exp.Column):
        message = f"{name} takes TRUE or FALSE as its second argument, not {written(arguments[1])}"
        hint = f"{name}(…, TRUE) leaves NULLs out"
        raise mismatch(_CODE, message, arguments[1], hint)


def check_names(arguments: Sequence[exp.Expression], kinds: Kinds) -> None:
    """Raise SqlError for a name of a STRUCT's field that is no text."""
    for tree, kind in zip(arguments[::2], kinds[::2], strict=False):
        if class_of(kind) not in (None, "t"):
            message = f"named_struct takes the names of fields as STRING, not {shown(kind)}"
            raise mismatch(_CODE, message, tree, "named_struct('name', value, …)")


def check_part(tree: exp.Extract, kind: Kind) -> None:
    """Raise SqlError for EXTRACT of a value that has no such parts as a time has."""
    letter = class_of(kind)
    if letter is not None and letter not in _IN_PARTS:
        message = f"EXTRACT takes {listed(_IN_PARTS)}, not {shown(kind)}"
        raise mismatch(_CODE, message, tree.expression)


def check_field(tree: exp.Expression, kind: Kind, name: str) -> None:
    """Raise SqlError for a field that a value does not have."""
    while class_of(kind) == "a" and (class_of(element_of(kind)) == "r"):
        kind = element_of(kind)
    letter = class_of(kind)
    if letter in (None, "m", "v"):
        return
    place = tree.expression if isinstance(tree, exp.Dot) else tree.expressions[0]
    span = span_of(place) or span_of(tree)
    if letter == "r" and kind is not None:
        names = tuple(field for field, _ in struct_fields(kind))
        if name.lower() not in {field.lower() for field in names}:
            message = f"{shown(kind)} has no field {name!r}"
            raise SqlError(Diagnostic("UNKNOWN_FIELD", message, span, did_you_mean(name, names), sqlstate="42704"))
    elif letter != "a" or class_of(element_of(kind)) is not None:
        raise SqlError(
            Diagnostic(
                "UNKNOWN_FIELD", f"{shown(kind)} has no fields, and {name!r} asks for one", span, sqlstate="42000"
            )
        )


def check_subscript(tree: exp.Bracket, kinds: tuple[Kind, Kind], rules: Signatures) -> None:
    """Raise SqlError for `x[i]` where x holds nothing, or not by such an i."""
    whole, at = kinds
    letter, index = class_of(whole), tree.expressions[0]
    if letter == "r" or (letter == "a" and class_of(element_of(whole)) == "r" and class_of(at) == "t"):
        if isinstance(index, exp.Literal) and index.is_string:
            check_field(tree, whole, index.name)
    elif letter is not None and letter not in ("a", "m", "v"):
        message = f"{shown(whole)} holds nothing that [ ] could take out: it is no ARRAY, MAP or STRUCT"
        raise mismatch(_CODE, message, tree, _of_variant(tree, index) if whole == "variant" else None)
    else:
        check_inside(SUBSCRIPT, [tree.this, index], kinds, rules)


def _of_variant(tree: exp.Bracket, index: exp.Expression) -> str:
    """The call that takes the same out of a VARIANT."""
    named = isinstance(index, exp.Literal) and index.is_string
    path = f"$.{index.name}" if named else f"$[{written(index)}]"
    return f"variant_get({written(tree.this)}, '{path}', 'STRING') takes it out of a VARIANT, as the type that is named"
