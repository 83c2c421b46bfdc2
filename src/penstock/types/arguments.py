"""Refuses arguments of functions whose types Spark would refuse."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from penstock.catalog.functions import is_aggregate
from penstock.catalog.signatures import NAMES, Signature, Signatures, class_of
from penstock.catalog.types import Type
from penstock.errors import SqlError
from penstock.types.mismatch import mismatch, proposed, shown

_NUMBERS, _WHOLE = "bsilfdn", "bsil"
_ORDINALS = ("first", "second", "third", "fourth")
# Syntax in the place of an argument: what is behind it is not learned.
_SYNTAX = (exp.Star, exp.Var, exp.Kwarg, exp.PropertyEQ, exp.Query, exp.Distinct)
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
        if letter is not None and letter not in taken:
            raise _refused(name, place, arguments, kinds, (found, rules))
    if len(found.takes) == len(arguments) == 2:  # noqa: PLR2004 - pairs are learned for two arguments
        one, two = letters
        together = one is None or two is None or found.goes_together(one, two)
        if not together and not any(is_constant(item) for item in arguments):
            raise _apart(name, arguments, kinds, found)
    return found.result(letters[0] if letters else None)


def is_constant(tree: exp.Expression) -> bool:
    """Whether an expression may be the same for every row: Spark takes more types of constants."""
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
    message = f"{name} takes {_listed(taken)}{which}, not {shown(kinds[place])}"
    letter = class_of(kinds[place]) or ""
    hint = proposed((arguments[place], letter, lambda other: other in taken))
    if hint is None and is_aggregate(name):
        others = [item for item in _AGGREGATES if _takes(all_rules, item, letter)]
        hint = f"{', '.join(others)} take {shown(kinds[place])}" if others else None
    return mismatch("ARGUMENT_TYPE", message, arguments[place], hint)


def _takes(rules: Signatures, name: str, letter: str) -> bool:
    found = rules.function(name, 1)
    return found is not None and letter in found.takes[0]


def _apart(name: str, arguments: Sequence[exp.Expression], kinds: Sequence[Type | None], found: Signature) -> SqlError:
    message = f"{name} does not take {shown(kinds[0])} and {shown(kinds[1])} together"
    one, two = class_of(kinds[0]) or "", class_of(kinds[1]) or ""
    hint = proposed(
        (arguments[1], two, lambda other: found.goes_together(one, other)),
        (arguments[0], one, lambda other: found.goes_together(other, two)),
    )
    return mismatch("ARGUMENT_TYPE", message, arguments[1], hint)


def _listed(letters: str) -> str:
    """The classes in words."""
    rest = letters.replace("v", "")
    words: list[str] = []
    for group, word in ((_NUMBERS, "numbers"), (_WHOLE, "whole numbers")):
        if set(group) <= set(rest):
            words.append(word)
            rest = "".join(letter for letter in rest if letter not in group)
    words += [NAMES[letter] for letter in rest]
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
