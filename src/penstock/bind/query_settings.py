"""SETTINGS of a query: those that it knows, those of Timeplus that say nothing here, and their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from sqlglot import exp

from penstock.errors import Diagnostic, Span, SqlError, did_you_mean
from penstock.plan.refinement import NAMES
from penstock.sql.complaints import wrong
from penstock.sql.text import span_of, spark_sql

SEEK_TO, QUERY_MODE = "seek_to", "query_mode"
MERGES, INCLUDED = "merge_open_sessions", "include_session_end"
TABLE, STREAMING = "table", "streaming"
_OURS = (SEEK_TO, QUERY_MODE, MERGES, INCLUDED, *NAMES)
_TRUE, _FALSE = frozenset({"true", "1"}), frozenset({"false", "0"})
_MOST_WINDOWS = "max_keep_windows"
# Timeplus' own: how it works, which changes no answer here.
_IDLE: Mapping[str, str] = MappingProxyType(
    {
        _MOST_WINDOWS: "LAST keeps the rows of its time, however many windows that makes",
        "keep_versions": "of an ASOF JOIN all rows are kept that may be the closest",
        "join_use_nulls": "columns without a partner are NULL",
        **dict.fromkeys(
            (
                "checkpoint_interval", "default_hash_join", "default_hash_table", "emit_during_backfill",
                "enable_backfill_from_historical_store", "force_backfill_in_order", "join_algorithm",
                "join_max_buffered_bytes", "max_block_size", "max_join_range", "max_threads", "recovery_policy",
                "retract_max",
            ),
            "it changes no answer; leave it out",
        ),
    }
)  # fmt: skip


def settings_of(query: Any) -> dict[str, str]:
    """The SETTINGS of a query; names in lower case."""
    return {name: _value(item.expression) for name, item in _items(query)}


def places_of(query: Any) -> dict[str, Span | None]:
    """The places of the SETTINGS of a query."""
    return {name: span_of(item) for name, item in _items(query)}


def warnings_of(query: exp.Expression) -> tuple[Diagnostic, ...]:
    """A warning for each setting of a query, or of a query in it, that says nothing here."""
    found = ((name, item) for inner in query.find_all(exp.Query) for name, item in _items(inner) if name in _IDLE)
    return tuple(
        Diagnostic(
            "NO_MEANING",
            f"the setting {name!r} has no meaning here",
            span_of(item),
            hint=_IDLE[name],
            severity="warning",
        )
        for name, item in found
    )


def check_settings(query: Any) -> None:
    """SqlError for what is no setting of a query, and for a value that cannot be."""
    for item in query.args.get("settings") or []:
        if not isinstance(item, exp.EQ):
            hint = "SETTINGS name = value, name = value"
            raise wrong(code="BAD_SETTING", message=f"{spark_sql(item)[:60]} is no setting", place=item, hint=hint)
        name = spark_sql(item.this).strip("`").lower()
        if name not in _OURS and name not in _IDLE:
            message, hint = f"a query has no setting {name[:60]!r}", f"it has {', '.join(_OURS)}"
            near = did_you_mean(name, [*_OURS, *_IDLE])
            raise wrong(code="UNKNOWN_SETTING", message=message, place=item, candidates=near, hint=hint)
        _check_value(name, _value(item.expression), item)


def _check_value(name: str, value: str, place: exp.Expression) -> None:
    if name == QUERY_MODE and value.lower() not in (TABLE, STREAMING):
        near = did_you_mean(value.lower(), (TABLE, STREAMING))
        message = f"SETTINGS {name} is '{TABLE}' or '{STREAMING}', found {value[:60]!r}"
        raise wrong(code="BAD_SETTING", message=message, place=place, candidates=near)
    if name == _MOST_WINDOWS and not (value.isdecimal() and int(value)):
        message = f"SETTINGS {name} is a whole number above zero, found {value[:60]}"
        raise wrong(code="BAD_SETTING", message=message, place=place, hint=f"{name} = 720")
    if name == "join_use_nulls" and value.lower() not in _TRUE:
        message = f"SETTINGS {name} is true, found {value[:60]}: columns without a partner are NULL"
        raise wrong(code="BAD_SETTING", message=message, place=place, hint="coalesce(x, 0) gives another value")


def asks_once(query: Any) -> bool:
    """True for a query that asks for the rows that are there, and stands in no dialect."""
    return settings_of(query).get(QUERY_MODE, "").lower() == TABLE


def without_idle_settings(query: exp.Expression) -> exp.Expression:
    """A query that is answered once, without SETTINGS that say so, or nothing; SqlError as `check_settings`."""
    check_settings(query)
    names = settings_of(query).keys()
    if not names or any(name not in _IDLE and name != QUERY_MODE for name in names):
        return query
    found = query.copy()
    found.args.pop("settings")
    return found


def _items(query: Any) -> Iterator[tuple[str, exp.EQ]]:
    for item in query.args.get("settings") or []:
        if isinstance(item, exp.EQ):
            yield item.this.name.lower(), item


def _value(tree: exp.Expression) -> str:
    if isinstance(tree, exp.Neg):
        return f"-{_value(tree.this)}"
    return str(tree.this).lower() if isinstance(tree, exp.Boolean) else str(tree.name)


def switch(settings: Mapping[str, str], name: str, place: Span | None = None) -> bool | None:
    """A setting that is on or off; None where it is not said."""
    value = settings.get(name)
    if value is None:
        return None
    if value.lower() in _TRUE | _FALSE:
        return value.lower() in _TRUE
    message = f"SETTINGS {name} is true or false, found {value[:60]}"
    raise SqlError(Diagnostic("BAD_SETTING", message, place, hint=f"{name} = true"))
