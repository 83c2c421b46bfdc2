"""The names of one query and their meaning: the relations of its FROM, and the columns that a USING has merged.

A column's internal field is named `alias.column`, one name with a dot in it, so fields of different relations never
clash. Names are compared without regard to case.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.bind.diagnose import ambiguous_column
from penstock.catalog.reserved import POSITION, SEQUENCE_NUMBER, is_hidden
from penstock.plan.nodes import Field, Plan
from penstock.plan.scalar import column_tree
from penstock.sql.trees import at, bare, call_name


@dataclass(frozen=True)
class Visible:
    """A column under the name by which the query reaches it; `tree` computes it from the input fields.

    A `hidden` one is no part of `*`; an `exact` one is not meant by its name in another case.
    """

    name: str
    tree: exp.Expression
    field: str = ""
    hidden: bool = False
    exact: bool = False

    def answers(self, name: str) -> bool:
        """True if the column is called that."""
        return self.name == name if self.exact else self.name.lower() == name.lower()


@dataclass(frozen=True)
class RelationInScope:
    """One relation of FROM with its alias."""

    alias: str
    columns: tuple[Visible, ...]

    def find(self, name: str) -> list[Visible]:
        """The columns of that name."""
        return _called(name, self.columns)


@dataclass(frozen=True)
class Scope:
    """The relations of FROM; `shown` are the columns that a name can mean, where a USING has changed them."""

    relations: tuple[RelationInScope, ...] = ()
    shown: tuple[Visible, ...] | None = None

    def beside(self, other: Scope) -> Scope:
        """Both scopes' relations."""
        return Scope(self.relations + other.relations, self.columns + other.columns)

    @property
    def columns(self) -> tuple[Visible, ...]:
        """All that an unqualified name can mean."""
        if self.shown is not None:
            return self.shown
        return tuple(item for relation in self.relations for item in relation.columns)

    def star(self, alias: str | None = None) -> tuple[Visible, ...] | None:
        """The columns of `*`, or of `alias.*`; None if there is no such relation."""
        if alias is None:
            return _not_hidden(self.columns)
        lower = alias.lower()
        found = (relation.columns for relation in self.relations if relation.alias.lower() == lower)
        return next(map(_not_hidden, found), None)

    def unqualified(self, name: str, place: exp.Expression) -> Visible | None:
        """The one column that an unqualified name means."""
        found = _called(name, self.columns)
        if len(found) > 1:
            raise ambiguous_column(name, self._owners(name), place)
        return found[0] if found else None

    def _owners(self, name: str) -> tuple[str, ...]:
        return tuple(f"{relation.alias}.{name}" for relation in self.relations for _ in relation.find(name))

    def qualified(self, alias: str, name: str, place: exp.Expression) -> Visible | None:
        """The column `alias.name`."""
        found = [
            item
            for relation in self.relations
            if relation.alias.lower() == alias.lower()
            for item in relation.find(name)
        ]
        if len(found) > 1:
            written = f"{alias}.{name}"
            raise ambiguous_column(written, self._owners(name), place)
        return found[0] if found else None

    def resolve(self, parts: list[str], place: exp.Expression) -> exp.Expression | None:
        """The tree for `column`, `relation.column`, and fields of structs behind either."""
        found, rest = None, parts[1:]
        if len(parts) > 1:
            found, rest = self.qualified(parts[0], parts[1], place), parts[2:]
        if found is None:
            found, rest = self.unqualified(parts[0], place), parts[1:]
        if found is None:
            return None
        return with_fields(at(found.tree.copy(), place), rest)

    def names(self) -> tuple[str, ...]:
        """All names that could have been meant."""
        plain = [item.name for item in _not_hidden(self.columns)]
        owned = ((relation.alias, item) for relation in self.relations for item in _not_hidden(relation.columns))
        return (*plain, *(f"{alias}.{item.name}" for alias, item in owned))

    def merging(self, columns: tuple[Visible, ...], hidden: frozenset[str]) -> Scope:
        """The scope after a join with USING: its columns in front, for those that they stand for."""
        names = {item.name.lower() for item in columns}
        kept = (
            item
            for item in self.columns
            if (item.field not in hidden if item.field else item.name.lower() not in names)
        )
        return replace(self, shown=columns + tuple(kept))


def _called(name: str, columns: tuple[Visible, ...]) -> list[Visible]:
    """The columns that a name means: those called so, else for `_tp_sn` the positions of the rows of streams."""
    found = [item for item in columns if item.answers(name)]
    if not found and name.lower() == SEQUENCE_NUMBER:
        return [item for item in columns if item.hidden and item.name == POSITION]
    return found


def _not_hidden(columns: tuple[Visible, ...]) -> tuple[Visible, ...]:
    return tuple(item for item in columns if not item.hidden)


Relation = tuple[Plan, Scope]
"""The rows of FROM, or of one item of it, and the scope that finds their columns."""


def with_fields(tree: exp.Expression, fields: list[str]) -> exp.Expression:
    """Fields of a struct: `tree.a.b`."""
    for name in fields:
        given = _given_field(tree, name)
        tree = given if given is not None else exp.Dot(this=tree, expression=exp.Identifier(this=name, quoted=True))
    return tree


def _given_field(tree: exp.Expression, name: str) -> exp.Expression | None:
    """The value that `named_struct('a', x, …)` has as its field."""
    struct = bare(tree)
    if call_name(struct) != "named_struct":
        return None
    pairs = zip(struct.expressions[::2], struct.expressions[1::2], strict=True)
    found = [value for key, value in pairs if isinstance(key, exp.Literal) and key.name.lower() == name.lower()]
    return found[0].copy() if len(found) == 1 else None


def relation_in_scope(
    alias: str, names: tuple[str, ...], fields: tuple[Field, ...], *, exact: bool = False
) -> RelationInScope:
    """A relation whose i-th column is the i-th field; `exact` where names in another case are other names."""
    columns = (
        Visible(name, column_tree(item.name), item.name, hidden=is_hidden(name), exact=exact)
        for name, item in zip(names, fields, strict=True)
    )
    return RelationInScope(alias, tuple(columns))
