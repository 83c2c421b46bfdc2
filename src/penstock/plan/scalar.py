"""Scalar expressions of a plan: a parsed expression with its canonical Spark SQL text.

The tree is sqlglot's, parsed with every function left as it was written, so the text that Spark
receives has Spark's meaning. Columns in it are single back-quoted names, those of the
input node's fields; two scalars are equal when their texts are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from sqlglot import exp

from penstock.catalog.types import Type
from penstock.errors import Span
from penstock.plan.clock_calls import is_clock
from penstock.plan.forms import Form, is_constant
from penstock.plan.parsing import parse_scalar
from penstock.plan.reading import form_of
from penstock.plan.writing import tree_of
from penstock.sql.nodes import SessionCall
from penstock.sql.text import spark_sql
from penstock.sql.trees import aggregate_calls, at, cast_to, operands


def quoted(name: str) -> str:
    """A name as Spark reads it whatever it contains."""
    return "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True)
class Scalar:
    """An expression over the fields of one input; never changed in place."""

    text: str
    tree: exp.Expression = field(compare=False, repr=False)
    type: Type | None = field(default=None, compare=False)
    nullable: bool = field(default=True, compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)

    @cached_property
    def form(self) -> Form:
        """The expression as a value that can be matched."""
        return form_of(self.tree)

    @property
    def reads_clock(self) -> bool:
        """True if its value depends on the clock of the step."""
        return self._read.clock

    @property
    def is_constant(self) -> bool:
        """True if it has one value for all rows and all steps."""
        return is_constant(self.form)

    @property
    def aggregates(self) -> bool:
        """True if an aggregate stands in it that no OVER belongs to."""
        return self._read.aggregates

    @property
    def windowed(self) -> bool:
        """True if a window call stands in it."""
        return self._read.windowed

    @property
    def columns(self) -> frozenset[str]:
        """The names of the input fields that the expression reads."""
        return self._read.columns

    @property
    def session_calls(self) -> tuple[str, ...]:
        """The calls in it of functions that the session of Spark has, as Spark SQL."""
        return self._read.session_calls

    @property
    def qualified(self) -> str | None:
        """The first name in it that is one of a table's column, as no plan has: tables end where names are bound."""
        return self._read.qualified

    @cached_property
    def _read(self) -> _Read:
        return _read(self.tree)

    @property
    def column(self) -> str | None:
        """The field's name if the expression is nothing but one field."""
        return self.tree.name if isinstance(self.tree, exp.Column) else None

    @cached_property
    def conjuncts(self) -> tuple[Scalar, ...]:
        """The parts of a condition that are joined by AND; written anew once, since every analysis asks for them."""
        return _operands_of(exp.And, self)

    @cached_property
    def disjuncts(self) -> tuple[Scalar, ...]:
        """The parts of a condition that are joined by OR."""
        return _operands_of(exp.Or, self)

    def cast_to(self, kind: Type) -> Scalar:
        """The value cast to a type, or as it is if it has that type; equal casts are one expression."""
        if self.type == kind:
            return self
        tree = cast_to(self.tree.copy(), kind)
        written = kind if "struct<" in kind else kind.upper()  # the names of fields stay as they are
        return Scalar(f"CAST({self.text} AS {written})", tree, kind, self.nullable, self.span)

    def renamed(self, names: Mapping[str, str]) -> Scalar:
        """The same expression over renamed fields; a field not in `names` keeps its name."""
        return self.replaced(lambda name: column_tree(names[name]) if name in names else None)

    def over(self, given: Mapping[str, Scalar]) -> Scalar:
        """The expression with other expressions in place of fields; a field not in `given` stays.

        Where it is nothing but a field, the other expression's place is the one that says what is computed.
        """
        whole = given.get(self.column) if self.column is not None else None
        if whole is not None:
            return Scalar(whole.text, whole.tree, self.type, self.nullable, whole.span or self.span)
        return self.replaced(lambda name: given[name].tree if name in given else None)

    def replaced(self, replacement: Callable[[str], exp.Expression | None]) -> Scalar:
        """The expression with columns replaced by other expressions; None leaves a column as it is."""

        def swap(node: exp.Expression) -> exp.Expression:
            if not isinstance(node, exp.Column):
                return node
            found = replacement(node.name)
            if found is None:
                return node
            made = found.copy()
            return _parenthesised(at(made, node) if isinstance(made, exp.Column) else made, node)

        tree = without_capture(self.tree.copy().transform(swap, copy=False))
        return Scalar(render_scalar(tree), tree, self.type, self.nullable, self.span)


