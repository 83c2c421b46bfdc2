"""The functions of Spark: whether there is one of that name, and how many arguments it takes."""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.diagnose import unknown_function
from penstock.catalog.functions import built_in, built_in_functions
from penstock.catalog.word_list import word_list
from penstock.sql.complaints import wrong

# Functions whose first of three arguments is a unit of time, not a column.
_UNIT_FIRST = frozenset(word_list("dateadd date_add timestampadd datediff date_diff timestampdiff"))
_UNITS = frozenset(
    f"{unit}{ending}"
    for unit in word_list("YEAR QUARTER MONTH WEEK DAY DAYOFYEAR HOUR MINUTE SECOND MILLISECOND MICROSECOND")
    for ending in ("", "S")
)
_THREE = 3
_PAIRED = {"map": "map(key, value, …)", "named_struct": "named_struct('name', value, …)"}
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


def begins_with_unit(name: str, arguments: list[exp.Expression]) -> bool:
    """True if the first argument of a call is a unit of time."""
    return name in _UNIT_FIRST and len(arguments) == _THREE and arguments[0].name.upper() in _UNITS
