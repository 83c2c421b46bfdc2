"""The oracle's rewriting of what Spark lacks, such as QUALIFY and windows of time. Written apart from the engine's."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sqlglot import exp

from penstock.errors import Diagnostic, UnsupportedError
from penstock.sql.nodes import RowMatches, TableFunction
from penstock.sql.parse import parse_expression
from penstock.sql.text import spark_sql
from penstock.sql.trees import aggregate_calls
from penstock.testing.oracle.asof import rewrite_asof
from penstock.testing.oracle.group_frames import rewrite_group_frames
from penstock.testing.oracle.quantified import rewrite_by_name, rewrite_quantified
from penstock.testing.oracle.row_order import name_of
from penstock.testing.oracle.time_windows import Reading, cannot_say, group_windows, window_table
from penstock.testing.oracle.versions import Versioned, rewrite_versions

_CONDITION = "__qualified"


_NONE: Mapping[str, Versioned] = MappingProxyType({})


def in_sparks_words(
    tree: exp.Expression,
    reading: Reading = Reading(),  # noqa: B008 (frozen)
    versions: Mapping[str, Versioned] = _NONE,
) -> exp.Expression:
    """The query in words that Spark has; raises UnsupportedError for what the oracle cannot say."""
    _refuse_looking_back(tree, reading)
    if tree.find(RowMatches) is not None:
        message = "the oracle has no words for MATCH_RECOGNIZE"
        raise UnsupportedError(Diagnostic("ORACLE_UNSUPPORTED", message))
    for select in tree.find_all(exp.Select):
        _by_substreams(select)
    for function in reversed(list(tree.find_all(TableFunction))):
        function.replace(window_table(function, reading))
    for select in reversed(list(tree.find_all(exp.Select))):
        group_windows(select, reading.zone)
        rewrite_versions(select, versions)
        rewrite_asof(select)
        rewrite_group_frames(select)
        _by_number_in_group(select)
        _by_nothing(select)
        if select.args.get("qualify") is not None:
            replacement = _without_qualify(select)
            tree = replacement if select is tree else (select.replace(replacement), tree)[1]
    return rewrite_quantified(rewrite_by_name(tree))


def _refuse_looking_back(tree: exp.Expression, reading: Reading) -> None:
    """The order in which rows arrive is not among the contents that Spark is given."""
    for node in tree.find_all(exp.Anonymous) if reading.limited else ():
        window = node.find_ancestor(exp.Window)
        ordered = window is not None and window.args.get("order") is not None
        ends = window is None and name_of(node) in ("first_value", "last_value")
        if ends or (name_of(node) in ("lag", "lags", "neighbor") and not ordered):
            cannot_say(f"{name_of(node)} in the order of arrival")


def _by_substreams(select: exp.Select) -> None:
    """PARTITION BY behind FROM as further keys of GROUP BY, and as the keys of sessions."""
    keys = select.args.pop("partition_by", None) or []
    for function in select.find_all(TableFunction) if keys else ():
        if function.name == "SESSION":
            function.set("partition_by", function.args.get("partition_by") or [key.copy() for key in keys])
    group = select.args.get("group")
    if not keys or (group is None and not any(next(aggregate_calls(item), None) for item in select.expressions)):
        return
    listed = [] if group is None else group.expressions
    texts = {spark_sql(item) for item in listed}
    more = [key.copy() for key in keys if spark_sql(key) not in texts]
    select.set("group", exp.Group(expressions=[*(item.copy() for item in listed), *more]))


def groups_by_nothing(select: exp.Select) -> bool:
    """True for GROUP BY (), for which Spark has other words."""
    group = select.args.get("group")
    return group is not None and bool(group.expressions) and all(item == exp.Tuple() for item in group.expressions)


def _by_nothing(select: exp.Select) -> None:
    """GROUP BY () as the one grouping set `()`."""
    if groups_by_nothing(select):
        select.set("group", exp.Group(grouping_sets=[exp.GroupingSets(expressions=[exp.Tuple()])]))


def _by_number_in_group(select: exp.Select) -> None:
    """LIMIT n OFFSET m BY k: `row_number() OVER (PARTITION BY k ORDER BY …) - m BETWEEN 1 AND n`."""
    limit = select.args.get("limit")
    if limit is None or not limit.expressions:
        return
    items = [item.unalias() for item in select.expressions]
    meant = {str(place): item for place, item in enumerate(items, 1)}
    meant |= {name.alias: item for name, item in zip(select.expressions, items, strict=True) if name.alias}
    said = [meant.get(key.name, key) if isinstance(key, exp.Column | exp.Literal) else key for key in limit.expressions]
    keys = ", ".join(spark_sql(key) for key in said)
    order = select.args.get("order")
    sorting = ", ".join(_sorted_by(item, meant) for item in order.expressions) if order is not None else keys
    numbered = f"row_number() OVER (PARTITION BY {keys} ORDER BY {sorting})"
    skipped = limit.args.get("offset")
    least = 0 if skipped is None else int(skipped.name)
    number = parse_expression(f"{numbered} - {least} BETWEEN 1 AND {limit.expression.name}")
    select.set("qualify", exp.Qualify(this=number))
    select.set("limit", None)


def _sorted_by(item: exp.Expression, meant: Mapping[str, exp.Expression]) -> str:
    copy = item.copy()
    copy.set("this", meant.get(item.this.name, item.this).copy())
    return spark_sql(copy)


def _without_qualify(select: exp.Select) -> exp.Select:
    """The condition becomes a column of the inner query, the outer one filters by it and leaves it out."""
    inner = select.copy()
    condition = inner.args["qualify"].this
    inner.set("qualify", None)
    outer = exp.Select(expressions=[exp.Star(except_=[exp.to_identifier(_CONDITION)])])
    for late in ("distinct", "order", "limit", "offset", "with_"):
        if inner.args.get(late) is not None:
            outer.set(late, inner.args[late].copy())
            inner.set(late, None)
    inner.append("expressions", exp.alias_(_resolved(condition, inner), _CONDITION))
    outer.set("from_", exp.From(this=exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("__q")))))
    outer.set("where", exp.Where(this=exp.column(_CONDITION)))
    return outer


def _resolved(condition: exp.Expression, select: exp.Select) -> exp.Expression:
    """The condition with names of window columns of the select list replaced by what they stand for."""
    named = {
        item.alias.lower(): item.this
        for item in select.expressions
        if isinstance(item, exp.Alias) and item.find(exp.Window) is not None
    }

    def replaced(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Column) and not node.table and node.name.lower() in named:
            return exp.Paren(this=named[node.name.lower()].copy())
        return node

    return condition.copy().transform(replaced)
