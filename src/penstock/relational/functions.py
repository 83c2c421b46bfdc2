"""Functions by name: `F.sum("amount")`, `F.date_trunc("hour", "at")`, `F.count("*")`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from penstock.relational.columns import ATOM, Column, col, column_of, lit, operand
from penstock.relational.saying import refused

# Arguments that are a text, where a text elsewhere names a column, by place from 0.
_TEXTS: dict[str, tuple[int, ...]] = {
    "array_contains": (1,),
    "array_join": (1, 2),
    "array_position": (1,),
    "array_remove": (1,),
    "concat_ws": (0,),
    "contains": (1,),
    "date_format": (1,),
    "date_part": (0,),
    "date_trunc": (0,),
    "element_at": (1,),
    "endswith": (1,),
    "format_string": (0,),
    "from_csv": (1,),
    "from_json": (1,),
    "from_unixtime": (1,),
    "from_utc_timestamp": (1,),
    "get_json_object": (1,),
    "instr": (1,),
    "json_tuple": tuple(range(1, 20)),
    "levenshtein": (),
    "listagg": (1,),
    "locate": (0,),
    "lpad": (2,),
    "printf": (0,),
    "regexp_count": (1,),
    "regexp_extract": (1,),
    "regexp_extract_all": (1,),
    "regexp_like": (1,),
    "regexp_replace": (1, 2),
    "regexp_substr": (1,),
    "replace": (1, 2),
    "rlike": (1,),
    "rpad": (2,),
    "split": (1,),
    "split_part": (1,),
    "startswith": (1,),
    "string_agg": (1,),
    "substring_index": (1,),
    "to_char": (1,),
    "to_date": (1,),
    "to_number": (1,),
    "to_timestamp": (1,),
    "to_unix_timestamp": (1,),
    "to_utc_timestamp": (1,),
    "translate": (1, 2),
    "trunc": (1,),
    "try_to_timestamp": (1,),
    "unix_timestamp": (1,),
}
_OTHER_NAMES = {
    "approxCountDistinct": "approx_count_distinct",
    "dateDiff": "datediff",
    "shiftLeft": "shiftleft",
    "shiftRight": "shiftright",
    "toDegrees": "degrees",
    "toRadians": "radians",
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Functions:
    """Every function of the pipeline's SQL, and those that a program creates, as attributes: `F.sum("x")`.

    A text among the arguments names a column, except where the function wants a text, as `F.date_trunc("hour", "at")`
    and `F.concat_ws("-", "a", "b")` do; `lit("…")` is always a text. Other values of Python are literals, and a
    function of Python is a lambda: `F.transform("xs", lambda x: x + 1)`.
    """

    col = staticmethod(col)
    column = staticmethod(col)
    lit = staticmethod(lit)

    def __getattr__(self, name: str) -> Callable[..., Column]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments: self.call(_OTHER_NAMES.get(name, name), *arguments)

    def call(self, name: str, *arguments: Any) -> Column:
        """A function by its name as text."""
        if not _NAME.fullmatch(name):
            raise refused(message=f"{name!r} is not the name of a function", hint="F.call('sum', 'x')")
        texts = _TEXTS.get(name.lower(), ())
        given = [_argument(value, at in texts) for at, value in enumerate(arguments)]
        return Column(f"{name}({', '.join(given)})", level=ATOM)

    def expr(self, text: str) -> Column:
        """An expression in SQL."""
        return Column(text)

    def when(self, condition: Column, value: Any) -> Column:
        """CASE WHEN; more branches by `.when`, the rest by `.otherwise`."""
        return Column(f"CASE WHEN {operand(condition).text} THEN {operand(value).text} END", level=ATOM)

    def count(self, what: Any = "*") -> Column:
        """The number of rows, or of values that are not NULL."""
        return Column(f"count({'*' if what == '*' else column_of(what).text})", level=ATOM)

    def count_distinct(self, *what: Any) -> Column:
        """The number of different values, or of different tuples of values."""
        return Column(f"count(DISTINCT {', '.join(column_of(item).text for item in what)})", level=ATOM)

    def sum_distinct(self, what: Any) -> Column:
        """The sum of the different values."""
        return Column(f"sum(DISTINCT {column_of(what).text})", level=ATOM)

    def asc(self, what: Any) -> Column:
        """Upwards, in ORDER BY."""
        return column_of(what).asc()

    def desc(self, what: Any) -> Column:
        """Downwards, in ORDER BY."""
        return column_of(what).desc()

    countDistinct = count_distinct  # noqa: N815 - PySpark's spelling
    sumDistinct = sum_distinct  # noqa: N815 - PySpark's spelling


def _argument(value: Any, wants_text: bool) -> str:  # noqa: FBT001 - asked once, above
    if inspect.isfunction(value):
        return _lambda(value)
    return (lit(value) if wants_text else column_of(value)).text


def _lambda(function: Callable[..., Any]) -> str:
    names = list(inspect.signature(function).parameters)
    body = lit(function(*map(col, names))).text
    head = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return f"{head} -> {body}"


F = Functions()
expr = F.expr
when = F.when
