"""Expressions of DEFINE and MEASURES, in which what looks at rows of the match is replaced by leaves.

    price > LAST(A.price, 1)      `price` > `__leaf0`       __leaf0: the value of `price` in ("last", ("A",), 1, False)

A column without a variable, or in the definition of its own variable, is that of the present row. The rest of such an
expression is Spark SQL over one row: the engine computes it, below the matcher in DEFINE and above it in MEASURES.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from penstock.bind.matching.rows import Rows
from penstock.bind.matching.variables import Variables, unknown_variable
from penstock.catalog.types import INTEGRAL, Type, is_decimal
from penstock.plan.matching import OWN, Code
from penstock.plan.node import Field
from penstock.plan.scalar import column_tree
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.text import spark_sql
from penstock.sql.trees import at, call_name, is_aggregate_call, replace_nodes
from penstock.types.common import as_decimal

_ROWS = ("first", "last")
_SHIFTS = {"prev": 1, "next": -1}
_AGGREGATES = ("count", "sum", "avg", "min", "max")
_MODES = ("final", "running")
_MOST_DIGITS = 38


@dataclass(frozen=True)
class Value:
    """The value of a column of the input in a row of the match."""

    row: Code
    tree: exp.Expression
    type: Type | None


@dataclass(frozen=True)
class Computed:
    """A value that the matcher computes."""

    code: Code
    type: Type


Leaf = Value | Computed


@dataclass
class Looking:
    """Takes expressions apart; `own` is the variable that is being defined, none in MEASURES."""

    rows: Rows
    variables: Variables
    own: str = ""
    flink: bool = False
    leaves: dict[str, Leaf] = field(default_factory=dict)
    _said: dict[str, str] = field(default_factory=dict)
    _final: bool = False

    @property
    def fields(self) -> Mapping[str, Field]:
        """The columns of rows, and the leaves."""
        found = {name: Field(name, leaf.type) for name, leaf in self.leaves.items()}
        return {**self.rows.level.fields, **found}

    def read(self, tree: exp.Expression) -> exp.Expression:
        """The expression over columns of the present row and leaves."""
        return replace_nodes(tree, self._replacement)

    def written(self, tree: exp.Expression) -> str:
        """An expression over leaves as it was written."""
        said = {name: exp.Var(this=text) for name, text in self._said.items()}
        shown = tree.transform(lambda node: said.get(_name(node), exp.Var(this=_name(node))) if _name(node) else node)
        return spark_sql(shown)

    def _replacement(self, node: exp.Expression) -> exp.Expression | None:
        if isinstance(node, exp.Query | exp.Subquery | exp.Exists):
            raise unsupported(
                code="MATCH_EXPRESSION", message="a subquery in MATCH_RECOGNIZE", place=node, hint="join before it"
            )
        if isinstance(node, exp.Window):
            raise unsupported(
                code="MATCH_EXPRESSION",
                message="OVER in MATCH_RECOGNIZE",
                place=node,
                hint="compute it in a query in FROM",
            )
        if isinstance(node, exp.Column):
            return self._column(node)
        name = call_name(node)
        if isinstance(node, exp.Anonymous) and name in _MODES:
            return self._in_mode(node, name == "final")
        if isinstance(node, exp.Anonymous) and (name in (*_ROWS, *_SHIFTS, "classifier", "match_number")):
            return self._looked(node, name or "")
        if is_aggregate_call(node):
            return self._aggregate(node)
        return None

    def _leaf(self, leaf: Leaf, place: exp.Expression) -> exp.Expression:
        known = next((name for name, found in self.leaves.items() if found == leaf), None)
        name = known or f"__leaf{len(self.leaves)}"
        self.leaves[name] = leaf
        self._said.setdefault(name, spark_sql(place))
        return at(column_tree(name), place)

    def _column(self, node: exp.Column) -> exp.Expression:
        value, variables = self._of_row(node)
        if self._is_present(variables):
            return value
        return self._leaf(Value(("last", variables, 0, self._final), value, self.rows.type(value)), node)

    def _is_present(self, variables: tuple[str, ...]) -> bool:
        """True if a column of these variables is, in the definition of a variable, one of the present row."""
        return bool(self.own) and (not variables or self.own in variables)

    def _in_mode(self, node: exp.Expression, final: bool) -> exp.Expression:  # noqa: FBT001
        if final and self.own:
            message = "FINAL in DEFINE: how the match ends is not known while its rows are looked for"
            raise wrong(code="MATCH_VALUE", message=message, place=node, hint="leave FINAL out")
        before, self._final = self._final, final
        try:
            (inner,) = node.expressions
            if not (call_name(inner) in (*_ROWS, *_SHIFTS, "classifier") or is_aggregate_call(inner)):
                message = "FINAL and RUNNING stand before FIRST, LAST, CLASSIFIER or an aggregate"
                raise wrong(code="MATCH_VALUE", message=message, place=node)
            return self.read(inner)
        finally:
            self._final = before

    def _of_row(self, tree: exp.Expression) -> tuple[exp.Expression, tuple[str, ...]]:
        """A value of one row, bound, and the variables that its columns name: all the same ones, or none."""
        found: dict[tuple[str, ...], exp.Expression] = {}

        def plain(node: exp.Expression) -> exp.Expression | None:
            if call_name(node) in (*_ROWS, *_SHIFTS, *_MODES, "classifier", "match_number") or is_aggregate_call(node):
                message = f"{(call_name(node) or 'an aggregate').upper()} within FIRST, LAST or an aggregate"
                hint = "PREV(LAST(A.x, 1), 2) is the one form that nests"
                raise wrong(code="MATCH_VALUE", message=message, place=node, hint=hint)
            if isinstance(node, exp.Window | exp.Query | exp.Subquery | exp.Exists):
                return self._replacement(node)
            if not isinstance(node, exp.Column):
                return None
            variables = self._variables_of(node)
            found.setdefault(variables or (), node)
            return node.copy() if variables is None else _without_qualifier(node)

        bare = replace_nodes(tree, plain)
        if len(found) > 1:
            message = "one value is taken from one row: its columns name several variables"
            raise wrong(code="MATCH_VALUE", message=message, place=tree, hint="name the variable before each column")
        return self.rows.level.bind(bare), next(iter(found), ())

    def _variables_of(self, node: exp.Column) -> tuple[str, ...] | None:
        """The variables that stand before a column; None where it is none of the pattern's names."""
        parts = [part.name for part in node.parts]
        if len(parts) == 1:
            return None
        known = self.variables.known(parts[0])
        if known is None and self.rows.level.find(parts, node) is None:
            raise unknown_variable(parts[0], self.variables, node)
        return known

    def _looked(self, node: exp.Anonymous, name: str) -> exp.Expression:
        if name == "match_number":
            _arguments(node, 0, 0)
            return self._leaf(Computed(("match number",), "bigint"), node)
        if name == "classifier":
            return self._leaf(Computed(("classifier", self._classified(node)), "string"), node)
        if name in _SHIFTS:
            return self._shifted(node, _SHIFTS[name])
        return self._taken(node, 0)

    def _classified(self, node: exp.Anonymous) -> Code:
        """The row whose variable CLASSIFIER() gives; CLASSIFIER(A) is that of the last row of A."""
        _arguments(node, 0, 1)
        if not node.expressions:
            return OWN if not self._final else ("last", (), 0, True)
        return ("last", self._named(node.expressions[0]), 0, self._final)

    def _named(self, tree: exp.Expression) -> tuple[str, ...]:
        known = self.variables.known(tree.name)
        if known is None or not isinstance(tree, exp.Column):
            raise unknown_variable(tree.name, self.variables, tree)
        return known

    def _shifted(self, node: exp.Anonymous, sign: int) -> exp.Expression:
        """PREV and NEXT: rows of the input, counted from the present row or from one that FIRST or LAST finds."""
        arguments = _arguments(node, 1, 2)
        distance = sign * (_offset(arguments[1]) if len(arguments) > 1 else 1)
        inner = arguments[0]
        if call_name(inner) in _MODES:
            return self._in_mode_shifted(inner, distance)
        if call_name(inner) in _ROWS:
            return self._taken(inner, distance)
        value, variables = self._of_row(inner)
        shifted = self.rows.shifted(value, distance)
        if self._is_present(variables):
            return shifted
        return self._leaf(Value(("last", variables, 0, self._final), shifted, self.rows.type(shifted)), node)

    def _in_mode_shifted(self, inner: exp.Expression, distance: int) -> exp.Expression:
        before, self._final = self._final, call_name(inner) == "final"
        if self._final and self.own:
            return self._in_mode(inner, final=True)
        try:
            return self._taken(inner.expressions[0], distance)
        finally:
            self._final = before

    def _taken(self, node: exp.Expression, distance: int) -> exp.Expression:
        """FIRST and LAST of a variable's rows, and a fixed number of rows of the input away from there."""
        arguments = _arguments(node, 1, 2)
        offset = _offset(arguments[1]) if len(arguments) > 1 else 0
        kind = call_name(node) or ""
        if call_name(arguments[0]) == "classifier":
            inner = arguments[0].expressions
            row: Code = (kind, self._named(inner[0]) if inner else (), offset, self._final)
            return self._leaf(Computed(("classifier", row), "string"), node)
        value, variables = self._of_row(arguments[0])
        shifted = self.rows.shifted(value, distance)
        return self._leaf(Value((kind, variables, offset, self._final), shifted, self.rows.type(shifted)), node)

    def _aggregate(self, node: exp.Expression) -> exp.Expression:
        name = call_name(node) or ""
        if (
            not isinstance(node, exp.Anonymous)
            or name not in _AGGREGATES
            or any(isinstance(item, exp.Distinct) for item in node.expressions)
        ):
            clauses = " with DISTINCT, FILTER or an order" if name in _AGGREGATES else ""
            message = f"{(name or 'an aggregate').upper()}{clauses}"
            hint = "COUNT, SUM, AVG, MIN and MAX work here, over the rows of a variable"
            raise unsupported(code="MATCH_EXPRESSION", message=f"{message} in MATCH_RECOGNIZE", place=node, hint=hint)
        (argument,) = _arguments(node, 1, 1)
        if name == "count":
            return self._leaf(Computed(self._counted(argument), "bigint"), node)
        value, variables = self._of_row(argument)
        kind = self.rows.type(value)
        read = self.rows.read(value, kind, argument)
        if name in ("min", "max"):
            return self._leaf(Value((name, variables, self._final, read), value, kind), node)
        return self._leaf(self._added(name, variables, read, kind, node), node)

    def _counted(self, argument: exp.Expression) -> Code:
        if isinstance(argument, exp.Star | exp.Literal):
            return ("count", (), self._final, None)
        if isinstance(argument, exp.Column) and isinstance(argument.this, exp.Star):
            variables = self.variables.known(argument.table)
            if variables is None:
                raise unknown_variable(argument.table, self.variables, argument)
            return ("count", variables, self._final, None)
        value, variables = self._of_row(argument)
        return ("count", variables, self._final, self.rows.read(*self._countable(value), argument))

    def _countable(self, value: exp.Expression) -> tuple[exp.Expression, Type]:
        """A value that says if another one, of whatever type, is there."""
        there = exp.Not(this=exp.Is(this=exp.Paren(this=value), expression=exp.Null()))
        ifs = [exp.If(this=there, true=exp.Boolean(this=True))]
        return exp.Case(ifs=ifs), "boolean"

    def _added(
        self, name: str, variables: tuple[str, ...], read: int, kind: Type | None, node: exp.Expression
    ) -> Computed:
        if kind in INTEGRAL:
            return self._whole(name, variables, read, kind or "")
        if kind in ("float", "double"):
            return Computed(("sum" if name == "sum" else "average", variables, self._final, read), "double")
        digits = as_decimal(kind) if kind is not None and is_decimal(kind) else None
        if digits is None or name == "avg":
            what = "a value whose type only Spark knows" if kind is None else kind.upper()
            message = f"{name.upper()} of {what} in MATCH_RECOGNIZE"
            hint = "CAST it to DOUBLE" if digits or kind is None else "SUM and AVG take numbers"
            raise unsupported(code="MATCH_EXPRESSION", message=message, place=node, hint=hint)
        total = f"decimal({min(_MOST_DIGITS, digits[0] + 10)},{digits[1]})"
        return Computed(("sum", variables, self._final, read), total)

    def _whole(self, name: str, variables: tuple[str, ...], read: int, kind: Type) -> Computed:
        if name == "sum":
            return Computed(("sum", variables, self._final, read), "bigint")
        if self.flink:
            return Computed(("whole average", variables, self._final, read), kind)
        return Computed(("average", variables, self._final, read), "double")


def _name(node: exp.Expr) -> str:
    return node.name if isinstance(node, exp.Column) else ""


def _arguments(node: exp.Expression, least: int, most: int) -> list[exp.Expression]:
    found = list(node.expressions)
    if not least <= len(found) <= most:
        takes = f"{least}" if least == most else f"{least} or {most}"
        message = f"{(call_name(node) or '').upper()} takes {takes} arguments, not {len(found)}"
        raise wrong(code="WRONG_NUMBER_OF_ARGUMENTS", message=message, place=node, sqlstate="42605")
    return found


def _offset(tree: exp.Expression) -> int:
    if not isinstance(tree, exp.Literal) or not str(tree.this).isdigit() or tree.is_string:
        message = "a number of rows is a whole number, from 0"
        raise wrong(code="MATCH_VALUE", message=message, place=tree, hint="as in LAST(A.x, 1) or PREV(x, 2)")
    return int(str(tree.this))


def _without_qualifier(node: exp.Column) -> exp.Expression:
    """The column, or field of one, behind a variable's name."""
    first, *others = [part.copy() for part in node.parts[1:]]
    tree: exp.Expression = exp.Column(this=first)
    for part in others:
        tree = exp.Dot(this=tree, expression=part)
    return at(tree, node)
