"""The names that Spark gives to the columns of a SELECT list."""

from __future__ import annotations

from sqlglot import exp

from penstock.sql.nodes import WRITTEN
from penstock.sql.text import spark_sql, type_of
from penstock.sql.trees import call_name, core_of, replace_nodes


def name_of(tree: exp.Expression) -> str:
    """The name that Spark gives an item of the SELECT list."""
    if isinstance(tree, exp.Alias | exp.PivotAlias):
        return str(tree.alias)
    if call_name(tree) == "window":
        return "window"
    if isinstance(tree, exp.Column | exp.Dot):
        return str(tree.parts[-1].name) if isinstance(tree, exp.Column) else str(tree.expression.name)
    return pretty(tree)


def written_name_of(tree: exp.Expression) -> str:
    """The name of an item of the SELECT list in which functions of other dialects are as they were written."""
    return name_of(replace_nodes(tree, _as_written))


def _as_written(tree: exp.Expression) -> exp.Expression | None:
    return exp.Var(this=tree.meta[WRITTEN]) if WRITTEN in tree.meta else None


def pretty(tree: exp.Expression) -> str:
    """An expression as Spark names its column."""
    match tree:
        case exp.Column():
            return str(tree.parts[-1].name)
        case exp.Paren():
            return pretty(tree.this)
        case exp.Literal():
            return str(tree.this)
        case exp.Null():
            return "NULL"
        case exp.Star():
            return "1"
        case exp.Cast() if not tree.meta.get("typed_literal") and not tree.meta.get("number"):
            return f"CAST({pretty(tree.this)} AS {type_of(tree.to).upper()})"
        case exp.Cast() if tree.meta.get("number"):
            return pretty(tree.this)
        case exp.Case() if tree.args.get("this") is None:
            branches = "".join(
                f" WHEN {pretty(item.this)} THEN {pretty(item.args['true'])}" for item in tree.args["ifs"]
            )
            default = tree.args.get("default")
            return f"CASE{branches}{'' if default is None else f' ELSE {pretty(default)}'} END"
        case exp.Distinct():
            return "DISTINCT " + ", ".join(pretty(item) for item in tree.expressions)
        case exp.Filter():
            return f"{pretty(tree.this)} FILTER (WHERE {pretty(tree.expression.this)})"
        case exp.Subquery() | exp.Exists():
            return "scalarsubquery()" if isinstance(tree, exp.Subquery) else "exists()"
        case exp.Binary() if not isinstance(tree, exp.Dot):
            return f"({pretty(tree.this)} {_operator(tree)} {pretty(tree.expression)})"
        case exp.Not():
            return f"(NOT {pretty(tree.this)})"
        case exp.Neg():
            return f"(- {pretty(tree.this)})"
        case exp.Anonymous(args={"expressions": [value]}) if call_name(tree) == "positive":
            return f"(+ {pretty(value)})"
    name = call_name(core_of(tree)) if isinstance(tree, exp.Anonymous) else None
    if name is None:
        return spark_sql(tree).replace("`", "")
    return f"{name}({', '.join(pretty(item) for item in tree.expressions)})"


def _operator(tree: exp.Binary) -> str:
    blank: exp.Expression = tree.__class__(  # type: ignore[assignment]
        this=exp.Identifier(this="l"), expression=exp.Identifier(this="r")
    )
    return spark_sql(blank).removeprefix("l").removesuffix("r").strip()
