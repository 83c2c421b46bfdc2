"""The form of a parsed expression."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sqlglot import exp

from penstock.plan.forms import (
    NULL,
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
from penstock.sql.nodes import UnsignedRightShift
from penstock.sql.text import spark_sql, type_of
from penstock.sql.trees import bare, directions
from penstock.types.infer import number_type

BINARY: dict[type[exp.Expression], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.IntDiv: "div", exp.Mod: "%", exp.DPipe: "||",
    exp.And: "and", exp.Or: "or", exp.EQ: "=", exp.NEQ: "<>", exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=",
    exp.NullSafeEQ: "<=>", exp.NullSafeNEQ: "is distinct from", exp.RegexpLike: "rlike", exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|", exp.BitwiseXor: "^", exp.BitwiseLeftShift: "<<", exp.BitwiseRightShift: ">>",
    UnsignedRightShift: ">>>", exp.Like: "like", exp.ILike: "ilike",
}  # fmt: skip
UNARY: dict[type[exp.Expression], str] = {exp.Neg: "-", exp.Not: "not", exp.BitwiseNot: "~"}
CLOCKS: dict[type[exp.Expression], str] = {
    exp.CurrentTimestamp: "current_timestamp", exp.CurrentDate: "current_date", exp.CurrentTime: "current_time",
    exp.Localtimestamp: "localtimestamp",
}  # fmt: skip
_OTHER_NAMES = {"time": "time(6)", "timestamp_ltz": "timestamp"}  # as typed literals have them
TRUTHS = {"NULL": "is null", "TRUE": "is true", "FALSE": "is false"}


def form_of(tree: exp.Expression) -> Form:
    """The form of a parsed expression; what has none is opaque."""
    node = bare(tree)
    rule = _RULES.get(type(node))
    found = None if rule is None else rule(node)
    if found is None:
        found = Opaque(spark_sql(node), _forms(node.iter_expressions()))
    object.__setattr__(found, "source", node)
    return found


def _forms(trees: Iterable[Any]) -> tuple[Form, ...]:
    return tuple(form_of(item) for item in trees)


def _has_only(node: exp.Expression, *names: str) -> bool:
    """True if the node has nothing beside these arguments."""
    return all(key in names or value in (None, [], False) for key, value in node.args.items())


def _column(node: Any) -> Form:
    return Reference(node.name)


def _identifier(node: Any) -> Form:
    return Parameter(node.name)


def _literal(node: Any) -> Form | None:
    if node.is_string:
        return Constant(str(node.this), "string")
    kind = number_type(str(node.this))
    return None if kind is None else Constant(str(node.this), kind)


def _text(node: Any) -> Form:
    return Constant(str(node.this), "string")


def _interval(node: Any) -> Form | None:
    if not isinstance(node.this, exp.Literal):
        return None
    unit = node.args.get("unit")
    if isinstance(unit, exp.IntervalSpan):
        return Span(str(node.this.this), f"{unit.this.name} TO {unit.expression.name}".upper())
    return Span(str(node.this.this), "" if unit is None else str(unit.name).upper())


def _binary(node: Any) -> Form | None:
    if isinstance(node.expression, exp.Any | exp.All):
        return _of_several(node)
    found = Call(BINARY[type(node)], (form_of(node.this), form_of(node.expression)))
    return Call("not", (found,)) if node.args.get("negate") else found


def _of_several(node: Any) -> Form | None:
    """`x LIKE ANY ('a', 'b')`."""
    patterns = bare(node.expression.this)
    if not isinstance(node, exp.Like | exp.ILike) or not isinstance(patterns, exp.Tuple):
        return None
    word = f"{BINARY[type(node)]} {type(node.expression).__name__.lower()}"
    name = f"not {word}" if node.args.get("negate") else word
    return Call(name, (form_of(node.this), *_forms(patterns.expressions)))


def _unary(node: Any) -> Form:
    return Call(UNARY[type(node)], (form_of(node.this),))


def _escape(node: Any) -> Form | None:
    match form_of(node.this):
        case Call("like" | "ilike" as name, arguments):
            return Call(name, (*arguments, form_of(node.expression)))
        case Call("not", (Call("like" | "ilike" as name, arguments),)):
            return Call("not", (Call(name, (*arguments, form_of(node.expression))),))
    return None


def _is(node: Any) -> Form | None:
    asked = bare(node.expression)
    if not isinstance(asked, exp.Null | exp.Boolean):
        return None
    return Call(TRUTHS["NULL" if isinstance(asked, exp.Null) else str(asked.this).upper()], (form_of(node.this),))


def _in(node: Any) -> Form | None:
    if not _has_only(node, "this", "expressions"):
        return None
    return Call("in", (form_of(node.this), *_forms(node.expressions)))


def _between(node: Any) -> Form | None:
    if not _has_only(node, "this", "low", "high"):
        return None
    return Call("between", (form_of(node.this), form_of(node.args["low"]), form_of(node.args["high"])))


def _cast(node: Any) -> Form:
    literal = bool(node.meta.get("typed_literal") or node.meta.get("number"))
    kind = type_of(node.to)
    return Cast(form_of(node.this), _OTHER_NAMES.get(kind, kind), safe=isinstance(node, exp.TryCast), literal=literal)


def _case(node: Any) -> Form:
    operand, otherwise = node.args.get("this"), node.args.get("default")
    branches = tuple(Branch(form_of(item.this), form_of(item.args["true"])) for item in node.args["ifs"])
    return Case(
        None if operand is None else form_of(operand), branches, None if otherwise is None else form_of(otherwise)
    )


def _dot(node: Any) -> Form | None:
    return FieldOf(form_of(node.this), node.expression.name) if isinstance(node.expression, exp.Identifier) else None


def _bracket(node: Any) -> Form | None:
    if len(node.expressions) != 1 or not _has_only(node, "this", "expressions"):
        return None
    return Call("[]", (form_of(node.this), form_of(node.expressions[0])))


def _lambda(node: Any) -> Form:
    return Lambda(tuple(item.name for item in node.expressions), form_of(node.this))


def _call(node: Any) -> Form | None:
    arguments = node.expressions
    name = str(node.this).lower()
    if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
        return Aggregated(Call(name, _forms(arguments[0].expressions)), distinct=True)
    if any(isinstance(item, exp.Distinct | exp.IgnoreNulls | exp.RespectNulls) for item in arguments):
        return None
    return Call(name, _forms(arguments))


def _clock(node: Any) -> Form:
    precision = [item for item in (node.args.get("this"),) if isinstance(item, exp.Expression)]
    return Call(CLOCKS[type(node)], _forms(precision))


def _modified(node: Any) -> Form | None:
    inner = form_of(node.this)
    inner = Aggregated(inner) if isinstance(inner, Call) else inner
    if not isinstance(inner, Aggregated):
        return None
    call, distinct, within, condition, nulls = inner.call, inner.distinct, inner.within, inner.condition, inner.nulls
    match node:
        case exp.Filter():
            condition = form_of(node.expression.this)
        case exp.WithinGroup():
            within = _order(node.expression)
        case exp.IgnoreNulls() | exp.RespectNulls():
            nulls = "ignore" if isinstance(node, exp.IgnoreNulls) else "respect"
    return Aggregated(call, distinct, within, condition, nulls)


def _order(order: Any) -> tuple[Ordering, ...]:
    return () if order is None else tuple(_ordered(item) for item in order.expressions)


def _ordered(item: Any) -> Ordering:
    if not isinstance(item, exp.Ordered):
        return Ordering(form_of(item))
    return Ordering(form_of(item.this), *directions(item))


def _window(node: Any) -> Form | None:
    if not _has_only(node, "this", "partition_by", "order", "spec", "over"):
        return None
    frame = node.args.get("spec")
    read = None if frame is None else _frame(frame)
    if frame is not None and read is None:
        return None
    return Over(form_of(node.this), _forms(node.args.get("partition_by") or ()), _order(node.args.get("order")), read)


def _frame(spec: exp.Expression) -> Frame | None:
    kind = str(spec.args.get("kind") or "").lower()
    if kind not in ("rows", "range", "groups") or spec.args.get("exclude"):
        return None
    end = _edge(spec, "end") if spec.args.get("end") is not None else Edge("current row")
    return Frame(kind, _edge(spec, "start"), end)


def _edge(spec: exp.Expression, name: str) -> Edge:
    value, side = spec.args.get(name), str(spec.args.get(f"{name}_side") or "").lower()
    if value is None or str(value).upper() == "CURRENT ROW":
        return Edge("current row")
    return Edge(side, form_of(value) if isinstance(value, exp.Expression) else None)


def _trim(node: Any) -> Form:
    position = str(node.args.get("position") or "BOTH").lower()
    removed = node.args.get("expression")
    return Call(f"trim {position}", (form_of(node.this), *(() if removed is None else (form_of(removed),))))


def _rounded(node: Any) -> Form | None:
    unit = node.args.get("to")
    name = "floor" if isinstance(node, exp.Floor) else "ceil"
    if unit is None or not _has_only(node, "this", "to"):
        return None
    return Call(f"{name} to", (form_of(node.this), Keyword(str(unit.name).upper())))


_RULES: dict[type[exp.Expression], Callable[[Any], Form | None]] = {
    exp.Column: _column,
    exp.Identifier: _identifier,
    exp.Literal: _literal,
    exp.RawString: _text,
    exp.National: _text,
    exp.HexString: lambda node: Constant(str(node.this), "binary"),
    exp.Null: lambda _node: Constant(NULL.value, NULL.type),
    exp.Boolean: lambda node: Constant(str(bool(node.this)).lower(), "boolean"),
    exp.Interval: _interval,
    exp.Var: lambda node: Keyword(str(node.name)),
    exp.Star: lambda _node: Star(),
    **dict.fromkeys(BINARY, _binary),
    **dict.fromkeys(UNARY, _unary),
    **dict.fromkeys(CLOCKS, _clock),
    exp.Escape: _escape,
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Case: _case,
    exp.Dot: _dot,
    exp.Bracket: _bracket,
    exp.Lambda: _lambda,
    exp.Anonymous: _call,
    exp.Filter: _modified,
    exp.WithinGroup: _modified,
    exp.IgnoreNulls: _modified,
    exp.RespectNulls: _modified,
    exp.Window: _window,
    exp.Trim: _trim,
    exp.Floor: _rounded,
    exp.Ceil: _rounded,
    exp.Extract: lambda node: Call("extract", (Keyword(str(node.this.name).upper()), form_of(node.expression))),
    exp.Collate: lambda node: Call("collate", (form_of(node.this), Keyword(str(node.expression.name)))),
    exp.AtTimeZone: lambda node: Call("from_utc_timestamp", (form_of(node.this), form_of(node.args["zone"]))),
    exp.Tuple: lambda node: Call("()", _forms(node.expressions)),
    exp.Array: lambda node: Call("array", _forms(node.expressions)),
    exp.Concat: lambda node: Call("concat", _forms(node.expressions)),
    exp.Kwarg: lambda node: Named(str(node.this.name), form_of(node.expression)),
    exp.Alias: lambda node: Named(str(node.alias), form_of(node.this), after=True),
}
