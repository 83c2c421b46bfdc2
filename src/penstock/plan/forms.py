"""The meaning of an expression, as values that can be matched: the algebra of scalar expressions.

`Scalar.form` gives it for an expression of a plan, and `tree_of` (`writing`) writes it as Spark SQL again:

    `at` + INTERVAL '1' HOUR > now()      Call(">", (Call("+", (Reference("at"), Span("1", "HOUR"))), Call("now", ())))

Operators are calls as functions are, each under one lower-case name: `+`, `and`, `is null`, `in`, `between`, `x[i]` is
`[]`. Parentheses leave no trace. A form that was read keeps the tree that it was read from, so that it is
written as it was; what has no form of its own is `Opaque`, with the forms that stand in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from dataclasses import fields as dataclass_fields
from typing import Any

from penstock.catalog.types import Type

CLOCK_FUNCTIONS = frozenset({
    "now", "current_timestamp", "localtimestamp", "current_date", "curdate", "current_time", "unix_timestamp",
})  # fmt: skip
COMPARED = frozenset({"=", "<=>", "<>", "<", "<=", ">", ">="})
EQUATED = frozenset({"=", "<=>"})
MATCHED = frozenset({"like", "ilike", "rlike"})


@dataclass(frozen=True, slots=True)
class Form:
    """A part of an expression; `source` is the tree that it was read from, or None."""

    source: Any = field(init=False, default=None, compare=False, repr=False)

    @property
    def parts(self) -> tuple[Form, ...]:
        """The forms directly below, in the order written."""
        found: list[Form] = []
        for item in dataclass_fields(self):
            value = getattr(self, item.name)
            if isinstance(value, Form):
                found.append(value)
            elif isinstance(value, tuple):
                found += [part for part in value if isinstance(part, Form)]
        return tuple(found)

    def walk(self) -> Iterator[Form]:
        """The form and all below it, parents first."""
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass(frozen=True, slots=True)
class Reference(Form):
    """A field of the input."""

    name: str


@dataclass(frozen=True, slots=True)
class Parameter(Form):
    """A parameter of the lambda around it."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant(Form):
    """A literal: the text itself, a number's digits, `true`, `false` or `null`, hexadecimal digits."""

    value: str
    type: Type

    @property
    def is_text(self) -> bool:
        """True if it is a text in quotes."""
        return self.type == "string"

    @property
    def is_number(self) -> bool:
        """True if it is written as a number."""
        return self.type not in ("string", "boolean", "void", "binary")

    @property
    def is_whole(self) -> bool:
        """True if it is a whole number, written with digits alone."""
        return self.is_number and self.value.isdigit()


@dataclass(frozen=True, slots=True)
class Span(Form):
    """`INTERVAL '1' HOUR`, `INTERVAL '1:30' HOUR TO MINUTE`; the unit is empty where the value says it."""

    value: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Keyword(Form):
    """A word that is no name of anything: DAY in `date_add(DAY, 1, t)`."""

    word: str


@dataclass(frozen=True, slots=True)
class Star(Form):
    """The star of `count(*)`."""


@dataclass(frozen=True, slots=True)
class Call(Form):
    """A function or an operator, by its one lower-case name."""

    function: str
    arguments: tuple[Form, ...] = ()


@dataclass(frozen=True, slots=True)
class Named(Form):
    """An argument with a name: `a => 1`, and with `after` the field of `struct(1 AS a)`."""

    name: str
    value: Form
    after: bool = False


@dataclass(frozen=True, slots=True)
class Cast(Form):
    """A value in another type; `safe` gives NULL for one that does not fit (TRY_CAST).

    `literal` says that it is written as one constant: `DATE '2024-01-01'`, `10L`.
    """

    argument: Form
    type: Type
    safe: bool = False
    literal: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Branch(Form):
    """`WHEN condition THEN value`."""

    condition: Form
    value: Form


