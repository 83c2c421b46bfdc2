"""Refuses arguments of functions whose types Spark would refuse."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from penstock.catalog.functions import is_aggregate
from penstock.catalog.signatures import Signature, Signatures, class_of
from penstock.catalog.types import Type
from penstock.errors import SqlError
from penstock.types.mismatch import apart, listed, mismatch, proposed, shown

_NESTED = ("a", "m", "r")
_ORDINALS = ("first", "second", "third", "fourth")
# Syntax in the place of an argument: what is behind it is not learned.
_SYNTAX = (exp.Star, exp.Var, exp.Kwarg, exp.PropertyEQ, exp.Query)
# Functions of which a constant, refused for another reason than its type, has said nothing.
_BY_CONSTANT = ("lag", "lead")
# Aggregates that take what others do not.
_AGGREGATES = ("max", "min", "count")


def check_arguments(
    name: str, arguments: Sequence[exp.Expression], kinds: Sequence[Type | None], rules: Signatures
) -> str | None:
    """The class that a call gives, None where it is not known; raises SqlError for arguments that do not fit."""
    found = rules.function(name, len(arguments))
    if found is None or any(isinstance(item, _SYNTAX) for item in arguments):
        return None
    letters = [class_of(kind) for kind in kinds]
    for place, (taken, letter) in enumerate(zip(found.takes, letters, strict=False)):
        if letter is not None and letter not in taken and not _may_be_inside(letters, place):
            raise _refused(name, place, arguments, kinds, (found, rules))
    if len(found.takes) == len(arguments) == 2:  # noqa: PLR2004 - pairs are learned for two arguments
        one, two = letters
        together = one is None or two is None or found.goes_together(one, two) or _may_be_inside(letters, 1)
        if not together and not (name in _BY_CONSTANT and any(is_constant(item) for item in arguments)):
            raise _apart(name, arguments, kinds, found)
    given = found.result(letters[0] if letters else None)
    depends = len(found.gives) > 1 and bool(letters) and letters[0] in ("m", "r")  # asked of one MAP and one STRUCT
    return None if depends and given not in _NESTED else given


def _may_be_inside(letters: Sequence[str | None], place: int) -> bool:
    """True if an argument may be what another one holds: of nested types only their class has been asked."""
    others = (letter for index, letter in enumerate(letters) if index != place)
    return letters[place] in _NESTED and any(letter in _NESTED for letter in others)


def is_constant(tree: exp.Expression) -> bool:
    """True if an expression may be the same for every row: Spark takes more types of constants."""
    return tree.find(exp.Column, exp.Identifier) is None


def _refused(
    name: str,
    place: int,
    arguments: Sequence[exp.Expression],
    kinds: Sequence[Type | None],
    rules: tuple[Signature, Signatures],
) -> SqlError:
    found, all_rules = rules
    taken = found.takes[place]
    which = "" if len(arguments) == 1 else f" as its {_ORDINALS[place]} argument"
    message = f"{name} takes {listed(taken)}{which}, not {shown(kinds[place])}"
    letter = class_of(kinds[place]) or ""
    others = [item for item in _AGGREGATES if is_aggregate(name) and not place and _takes(all_rules, item, letter)]
    if others:
        taking = f"{' and '.join(others)} take{'' if len(others) > 1 else 's'} {shown(kinds[place])}"
        return mismatch("ARGUMENT_TYPE", message, arguments[place], taking)
    hint = proposed((arguments[place], letter, lambda other: other in taken))
    return mismatch("ARGUMENT_TYPE", message, arguments[place], hint)


def _takes(rules: Signatures, name: str, letter: str) -> bool:
    found = rules.function(name, 1)
    return found is not None and letter in found.takes[0]


def _apart(name: str, arguments: Sequence[exp.Expression], kinds: Sequence[Type | None], found: Signature) -> SqlError:
    one, two = class_of(kinds[0]) or "", class_of(kinds[1]) or ""
    hint = proposed(
        (arguments[1], two, lambda other: found.goes_together(one, other)),
        (arguments[0], one, lambda other: found.goes_together(other, two)),
    )
    return apart(name, arguments[1], kinds, hint)
