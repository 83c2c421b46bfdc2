"""The last work on a parsed tree: streaming marks, literals as written, names of the dialect."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from penstock.catalog.word_list import word_list
from penstock.errors import Diagnostic, Span
from penstock.sql.aliases import spread_aliases
from penstock.sql.escapes import keep_escapes, with_plain_backslashes
from penstock.sql.failure import ParseFailure
from penstock.sql.nodes import WRITTEN
from penstock.sql.points import POINT
from penstock.sql.rules import Rewrite, Rules
from penstock.sql.similar import as_regular_expression
from penstock.sql.standardforms import COMPARISONS, compared_with_each
from penstock.sql.text import span_of
from penstock.sql.texttypes import with_casts
from penstock.sql.trees import data_type, replaced
from penstock.sql.unsigned import with_checked_range

_PARAMETER = "a program has no parameters"
_WRITE = "write the value itself"

_UNITS = frozenset(
    word_list(
        """
        YEAR QUARTER MONTH WEEK DAY DAYOFYEAR HOUR MINUTE SECOND MILLISECOND MICROSECOND
        YEARS QUARTERS MONTHS WEEKS DAYS HOURS MINUTES SECONDS MILLISECONDS MICROSECONDS
        """
    )
)
# Functions whose first argument may be a unit, and how many arguments they have then.
_UNIT_FIRST = frozenset(word_list("TIMESTAMPADD TIMESTAMPDIFF DATEADD DATEDIFF DATE_ADD DATE_DIFF"))
_ARGUMENTS_WITH_UNIT = 3
_JOINED = ("LISTAGG", "STRING_AGG")


def finish(tree: exp.Expression, source: str, rules: Rules) -> exp.Expression:
    """The tree with marks in `meta`, escapes as in the source, and the dialect's functions under Spark's names."""
    for node in list(tree.walk()):
        match node:
            case exp.Placeholder() | exp.Parameter() | exp.SessionParameter():
                raise ParseFailure(None, Diagnostic("UNSUPPORTED_PARAMETER", _PARAMETER, _nearest(node), hint=_WRITE))
            case exp.Literal() if node.is_string:
                keep_escapes(node, source, rules.backslash)
            case exp.Query():
                _take_marks(node)
            case exp.Fetch():
                _limit_instead(node)
            case exp.WindowSpec():
                _settle_frame(node)
            case exp.In(expressions=[exp.Values() as values]):
                node.set("query", exp.Subquery(this=values))
                node.set("expressions", [])
            case exp.Values() if rules.spreads_rows:
                _spread_rows(node, source)
            case exp.Div() if rules.wide_division:
                _widen(node)
            case exp.Anonymous() if node.name.upper() in _JOINED:
                _one_distinct_value(node)
    for node in list(tree.find_all(exp.Like, exp.ILike)) if rules.backslash != "escape" else ():
        with_plain_backslashes(node, rules.backslash)
    tree = replaced(tree, (exp.Bracket,), _counted_from_one) if rules.counts_from_one else tree
    if (path := rules.json_at) is not None:
        tree = replaced(tree, (exp.JSONExtract,), lambda node: _with_json(node, source, path))
    tree = replaced(tree, (exp.SimilarTo,), as_regular_expression)
    tree = replaced(tree, COMPARISONS, compared_with_each)
    tree = replaced(tree, (exp.Extract,), lambda node: _part(node, rules)) if rules.parts else tree
    tree = replaced(tree, (exp.Expression,), rules.forms) if rules.forms is not None else tree
    tree = _with_functions(with_casts(tree, rules), source, rules)
    tree = replaced(tree, (exp.Cast,), with_checked_range)
    for select in tree.find_all(exp.Select) if rules.aliases_in_where else ():
        spread_aliases(select)
    return tree


def _counted_from_one(node: exp.Bracket) -> exp.Expression | None:
    """a[1] as the first element of a, NULL where there is none; a key in quotes is one of a map."""
    place = node.expressions[0] if len(node.expressions) == 1 else None
    if isinstance(place, exp.Anonymous) and place.name.upper() == "SAFE_OFFSET" and len(place.expressions) == 1:
        return exp.Anonymous(this="get", expressions=[node.this, *place.expressions])
    if place is None or isinstance(place, exp.Slice) or (isinstance(place, exp.Literal) and place.is_string):
        return None
    return exp.Anonymous(this="try_element_at", expressions=[node.this, place])


def _with_json(
    node: exp.JSONExtract, source: str, rewrite: Callable[[exp.JSONExtract], exp.Expression]
) -> exp.Expression:
    """`x:a.b` in the dialect's meaning."""
    place = span_of(node)
    found = rewrite(node)
    if place is not None:
        found.meta[WRITTEN] = " ".join(source[place.start : place.end].split())
    return found


