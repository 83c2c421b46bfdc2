"""Expressions over the columns of a relation, by Python's operators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.relational.saying import refused
from penstock.relational.writing import literal, named, path

if TYPE_CHECKING:
    from penstock.relational.ordering import WindowSpec


# How closely the parts of an expression hold together; a looser one within a closer one stands in parentheses.
UNKNOWN, OR, AND, NOT, PREDICATE, SUM, PRODUCT, SIGN, ATOM = range(9)


@dataclass(frozen=True, eq=False)
class Column:
    """An expression; `text` is its SQL. Made by `col`, `lit`, `expr`, `when` and the functions of `F`.

    Operators are those of PySpark: `& | ~` for AND, OR, NOT, `==` and the others for comparisons, which None has not.
    A value of Python beside a column is a literal. `name` is what `alias` has given, `level`
    says how closely the text holds together, and `direction` is that of ORDER BY.
    """

    text: str
    name: str | None = None
    level: int = UNKNOWN
    direction: str = ""

    def alias(self, name: str) -> Column:
        """The expression under a name."""
        return replace(self, name=name)

    def cast(self, kind: str) -> Column:
        """CAST(… AS kind), with the name of a type as SQL has it."""
        return Column(f"CAST({self.text} AS {kind})", level=ATOM)

    def is_null(self) -> Column:
        """True where the value is NULL."""
        return Column(f"{self.within(SUM)} IS NULL", level=PREDICATE)

    def is_not_null(self) -> Column:
        """True where the value is not NULL."""
        return Column(f"{self.within(SUM)} IS NOT NULL", level=PREDICATE)

    def isin(self, *values: Any) -> Column:
        """True for one of the values, given one by one or as a list."""
        listed = values[0] if len(values) == 1 and isinstance(values[0], list | tuple | set | frozenset) else values
        if not listed:
            return Column("FALSE", level=ATOM)
        values_listed = ", ".join(operand(value).text for value in listed)
        return Column(f"{self.within(SUM)} IN ({values_listed})", level=PREDICATE)

    def between(self, low: Any, high: Any) -> Column:
        """True from `low` to `high`, both included."""
        bounds = f"{operand(low).within(SUM)} AND {operand(high).within(SUM)}"
        return Column(f"{self.within(SUM)} BETWEEN {bounds}", level=PREDICATE)

    def like(self, pattern: str) -> Column:
        """LIKE with `%` and `_`."""
        return self._predicate("LIKE", pattern)

    def ilike(self, pattern: str) -> Column:
        """LIKE in any case of letters."""
        return self._predicate("ILIKE", pattern)

    def rlike(self, pattern: str) -> Column:
        """True where a regular expression is found."""
        return self._predicate("RLIKE", pattern)

    def contains(self, part: Any) -> Column:
        """True where the text has the other one in it."""
        return Column(f"contains({self.text}, {operand(part).text})", level=ATOM)

    def startswith(self, part: Any) -> Column:
        """True where the text begins with the other one."""
        return Column(f"startswith({self.text}, {operand(part).text})", level=ATOM)

    def endswith(self, part: Any) -> Column:
        """True where the text ends with the other one."""
        return Column(f"endswith({self.text}, {operand(part).text})", level=ATOM)

    def substr(self, start: Any, count: Any) -> Column:
        """The part of a text from a position on, counted from 1."""
        return Column(f"substring({self.text}, {operand(start).text}, {operand(count).text})", level=ATOM)

    def eq_null_safe(self, other: Any) -> Column:
        """`<=>`: NULL equals NULL."""
        return self._predicate("<=>", other)

    def asc(self) -> Column:
        """Upwards, NULL first."""
        return self._ordered("ASC")

    def desc(self) -> Column:
        """Downwards, NULL last."""
        return self._ordered("DESC")

    def asc_nulls_last(self) -> Column:
        """Upwards, NULL last."""
        return self._ordered("ASC NULLS LAST")

    def desc_nulls_first(self) -> Column:
        """Downwards, NULL first."""
        return self._ordered("DESC NULLS FIRST")

    def filter(self, condition: Column) -> Column:
        """The aggregate of the rows for which a condition holds."""
        return Column(f"{self.text} FILTER (WHERE {operand(condition).text})", level=ATOM)

    def over(self, window: WindowSpec) -> Column:
        """The function over a window of rows."""
        return Column(f"{self.text} OVER ({window.text})", level=ATOM)

    def field(self, name: str) -> Column:
        """A field of a struct."""
        return Column(f"{self.within(ATOM)}.{named(name)}", level=ATOM)

    def when(self, condition: Column, value: Any) -> Column:
        """Another branch behind `when`."""
        return Column(f"{self._open_case()} WHEN {operand(condition).text} THEN {operand(value).text} END", level=ATOM)

    def otherwise(self, value: Any) -> Column:
        """The value where no branch of `when` holds; NULL without it."""
        return Column(f"{self._open_case()} ELSE {operand(value).text} END", level=ATOM)

    def _open_case(self) -> str:
        if not (self.text.startswith("CASE WHEN ") and self.text.endswith(" END")):
            raise refused(
                message="when() and otherwise() stand behind when()", hint="F.when(condition, value).otherwise(value)"
            )
        return self.text.removesuffix(" END")

    def within(self, level: int) -> str:
        """The text within an expression that wants it to hold together as closely as `level`."""
        return self.text if self.level >= level else f"({self.text})"

    @property
    def item(self) -> str:
        """The text in a list of SELECT."""
        return self.text if self.name is None else f"{self.text} AS {named(self.name)}"

    def _ordered(self, how: str) -> Column:
        return replace(self, direction=how)

    @property
    def ordered(self) -> str:
        """The text in a list of ORDER BY."""
        return f"{self.text} {self.direction}".rstrip()

    def _binary(self, operator: str, other: Any, level: int) -> Column:
        """The other one on the right; operators of one level go from the left, and predicates stand alone."""
        left = SUM if level == PREDICATE else level
        return Column(f"{self.within(left)} {operator} {operand(other).within(level + 1)}", level=level)

    def _predicate(self, operator: str, other: Any) -> Column:
        return self._binary(operator, other, PREDICATE)

    def _compared(self, operator: str, other: Any) -> Column:
        if other is None:
            raise refused(
                message="a comparison with None never holds",
                hint="write is_null(), is_not_null() or eq_null_safe(None)",
            )
        return self._binary(operator, other, PREDICATE)

    def __eq__(self, other: object) -> Column:  # type: ignore[override]
        return self._compared("=", other)

    def __ne__(self, other: object) -> Column:  # type: ignore[override]
        return self._compared("<>", other)

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Any) -> Column:
        return self._compared("<", other)

    def __le__(self, other: Any) -> Column:
        return self._compared("<=", other)

    def __gt__(self, other: Any) -> Column:
        return self._compared(">", other)

    def __ge__(self, other: Any) -> Column:
        return self._compared(">=", other)

    def __add__(self, other: Any) -> Column:
        return self._binary("+", other, SUM)

    def __radd__(self, other: Any) -> Column:
        return operand(other)._binary("+", self, SUM)

    def __sub__(self, other: Any) -> Column:
        return self._binary("-", other, SUM)

    def __rsub__(self, other: Any) -> Column:
        return operand(other)._binary("-", self, SUM)

    def __mul__(self, other: Any) -> Column:
        return self._binary("*", other, PRODUCT)

    def __rmul__(self, other: Any) -> Column:
        return operand(other)._binary("*", self, PRODUCT)

    def __truediv__(self, other: Any) -> Column:
        return self._binary("/", other, PRODUCT)

    def __rtruediv__(self, other: Any) -> Column:
        return operand(other)._binary("/", self, PRODUCT)

    def __mod__(self, other: Any) -> Column:
        return self._binary("%", other, PRODUCT)

    def __rmod__(self, other: Any) -> Column:
        return operand(other)._binary("%", self, PRODUCT)

    def __pow__(self, other: Any) -> Column:
        return Column(f"power({self.text}, {operand(other).text})", level=ATOM)

    def __neg__(self) -> Column:
        return Column(f"-{self.within(ATOM)}", level=SIGN)

    def __and__(self, other: Any) -> Column:
        return self._binary("AND", other, AND)

    def __rand__(self, other: Any) -> Column:
        return operand(other)._binary("AND", self, AND)

    def __or__(self, other: Any) -> Column:
        return self._binary("OR", other, OR)

    def __ror__(self, other: Any) -> Column:
        return operand(other)._binary("OR", self, OR)

    def __invert__(self) -> Column:
        return Column(f"NOT {self.within(ATOM)}", level=NOT)

    def __getitem__(self, key: Any) -> Column:
        return Column(f"{self.within(ATOM)}[{operand(key).text}]", level=ATOM)

    def __bool__(self) -> bool:
        raise refused(message="a column has no truth value of its own", hint="write & for and, | for or, ~ for not")

    def __iter__(self) -> Iterator[Column]:
        raise refused(message="a column cannot be iterated over", hint="F.explode() makes rows of an array")

    def __repr__(self) -> str:
        return f"Column({self.item})"

    isNull = is_null  # noqa: N815 - PySpark's spelling
    isNotNull = is_not_null  # noqa: N815 - PySpark's spelling
    eqNullSafe = eq_null_safe  # noqa: N815 - PySpark's spelling
    getField = field  # noqa: N815 - PySpark's spelling
    getItem = __getitem__  # noqa: N815 - PySpark's spelling
    astype = cast


def col(name: str) -> Column:
    """A column by its name; `o.id` is that of the relation with the alias o."""
    return Column(path(name), level=ATOM)


def lit(value: Any) -> Column:
    """A value of Python as a literal; a column stays as it is."""
    if isinstance(value, Column):
        return value
    text = literal(value)
    return Column(text, level=SIGN if text.startswith("-") else ATOM)


def operand(value: Any) -> Column:
    """The other side of an operator: a column, or a literal."""
    return lit(value)


def column_of(value: Any) -> Column:
    """A column where one is meant: by its name, or an expression."""
    return col(value) if isinstance(value, str) else lit(value)