@dataclass(frozen=True, slots=True)
class _Read:
    columns: frozenset[str]
    qualified: str | None = None
    aggregates: bool = False
    windowed: bool = False
    clock: bool = False
    session_calls: tuple[str, ...] = ()


def _read(tree: exp.Expression) -> _Read:
    """The answers to what nodes ask of each of their expressions, found in one walk."""
    if isinstance(tree, exp.Column) and not tree.table:
        return _Read(frozenset({tree.name}))
    columns, session, calls, windowed, clock = [], [], False, False, False
    for node in tree.walk():
        clock = clock or is_clock(node)
        match node:
            case exp.Column():
                columns.append(node)
            case exp.Anonymous():
                calls = True
            case exp.Window():
                windowed = True
            case SessionCall():
                session.append(spark_sql(node))
    aggregates = calls and next(aggregate_calls(tree), None) is not None
    qualified = next((spark_sql(node) for node in columns if node.table), None)
    names = frozenset(node.name for node in columns)
    return _Read(names, qualified, aggregates, windowed, clock, tuple(session))


def without_capture(tree: exp.Expression) -> exp.Expression:
    """The tree with other names for parameters of lambdas that columns in their bodies have too, in place.

    Spark takes a name in a lambda's body for its parameter, whatever the case of its letters and however it is quoted.
    """
    for node in list(tree.find_all(exp.Lambda)):
        columns = {item.name.lower() for item in node.this.find_all(exp.Column)}
        for parameter in node.expressions:
            if parameter.name.lower() in columns:
                taken = columns | {item.name.lower() for item in node.find_all(exp.Identifier)}
                name = parameter.name
                while name.lower() in taken:
                    name += "_"
                node.set("this", _parameter_renamed(node.this, parameter.name, name))
                parameter.set("this", name)
    return tree


def _parameter_renamed(tree: exp.Expr, old: str, new: str) -> exp.Expr:
    """A lambda's body in which a parameter has another name; a lambda within may have one of its own of that name."""
    match tree:
        case exp.Identifier():
            return exp.Identifier(this=new, quoted=False) if tree.name.lower() == old.lower() else tree
        case exp.Column() | exp.DataType():
            return tree
        case exp.Lambda() if any(item.name.lower() == old.lower() for item in tree.expressions):
            return tree
        case exp.Dot():
            tree.set("this", _parameter_renamed(tree.this, old, new))
            return tree
    for key, value in list(tree.args.items()):
        if isinstance(value, exp.Expr):
            tree.set(key, _parameter_renamed(value, old, new))
        elif isinstance(value, list):
            tree.set(
                key, [_parameter_renamed(item, old, new) if isinstance(item, exp.Expr) else item for item in value]
            )
    return tree


def _parenthesised(tree: exp.Expression, replaced: exp.Expression) -> exp.Expression:
    alone = replaced.parent is None or isinstance(tree, exp.Column | exp.Literal | exp.Anonymous | exp.Paren)
    return tree if alone else exp.Paren(this=tree)


def column_tree(name: str) -> exp.Column:
    """The parsed form of a reference to an input field."""
    return exp.Column(this=exp.Identifier(this=name, quoted=True))


def column(name: str, type: Type | None = None, nullable: bool = True, span: Span | None = None) -> Scalar:  # noqa: A002, FBT001, FBT002 (as in Field)
    """A reference to an input field."""
    return Scalar(quoted(name), column_tree(name), type, nullable, span)


def boolean(tree: exp.Expression, span: Span | None = None) -> Scalar:
    """A parsed condition as an expression."""
    alone = tree if tree.parent is None else tree.copy()
    return Scalar(render_scalar(alone), alone, "boolean", span=span)


def _operands_of(kind: type[exp.Connector], condition: Scalar) -> tuple[Scalar, ...]:
    found = tuple(operands(kind, condition.tree))
    return (condition,) if len(found) == 1 else tuple(boolean(tree, condition.span) for tree in found)


def scalar_of(form: Form, type: Type | None = None, nullable: bool = True, span: Span | None = None) -> Scalar:  # noqa: A002, FBT001, FBT002 (as in Field)
    """An expression of a plan that says what the form says, written as it was if it was read."""
    tree = tree_of(form)
    return Scalar(render_scalar(tree), tree, type, nullable, span)


def parsed(text: str) -> Form:
    """The form of an expression that is written as Spark SQL; raises SqlError."""
    return form_of(parse_scalar(text))


def render_scalar(tree: exp.Expression) -> str:
    """A parsed expression as Spark SQL text, on one line."""
    return spark_sql(tree)
