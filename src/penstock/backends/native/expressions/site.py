"""A call that is translated: its arguments, what Spark calls it in an error, and the words for what is not proven."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Never

from penstock.backends.native.proof import Proven, not_proven
from penstock.catalog.types import Type, is_numeric
from penstock.plan.forms import Call, Cast, Constant, Form, Keyword, Span
from penstock.plan.writing import text_of


@dataclass(frozen=True, slots=True)
class Site:
    """An expression that is translated, by the name of its function, with the forms and proofs of its arguments.

    A keyword, an interval and a lambda have no proof, and stand as None.
    """

    form: Form
    name: str
    forms: tuple[Form, ...] = ()
    proofs: tuple[Proven | None, ...] = ()
    said: str = ""
    _written: list[str] = field(default_factory=list, init=False, compare=False, repr=False)

    @property
    def fragment(self) -> str:
        """The text of the expression, or what Spark says of it in an error; written once, however many parts ask."""
        if not self._written:
            self._written.append(self.said or text_of(self.form))
        return self._written[0]

    @property
    def values(self) -> tuple[Proven, ...]:
        """The proofs of the arguments, which are all values."""
        found = tuple(item for item in self.proofs if item is not None)
        if len(found) != len(self.proofs):
            self.refuse("with an interval or a keyword")
        return found

    @property
    def types(self) -> tuple[Type, ...]:
        """The types of the arguments, which are all values."""
        return tuple(item.type for item in self.values)

    def refuse(self, why: str = "") -> Never:
        """Leave this expression to Spark."""
        kinds = ", ".join(_shown(form, proof) for form, proof in zip(self.forms, self.proofs, strict=True))
        not_proven(f"{self.name}({kinds}){' ' + why if why else ''}")

    def calm(self) -> Site:
        """The site, none of whose arguments behind the first can raise."""
        if any(item is not None and item.raises for item in self.proofs[1:]):
            self.refuse("with an argument that can raise")
        return self


def _shown(form: Form, proof: Proven | None) -> str:
    if proof is not None:
        return proof.type
    return "interval" if isinstance(form, Span) else form.word if isinstance(form, Keyword) else "?"


Rule = Callable[[Site], Proven]


def any_raises(proofs: Sequence[Proven | None]) -> bool:
    """True if any of the values can raise."""
    return any(item is not None and item.raises for item in proofs)


def constant_text(form: Form) -> str | None:
    """The text, if the form is one in quotes."""
    return form.value if isinstance(form, Constant) and form.is_text else None


def whole_value(form: Form) -> int | None:
    """The number, if the form is a whole one, whatever type it is cast to."""
    match form:
        case Cast(argument=inner, type="int" | "bigint", safe=False):
            return whole_constant(inner)
    return whole_constant(form)


def whole_constant(form: Form) -> int | None:
    """The number, if the form is a whole number that Spark knows as a literal."""
    match form:
        case Call("-", (inner,)):
            value = whole_constant(inner)
            return None if value is None else -value
        case Constant() if form.is_whole:
            return int(form.value)
        case Cast(literal=True, argument=Constant() as inner, type="tinyint" | "smallint" | "bigint"):
            return int(inner.value) if inner.is_whole else None
    return None


def number_constant(form: Form) -> float | None:
    """The number, if the form is one that is not below zero."""
    inner = form.argument if isinstance(form, Cast) and form.literal else form
    if not isinstance(inner, Constant) or not is_numeric(form.type if isinstance(form, Cast) else inner.type):
        return None
    return float(inner.value)
