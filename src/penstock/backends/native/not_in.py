"""NOT IN as DuckDB's SQL, in which no join has to look at every pair of rows."""

from __future__ import annotations

from penstock.backends.dialect import Carry, Dialect
from penstock.backends.joins import others
from penstock.plan.nodes import Join


def not_in_query(dialect: Dialect, plan: Join, left: str, right: str, carry: Carry) -> str:
    """NOT IN with SQL's NULLs: a match, or a comparison that is unknown, removes the row.

    Each of the three ways to be removed is a join of its own, so that none has to look at every pair.
    """
    compared, *correlated = plan.keys
    besides = [dialect.equal(plan, pair) for pair in correlated] + others(dialect, plan, carry)
    value, among = dialect.value(compared.left, plan.left), dialect.value(compared.right, plan.right)
    carried = [f"__left.{dialect.quoted(name)}" for name in carry]
    names = ", ".join([*(dialect.quoted(item.name) for item in plan.fields), *carried])
    matched = " AND ".join([dialect.equal(plan, compared), *besides])
    rows = f"SELECT {names} FROM ({left}) __left ANTI JOIN __right ON {matched}"
    unknown = f"(SELECT * FROM __right WHERE {among} IS NULL)"
    if besides:
        on = " AND ".join(besides)
        rows = f"SELECT {names} FROM ({rows}) __left ANTI JOIN {unknown} __right ON {on}"
        rows = f"SELECT {names} FROM ({rows}) __left ANTI JOIN __right ON {value} IS NULL AND {on}"
    else:
        some = "EXISTS (SELECT 1 FROM __right)"
        rows = f"SELECT {names} FROM ({rows}) __left WHERE NOT EXISTS {unknown} AND ({value} IS NOT NULL OR NOT {some})"
    return f"WITH __right AS MATERIALIZED ({right}) {rows}"
