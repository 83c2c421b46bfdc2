"""The functions of Spark: whether there is one of that name, and how many arguments it takes."""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.diagnose import unknown_function
from penstock.catalog.functions import AGGREGATE, built_in, built_in_functions
from penstock.catalog.word_list import word_list
from penstock.errors import UnsupportedError
from penstock.sql.complaints import unsupported, wrong

# Functions whose first of three arguments is a unit of time, not a column.
_UNIT_FIRST = frozenset(word_list("dateadd date_add timestampadd datediff date_diff timestampdiff"))
_UNITS = frozenset(
    f"{unit}{ending}"
    for unit in word_list("YEAR QUARTER MONTH WEEK DAY DAYOFYEAR HOUR MINUTE SECOND MILLISECOND MICROSECOND")
    for ending in ("", "S")
)
_THREE = 3
_PAIRED = {"map": "map(key, value, …)", "named_struct": "named_struct('name', value, …)"}
# Functions that go by whether NULLs count, those that leave them out in any case, and those with an order of their own.
_OF_NULLS = frozenset(word_list("first first_value last last_value any_value nth_value lag lead"))
_WITHOUT_NULLS = frozenset(word_list("array_agg collect_list collect_set"))
_WITHIN_GROUP = frozenset(word_list("listagg string_agg percentile_cont percentile_disc mode"))
_OWN_SYNTAX = frozenset(word_list("timestampadd timestampdiff trim position overlay date_add dateadd"))


def check_call(name: str, node: exp.Anonymous) -> None:
    """Refuse an unknown function and a number of arguments that Spark refuses."""
    found = built_in(name)
    if found is None:
        if name in _OWN_SYNTAX:
            return
        raise unknown_function(name, tuple(built_in_functions()), node)
    given = sum(len(item.expressions) if isinstance(item, exp.Distinct) else 1 for item in node.expressions)
    star = any(isinstance(item, exp.Star) or isinstance(item.this, exp.Star) for item in node.expressions)
    if star or (name in _UNIT_FIRST and given == _THREE):
        return
    if name in _PAIRED and given % 2:
        message = f"{name} takes pairs of arguments, and {given} make none"
        raise wrong(code="WRONG_NUMBER_OF_ARGUMENTS", message=message, place=node, hint=_PAIRED[name], sqlstate="42605")
    if not found.accepts(given):
        wanted = str(found.least) if found.least == found.most else f"{found.least} to {found.most or 'any number'}"
        message = f"{name} takes {wanted} argument{'' if wanted == '1' else 's'}, not {given}"
        raise wrong(code="WRONG_NUMBER_OF_ARGUMENTS", message=message, place=node, sqlstate="42605")


def check_words(name: str, node: exp.Anonymous, kind: str) -> None:
    """Refuse words in or behind a call that a function of this kind does not take: they would change nothing."""
    for item in node.expressions:
        if isinstance(item, exp.Distinct) and kind != AGGREGATE:
            raise _not_taken(name, "DISTINCT", item)
        _check_nulls(name, item)
    around = node.parent
    while isinstance(around, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        if isinstance(around, exp.Filter) and kind != AGGREGATE:
            raise _not_taken(name, "FILTER", around)
        if isinstance(around, exp.WithinGroup) and name not in _WITHIN_GROUP:
            raise _not_taken(name, "WITHIN GROUP", around)
        _check_nulls(name, around)
        around = around.parent


def _check_nulls(name: str, node: exp.Expr) -> None:
    if isinstance(node, exp.IgnoreNulls) and name not in (*_OF_NULLS, *_WITHOUT_NULLS):
        raise _not_taken(name, "IGNORE NULLS", node)
    if isinstance(node, exp.RespectNulls) and name not in _OF_NULLS:
        raise _not_taken(name, "RESPECT NULLS", node)


def _not_taken(name: str, words: str, node: exp.Expr) -> UnsupportedError:
    place = node if isinstance(node, exp.Expression) else None
    return unsupported(code="FUNCTION_ARGUMENTS", message=f"{name} with {words}", place=place)


def begins_with_unit(name: str, arguments: list[exp.Expression]) -> bool:
    """True if the first argument of a call is a unit of time."""
    return name in _UNIT_FIRST and len(arguments) == _THREE and arguments[0].name.upper() in _UNITS
