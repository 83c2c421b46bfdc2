"""The oracle's reading of FOR SYSTEM_TIME AS OF: versions with a beginning and an end, joined by a range of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from penstock.catalog.model import Catalog
from penstock.catalog.reserved import COMPUTED, ENDED, ORDER, VERSIONS
from penstock.sql.parse import parse_expression, parse_query
from penstock.sql.text import spark_sql
from penstock.testing.oracle.time_windows import cannot_say

_UNTIL = "__until"
_HIDDEN = (ORDER, ENDED, _UNTIL)


@dataclass(frozen=True)
class Versioned:
    """The key of a table with versions, and the column from whose value on they hold."""

    key: tuple[str, ...]
    time: str

    @property
    def hidden(self) -> tuple[str, ...]:
        """The columns that a star has nothing of."""
        return (*_HIDDEN, self.time) if self.time.startswith(COMPUTED) else _HIDDEN


def versioned_tables(catalog: Catalog) -> Mapping[str, Versioned]:
    """The tables with versions, by lower-case name."""
    times = {name: (table.key, table.version_time) for name, table in catalog.tables.items()}
    return {name: Versioned(key, time.name) for name, (key, time) in times.items() if time is not None}


def reads_versions(catalog: Catalog) -> bool:
    """True if any view reads a table as of a time."""
    return any("system_time" in view.text.lower() for view in catalog.views.values())


def rewrite_versions(select: exp.Select, tables: Mapping[str, Versioned]) -> None:
    """Replace what a query reads as of a time, in place."""
    source = select.args.get("from_")
    if source is not None and _is_versioned(source.this):
        source.set("this", _at_a_point(source.this, tables))
    for join in select.args.get("joins") or []:
        if not _is_versioned(join.this):
            continue
        if any(True for _ in join.this.args["version"].expression.find_all(exp.Column)):
            _with_ranges(select, join, tables)
        else:
            join.set("this", _at_a_point(join.this, tables))


def _is_versioned(tree: exp.Expression) -> bool:
    return isinstance(tree, exp.Table) and tree.args.get("version") is not None


def _found(table: exp.Table, tables: Mapping[str, Versioned]) -> Versioned:
    found = tables.get(table.name.lower())
    if found is None:
        cannot_say("the versions of a view, or what rows have found when they came")
    return found


def _ranges(table: exp.Table, found: Versioned) -> str:
    """The versions, each with its end; one that another of its time has followed has no room."""
    key = ", ".join(f"`{name}`" for name in found.key)
    window = f"PARTITION BY {key} ORDER BY `{found.time}`, `{ORDER}` DESC"
    return f"SELECT *, lead(`{found.time}`) OVER ({window}) AS {_UNTIL} FROM `{VERSIONS}{table.name.lower()}`"


def _holds(alias: str, found: Versioned, at: str) -> str:
    until = f"{alias}.{_UNTIL}"
    return f"NOT {alias}.{ENDED} AND {alias}.`{found.time}` <= ({at}) AND ({until} IS NULL OR ({at}) < {until})"


def _at_a_point(table: exp.Table, tables: Mapping[str, Versioned]) -> exp.Expression:
    found, at = _found(table, tables), spark_sql(table.args["version"].expression)
    at = f"TIMESTAMP {at}" if at.startswith("'") else at
    shown = f"* EXCEPT ({', '.join(found.hidden)})"
    text = f"SELECT {shown} FROM ({_ranges(table, found)}) AS h WHERE {_holds('h', found, at)}"
    alias = exp.TableAlias(this=exp.to_identifier(table.alias or table.name, quoted=True))
    return exp.Subquery(this=parse_query(text), alias=table.args.get("alias") or alias)


def _with_ranges(select: exp.Select, join: exp.Join, tables: Mapping[str, Versioned]) -> None:
    table, alias = join.this, f"`{join.this.alias or join.this.name}`"
    found = _found(table, tables)
    if join.args.get("using") or join.args.get("method") or (table.args.get("alias") or exp.TableAlias()).columns:
        cannot_say("USING, NATURAL or names of columns beside versions")
    holds = parse_expression(_holds(alias, found, spark_sql(table.args["version"].expression)))
    on = join.args.get("on")
    join.set("on", holds if on is None else exp.And(this=exp.Paren(this=on), expression=holds))
    if str(join.args.get("kind") or "").upper() == "CROSS":
        join.set("kind", None)
    join.set("this", parse_query(f"SELECT 1 FROM ({_ranges(table, found)}) AS {alias}").args["from_"].this)
    for star in [item for item in select.expressions if item.find(exp.Star)]:
        if star.find(exp.AggFunc, exp.Anonymous):
            continue
        if isinstance(star, exp.Star):
            hidden = [parse_expression(f"{alias}.{name}") for name in found.hidden]
            star.set("except_", [*(star.args.get("except_") or []), *hidden])
        elif isinstance(star, exp.Column) and f"`{star.table.lower()}`" == alias.lower():
            cannot_say("the star of a table beside its versions")
