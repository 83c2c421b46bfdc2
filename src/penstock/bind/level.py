"""One query level while it is bound: its scope, its subqueries, what it reads of the enclosing query.

`Context` is what a query knows from outside; `Level` is what collects while one SELECT is bound, its `Subquery`s among
it. The parts of SQL stand in each other to any depth, and the files that bind them do not: from wherever it is, a
binding function reaches expressions, relations and queries through the `Binder` that the context carries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from types import MappingProxyType
from typing import Protocol

from sqlglot import exp

from penstock.bind.bound_query import BoundQuery, OuterKey
from penstock.bind.diagnose import unknown_column
from penstock.bind.domain import Domain, NeedDomain
from penstock.bind.group_window import GroupWindow
from penstock.bind.marks import OUTER, SUBQUERY, marked
from penstock.bind.opened_variants import variants_read
from penstock.bind.peers.meanings import in_peers_meaning
from penstock.bind.rounded_dates import dates_kept
from penstock.bind.scalars import scalar_of
from penstock.bind.scope import Relation, Scope, Visible, with_fields
from penstock.bind.taking_in import TakingIn
from penstock.catalog.model import Catalog
from penstock.catalog.types import Type
from penstock.errors import Diagnostic, Span, SqlError
from penstock.plan.nodes import Field, Plan
from penstock.plan.scalar import Scalar, column_tree
from penstock.sql.dialects import rules_of
from penstock.sql.rules import Rules
from penstock.sql.text import span_of, spark_sql
from penstock.sql.trees import grouped
from penstock.types.check import check_condition, check_types
from penstock.types.infer import infer


class Binder(Protocol):
    """The three ways by which binding functions of all clauses reach each other."""

    def expression(self, tree: exp.Expression, level: Level) -> exp.Expression:
        """A copy of a parsed expression in which every name has its meaning."""

    def relation(self, tree: exp.Expression, level: Level) -> Relation:
        """One item of FROM."""

    def query(self, tree: exp.Expression, context: Context, *, keep_order: bool) -> BoundQuery:
        """A query in its context."""


@dataclass(frozen=True)
class Context:
    """The surroundings of a query: the catalogue, CTEs, and for a subquery the enclosing level.

    `outers` collects what the subquery reads of the enclosing one, by text. Where the order of `arrival` is asked for,
    a query that `hands_on` tells it of its rows, in columns that nobody sees.
    """

    catalog: Catalog
    binder: Binder
    ctes: Mapping[str, BoundQuery] = field(default_factory=lambda: MappingProxyType({}))
    enclosing: Level | None = None
    domain: Domain | None = None
    windows: Mapping[str, exp.Expression] = field(default_factory=lambda: MappingProxyType({}))
    outers: dict[str, exp.Expression] = field(default_factory=dict, compare=False)
    numbers: Iterator[int] = field(default_factory=count, compare=False)
    taking_in: TakingIn | None = field(default=None, compare=False)
    arrival: bool = False
    hands_on: bool = False
    warnings: list[Diagnostic] = field(default_factory=list, compare=False)
    meanings: set[str] = field(default_factory=set, compare=False)

    @property
    def rules(self) -> Rules:
        """The rules of the dialect in which the query is written."""
        return rules_of(self.catalog.settings.get("dialect", "penstock"))

    @property
    def exact(self) -> bool:
        """True if the dialect takes names of columns only as they are written."""
        return self.rules.case_sensitive

    def with_cte(self, name: str, bound: BoundQuery) -> Context:
        """The context with one more CTE."""
        return replace(self, ctes=MappingProxyType({**self.ctes, name.lower(): bound}))

    def alone(self) -> Context:
        """The context for a derived table, which sees nothing of the query around it."""
        return replace(self, enclosing=None, domain=None)

    def bind_query(self, tree: exp.Expression, *, keep_order: bool = False) -> BoundQuery:
        """A query bound in this context; raises SqlError, UnsupportedError, NotIncremental or NeedDomain."""
        return self.binder.query(tree, self, keep_order=keep_order)


@dataclass
class Level:
    """One SELECT while it is bound, and all that it collects; `select` is that SELECT, as it was parsed.

    `generators` give rows before they are grouped, `selected` are those of the SELECT list.
    """

    context: Context
    scope: Scope = field(default_factory=Scope)
    aliases: dict[str, exp.Expression] = field(default_factory=dict)
    subqueries: list[Subquery] = field(default_factory=list)
    keys: list[OuterKey] = field(default_factory=list)
    residual: list[exp.Expression] = field(default_factory=list)
    carried: list[tuple[str, exp.Expression]] = field(default_factory=list)
    fields: dict[str, Field] = field(default_factory=dict)
    generators: list[tuple[exp.Expression, tuple[Field, ...]]] = field(default_factory=list)
    selected: list[tuple[exp.Expression, tuple[Field, ...]]] = field(default_factory=list)
    group_windows: list[GroupWindow] = field(default_factory=list)
    select: exp.Select | None = None
    in_group: bool = False
    output_first: bool = False
    grouped_first: frozenset[str] = frozenset()
    depth: int = 0

    def bind(self, tree: exp.Expression) -> exp.Expression:
        """A copy of a parsed expression in which every name has its meaning here; raises SqlError, also for types."""
        self.depth += 1
        try:
            bound = self.context.binder.expression(tree, self)
        finally:
            self.depth -= 1
        if not self.depth:  # a part of an expression is checked with the whole
            bound = variants_read(bound, self.fields) if self.context.rules.open_variants else bound
            bound = dates_kept(bound, self.fields) if self.context.rules.rounds_dates else bound
            bound, meanings = in_peers_meaning(bound, self._known_fields(), self.context.rules, self._value_type)
            self.context.meanings.update(meanings)
            check_types(bound, self.fields, self._answers)
        return bound

    def _answers(self, mark: exp.Anonymous) -> tuple[str | None, list[exp.Expression], list[Type | None]] | None:
        """The types of a subquery's columns, and the values that they are compared with by a sign, None for a value."""
        if mark.this != SUBQUERY:
            return None
        found = self.subqueries[int(mark.expressions[0].name)]
        kinds = [item.type for item in found.bound.fields]
        if found.kind == SCALAR:
            return None, [], kinds
        sign = {IN: "IN", QUANTIFIED: "a comparison"}.get(found.kind)
        return None if sign is None else (sign, mark.expressions[1 : found.needles + 1], kinds)

    def _known_fields(self) -> Mapping[str, Field]:
        """The fields of this level and of those around it, whose columns it may read."""
        around = self.context.enclosing
        return self.fields if around is None else {**around._known_fields(), **self.fields}  # noqa: SLF001

    def _value_type(self, mark: exp.Anonymous) -> Type | None:
        """The type of a subquery's value; None for what is none."""
        found = self.subqueries[int(mark.expressions[0].name)] if mark.this == SUBQUERY else None
        return found.bound.fields[0].type if found is not None and found.kind == SCALAR else None

    def warn(self, code: str, message: str, place: exp.Expression, hint: str) -> None:
        """Have the statement warn, once for each place."""
        found = Diagnostic(code, message, span_of(place), hint=hint, severity="warning")
        if found not in self.context.warnings:
            self.context.warnings.append(found)

    def bind_condition(self, tree: exp.Expression, clause: str) -> exp.Expression:
        """As `bind`, for a condition: that of ON or WHERE."""
        bound = self.bind(tree)
        check_condition(bound, self.fields, clause)
        return bound

    def bind_output(self, tree: exp.Expression) -> exp.Expression:
        """As `bind`, for QUALIFY and ORDER BY: an alias of the SELECT list comes before a column of FROM."""
        return self._bind_reading(tree, output_first=True)

    def bind_inside_aggregate(self, tree: exp.Expression) -> exp.Expression:
        """As `bind`: an aggregate reads rows, not the SELECT list, in all its clauses."""
        return self._bind_reading(tree, output_first=False)

    def _bind_reading(self, tree: exp.Expression, *, output_first: bool) -> exp.Expression:
        before, self.output_first = self.output_first, output_first
        try:
            return self.bind(tree)
        finally:
            self.output_first = before

    def bind_relation(self, tree: exp.Expression) -> Relation:
        """One item of FROM: its plan and the scope that finds its columns."""
        return self.context.binder.relation(tree, self)

    def column(self, parts: list[str], place: exp.Expression) -> exp.Expression:
        """The tree that a column reference stands for; raises SqlError if there is none."""
        found = self.find(parts, place)
        if found is not None:
            return found
        raise unknown_column(".".join(parts), self.known_names(), span_of(place))

    def find(self, parts: list[str], place: exp.Expression) -> exp.Expression | None:
        """The tree for a column: of FROM, an alias of the SELECT list, or of the enclosing query."""
        alias = self.aliases.get(parts[0].lower())
        if alias is not None:
            alias = with_fields(grouped(alias.copy()), parts[1:])
        if alias is not None and self.output_first and len(parts) == 1:
            return self._grouped(parts, place) or alias
        found = self.scope.resolve(parts, place)
        if found is not None:
            return found
        if alias is not None:
            return alias
        return self._outer(parts, place)

    def _grouped(self, parts: list[str], place: exp.Expression) -> exp.Expression | None:
        """The column of FROM that is meant, where that is grouped by."""
        try:
            found = self.scope.resolve(parts, place) if self.grouped_first else None
        except SqlError:  # of several relations, none of which is meant
            return None
        return found if found is not None and spark_sql(found) in self.grouped_first else None

    def _outer(self, parts: list[str], place: exp.Expression) -> exp.Expression | None:
        enclosing = self.context.enclosing
        found = None if enclosing is None else enclosing.find(parts, place)
        return None if found is None else self._read_outside(found)

    def around(self, alias: str) -> tuple[Visible, ...] | None:
        """The columns of `alias.*` in the enclosing query, None if it has no such relation."""
        enclosing = self.context.enclosing
        if enclosing is None:
            return None
        found = enclosing.scope.star(alias)
        found = enclosing.around(alias) if found is None else found
        return found and tuple(Visible(item.name, self._read_outside(item.tree)) for item in found)

    def _read_outside(self, found: exp.Expression) -> exp.Expression:
        """A tree of the enclosing query, as this one reads it."""
        text = spark_sql(found)
        self.context.outers.setdefault(text, found)
        if self.context.domain is None:
            return marked(OUTER, [found])
        if text not in self.context.domain.fields:
            raise NeedDomain(self.context.outers)
        return column_tree(self.context.domain.fields[text])

    def known_names(self) -> tuple[str, ...]:
        """All names that a column reference could have meant."""
        outer = () if self.context.enclosing is None else self.context.enclosing.known_names()
        named = (name for name in self.aliases if not name.startswith("__"))  # which nobody has written
        return (*self.scope.names(), *named, *outer)

    def remember_fields(self, plan: Plan) -> None:
        """Remember the fields of a plan, for the types of expressions over them."""
        self.fields.update({item.name: item for item in plan.fields})

    def scalar(self, tree: exp.Expression, span: Span | None = None) -> Scalar:
        """A bound tree as a scalar over this level's fields."""
        return scalar_of(tree, self.fields, span)

    def shape(self, tree: exp.Expression) -> Type | None:
        """The type of a bound tree, which may have UNCERTAIN parts: for the names of its fields."""
        return infer(tree, self.fields)[0]


EXISTS, IN, SCALAR, QUANTIFIED = "exists", "in", "scalar", "quantified"


@dataclass(eq=False)  # two that read the same are still two, each with names of its own
class Subquery:
    """A subquery of one query level.

    `keys` tie a field of the bound plan to one of the mark's outer arguments, by number; `residual` conditions read
    the plan's fields and `__outer(number)`. `needles` of the mark's arguments are the left side of IN or of a
    quantified comparison, which `compared` is.
    """

    kind: str
    tree: exp.Expression
    level: Level
    needles: int
    bound: BoundQuery
    outers: list[exp.Expression] = field(default_factory=list)
    keys: list[tuple[str, int, bool]] = field(default_factory=list)
    residual: list[exp.Expression] = field(default_factory=list)
    domain: Domain | None = None
    compared: exp.Expression | None = None
