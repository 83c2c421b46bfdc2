"""Refuses expressions whose types Spark would refuse, as far as the types are known.

The tree is bound: every column is a field of the input. Types go up from the leaves; a part whose type is not known
is right wherever it stands, and so is all that depends on it. What operators take is Spark's own answer
(`catalog/signatures.json`), not a rule written down here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite

from sqlglot import exp

from penstock.catalog.functions import is_window_function
from penstock.catalog.signatures import REFUSED, UNCLEAR, Signatures, class_of, signatures, type_of_class
from penstock.catalog.types import Type
from penstock.errors import Span
from penstock.sql.nodes import UnsignedRightShift
from penstock.sql.text import type_of as written_type
from penstock.sql.trees import core_of
from penstock.types.arguments import check_arguments
from penstock.types.common import MOST_DIGITS, as_decimal
from penstock.types.infer import Typed, infer, with_parameters
from penstock.types.inside import (
    check_field,
    check_flag,
    check_inside,
    check_lambda,
    check_names,
    check_part,
    check_step,
    check_subscript,
)
from penstock.types.mismatch import (
    columns_apart,
    compared_apart,
    no_cast,
    no_common_type,
    no_condition,
    no_order,
    no_room,
    no_room_for,
    operands,
    sign_before,
    window_inside,
    without_over,
)
from penstock.types.nested import HIGHER_ORDER, parameters

Kind = Type | None
# For a mark: how values are compared with the answers of a subquery, None for one that is a value; the values; the
# types of its columns. None for another mark.
Answers = Callable[[exp.Anonymous], tuple[str | None, Sequence[exp.Expression], Sequence[Kind]] | None]
_SIGNS: dict[type[exp.Expression], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "DIV",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
    UnsignedRightShift: ">>>",
    exp.DPipe: "||",
    exp.EQ: "=",
    exp.NEQ: "=",
    exp.NullSafeEQ: "<=>",
    exp.NullSafeNEQ: "<=>",
    exp.LT: "<",
    exp.GT: "<",
    exp.LTE: "<",
    exp.GTE: "<",
    exp.Like: "LIKE",
    exp.ILike: "LIKE",
    exp.RegexpLike: "RLIKE",
}
_FILTER, _ORDER = "FILTER", "ORDER BY"
# Signs of which one stands for several in the data.
_WRITTEN: dict[type[exp.Expression], str] = {
    exp.NEQ: "<>",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
    exp.GT: ">",
    exp.LTE: "<=",
    exp.GTE: ">=",
    exp.ILike: "ILIKE",
}
# Functions one of whose arguments is the answer, and how many stand before those.
_TOGETHER = {"array": 0, "coalesce": 0, "nvl": 0, "ifnull": 0, "if": 1, "iff": 1, "nvl2": 1, "greatest": 0, "least": 0}


def check_types(tree: exp.Expression, fields: Mapping[str, Typed], answers: Answers | None = None) -> Kind:
    """The type of a bound expression, as far as it is known; raises SqlError for types that do not fit.

    `answers` has for the mark of a subquery what it is compared with, and the types of its columns.
    """
    return _Checked(fields, signatures(), answers).kind(tree)


def check_condition(tree: exp.Expression, fields: Mapping[str, Typed], where: str) -> None:
    """Raise SqlError for a bound expression that cannot be the condition of a clause, such as WHERE."""
    over = tree.find(exp.Window) if where != "QUALIFY" else None
    if over is not None:
        raise window_inside(where, over)
    kind = infer(tree, fields)[0]
    letter = class_of(kind)
    if kind is not None and letter is not None and not _is_condition(letter, where):
        raise no_condition(where, tree, kind)


def _is_condition(letter: str, where: str) -> bool:
    """HAVING takes what can be cast to BOOLEAN; every other clause takes no more than WHERE does."""
    rules = signatures()
    return rules.castable(letter, "o") if where == "HAVING" else letter in rules.clauses["WHERE"]


def check_given(column: str, to: Type, kind: Kind, place: exp.Expression | Span | None) -> None:
    """Raise SqlError for a value that a column is given and that cannot be cast to its type."""
    one, two = class_of(kind), class_of(to)
    if kind is not None and one is not None and two is not None and not signatures().castable(one, two):
        raise no_room_for(column, place, (kind, to))


def check_order(tree: exp.Expression, fields: Mapping[str, Typed], place: exp.Expression | None = None) -> None:
    """Raise SqlError for a bound key of ORDER BY whose values have no order."""
    kind = infer(tree, fields)[0]
    letter = class_of(kind)
    if kind is not None and letter is not None and letter not in signatures().clauses[_ORDER]:
        raise no_order(_ORDER, place or tree, kind)


def check_union(parts: Sequence[exp.Expression], kinds: Sequence[Kind], column: str) -> None:
    """Raise SqlError where a column of a UNION, INTERSECT or EXCEPT has no type that takes all of its parts' values."""
    taken = signatures().union
    known = [(part, kind, letter) for part, kind in zip(parts, kinds, strict=True) if (letter := class_of(kind))]
    for place, (part, kind, letter) in enumerate(known):
        for _, other, before in known[:place]:
            if letter not in taken[before]:
                raise columns_apart(column, part, (other, kind))