def _part(node: Any, rules: Rules) -> exp.Expression | None:
    """EXTRACT of a unit that the dialect counts in another way than Spark."""
    rewrite = rules.parts.get(node.name.upper())
    return None if rewrite is None else rewrite(node)


def _with_functions(tree: exp.Expression, source: str, rules: Rules) -> exp.Expression:
    """The tree with the dialect's functions under Spark's names, inner ones first: an outer one may stand twice."""
    for node in reversed(list(tree.find_all(exp.Anonymous))):
        found = _function(node, source, rules)
        if found is not node:
            node.replace(found)
            tree = found if node is tree else tree
    return tree


def _limit_instead(fetch: exp.Fetch) -> None:
    """FETCH FIRST n ROWS ONLY as LIMIT n; with ties or a share of the rows it stays, and is refused."""
    options = fetch.args.get("limit_options")
    if options is None or not (options.args.get("percent") or options.args.get("with_ties")):
        fetch.replace(exp.Limit(expression=fetch.args.get("count") or exp.Literal.number(1)))


def _one_distinct_value(call: exp.Anonymous) -> None:
    """LISTAGG(DISTINCT x, '-') is of different x: what stands between them is no part of the values."""
    distinct = call.expressions[0] if call.expressions else None
    if isinstance(distinct, exp.Distinct) and len(distinct.expressions) > 1:
        value, *between = distinct.expressions
        distinct.set("expressions", [value])
        call.set("expressions", [distinct, *between])


def _spread_rows(values: exp.Values, source: str) -> None:
    """VALUES ROW(1, 'a') is the row (1, 'a'); in parentheses it is a row with one value."""
    for row in values.expressions:
        alone = row.expressions[0] if isinstance(row, exp.Tuple) and len(row.expressions) == 1 else row
        place = span_of(alone) if isinstance(alone, exp.Anonymous) and alone.name.upper() == "ROW" else None
        if place is not None and not source[: place.start].rstrip().endswith("("):
            row.replace(exp.Tuple(expressions=alone.expressions))


def _widen(division: exp.Div) -> None:
    for side in (division.this, division.expression):
        if isinstance(side, exp.Literal) and not side.is_string and "." in side.name:
            side.replace(exp.cast(side.copy(), "double"))


def _nearest(node: exp.Expression) -> Span | None:
    """The span of the smallest tree around the node that has one."""
    around: Any = node
    while around is not None:
        if (span := span_of(around)) is not None:
            return span
        around = around.parent
    return None


def _function(call: exp.Anonymous, source: str, rules: Rules) -> exp.Expression:
    name = call.name.upper()
    if name in _UNIT_FIRST and len(call.expressions) == _ARGUMENTS_WITH_UNIT:
        _unit_argument(call)
    if (kind := rules.declared.get(name.lower())) is not None and kind.startswith("struct<"):
        made = exp.Anonymous(this="struct", expressions=call.expressions)
        value = exp.Cast(this=made, to=data_type(kind))
        value.meta.update(call.meta)
        return value
    if rewrite := rules.rewrites.get(name):
        place = span_of(call)
        written: exp.Anonymous = call.copy()
        found = rewrite(call)
        found.meta.update(call.meta)
        _refuse_unused(written, rewrite, found)
        if place is not None:
            found.meta[WRITTEN] = " ".join(source[place.start : place.end].split())
        return found
    if spark_name := rules.functions.get(name):
        call.set("this", spark_name)
    return call


