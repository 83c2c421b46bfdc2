"""A report as text for people."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.analysis.growth import Growth
from penstock.catalog.settings import NATIVE
from penstock.circuit.boundedness import StateFact
from penstock.circuit.operators import Operator
from penstock.circuit.places import SPARK, Place, Placed
from penstock.errors import Span
from penstock.explain.changelog import changelog_text
from penstock.explain.plans import node_text, plan_text, readable
from penstock.explain.report import Report
from penstock.explain.streams import streams_text
from penstock.plan.nodes import Scan
from penstock.source_text import short_place

_GROWTH = {Growth.BOUNDED: "bounded", Growth.CONTENT: "as large as its tables", Growth.UNBOUNDED: "unbounded"}


def report_text(report: Report, options: tuple[str, ...], source: str | None) -> str:
    """The report with the stages that the options ask for; without options the verdict and the rewritten plan."""
    lines = [title(report, source)]
    chosen = set(options) & set(SECTIONS) or {"verdict", "rewritten"}
    for name, section in SECTIONS.items():
        if name in chosen:
            lines += [f"  {line}" if line else "" for line in section(report, source)]
    return "\n".join(lines)


def place(span: Span | None, source: str | None) -> str:
    """` at line:column`, or nothing where that is not known."""
    if span is None or source is None:
        return ""
    return f" at {short_place(source, span.start)}"


def title(report: Report, source: str | None) -> str:
    """The view, its place, and whether it is incremental."""
    kind = {"view": "view", "query": "query", "statement": "statement"}.get(report.kind, f"{report.kind} view")
    name = "" if report.kind == "query" else f" {report.name}"
    return f"{kind}{name}{place(report.span, source)}: {'incremental' if report.verdict.incremental else 'recomputed'}"


def _verdict(report: Report, source: str | None) -> Iterator[str]:
    if report.emission is not None:
        yield f"emission:   {report.emission.policy}"
        yield f"            shows {report.emission.shows}"
        yield from (f"            waits for {item}" for item in report.emission.waits)
    if report.answered is not None:
        yield f"answered:   from MATERIALIZED view {' and '.join(report.answered.views)}"
        yield from plan_text(report.answered.plan, "            ").split("\n")
    for item in report.verdict.recomputed:
        yield f"recomputed: {item.operator}{place(item.span, source)}: {item.reason}"
        if item.rewriting:
            yield f"  incremental would be: {item.rewriting}"
    retraction = report.retraction
    if retraction is None:
        yield "changes:    append-only"
    else:
        yield f"changes:    retract: {retraction.operator}{place(retraction.span, source)}: {retraction.reason}"
    yield f"key:        {_keys(report)}"
    found = [f"{name} from {readable(derived.shown)}" for name, derived in report.waterlines.items()]
    yield f"waterlines: {'; '.join(found) or 'none'}"
    yield from (f"{'where:' if not at else '':12}{line}" for at, line in enumerate(where_lines(report, source)))
    if not report.state:
        yield "state:      none"
    for fact in report.state:
        yield from _state(fact, source)


def _keys(report: Report) -> str:
    if not report.keys:
        return "none: a row may be there several times"
    shown = sorted(
        (sorted(key, key=report.rewritten.names.index) for key in report.keys), key=lambda key: (len(key), key)
    )
    return "; ".join(", ".join(key) if key else "at most one row" for key in shown)


def _state(fact: StateFact, source: str | None) -> Iterator[str]:
    yield f"state:      {fact.operator}{place(fact.span, source)} keeps {fact.keeps}"
    yield f"            {_GROWTH[fact.growth]}: {readable(fact.because)}"
    if fact.fix:
        yield f"            to bound it: {readable(fact.fix)}"


def _plan(report: Report, source: str | None) -> Iterator[str]:
    del source
    yield "plan:"
    yield from plan_text(report.plan, "  ").split("\n")


def _rewritten(report: Report, source: str | None) -> Iterator[str]:
    del source
    yield "rewritten:"
    yield from plan_text(report.rewritten, "  ").split("\n")


def _trace(report: Report, source: str | None) -> Iterator[str]:
    del source
    yield "trace:" if report.fired else "trace: no rule fired"
    for fired in report.fired:
        yield f"  {fired.rule} ({fired.stage})"
        yield from plan_text(fired.before, "    - ").split("\n")
        yield from plan_text(fired.after, "    + ").split("\n")


def _circuit(report: Report, source: str | None) -> Iterator[str]:
    yield f"circuit:{_engine(report)}"
    for item in report.verdict.operators:
        yield f"  {operator_text(item)}"
        yield from (f"     {line}" for line in _place(report.placed, item, source))


def where_lines(report: Report, source: str | None = None) -> Iterator[str]:
    """The places in which a view is maintained: one line, and one for each operator on Spark among others.

    None where that has not been asked.
    """
    placed = report.placed
    if placed is None:
        return
    if placed.on_spark:
        yield f"on Spark, for {placed.on_spark}"
        return
    found = [(item, placed.places[item.number]) for item in report.verdict.operators if item.number in placed.places]
    others = [(operator, where) for operator, where in found if where.where == SPARK]
    if len(others) == 0 or len(others) < len(found):
        yield "in the process"
    yield from dict.fromkeys(f"on Spark: {operator.title}{_why(where, source)}" for operator, where in others)
    if others and placed.engine == NATIVE:
        yield f"which engine = '{NATIVE}' refuses"


def _engine(report: Report) -> str:
    """The program's engine, and that all is on Spark or must not be, where that is so."""
    placed = report.placed
    if placed is None:
        return ""
    if placed.on_spark:
        return f" all on Spark, for {placed.on_spark}"
    found = (placed.places.get(item.number) for item in report.verdict.operators)
    if placed.engine == NATIVE and any(place is not None and place.where == SPARK for place in found):
        return f" engine = '{NATIVE}', which refuses what is on Spark here"
    return f" engine = '{placed.engine}'"


def _place(placed: Placed | None, operator: Operator, source: str | None) -> Iterator[str]:
    """The place of an operator; nothing where all are on Spark, or the step itself feeds it."""
    found = None if placed is None or placed.on_spark else placed.places.get(operator.number)
    if found is not None:
        yield place_text(found, source)


def place_text(found: Place, source: str | None = None) -> str:
    """The place of an operator in words, with what is not proven and where that stands."""
    if found.where != SPARK:
        return "in the process"
    return f"on Spark{_why(found, source)}"


def _why(found: Place, source: str | None) -> str:
    """The reason that keeps an operator from the process, and where that stands; nothing where it is not that."""
    return f", for {found.not_proven}{place(found.span, source)}" if found.not_proven else ""


def operator_text(operator: Operator) -> str:
    """One operator on one line: number, class, its chain of nodes, inputs."""
    read = "".join(f" #{number}" for number in operator.inputs)
    return f"#{operator.number} {type(operator).__name__}: {chain_text(operator)}{' <-' if read else ''}{read}"


def chain_text(operator: Operator) -> str:
    """The chain of nodes that an operator maintains."""
    nodes = [node_text(node) for node in operator.node.walk() if not isinstance(node, Scan) or node is operator.node]
    return " | ".join(nodes)


SECTIONS = {
    "verdict": _verdict,
    "plan": _plan,
    "trace": _trace,
    "rewritten": _rewritten,
    "circuit": _circuit,
    "changelog": changelog_text,
    "stream": streams_text,
}