class _Checked:
    """One walk over a tree."""

    def __init__(self, fields: Mapping[str, Typed], rules: Signatures, answers: Answers | None) -> None:
        self._fields = fields
        self._rules = rules
        self._answers = answers
        self._over: exp.Expression | None = None

    def kind(self, tree: exp.Expression) -> Kind:
        """The type of a part; what is below it has been checked."""
        match tree:
            case exp.Literal():
                return self._literal(tree)
            case exp.Column() | exp.Null() | exp.Boolean() | exp.Identifier():
                return infer(tree, self._fields)[0]
            case exp.Query() | exp.DataType():
                return None
            case exp.Lambda():
                self.kind(tree.this)
                return None
            case exp.Paren() | exp.Alias():
                return self.kind(tree.this)
            case exp.Cast():
                return self._cast(tree)
            case exp.And() | exp.Or() | exp.Not():
                return self._logic(tree)
            case exp.Case():
                return self._case(tree)
            case exp.In():
                return self._in(tree)
            case exp.Between():
                return self._between(tree)
            case exp.Filter():
                return self._filter(tree)
            case exp.Window():
                return self._window(tree)
            case exp.Anonymous() if not str(tree.this).startswith("__"):
                return self._call(tree)
            case exp.Dot() | exp.Bracket() | exp.Extract():
                return self._part(tree)
            case exp.Anonymous() if self._answers is not None:
                return self._mark(tree, self._answers)
            case exp.Neg() | exp.BitwiseNot():
                return self._signed(tree)
            case _ if type(tree) in _SIGNS:
                return self._binary(tree, _SIGNS[type(tree)])
            case _:
                return self._other(tree)

    def _literal(self, tree: exp.Literal) -> Kind:
        """A number has to fit into the type that it is written as."""
        kind = infer(tree, self._fields)[0]
        if tree.is_string or kind is None:
            return kind
        if kind == "double" and not isfinite(float(tree.name)):
            raise no_room(tree, "DOUBLE")
        if (as_decimal(kind) or (0, 0))[0] > MOST_DIGITS:
            raise no_room(tree, f"a DECIMAL of {MOST_DIGITS} digits")
        return kind

    def _other(self, tree: exp.Expression) -> Kind:
        """The kind of an expression without a rule of its own: its parts are checked."""
        for part in _parts(tree):
            self.kind(part)
        return infer(tree, self._fields)[0]

    def _part(self, tree: exp.Expression) -> Kind:
        """A part of a value: a field, an element, the year of a date."""
        whole, *others = [self.kind(part) for part in _parts(tree)]
        match tree:
            case exp.Extract():
                check_part(tree, others[0])
            case exp.Dot(expression=exp.Identifier() as field):
                check_field(tree, whole, field.name)
            case exp.Bracket() if len(others) == 1:
                check_subscript(tree, (whole, others[0]), self._rules)
        return infer(tree, self._fields)[0]

    def _call(self, tree: exp.Anonymous) -> Kind:
        """A function; more may be known of a nested type than its class."""
        name = str(tree.this).lower()
        if is_window_function(name) and tree is not self._over:
            raise without_over(name, tree)
        arguments = _arguments(tree)
        kinds = [None if isinstance(part, exp.Lambda) else self.kind(part) for part in arguments]
        if name in _TOGETHER:
            self.together(name, arguments[_TOGETHER[name] :], kinds[_TOGETHER[name] :])
        if name == "map":
            self.together(f"the keys of {name}", arguments[::2], kinds[::2])
            self.together(f"the values of {name}", arguments[1::2], kinds[1::2])
        if name == "named_struct":
            check_names(arguments, kinds)
        letter = check_arguments(name, arguments, kinds, self._rules)
        check_flag(name, arguments, kinds)
        check_inside(name, arguments, kinds, self._rules)
        self._lambdas(name, arguments, kinds)
        inferred = infer(tree, self._fields)[0]
        if letter in (None, UNCLEAR, class_of(inferred)):
            return inferred
        return type_of_class(letter)

    def _lambdas(self, name: str, arguments: Sequence[exp.Expression], kinds: Sequence[Kind]) -> None:
        """The lambdas of a call, whose parameters have the types of what they are called with."""
        if name not in HIGHER_ORDER:
            return
        for place, item in enumerate(arguments):
            kind = kinds[place]
            if isinstance(item, exp.Lambda):
                fields = with_parameters(item, parameters(name, place, kinds), self._fields)
                kind = _Checked(fields, self._rules, self._answers).kind(item.this)
            if place == HIGHER_ORDER[name] == 1:
                check_lambda(name, item, kind, self._rules)
            elif place == HIGHER_ORDER[name]:
                check_step(name, arguments, (kinds[1], kind), self._rules)

    def _mark(self, tree: exp.Anonymous, answers: Answers) -> Kind:
        """A subquery: a value, or what values are compared with by IN, by ANY or by ALL."""
        found = answers(tree)
        parts = [self.kind(part) for part in tree.expressions]
        if found is None:
            return None
        sign, needles, kinds = found
        if sign is None:
            return kinds[0]
        for left, kind, other in zip(needles, parts[1:], kinds, strict=False):
            one, two = class_of(kind), class_of(other)
            if one is None or two is None:
                continue
            if self._rules.between("=", one, two) == REFUSED:
                raise compared_apart(sign, left, (kind, other))
        return "boolean"

    def _binary(self, tree: exp.Expression, sign: str) -> Kind:
        left, right = tree.this, tree.expression
        kinds = self.kind(left), self.kind(right)
        return self._of_two(sign, left, right, kinds, _WRITTEN.get(type(tree), sign))

    def _of_two(
        self, sign: str, left: exp.Expression, right: exp.Expression, kinds: tuple[Kind, Kind], name: str
    ) -> Kind:
        one, two = class_of(kinds[0]), class_of(kinds[1])
        if one is None or two is None:
            return None
        found = self._rules.between(sign, one, two)
        if found == REFUSED:
            raise operands((sign, name), left, right, kinds)
        return type_of_class(found)

    def _logic(self, tree: exp.Expression) -> Kind:
        """AND, OR and NOT, whose operands are conditions."""
        name = "NOT" if isinstance(tree, exp.Not) else "AND" if isinstance(tree, exp.And) else "OR"
        for part in [tree.this] if name == "NOT" else [tree.this, tree.expression]:
            kind = self.kind(part)
            letter = class_of(kind)
            if kind is not None and letter is not None and self._rules.between("AND", letter, "o") == REFUSED:
                raise no_condition(name, part, kind)
        return "boolean"

    def _signed(self, tree: exp.Expression) -> Kind:
        sign = "- x" if isinstance(tree, exp.Neg) else "~"
        kind = self.kind(tree.this)
        letter = class_of(kind)
        if letter is None:
            return None
        found = self._rules.of_one(sign, letter)
        if found == REFUSED:
            raise sign_before(sign[0], tree, kind)
        return type_of_class(found)

    def _cast(self, tree: exp.Cast) -> Kind:
        kind, to = self.kind(tree.this), written_type(tree.to)
        one, two = class_of(kind), class_of(to)
        if kind is not None and one is not None and two is not None and not self._rules.castable(one, two):
            raise no_cast(tree, kind, to)
        return to

    def _case(self, tree: exp.Case) -> Kind:
        operand = tree.this
        compared = None if operand is None else self.kind(operand)
        values: list[exp.Expression] = []
        for item in tree.args["ifs"]:
            kind = self.kind(item.this)
            if operand is not None:
                self._of_two("=", operand, item.this, (compared, kind), "=")
            else:
                self._condition("WHEN", item.this, kind)
            values.append(item.args["true"])
        default = tree.args.get("default")
        values += [] if default is None else [default]
        return self.together("CASE", values, [self.kind(value) for value in values])

    def _condition(self, where: str, tree: exp.Expression, kind: Kind) -> None:
        letter = class_of(kind)
        if kind is not None and letter is not None and self._rules.of_one("WHEN", letter) == REFUSED:
            raise no_condition(where, tree, kind)

    def together(self, what: str, parts: Sequence[exp.Expression], kinds: Sequence[Kind]) -> Kind:
        """The type of values one of which is the answer; raises SqlError where they can have none together."""
        whole: Kind = "void"
        for place, kind in enumerate(kinds):
            one, two = class_of(whole), class_of(kind)
            if one is None or two is None:
                return None
            found = self._rules.between("CASE", one, two)
            if found == REFUSED:
                raise no_common_type(what, parts[: place + 1], kinds[: place + 1])
            whole = kind if whole in (kind, "void") else type_of_class(found)
        return whole

    def _in(self, tree: exp.In) -> Kind:
        """A list; what a query gives is compared when that is bound."""
        parts = [tree.this, *tree.expressions]
        if any(isinstance(part, exp.Tuple) for part in parts):
            return self._other(tree)
        if tree.args.get("query") is None and tree.args.get("unnest") is None:
            kind = self.together("IN", parts, [self.kind(part) for part in parts])
            self._ordered("IN", tree.this, kind)
        return "boolean"

    def _between(self, tree: exp.Between) -> Kind:
        kind = self.kind(tree.this)
        for bound in (tree.args["low"], tree.args["high"]):
            self._of_two("<", tree.this, bound, (kind, self.kind(bound)), "BETWEEN")
        return "boolean"

    def _ordered(self, where: str, tree: exp.Expression, kind: Kind) -> None:
        letter = class_of(kind)
        if kind is not None and letter is not None and self._rules.between("=", letter, letter) == REFUSED:
            raise no_order(where, tree, kind)

    def _filter(self, tree: exp.Filter) -> Kind:
        condition = tree.expression.this
        kind = self.kind(condition)
        letter = class_of(kind)
        if kind is not None and letter is not None and letter not in self._rules.clauses[_FILTER]:
            raise no_condition(_FILTER, condition, kind)
        return self.kind(tree.this)

    def _window(self, tree: exp.Window) -> Kind:
        self._over = core_of(tree.this)
        self.kind(tree.this)
        order = tree.args.get("order")
        keys = [("PARTITION BY", item) for item in tree.args.get("partition_by") or []]
        keys += [("ORDER BY", item.this) for item in ([] if order is None else order.expressions)]
        for where, item in keys:
            self.sorted_by(where, item)
        return infer(tree, self._fields)[0]

    def sorted_by(self, where: str, tree: exp.Expression) -> None:
        """Raise SqlError for a key by which rows cannot be sorted or told apart."""
        kind = self.kind(tree)
        letter = class_of(kind)
        if kind is not None and letter is not None and letter not in self._rules.clauses[where]:
            raise no_order(where, tree, kind)


def _arguments(tree: exp.Anonymous) -> list[exp.Expression]:
    """The values that a function is called with, those behind DISTINCT too."""
    found = list(tree.expressions)
    return list(found[0].expressions) if len(found) == 1 and isinstance(found[0], exp.Distinct) else found


def _parts(tree: exp.Expression) -> Iterator[exp.Expression]:
    for value in tree.args.values():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, exp.Expression):
                yield item
