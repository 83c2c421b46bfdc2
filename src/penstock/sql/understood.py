"""The parts of each node of a query that something reads: a query with any other part is refused there, by its name.

What the binder reads of FROM, GROUP BY and the other clauses it reads by name; expressions reach their engine as text,
so a part counts as read that `text.SparkText` writes. A part of sqlglot's nodes that is in neither list would be lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from penstock.errors import Diagnostic, Span, UnsupportedError
from penstock.sql.nodes import RowMatches, TableFunction
from penstock.sql.text import span_of
from penstock.sql.trees import nodes

# What every node may have: its operands, or its items.
_OPERANDS = frozenset({"this", "expression", "expressions"})
_PARTS: dict[type[exp.Expr], frozenset[str]] = {
    kind: _OPERANDS | frozenset(parts.split())
    for kind, parts in {
        exp.Alias: "alias",
        exp.AtTimeZone: "zone",
        exp.Between: "low high symmetric",
        exp.CTE: "alias materialized",
        exp.Case: "ifs default",
        exp.Cast: "to",
        exp.CastToStrType: "to",
        exp.Ceil: "to",
        exp.Column: "table db catalog",
        exp.DPipe: "safe",
        exp.DataType: "kind nested values nullable",
        exp.Distinct: "on",
        exp.Except: "distinct by_name with_ order limit offset",
        exp.Fetch: "direction count limit_options",
        exp.Floor: "to",
        exp.Group: "all grouping_sets cube rollup totals",
        exp.Identifier: "quoted",
        exp.If: "true false",
        exp.In: "query field",
        exp.Intersect: "distinct by_name with_ order limit offset",
        exp.Interval: "unit",
        exp.JSONExtract: "variant_extract",
        exp.JSONPathKey: "quoted",
        exp.Join: "on using side kind method match_condition pivots",
        exp.Lateral: "view outer alias",
        exp.Like: "negate",
        exp.ILike: "negate",
        exp.Limit: "offset",
        exp.LimitOptions: "rows percent with_ties",
        exp.Literal: "is_string",
        exp.Ordered: "desc nulls_first",
        exp.Pivot: "fields unpivot include_nulls alias columns pivot_column_naming identify_pivot_strings "
        "prefixed_pivot_columns value_columns_first",
        exp.PivotAlias: "alias",
        exp.RegexpLike: "negate",
        exp.RegexpILike: "negate",
        exp.Select: "with_ from_ joins laterals where group having qualify windows distinct order sort cluster "
        "distribute limit offset emit operation_modifiers shuffle_by partition_by settings point",
        exp.SimilarTo: "negate",
        exp.Star: "except_ replace",
        exp.Subquery: "alias joins pivots sample with_ order limit offset laterals",
        exp.Table: "alias db catalog joins pivots sample version when changes laterals",
        exp.TableAlias: "columns rounds",
        exp.TableSample: "method bucket_numerator bucket_denominator bucket_field percent rows size seed",
        exp.Trim: "position",
        exp.TryCast: "to safe",
        exp.Union: "distinct by_name with_ order limit offset emit settings point",
        exp.Unnest: "alias offset",
        exp.Values: "alias pivots sample order limit offset",
        exp.Version: "kind",
        exp.Window: "partition_by order spec alias over",
        exp.WindowSpec: "kind start start_side end end_side",
        exp.With: "recursive",
        RowMatches: "partition_by order measures rows skip pattern within subsets define alias pivots sample",
        TableFunction: "partition_by alias pivots sample",
    }.items()
}
# What a part is called where its name in the tree says nothing.
_CALLED: dict[tuple[type[exp.Expr], str], str] = {
    (exp.Limit, "limit_options"): "LIMIT … PERCENT and WITH TIES",
    (exp.Group, "distinct"): "GROUP BY DISTINCT",
    (exp.HavingMax, "this"): "HAVING MAX and MIN in a call",
    (exp.WindowSpec, "exclude"): "EXCLUDE in a frame",
    (exp.Table, "hints"): "WITH (…) and index hints behind a table",
    (exp.Table, "only"): "ONLY before a table",
    (exp.Table, "ordinality"): "WITH ORDINALITY behind a call in FROM",
    (exp.Table, "rows_from"): "ROWS FROM",
    (exp.Lateral, "ordinality"): "WITH ORDINALITY behind LATERAL",
    (exp.Lateral, "cross_apply"): "CROSS APPLY and OUTER APPLY",
    (exp.CTE, "key_expressions"): "USING KEY in WITH",
    (exp.With, "search"): "SEARCH and CYCLE behind WITH",
    (exp.With, "udfs"): "functions in WITH",
    (exp.Ordered, "with_fill"): "WITH FILL",
    (exp.Star, "ilike"): "* ILIKE",
    (exp.Star, "rename"): "* RENAME",
    (exp.Select, "sample"): "a random sample, which cannot be kept up to date,",
    (exp.Select, "kind"): "SELECT AS STRUCT and AS VALUE",
    (exp.Cast, "format"): "FORMAT in a cast",
    (exp.Cast, "default"): "DEFAULT in a cast",
    (exp.Pivot, "default_on_null"): "DEFAULT ON NULL in PIVOT",
    (exp.Pivot, "group"): "GROUP BY in PIVOT",
    (exp.Trim, "collation"): "COLLATE in TRIM",
    (exp.Window, "first"): "FIRST and LAST in OVER",
    **{
        (kind, part): f"{kind.__name__.upper()} CORRESPONDING, and LEFT, FULL and INNER before it"
        for kind in (exp.Union, exp.Except, exp.Intersect)
        for part in ("kind", "side", "on")
    },
}
# Nodes that nothing reads where they stand, or with what they are made of.
_FORMS: dict[type[exp.Expr], tuple[Callable[[Any], bool], str]] = {
    exp.Alias: (lambda node: isinstance(node.this, exp.Star), "a name for *"),
    exp.Escape: (lambda node: not isinstance(node.this, exp.Like | exp.ILike), "ESCAPE behind anything but LIKE"),
    exp.Window: (lambda node: isinstance(node.this, exp.Window), "OVER behind OVER"),
    exp.Interval: (lambda node: isinstance(node.this, exp.Cast | exp.Not), "an INTERVAL of a value with a type"),
    exp.Subquery: (
        lambda node: bool(node.alias) and isinstance(node.parent, exp.SetOperation),
        "a name for a side of UNION, INTERSECT or EXCEPT",
    ),
}
# Operands that a node may not have, since nothing reads them there.
_UNREAD = frozenset({(exp.Offset, "this"), (exp.HavingMax, "this")})
# Clauses that say how an engine works: they change no answer, and a warning says so.
_IDLE: dict[tuple[type[exp.Expr], str], str] = {
    (exp.Select, "sort"): "SORT BY",
    (exp.Select, "cluster"): "CLUSTER BY",
    (exp.Select, "distribute"): "DISTRIBUTE BY",
    (exp.CTE, "materialized"): "MATERIALIZED in WITH",
}
_NO_ORDER = "ORDER BY sorts the answer"


def refuse_unread(tree: exp.Expression) -> list[Diagnostic]:
    """The warnings for parts of a tree that change no answer; UnsupportedError for one that nothing reads."""
    warnings = []
    for node in nodes(tree):
        kind = type(node)
        if (form := _FORMS.get(kind)) is not None and form[0](node):
            raise UnsupportedError(Diagnostic("QUERY", f"not supported: {form[1]}", span_of(node)))
        read = _PARTS.get(kind, _OPERANDS)
        for part, value in node.args.items():
            if not value:
                if value is False and (kind, part) in _IDLE:
                    warnings.append(_idle(node, part))
            elif part not in read or (kind, part) in _UNREAD:
                raise _unread(node, part)
            elif (kind, part) in _IDLE:
                warnings.append(_idle(node, part))
    return warnings


def _unread(node: exp.Expression, part: str) -> UnsupportedError:
    called = _CALLED.get((type(node), part)) or f"{part.strip('_').replace('_', ' ').upper()} in a query"
    return UnsupportedError(Diagnostic("QUERY", f"not supported: {called}", _place(node, part)))


def _idle(node: exp.Expression, part: str) -> Diagnostic:
    message = f"{_IDLE[type(node), part]} has no meaning here"
    hint = _NO_ORDER if isinstance(node, exp.Select) else None
    return Diagnostic("NO_MEANING", message, _place(node, part), hint=hint, severity="warning")


def _place(node: exp.Expression, part: str) -> Span | None:
    value = node.args[part]
    items = value if isinstance(value, list) else [value]
    spans = [span_of(item) for item in items if isinstance(item, exp.Expression)]
    return next((span for span in spans if span is not None), None) or span_of(node)
