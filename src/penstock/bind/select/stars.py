"""The SELECT list: `*` expanded, names given to what has none."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from penstock.bind.diagnose import unknown_column, unknown_relation
from penstock.bind.level import Level
from penstock.bind.scope import Visible, with_fields
from penstock.sql.complaints import wrong
from penstock.types.nested import columns_of

Item = tuple[str, exp.Expression]


def is_star(tree: exp.Expression) -> bool:
    """True for `*` and `relation.*`."""
    return isinstance(tree, exp.Star) or (isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star))


def expand(tree: exp.Expression, level: Level) -> Iterator[Item]:
    """Name and bound tree of every column that a star stands for."""
    star = tree if isinstance(tree, exp.Star) else tree.this
    found = _columns(tree, level)
    dropped = {part.name.lower(): part for part in star.args.get("except_") or []}
    names = {item.name.lower() for item in found}
    _refuse_twice(star)
    for lower, part in dropped.items():
        if lower not in names:
            raise unknown_column(part.name, tuple(item.name for item in found), part)
    replaced = dict(_replaced(star, found, level))
    for item in found:
        if item.name.lower() not in dropped:
            yield item.name, replaced.get(item.name.lower(), item.tree).copy()


def _refuse_twice(star: exp.Expression) -> None:
    """SqlError for a column that EXCEPT and REPLACE name twice."""
    seen: set[str] = set()
    for part in (*(star.args.get("except_") or ()), *(star.args.get("replace") or ())):
        name = str(part.alias_or_name)
        if name.lower() in seen:
            message = f"EXCEPT and REPLACE name the column {name!r} twice"
            raise wrong(code="DUPLICATE_COLUMN", message=message, place=part)
        seen.add(name.lower())


def _replaced(star: exp.Expression, found: tuple[Visible, ...], level: Level) -> Iterator[Item]:
    """The expressions that REPLACE puts in the place of columns, by their names in lower case."""
    for part in star.args.get("replace") or []:
        if part.alias.lower() not in {item.name.lower() for item in found}:
            raise unknown_column(part.alias, tuple(item.name for item in found), part)
        yield part.alias.lower(), level.bind(part.this)


def _columns(tree: exp.Expression, level: Level) -> tuple[Visible, ...]:
    if isinstance(tree, exp.Star):
        if not level.scope.relations:
            raise wrong(
                code="STAR_WITHOUT_FROM",
                message="there is no relation that `*` could mean",
                place=tree,
                hint="add FROM",
            )
        return level.scope.star() or ()
    parts = [part.name for part in tree.parts[:-1]] if isinstance(tree, exp.Column) else []
    found = level.scope.star(parts[-1])
    if found is not None:
        return found
    struct = level.find(parts, tree)
    if struct is not None:
        return _struct(struct, level, tree)
    around = level.around(parts[-1])
    if around is not None:
        return around
    known = tuple(relation.alias for relation in level.scope.relations)
    raise unknown_relation(parts[-1], known, tree)


def _struct(tree: exp.Expression, level: Level, place: exp.Expression) -> tuple[Visible, ...]:
    found = columns_of(level.shape(tree))
    if found is None:
        raise wrong(
            code="NOT_A_STRUCT", message="`.*` needs a relation or a STRUCT whose fields are known", place=place
        )
    return tuple(Visible(name, with_fields(tree.copy(), [name])) for name, _ in found)
