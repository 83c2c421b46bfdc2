"""The waterlines of all sources at one moment: of tables, as their readers get them, and of views with LATENESS."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

from penstock.analysis.derived import Derived, Source
from penstock.catalog.types import INTEGRAL, Type, is_decimal
from penstock.plan.scalar import quoted
from penstock.spark.lines import alone, line_text
from penstock.spark.parameters import as_parameter
from penstock.spark.workspace import Workspace
from penstock.steps.change import fetched_rows
from penstock.steps.intake.holding import Holding
from penstock.steps.intake.lateness import TableLateness, comparable_value
from penstock.types.common import MOST_DIGITS, as_decimal

_LEAST, _GREATEST = -(2**63), 2**63 - 1
_LARGEST_SINGLE = (2 - 2**-23) * 2.0**127
_EXACT = Context(prec=100)  # a DECIMAL has up to 38 digits, and a bound of lateness as many


@dataclass(frozen=True)
class Lines:
    """The lateness of each relation by lower-case name, with what WATERMARK holds back."""

    relations: Mapping[str, tuple[TableLateness, Holding]]
    clock: datetime | None = None

    def of(self, source: Source) -> tuple[Any, Type]:
        """The waterline of a source (None: nothing seen yet), and the type of its column."""
        lateness, holding = self.relations[source.relation.lower()]
        for item in lateness.columns:
            if item.column.name.lower() == source.column.lower():
                return holding.line(item.column.name, lateness.waterline(item).at), item.column.type
        return None, "timestamp"

    def literal(self, source: Source) -> str:
        """The same as Spark SQL of the column's type."""
        return typed_literal(*self.of(source))

    def text(self, derived: Derived) -> str:
        """A derived waterline as constant Spark SQL."""
        return line_text(derived, self.literal, self.clock)


def typed_literal(at: Any, kind: Type) -> str:
    """A waterline as a value of its column's type, rounded up to it: no smaller value is below it."""
    if at is None:
        return f"CAST(NULL AS {kind})"
    if kind == "date":
        return f"DATE '{(at if at.time() == time(0) else _next_day(at)).date()}'"
    if isinstance(at, datetime):
        return f"TIMESTAMP_NTZ '{at}'" if kind == "timestamp_ntz" else f"TIMESTAMP '{at} UTC'"
    if kind in INTEGRAL:
        return f"CAST({min(max(math.ceil(at), _LEAST), _GREATEST)} AS BIGINT)"
    if is_decimal(kind):
        return f"CAST({_decimal(Decimal(at), kind)} AS {kind})"
    if kind == "float":
        return f"CAST('{_single(float(at))!r}' AS FLOAT)"
    return f"CAST('{at!r}' AS DOUBLE)" if isinstance(at, float) else f"CAST('{at}' AS DOUBLE)"


def _single(at: float) -> float:
    """The least number of four bytes that is not below."""
    try:
        bits: int = struct.unpack("<i", struct.pack("<f", at))[0]
    except OverflowError:
        return math.inf if at > 0 else -_LARGEST_SINGLE
    nearest: float = struct.unpack("<f", struct.pack("<i", bits))[0]
    if nearest >= at:
        return nearest
    following = 1 if bits >= 0 else -1
    found: float = struct.unpack("<f", struct.pack("<i", bits + following))[0]
    return found


def _decimal(at: Decimal, kind: Type) -> str:
    """Rounded up to the type, whose sums are rounded as those of the column are; what is beyond it is its end."""
    digits, scale = as_decimal(kind) or (MOST_DIGITS, 0)
    most = Decimal(10**digits - 1)
    whole = at.scaleb(scale, _EXACT).to_integral_value(ROUND_CEILING, _EXACT)
    return f"{min(max(whole, -most), most).scaleb(-scale, _EXACT):f}"


def staying(lateness: TableLateness) -> str | None:
    """Spark SQL that is true of the rows below no waterline; None before there is one."""
    found = [(item.column, lateness.waterline(item).at) for item in lateness.columns]
    terms = [
        f"coalesce({quoted(column.name)} >= {as_parameter(typed_literal(at, column.type), quoted(column.name))}, true)"
        for column, at in found
        if at is not None
    ]
    return " AND ".join(terms) or None


def _next_day(at: datetime) -> datetime:
    try:
        return at + timedelta(days=1)
    except OverflowError:
        return at


@dataclass
class LineReader:
    """Evaluates derived waterlines; Spark is asked only for those that are computed, and once for each value."""

    workspace: Workspace
    _known: dict[str, Any] = field(default_factory=dict)

    def values(self, wanted: Sequence[Derived], lines: Lines) -> list[Any]:
        """The (comparable) value of each, None where it is not known yet."""
        texts = [None if alone(derived) is not None else lines.text(derived) for derived in wanted]
        unknown = [text for text in dict.fromkeys(texts) if text is not None and text not in self._known]
        found = dict(self._known)
        if unknown:
            terms = ", ".join(f"{text} AS v{place}" for place, text in enumerate(unknown))
            (row,) = fetched_rows(self.workspace.sql(f"SELECT {terms}"))
            found |= {text: comparable_value(value) for text, value in zip(unknown, row, strict=True)}
        self._known = {text: found[text] for text in texts if text is not None}
        sources = [alone(derived) for derived in wanted]
        return [
            lines.of(source)[0] if source is not None else found[str(text)]
            for source, text in zip(sources, texts, strict=True)
        ]
