"""The step's clock, a variable of the connection that holds a TIMESTAMP in UTC."""

from __future__ import annotations

from penstock.backends.native.expressions.site import Rule, Site
from penstock.backends.native.proof import Proven

VARIABLE = "penstock_clock"
_NOW = f"CAST(getvariable('{VARIABLE}') AS TIMESTAMP)"


def _now(_site: Site) -> Proven:
    return Proven(_NOW, "timestamp")


def _here(_site: Site) -> Proven:
    return Proven(_NOW, "timestamp_ntz")


def _today(_site: Site) -> Proven:
    return Proven(f"CAST({_NOW} AS DATE)", "date")


RULES: dict[tuple[str, int | None], Rule] = {
    ("now", 0): _now,
    ("current_timestamp", 0): _now,
    ("localtimestamp", 0): _here,
    ("current_date", 0): _today,
    ("curdate", 0): _today,
}