@dataclass(frozen=True, slots=True)
class Case(Form):
    """The value of the first branch whose condition is TRUE, or equals the operand."""

    operand: Form | None
    branches: tuple[Branch, ...]
    otherwise: Form | None = None


@dataclass(frozen=True, slots=True)
class FieldOf(Form):
    """A field of a STRUCT."""

    argument: Form
    name: str


@dataclass(frozen=True, slots=True)
class Lambda(Form):
    """`(x, y) -> body`."""

    parameters: tuple[str, ...]
    body: Form


@dataclass(frozen=True, slots=True)
class Ordering(Form):
    """An item of an ORDER BY."""

    value: Form
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True, slots=True)
class Aggregated(Form):
    """A call with what only aggregates and window functions have: DISTINCT, FILTER, WITHIN GROUP, IGNORE NULLS."""

    call: Call
    distinct: bool = False
    within: tuple[Ordering, ...] = ()
    condition: Form | None = None
    nulls: str = ""  # 'ignore', 'respect' or nothing


@dataclass(frozen=True, slots=True)
class Edge(Form):
    """Where a frame begins or ends: 'preceding' or 'following' by a distance, or without one; 'current row'."""

    side: str
    distance: Form | None = None


@dataclass(frozen=True, slots=True)
class Frame(Form):
    """The rows that a window function sees, in 'rows', 'range' or 'groups'."""

    kind: str
    start: Edge
    end: Edge


@dataclass(frozen=True, slots=True)
class Over(Form):
    """`f(…) OVER (PARTITION BY … ORDER BY … frame)`."""

    function: Form
    partition: tuple[Form, ...] = ()
    order: tuple[Ordering, ...] = ()
    frame: Frame | None = None

    @property
    def call(self) -> Call | None:
        """The call itself, without FILTER and IGNORE NULLS."""
        inner = self.function.call if isinstance(self.function, Aggregated) else self.function
        return inner if isinstance(inner, Call) else None


@dataclass(frozen=True, slots=True)
class Opaque(Form):
    """An expression without a form of its own, as Spark SQL, with the forms that stand in it."""

    text: str
    inside: tuple[Form, ...] = ()


NULL = Constant("null", "void")


def is_clock(form: Form) -> bool:
    """True if a form is a call that reads the clock."""
    return (
        isinstance(form, Call)
        and form.function in CLOCK_FUNCTIONS
        and (form.function != "unix_timestamp" or not form.arguments)
    )


def reads_clock(form: Form) -> bool:
    """True if anything in a form reads the clock."""
    return any(is_clock(item) for item in form.walk())


def references(form: Form) -> frozenset[str]:
    """The fields that a form reads."""
    return frozenset(item.name for item in form.walk() if isinstance(item, Reference))


def is_constant(form: Form) -> bool:
    """True if nothing in a form reads a field or the clock."""
    return not any(isinstance(item, Reference) or is_clock(item) for item in form.walk())


def called(form: Form, *functions: str) -> tuple[Form, ...] | None:
    """The arguments if the form is a call of one of the functions."""
    return form.arguments if isinstance(form, Call) and form.function in functions else None


def swapped(form: Form, change: Callable[[Form], Form | None]) -> Form:
    """The form with other forms in place of those that `change` gives one for, parents before children."""
    found = change(form)
    if found is not None:
        return found
    changes = {item.name: _swapped_in(getattr(form, item.name), change) for item in dataclass_fields(form)[1:]}
    changes = {name: value for name, value in changes.items() if value is not getattr(form, name)}
    if changes and isinstance(form, Opaque):
        msg = f"{form.text} has no form in which anything could be replaced"
        raise ValueError(msg)
    return replace(form, **changes) if changes else form


def _swapped_in(value: Any, change: Callable[[Form], Form | None]) -> Any:
    if isinstance(value, Form):
        return swapped(value, change)
    if not isinstance(value, tuple):
        return value
    new = tuple(swapped(item, change) if isinstance(item, Form) else item for item in value)
    return value if all(one is other for one, other in zip(new, value, strict=True)) else new
