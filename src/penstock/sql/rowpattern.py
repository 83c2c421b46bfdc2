"""The pattern of MATCH_RECOGNIZE: regular expressions whose letters are pattern variables.

A+? (B | C){2,} {- D -}      Sequence(Repeated(A, 1, None, reluctant), Repeated(Alternation(B, C), 2), Excluded(D))
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from penstock.errors import Diagnostic, Span, SqlError

_TOKEN = re.compile(r"\{-|-\}|\{[\s\d,]*\}|[^\W\d]\w*|`(?:[^`]|``)*`|\"(?:[^\"]|\"\")*\"|[()|*+?^$,]|\S")
_COUNTS = re.compile(r"\{\s*(\d*)\s*(,?)\s*(\d*)\s*\}")
_MOST_PERMUTED = 6
_MOST_COPIES = 10_000
_FORMS = (
    "a pattern has variables, ( ), |, PERMUTE(A, B), {- A -}, ^, $, and behind each * + ? {n} {n,m}, with ? reluctant"
)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a pattern."""


@dataclass(frozen=True, slots=True)
class Variable(Part):
    """One row for which the variable's condition holds."""

    name: str


@dataclass(frozen=True, slots=True)
class Sequence(Part):
    """The parts one after the other; without parts it matches no row, everywhere."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Alternation(Part):
    """One of the parts, the first that leads to a match."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Permutation(Part):
    """All parts in any order, the orders tried in the order of the parts as written."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Repeated(Part):
    """The part `least` to `most` times (None: without end), as often as possible or, if reluctant, as seldom."""

    part: Part
    least: int
    most: int | None
    reluctant: bool = False


@dataclass(frozen=True, slots=True)
class Excluded(Part):
    """`{- part -}`: its rows belong to the match, but ALL ROWS PER MATCH does not show them."""

    part: Part


@dataclass(frozen=True, slots=True)
class Anchor(Part):
    """`^`, before the first row of a partition, or `$`, behind the last."""

    sign: str


def variables(part: Part) -> Iterator[str]:
    """The variables of a pattern from left to right, each as often as it stands there."""
    match part:
        case Variable():
            yield part.name
        case Sequence() | Alternation() | Permutation():
            for item in part.parts:
                yield from variables(item)
        case Repeated() | Excluded():
            yield from variables(part.part)


def has(part: Part, kind: type[Part]) -> bool:
    """True if a part of that kind stands in the pattern."""
    inner = getattr(part, "parts", ()) or ((part.part,) if isinstance(part, Repeated | Excluded) else ())
    return isinstance(part, kind) or any(has(item, kind) for item in inner)


def without_end(part: Part) -> bool:
    """True if a match can have any number of rows."""
    inner = getattr(part, "parts", ()) or ((part.part,) if isinstance(part, Repeated | Excluded) else ())
    return (isinstance(part, Repeated) and part.most is None) or any(map(without_end, inner))


def pattern_text(part: Part) -> str:
    """The pattern as it could be written."""
    match part:
        case Variable():
            return part.name
        case Sequence():
            return " ".join(_grouped(item) for item in part.parts) or "()"
        case Alternation():
            return " | ".join(map(pattern_text, part.parts))
        case Permutation():
            return f"PERMUTE({', '.join(map(pattern_text, part.parts))})"
        case Repeated():
            return f"{_grouped(part.part)}{_times(part)}{'?' if part.reluctant else ''}"
        case Excluded():
            return f"{{- {pattern_text(part.part)} -}}"
        case _:
            return getattr(part, "sign", "")


def _grouped(part: Part) -> str:
    text = pattern_text(part)
    return f"({text})" if isinstance(part, Sequence | Alternation) else text


def _times(part: Repeated) -> str:
    known = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((part.least, part.most))
    if known is not None:
        return known
    most = "" if part.most is None else str(part.most)
    return f"{{{most}}}" if str(part.least) == most else f"{{{part.least},{most}}}"


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int


def endless(part: Part) -> Iterator[str]:
    """The variables that a pattern repeats without end, from left to right."""
    match part:
        case Repeated(most=None):
            yield from variables(part)
        case Repeated() | Excluded():
            yield from endless(part.part)
        case Sequence() | Alternation() | Permutation():
            for item in part.parts:
                yield from endless(item)
        case _:
            return


def read_pattern(text: str, start: int) -> Part:
    """The pattern that a text says, which begins at that place of the program; raises SqlError."""
    return _Reader(text, start).whole()


class _Reader:
    """Walks over the tokens of a pattern; equal variables have the name that the first of them has."""

    def __init__(self, text: str, start: int) -> None:
        self._tokens = [_Token(found.group(), start + found.start()) for found in _TOKEN.finditer(text)]
        self._end = start + len(text)
        self._place = 0
        self._names: dict[str, str] = {}

    def whole(self) -> Part:
        found = self._alternation()
        if self._next:
            self._refuse(f"expected the end of the pattern, found {self._next}")
        return found

    @property
    def _next(self) -> str:
        return self._tokens[self._place].text if self._place < len(self._tokens) else ""

    def _accept(self, text: str) -> bool:
        if self._next.upper() != text:
            return False
        self._place += 1
        return True

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            self._refuse(f"expected {text} in the pattern, found {self._next or 'its end'}")

    def _refuse(self, message: str, hint: str = _FORMS) -> None:
        token = self._tokens[self._place] if self._place < len(self._tokens) else _Token(" ", self._end - 1)
        span = Span(token.start, token.start + len(token.text))
        raise SqlError(Diagnostic("MATCH_PATTERN", message, span, hint=hint))

    def _alternation(self) -> Part:
        parts = [self._sequence()]
        while self._accept("|"):
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Alternation(tuple(parts))

    def _sequence(self) -> Part:
        parts = []
        while self._next and self._next not in {")", "|", ",", "-}"}:
            parts.append(self._repeated())
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _repeated(self) -> Part:
        place = self._place
        part = self._primary()
        counts = self._counts()
        if counts is None:
            return part
        if isinstance(part, Anchor):
            self._place = place
            self._refuse(f"{part.sign} stands for a place between rows, which has no number of times")
        return Repeated(part, *counts, reluctant=self._accept("?"))

    def _counts(self) -> tuple[int, int | None] | None:
        for sign, counts in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._accept(sign):
                return counts
        found = _COUNTS.fullmatch(self._next)
        if found is None:
            return None
        least, comma, most = found.groups()
        lower, upper = int(least or 0), int(most) if most else None if comma else int(least or 0)
        if not (least or most) or (upper is not None and (upper < lower or not upper)):
            self._refuse(
                f"{self._next} is no number of times", "write {n}, {n,}, {n,m} or {,m}, m above 0 and not below n"
            )
        if max(lower, upper or 0) > _MOST_COPIES:
            self._refuse(f"{self._next} is more often than {_MOST_COPIES} times", "count in a condition of DEFINE")
        self._place += 1
        return lower, upper

    def _primary(self) -> Part:
        if self._next in {"^", "$"}:
            sign = self._next
            self._place += 1
            return Anchor(sign)
        if self._accept("("):
            return self._closed(self._alternation, ")")
        if self._accept("{-"):
            return Excluded(self._closed(self._alternation, "-}"))
        if self._next.upper() == "PERMUTE" and self._following == "(":
            return self._permutation()
        return self._variable()

    @property
    def _following(self) -> str:
        return self._tokens[self._place + 1].text if self._place + 1 < len(self._tokens) else ""

    def _closed(self, read: Callable[[], Part], closing: str) -> Part:
        found = read()
        self._expect(closing)
        return found

    def _permutation(self) -> Part:
        place = self._place
        self._place += 2
        parts = [self._alternation()]
        while self._accept(","):
            parts.append(self._alternation())
        self._expect(")")
        if len(parts) > _MOST_PERMUTED:
            self._place = place
            self._refuse(f"PERMUTE takes up to {_MOST_PERMUTED} parts", "write the orders that can occur, with |")
        return Permutation(tuple(parts))

    def _variable(self) -> Part:
        text = self._next
        if not (text[:1].isalpha() or text[:1] in {"_", "`", '"'}):
            self._refuse(f"expected a pattern variable, found {text or 'the end of the pattern'}")
        self._place += 1
        quote = text[0] if text[0] in '`"' else ""
        name = text[1:-1].replace(quote * 2, quote) if quote else text
        return Variable(self._names.setdefault(name.lower(), name))
