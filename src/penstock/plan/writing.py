"""The parsed expression of a form, and so its text as Spark SQL."""

from __future__ import annotations

from typing import assert_never, cast

from sqlglot import exp

from penstock.plan.forms import (
    Aggregated,
    Branch,
    Call,
    Case,
    Cast,
    Constant,
    Edge,
    FieldOf,
    Form,
    Frame,
    Keyword,
    Lambda,
    Named,
    Opaque,
    Ordering,
    Over,
    Parameter,
    Reference,
    Span,
    Star,
)
from penstock.plan.parsing import parse_scalar
from penstock.plan.reading import BINARY, UNARY
from penstock.sql.text import spark_sql
from penstock.sql.trees import call, cast_to, data_type

_BINARY = {name: kind for kind, name in BINARY.items()}
_UNARY = {name: kind for kind, name in UNARY.items()}
_TRUTHS = {"is null": exp.Null(), "is true": exp.Boolean(this=True), "is false": exp.Boolean(this=False)}
_PREDICATE = 4
_STRENGTH = {
    "or": 1, "and": 2, "not": 3, "|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8, ">>>": 8,
    "+": 9, "-": 9, "||": 9, "*": 10, "/": 10, "%": 10, "div": 10, "~": 11, "collate": 12,
    **dict.fromkeys([
        "=", "<>", "<", "<=", ">", ">=", "<=>", "is distinct from", "like", "ilike", "rlike", "in", "between", *_TRUTHS,
        "like any", "like all", "ilike any", "ilike all",
        "not like any", "not like all", "not ilike any", "not ilike all",
    ], _PREDICATE),
}  # fmt: skip
_NEGATION, _CLOSED = 11, 13

Node = (
    Reference
    | Parameter
    | Constant
    | Span
    | Keyword
    | Star
    | Call
    | Named
    | Cast
    | Branch
    | Case
    | FieldOf
    | Lambda
    | Ordering
    | Aggregated
    | Edge
    | Frame
    | Over
    | Opaque
)
"""Every kind of form: what a renderer matches exhaustively."""


def tree_of(form: Form) -> exp.Expression:
    """A tree of its own for a form: the one that it was read from, or one made of its parts."""
    if isinstance(form.source, exp.Expression):
        return form.source.copy()
    return _made(cast("Node", form))


def text_of(form: Form) -> str:
    """The form as Spark SQL, as it was written if it was."""
    return spark_sql(tree_of(form) if form.source is None else form.source)


def _made(form: Node) -> exp.Expression:  # noqa: C901, PLR0912 - one arm for each kind
    match form:
        case Reference():
            return exp.Column(this=exp.Identifier(this=form.name, quoted=True))
        case Parameter():
            return exp.Identifier(this=form.name, quoted=False)
        case Constant():
            return _constant(form)
        case Span():
            return _span(form)
        case Keyword():
            return exp.Var(this=form.word)
        case Star():
            return exp.Star()
        case Call():
            return _call(form)
        case Named():
            name = form.name
            if form.after:
                return exp.Alias(this=tree_of(form.value), alias=exp.Identifier(this=name, quoted=True))
            return exp.Kwarg(this=exp.Var(this=name), expression=tree_of(form.value))
        case Cast():
            if form.safe:
                return exp.TryCast(this=tree_of(form.argument), to=data_type(form.type))
            return cast_to(tree_of(form.argument), form.type)
        case Branch():
            return exp.If(this=tree_of(form.condition), true=tree_of(form.value))
        case Case():
            operand = None if form.operand is None else tree_of(form.operand)
            otherwise = None if form.otherwise is None else tree_of(form.otherwise)
            return exp.Case(this=operand, ifs=[tree_of(item) for item in form.branches], default=otherwise)
        case FieldOf():
            return exp.Dot(
                this=_operand(form.argument, _CLOSED),
                expression=exp.Identifier(this=form.name, quoted=True),
            )
        case Lambda():
            names = [exp.Identifier(this=name, quoted=False) for name in form.parameters]
            return exp.Lambda(this=tree_of(form.body), expressions=names)
        case Ordering():
            return exp.Ordered(this=tree_of(form.value), desc=form.descending, nulls_first=form.nulls_first)
        case Aggregated():
            return _aggregated(form)
        case Edge() | Frame():
            raise TypeError(form)  # a frame is no expression: `_over` writes it
        case Over():
            return _over(form)
        case Opaque():
            return parse_scalar(form.text)
        case _:
            assert_never(form)


def _constant(form: Constant) -> exp.Expression:
    match form.type:
        case "void":
            return exp.Null()
        case "boolean":
            return exp.Boolean(this=form.value == "true")
        case "string":
            return exp.Literal.string(form.value)
        case "binary":
            return exp.HexString(this=form.value)
        case _:
            return exp.Literal.number(form.value)


def _span(form: Span) -> exp.Expression:
    first, _, last = form.unit.partition(" TO ")
    unit: exp.Expression | None = exp.Var(this=first) if first else None
    if last:
        unit = exp.IntervalSpan(this=exp.Var(this=first), expression=exp.Var(this=last))
    return exp.Interval(this=exp.Literal.string(form.value), unit=unit)


