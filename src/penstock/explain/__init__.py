"""EXPLAIN: what becomes of a view at every stage, and what it costs to keep.

    explain(catalog, "totals")                      verdict, kind of changes, key, state, waterlines, rewritten plan
    explain(catalog, "totals", ("trace",))          each rule that fired
    explain(catalog, "totals", ("analyze",), …)     what its operators have cost, from a profile
    explain_json(catalog)                           everything, as values

| module     | what is in it                                                     |
| ---------- | ----------------------------------------------------------------- |
| verdict    | incremental or recomputed, and why: what the circuit says         |
| emission   | the policy of what stands, and what it waits for                  |
| report     | everything that is known of one view, collected                   |
| text       | a report as text for people                                       |
| values     | a report as values for JSON                                       |
| plans      | a plan as an indented tree                                        |
| changelog  | the kind of change at each operator, and why                      |
| streams    | by what each relation is sorted, and its progress                 |
| analyzed   | what was measured of each operator                                |
| constructs | the table of docs/reference/incremental.md, judged by circuits    |
| unjudged   | functions of which only Spark knows what they take                |
| waterlines | the table of docs/reference/waterlines.md, judged by the analysis |
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from penstock.catalog.shown_names import ShownNames
from penstock.explain.analyzed import OPTION as ANALYZE
from penstock.explain.analyzed import analyzed_json, analyzed_text, check_measured, query_not_measured
from penstock.explain.report import Report, query_report, reports, standing_report
from penstock.explain.text import SECTIONS, report_text, title
from penstock.explain.values import report_json

if TYPE_CHECKING:
    from penstock.bind.emission.standing import StandingQuery
    from penstock.bind.program.compile import Program
    from penstock.catalog.model import Catalog
    from penstock.circuit.measured import Profile
    from penstock.circuit.places import Placing
    from penstock.plan.nodes import Plan

OPTIONS = (*SECTIONS, "json")


def explain(
    program: Program | Catalog,
    view: str | None = None,
    options: tuple[str, ...] = (),
    source: str | None = None,
    *,
    profile: Profile | None = None,
    placing: Placing | None = None,
) -> str:
    """The text about one view, or about all; options are `OPTIONS`, 'json' gives JSON text.

    `source` is the program's text, for line and column; a Program brings its own. `profile` is what 'analyze' shows.
    `placing` tells where operators would work; without it that is left out.
    Raises SqlError for an unknown view, DataError where there is nothing to analyze.
    """
    catalog, source = _opened(program, source)
    if ANALYZE in options:
        return _analyzed(list(reports(catalog, view, placing)), catalog, view, options, source, profile)
    if "json" in options:
        return json.dumps(explain_json(catalog, view, source, placing), indent=2)
    texts = [report_text(item, options, source) for item in reports(catalog, view, placing)]
    return ShownNames(catalog).text("\n\n".join(texts))


def _analyzed(  # noqa: PLR0917 - the reports, and what explain() was asked
    found: list[Report],
    catalog: Catalog,
    view: str | None,
    options: tuple[str, ...],
    source: str | None,
    profile: Profile | None,
) -> str:
    names = ShownNames(catalog)
    measured = check_measured(profile, catalog, view)
    if "json" in options:
        views = [report_json(item, source) | {"profile": analyzed_json(measured, item.name)} for item in found]
        return json.dumps({"views": names.values(views)}, indent=2)
    texts = []
    for item in found:
        head = report_text(item, options, source) if set(options) & set(SECTIONS) else title(item, source)
        texts.append("\n".join([head, *(f"  {line}" for line in analyzed_text(measured, item.name))]))
    return names.text("\n\n".join(texts))


def explain_json(
    program: Program | Catalog, view: str | None = None, source: str | None = None, placing: Placing | None = None
) -> dict[str, Any]:
    """The same as values: `{"views": […]}`."""
    catalog, source = _opened(program, source)
    found = [report_json(item, source) for item in reports(catalog, view, placing)]
    return {"views": ShownNames(catalog).values(found)}


def explain_query(
    plan: Plan,
    catalog: Catalog,
    options: tuple[str, ...] = (),
    source: str | None = None,
    *,
    placing: Placing | None = None,
) -> str:
    """The text about a query as if it were a view; DataError for 'analyze', since no query is maintained."""
    if ANALYZE in options:
        raise query_not_measured()
    return _said(query_report(plan, catalog, placing=placing), catalog, options, source)


def explain_standing(
    found: StandingQuery,
    catalog: Catalog,
    options: tuple[str, ...] = (),
    source: str | None = None,
    *,
    placing: Placing | None = None,
) -> str:
    """The text about a query that stands; DataError for 'analyze': one that is asked about is not maintained."""
    if ANALYZE in options:
        raise query_not_measured()
    return _said(standing_report(found, catalog, placing), catalog, options, source)


def _said(report: Report, catalog: Catalog, options: tuple[str, ...], source: str | None) -> str:
    names = ShownNames(catalog, source)
    if "json" in options:
        return json.dumps(names.values(report_json(report, source)), indent=2)
    return names.text(report_text(report, options, source))


def _opened(program: Any, source: str | None) -> tuple[Catalog, str | None]:
    if hasattr(program, "catalog"):
        return program.catalog, source if source is not None else program.source
    return program, source
