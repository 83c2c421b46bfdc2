"""Constant expressions of Spark SQL evaluated: in the process where they are proven, by Spark otherwise."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.backends.native.kinds import schema_in_arrow, stored, to_arrow
from penstock.backends.native.proof import NotProvenError, Proven
from penstock.backends.native.scalars import proven_text

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.backends.api import Relations
    from penstock.backends.native.store import Store

_IN_UTC = re.compile(r"(?:\+00:00| UTC)'")
_TIME = re.compile(r"\bTIMESTAMP '(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?)'")
_PLACE = re.compile(r'"__time(\d+)"')


def proven_constant(text: str) -> Proven:
    """A constant in DuckDB's SQL; times that say that they are in UTC are, whether they say it or not.

    A waterline is the same expression step after step over other times: it is translated once, over columns for these.
    """
    plain = _IN_UTC.sub("'", text)
    times = list(dict.fromkeys(_TIME.findall(plain)))
    places = tuple((f"__time{place}", "timestamp") for place in range(len(times)))
    found = proven_text(_TIME.sub(lambda time: f"`__time{times.index(time[1])}`", plain), places)
    return replace(found, text=_PLACE.sub(lambda place: f"TIMESTAMP '{times[int(place[1])]}'", found.text))


def constants_here(store: Store | None, texts: Sequence[str]) -> pa.Table | None:
    """One row with the values of the constants; None where one is not proven, or nothing is in the process."""
    if store is None:
        return None
    try:
        found = [proven_constant(text) for text in texts]
        schema = schema_in_arrow((f"v{place}", item.type) for place, item in enumerate(found))
    except NotProvenError:
        return None
    items = ", ".join(f"{item.text} AS v{place}" for place, item in enumerate(found))
    return to_arrow(store.arrow(f"SELECT {items}"), schema)


def check_constant(text: str) -> None:
    """Raise NotProvenError for a constant that Spark has to evaluate."""
    stored(proven_constant(text).type)


def constant_row(relations: Relations, store: Store | None, texts: Sequence[str]) -> tuple[Any, ...]:
    """The values of constants of Spark SQL: in the process where they are proven, by one query of Spark otherwise."""
    here = constants_here(store, texts)
    if here is not None:
        from penstock.backends.rows import python_values  # noqa: PLC0415 - 100 ms that `explain` need not wait

        (row,) = python_values(here)
        return row
    terms = ", ".join(f"{text} AS v{place}" for place, text in enumerate(texts))
    (row,) = relations.rows(relations.sql(f"SELECT {terms}"))
    return row
