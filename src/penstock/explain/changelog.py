"""EXPLAIN CHANGELOG: the kind of change at each operator, and why; from the result down.

changelog:
Aggregate by who: n = count(1) at 1:8
. update by key who: a new row of a group replaces the group's result
Scan clicks
. append-only: rows only come into stream clicks
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.analysis.kinds import Kind, KindOfChange
from penstock.errors import Span
from penstock.explain.emission import EmissionFact
from penstock.explain.plans import node_text
from penstock.explain.report import Report
from penstock.plan.emission import Content
from penstock.source_text import location_of, short_place


def changelog_text(report: Report, source: str | None) -> Iterator[str]:
    """The lines of the section."""
    yield "changelog:"
    if report.emission is not None:
        yield f"  EMIT: {_shown(report.emission, report)}"
    for item in report.kinds:
        indent = "  " * (item.depth + 1)
        yield f"{indent}{node_text(item.node)}{_at(item.span, source)}"
        yield f"{indent}. {item.kind}{_key(item)}: {item.because}{_from(item, source)}"


def changelog_json(report: Report, source: str | None) -> dict[str, Any]:
    """The same as values: under `changelog`, from the result down, `depth` counted from 0."""
    shown = {} if report.emission is None else {"shown": _shown(report.emission, report)}
    return shown | {"changelog": [_value(item, source) for item in report.kinds]}


def _value(item: KindOfChange, source: str | None) -> dict[str, Any]:
    found = {"operator": node_text(item.node), "depth": item.depth, "kind": str(item.kind), "because": item.because}
    key = {"key": list(item.key)} if item.kind is Kind.UPDATE else {}
    if item.span is None or source is None:
        return found | key
    return found | key | location_of(source, item.span.start).to_json()


def _shown(emission: EmissionFact, report: Report) -> str:
    """The kind of what a policy shows."""
    if emission.content is Content.CHANGES:
        first = report.kinds[0]
        return f"{first.kind}{_key(first)}: {emission.shows}"
    return f"{Kind.APPEND}: {emission.shows}; what has been shown stays"


def _key(item: KindOfChange) -> str:
    if item.kind is not Kind.UPDATE:
        return ""
    return f" {', '.join(item.key)}" if item.key else ", of which there is one row"


def _from(item: KindOfChange, source: str | None) -> str:
    """The place of the operator below whose retractions are passed on."""
    return "" if item.retraction is None or item.is_own else _at(item.retraction.span, source)


def _at(span: Span | None, source: str | None) -> str:
    if span is None or source is None:
        return ""
    return f" at {short_place(source, span.start)}"
