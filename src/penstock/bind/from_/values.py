"""VALUES: constant rows."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.bind.bound_query import BoundQuery
from penstock.bind.diagnose import NotIncremental
from penstock.bind.level import Context, Level
from penstock.plan.nodes import Field, Values
from penstock.plan.scalar import Scalar
from penstock.sql.complaints import wrong
from penstock.types.common import common_type


def bind_values(tree: exp.Values, context: Context) -> BoundQuery:
    """VALUES: constant rows; columns are named col1, col2 and so on."""
    level = Level(replace(context, enclosing=None, domain=None))
    rows: list[tuple[Scalar, ...]] = []
    for item in tree.expressions:
        parts = item.expressions if isinstance(item, exp.Tuple) else [item.unnest()]
        rows.append(tuple(level.scalar(level.bind(part)) for part in parts))
    if len({len(row) for row in rows}) != 1:
        raise wrong(
            code="VALUES_OF_DIFFERENT_LENGTH",
            message="the rows of VALUES have different numbers of columns",
            place=tree,
        )
    if level.subqueries:
        reason = "a subquery in VALUES"
        raise NotIncremental(reason, tree, rewriting="SELECT … UNION ALL SELECT …")
    kinds = [common_type([row[index].type for row in rows]) for index in range(len(rows[0]))]
    names = tuple(f"col{index + 1}" for index in range(len(kinds)))
    outputs = tuple(
        Field(name, kind, any(row[index].nullable for row in rows))
        for index, (name, kind) in enumerate(zip(names, kinds, strict=True))
    )
    return BoundQuery(Values(tuple(rows), outputs), names)
