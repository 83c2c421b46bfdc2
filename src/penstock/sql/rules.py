"""The differences between the SQL dialects, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from sqlglot import exp

Rewrite = Callable[[exp.Anonymous], exp.Expression]
# In Spark `\d` is d; in ClickHouse the backslash stays where it is no known escape; in standard SQL it is a character.
Backslash = Literal["escape", "known escape", "character"]
Nulls = Literal["smallest", "greatest", "last"]


def _none() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True)
class Rules:
    """Names and defaults of one dialect; what is not named here is as in Spark.

    `types` maps a type name to Spark's (both lower-case), `declared` the name of a program's own type to what it is,
    `functions` a function name (upper-case) to Spark's, `rewrites` a function name to what replaces its whole call, and
    `parts` a unit to what replaces an EXTRACT of it. With `event_times` each stream has a time for
    each row, `_tp_time`. With `wide_division` a literal with a point is a DOUBLE where it divides or is divided: a
    DECIMAL would have six digits behind the point. With `interval_differences` a unit may follow a difference of times,
    with `counts_from_one` the first element of an array is a[1], with `types_as_texts` a type may be a text, with
    `aliases_in_where` a name of the SELECT list may stand in WHERE, with `spreads_rows` UNNEST of an array of rows has
    a column for each field, and VALUES ROW(1, 2) a row, with `open_variants` v['k'] and v.k are what stands in a
    VARIANT, with `rounds_dates` DATE_TRUNC, FLOOR and CEIL of a DATE are a DATE. `json_at` replaces `x:a.b`, which
    is a part of a VARIANT in Spark. `forms` replaces what is no call, None what
    is in Spark's words. `namespaces` are names in front of a relation that say nothing, since there is one namespace.
    `idle_settings` are the beginnings of names of settings that SET takes and that have no meaning here. Without
    `watermarks_drop` a WATERMARK drops no rows of its table.
    `backslash` says what a backslash is in a text, `nulls` where an ORDER BY without NULLS FIRST or LAST puts NULL.
    With `keeps_duplicates` UNION without a word is UNION ALL.
    `nesting` is how deep expressions may be nested, None for text that Penstock itself writes.
    `meanings` are the names of rules by which words mean something else than in Spark, once types are known.
    """

    name: str
    backslash: Backslash = "escape"
    nulls: Nulls = "smallest"
    types: Mapping[str, str] = field(default_factory=_none)
    declared: Mapping[str, str] = field(default_factory=_none)
    functions: Mapping[str, str] = field(default_factory=_none)
    rewrites: Mapping[str, Rewrite] = field(default_factory=_none)
    parts: Mapping[str, Callable[[exp.Extract], exp.Expression]] = field(default_factory=_none)
    double_quoted_names: bool = False
    durations_everywhere: bool = False
    case_sensitive: bool = False
    bracket_constructors: bool = False
    counts_from_one: bool = False
    event_times: bool = False
    wide_division: bool = False
    interval_differences: bool = False
    types_as_texts: bool = False
    aliases_in_where: bool = False
    json_at: Callable[[exp.JSONExtract], exp.Expression] | None = None
    spreads_rows: bool = False
    open_variants: bool = False
    rounds_dates: bool = False
    forms: Callable[[exp.Expression], exp.Expression | None] | None = None
    namespaces: tuple[str, ...] = ()
    idle_settings: tuple[str, ...] = ()
    watermarks_drop: bool = True
    keeps_duplicates: bool = False
    meanings: frozenset[str] = frozenset()
    nesting: int | None = None
