"""Table functions of constants: `range(…)` and the like."""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.bound_query import BoundQuery
from penstock.bind.diagnose import NotIncremental
from penstock.bind.expressions.functions import check_call
from penstock.bind.from_.generator_columns import Column
from penstock.bind.level import Level
from penstock.bind.relation import aliased
from penstock.bind.scope import Scope
from penstock.catalog.functions import built_in
from penstock.plan.nodes import Field, Plan, Recompute
from penstock.plan.opaque import escaped
from penstock.sql.text import span_of, spark_sql
from penstock.sql.trees import call_name

# Table functions of constants, with their columns.
_CONSTANT: dict[str, tuple[Column, ...]] = {
    "range": (("id", "bigint"),),
    "sql_keywords": (("keyword", "string"), ("reserved", "boolean")),
    "collations": tuple(
        (name, "string")
        for name in (
            *("CATALOG", "SCHEMA", "NAME", "LANGUAGE", "COUNTRY"),
            *("ACCENT_SENSITIVITY", "CASE_SENSITIVITY", "PAD_ATTRIBUTE", "ICU_VERSION"),
        )
    ),
}


def constant_rows(tree: exp.Table, level: Level) -> tuple[Plan, Scope]:
    """`range(…)` and the like: constant rows that Spark makes."""
    name = call_name(tree.this) or ""
    if built_in(name) is None:
        check_call(name, tree.this)
    columns = _CONSTANT.get(name)
    if columns is None or any(True for _ in tree.this.find_all(exp.Column, exp.Select)):
        reason = f"the table function {name}"
        raise NotIncremental(reason, tree)
    fields = tuple(Field(column, kind, nullable=name != "range") for column, kind in columns)
    text = escaped(f"SELECT * FROM {spark_sql(tree.this)}")
    node = Recompute((), text, fields, f"the table function {name}", span_of(tree))
    return aliased(BoundQuery(node, tuple(column for column, _ in columns)), tree, level, name)