def _call(form: Call) -> exp.Expression:
    name, arguments, count = form.function, form.arguments, len(form.arguments)

    own = _STRENGTH.get(name, _CLOSED)
    if name in _UNARY and count == 1:
        return _UNARY[name](this=_operand(arguments[0], _NEGATION + 1 if name != "not" else own))
    if name in _BINARY and count == 2:  # noqa: PLR2004 - a left and a right side
        left = own + 1 if own == _PREDICATE else own
        return _BINARY[name](this=_operand(arguments[0], left), expression=_operand(arguments[1], own + 1))
    if name in ("like", "ilike"):
        inner = _call(Call(name, arguments[:2]))
        return exp.Escape(this=inner, expression=tree_of(arguments[2]))
    if name.endswith((" any", " all")):
        return _of_several(name, _operand(arguments[0], _PREDICATE + 1), [tree_of(item) for item in arguments[1:]])
    if name in _TRUTHS:
        return exp.Is(this=_operand(arguments[0], _PREDICATE + 1), expression=_TRUTHS[name].copy())
    if name == "in":
        items = [tree_of(item) for item in arguments[1:]]
        return exp.In(this=_operand(arguments[0], _PREDICATE + 1), expressions=items)
    if name == "between":
        value, low, high = (_operand(item, _PREDICATE + 1) for item in arguments)
        return exp.Between(this=value, low=low, high=high)
    return _worded(name, [tree_of(item) for item in arguments], first=arguments[:1])


def _worded(name: str, trees: list[exp.Expression], first: tuple[Form, ...]) -> exp.Expression:
    """Calls that Spark writes with words of their own, and all others."""
    match name:
        case "[]":
            return exp.Bracket(this=_operand(first[0], _CLOSED), expressions=trees[1:])
        case "extract":
            return exp.Extract(this=trees[0], expression=trees[1])
        case "floor to":
            return exp.Floor(this=trees[0], to=trees[1])
        case "ceil to":
            return exp.Ceil(this=trees[0], to=trees[1])
        case "collate" if isinstance(trees[1], exp.Var):
            return exp.Collate(this=_operand(first[0], _CLOSED), expression=trees[1])
        case "()":
            return exp.Tuple(expressions=trees)
        case "trim both" | "trim leading" | "trim trailing":
            removed = trees[1] if len(trees) > 1 else None
            return exp.Trim(this=trees[0], position=name.split()[1].upper(), expression=removed)
        case _:
            return call(name, *trees)


def _of_several(name: str, value: exp.Expression, patterns: list[exp.Expression]) -> exp.Expression:
    *negated, kind, quantity = name.split()
    every = exp.All if quantity == "all" else exp.Any
    listed = every(this=exp.Tuple(expressions=patterns))
    return _BINARY[kind](this=value, expression=listed, negate=bool(negated))


def _operand(part: Form, least: int) -> exp.Expression:
    """The tree of a part, in parentheses where it binds less than what is around it."""
    tree = tree_of(part)
    if isinstance(part, Opaque | Lambda) or strength(part) < least:
        return exp.Paren(this=tree)
    return tree


def strength(form: Form) -> int:
    """The strength with which the operator of a form binds; the most where nothing around it could take it apart."""
    if not isinstance(form, Call):
        return _CLOSED
    if form.function in _UNARY and len(form.arguments) == 1 and form.function != "not":
        return _NEGATION
    return _STRENGTH.get(form.function, _CLOSED)


def _aggregated(form: Aggregated) -> exp.Expression:
    tree = tree_of(form.call)
    if form.distinct:
        tree.set("expressions", [exp.Distinct(expressions=tree.expressions)])
    if form.nulls:
        tree = (exp.IgnoreNulls if form.nulls == "ignore" else exp.RespectNulls)(this=tree)
    if form.within:
        tree = exp.WithinGroup(this=tree, expression=_order(form.within))
    if form.condition is not None:
        condition = tree_of(form.condition)
        tree = exp.Filter(this=tree, expression=exp.Where(this=condition))
    return tree


def _order(items: tuple[Ordering, ...]) -> exp.Expression:
    return exp.Order(expressions=[tree_of(item) for item in items])


def _over(form: Over) -> exp.Expression:
    partition = [tree_of(item) for item in form.partition]
    order = _order(form.order) if form.order else None
    function = tree_of(form.function)
    spec = None if form.frame is None else _frame(form.frame)
    return exp.Window(this=function, partition_by=partition, order=order, spec=spec, over="OVER")


def _frame(form: Frame) -> exp.Expression:
    start, start_side = _edge(form.start)
    end, end_side = _edge(form.end)
    return exp.WindowSpec(kind=form.kind.upper(), start=start, start_side=start_side, end=end, end_side=end_side)


def _edge(form: Edge) -> tuple[object, str | None]:
    if form.side == "current row":
        return "CURRENT ROW", None
    distance = form.distance
    value: object = "UNBOUNDED" if distance is None else tree_of(distance)
    return value, form.side.upper()