# The arguments, by place, that functions of dialects take and that change no answer.
_IDLE_ARGUMENTS: dict[str, tuple[int, ...]] = {
    "NOW64": (0, 1),  # digits of a second, and the zone in which the time is shown
    "LAG_BEHIND": (0, 1, 2),  # how long a side of a join waits for the other; an answer is over all rows
    "TO_DATETIME64": (1,),  # digits of a second, of which there are six
}
_WORD = re.compile(r"\w+")


def _words(tree: exp.Expression) -> frozenset[str]:
    """All names, numbers and texts in a tree."""
    texts = (value for node in tree.walk() for value in node.args.values() if isinstance(value, str))
    return frozenset(word.lower() for text in texts for word in _WORD.findall(text))


def _refuse_unused(written: exp.Anonymous, rewrite: Rewrite, found: exp.Expression) -> None:
    """ParseFailure for an argument of a dialect's function that what stands for the call does not go by."""
    used, name = _words(found), written.name.upper()
    if isinstance(found, exp.Anonymous) and not found.expressions:
        used = frozenset()  # the name of a call is no argument
    for place, item in enumerate(written.expressions):
        idle = place in _IDLE_ARGUMENTS.get(name, ()) and item.find(exp.Distinct, exp.Query) is None
        if idle or isinstance(item, exp.Var) or _words(item) <= used:
            continue
        if not _goes_by(written, place, rewrite, found):
            message, hint = f"{name} does not take this argument", "leave it out"
            raise ParseFailure(None, Diagnostic("FUNCTION_ARGUMENTS", message, span_of(item), hint=hint))


def _goes_by(written: exp.Anonymous, place: int, rewrite: Rewrite, found: exp.Expression) -> bool:
    """True if another constant in a place would be something else, or none that the function can take."""
    if written.expressions[place].find(exp.Column, exp.Anonymous, exp.Query) is not None:
        return False
    other = written.copy()
    for item in list(other.expressions[place].find_all(exp.Literal)):
        text = f"{item.name}x" if item.is_string and not item.name.isdigit() else f"{item.name}1"
        item.replace(exp.Literal(this=text, is_string=item.is_string))
    try:
        return rewrite(other) != found
    except ParseFailure:
        return True


def _unit_argument(call: exp.Anonymous) -> None:
    first = call.expressions[0]
    if isinstance(first, exp.Column) and not first.table and first.name.upper() in _UNITS:
        first.replace(exp.Var(this=first.name.upper()))


def _take_marks(query: exp.Query) -> None:
    if query.args.get("operation_modifiers"):
        query.set("operation_modifiers", None)
        query.meta["stream"] = query.expressions[0].meta.pop("stream")
    point = query.args.get("point")
    if point is not None:
        _whole(query).meta[POINT] = point.meta[POINT]
        del query.args["point"]
    emit = query.args.get("emit")
    if emit is not None:
        _whole(query).meta["emit"] = (emit.name, emit.meta["span"])
        del query.args["emit"]


def _whole(query: exp.Query) -> exp.Query:
    """The set operation that ends with a query, or itself: what stands at the end is said of all of it."""
    while isinstance(query.parent, exp.SetOperation) and query.parent.expression is query:
        query = query.parent
    return query


def _settle_frame(frame: exp.WindowSpec) -> None:
    """Words in capitals, and `INTERVAL 23 DAYS 4 HOURS`, which the parser makes a sum, as one interval again."""
    for key in ("kind", "start_side", "end_side"):
        value = frame.args.get(key)
        if isinstance(value, str):
            frame.set(key, value.upper())
    for key in ("start", "end"):
        parts = _summands(frame.args.get(key))
        if len(parts) > 1 and all(isinstance(part, exp.Interval) and isinstance(part.unit, exp.Var) for part in parts):
            text = " ".join(f"{part.name} {part.text('unit')}" for part in parts)
            frame.set(key, exp.Interval(this=exp.Literal.string(text)))


def _summands(tree: object) -> list[exp.Expression]:
    found = tree.unnest() if isinstance(tree, exp.Paren) else tree
    if isinstance(found, exp.Add):
        return [*_summands(found.this), *_summands(found.expression)]
    return [found] if isinstance(found, exp.Expression) else []
