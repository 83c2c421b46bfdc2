"""A report as values that JSON can hold; line and column count from 1."""

from __future__ import annotations

from typing import Any

from penstock.circuit.places import Place
from penstock.errors import Span
from penstock.explain.changelog import changelog_json
from penstock.explain.plans import node_text, plan_text
from penstock.explain.report import Report
from penstock.explain.streams import streams_json
from penstock.explain.text import operator_text
from penstock.plan.nodes import Plan
from penstock.source_text import location_of


def report_json(report: Report, source: str | None) -> dict[str, Any]:
    """Everything in the report."""
    return {
        "name": report.name,
        "kind": report.kind,
        **_place(report.span, source),
        "verdict": "incremental" if report.verdict.incremental else "recomputed",
        "recomputed": [
            {"operator": item.operator, "reason": item.reason, "rewriting": item.rewriting, **_place(item.span, source)}
            for item in report.verdict.recomputed
        ],
        **_emission(report),
        **({} if report.answered is None else {"answered_from": list(report.answered.views)}),
        "changes": _changes(report, source),
        "keys": sorted(sorted(key, key=report.rewritten.names.index) for key in report.keys),
        "waterlines": {name: derived.text for name, derived in report.waterlines.items()},
        "state": _state(report, source),
        "plan": plan_json(report.plan),
        "rewritten": plan_json(report.rewritten),
        "trace": [
            {
                "stage": fired.stage,
                "rule": fired.rule,
                "before": plan_text(fired.before),
                "after": plan_text(fired.after),
            }
            for fired in report.fired
        ],
        "circuit": [operator_text(item) for item in report.verdict.operators],
        **_placed(report, source),
        **changelog_json(report, source),
        **streams_json(report, source),
    }


def plan_json(plan: Plan) -> dict[str, Any]:
    """A plan as nested values."""
    return {
        "node": type(plan).__name__,
        "text": node_text(plan),
        "columns": [{"name": item.name, "type": item.type} for item in plan.fields],
        "inputs": [plan_json(item) for item in plan.inputs],
    }


def _emission(report: Report) -> dict[str, Any]:
    """The policy of what stands; nothing for a view that is shown as it changes."""
    found = report.emission
    if found is None:
        return {}
    shows = {"content": found.content.value, "shows": found.shows}
    return {"emission": {"policy": found.policy, **shows, "waits_for": list(found.waits)}}


def _changes(report: Report, source: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": report.changes}
    if report.retraction is not None:
        found |= {"operator": report.retraction.operator, "reason": report.retraction.reason}
        found |= _place(report.retraction.span, source)
    return found


def _state(report: Report, source: str | None) -> list[dict[str, Any]]:
    return [
        {
            "operator": fact.operator,
            "keeps": fact.keeps,
            "growth": fact.growth.name.lower(),
            "because": fact.because,
            "fix": fact.fix,
            "collected": [
                {"input": item.trace, "value": item.shown, "below": item.waterline.text, "spares": len(item.keep) > 0}
                for item in fact.collected
            ],
            **_place(fact.span, source),
        }
        for fact in report.state
    ]


def _placed(report: Report, source: str | None) -> dict[str, Any]:
    """The engine, and where each operator works that has a place of its own."""
    placed = report.placed
    if placed is None:
        return {}
    numbers = [item.number for item in report.verdict.operators if item.number in placed.places]
    places = [{"operator": number, **place_json(placed.places[number], source)} for number in numbers]
    return {"engine": placed.engine, "on_spark": placed.on_spark or None, "places": places}


def place_json(found: Place, source: str | None) -> dict[str, Any]:
    """Where an operator works, what keeps it from the process, and where that stands."""
    return {"where": found.where, "not_proven": found.not_proven or None, **_place(found.span, source)}


def _place(span: Span | None, source: str | None) -> dict[str, Any]:
    if span is None or source is None:
        return {}
    return location_of(source, span.start).to_json()
