"""The names and types of the columns that a generator gives."""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.diagnose import NotIncremental
from penstock.bind.level import Level
from penstock.bind.marks import OUTER, SUBQUERY, has_mark
from penstock.catalog.types import Type, split_types
from penstock.sql.complaints import wrong
from penstock.sql.trees import call_name
from penstock.types.nested import certain, columns_of, element_of

Column = tuple[str, Type | None]
_ONE_BY_ONE = frozenset(["explode", "explode_outer"])
_NUMBERED = frozenset(["posexplode", "posexplode_outer"])
_ROWS = frozenset(["inline", "inline_outer"])
_VARIANTS = frozenset(["variant_explode", "variant_explode_outer"])


def generated_columns(tree: exp.Expression, names: list[str], level: Level) -> list[Column]:
    """Names and types of a bound generator's columns; `names` replaces Spark's own."""
    if has_mark(tree, SUBQUERY) or has_mark(tree, OUTER):
        reason = "a subquery inside a generator function"
        raise NotIncremental(reason, tree, rewriting="the subquery in FROM, before the generator")
    found = _own_columns(tree, len(names), level)
    if not names:
        return found
    if len(names) != len(found):
        message = f"{call_name(tree)} gives {len(found)} columns, but {len(names)} names are given"
        raise wrong(code="WRONG_NUMBER_OF_NAMES", message=message, place=tree)
    return [(name, kind) for name, (_, kind) in zip(names, found, strict=True)]


def _own_columns(tree: exp.Expression, named: int, level: Level) -> list[Column]:
    name = call_name(tree) or ""
    first = tree.expressions[0] if tree.expressions else None
    kind = None if first is None else level.shape(first)
    if name in _ONE_BY_ONE or name in _NUMBERED:
        position: list[Column] = [("pos", "int")] if name in _NUMBERED else []
        return position + _elements(kind, named - len(position))
    if name in _ROWS:
        return _struct_columns(element_of(kind), named, tree)
    if name == "stack":
        rows = int(tree.expressions[0].name)
        width = -(-(len(tree.expressions) - 1) // rows)
        cells = [level.scalar(item).type for item in tree.expressions[1 : 1 + width]]
        return [(f"col{index}", cell) for index, cell in enumerate(cells)]
    if name in _VARIANTS:
        return [("pos", "int"), ("key", "string"), ("value", "variant")]
    if name == "json_tuple":
        return [(f"c{index}", "string") for index in range(len(tree.expressions) - 1)]
    reason = f"the generator function {name}"
    raise NotIncremental(reason, tree)


def _elements(kind: Type | None, named: int) -> list[Column]:
    if kind is not None and kind.startswith("map<"):
        key, value = split_types(kind[4:-1])
        return [("key", certain(key)), ("value", certain(value))]
    if kind is None and named == 2:  # noqa: PLR2004 - a map's key and value
        return [("key", None), ("value", None)]
    return [("col", certain(element_of(kind)))]


def _struct_columns(kind: Type | None, named: int, tree: exp.Expression) -> list[Column]:
    found = columns_of(kind)
    if found is not None:
        return found
    if named > 0:
        return [(f"col{index}", None) for index in range(named)]
    raise wrong(
        code="UNKNOWN_COLUMNS",
        message="the columns of this call are not known",
        place=tree,
        hint="name them: AS x(a, b)",
    )
