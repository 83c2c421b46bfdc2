"""A plan as an indented tree, one line for each node.

Aggregate by carrier: n = count(1)
  Filter delay > 15
    Scan flights
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import assert_never, cast

from penstock.plan.nodes import (
    Aggregate,
    Arrived,
    Arriving,
    AsofJoin,
    Distinct,
    Filter,
    Fixpoint,
    Generate,
    Join,
    JoinKey,
    MatchRecognize,
    Node,
    Plan,
    Project,
    Recompute,
    Scan,
    Session,
    SetOperation,
    SortKey,
    TopK,
    UnionAll,
    Values,
    Window,
)
from penstock.plan.opaque import filled
from penstock.plan.scalar import Scalar
from penstock.sql.rowpattern import pattern_text

_PLAIN = re.compile(r"`([A-Za-z_][A-Za-z0-9_.]*)`")


def plan_text(plan: Plan, indent: str = "") -> str:
    """The tree, each level two spaces further in."""
    return "\n".join(_lines(plan, indent))


def _lines(plan: Plan, indent: str) -> Iterable[str]:
    yield indent + node_text(plan)
    for item in plan.inputs:
        yield from _lines(item, indent + "  ")


def readable(text: str) -> str:
    """Spark SQL without the back-quotes around names that need none to be read."""
    return _PLAIN.sub(r"\1", text)


def node_text(plan: Plan) -> str:
    """One node on one line, without its inputs."""
    node = cast("Node", plan)
    match node:
        case Scan():
            return f"Scan {node.relation}"
        case Values():
            return f"Values {len(node.rows)} row{'' if len(node.rows) == 1 else 's'}"
        case Project():
            return f"Project {_items(node.items)}"
        case Filter():
            return f"Filter {_shown(node.condition)}"
        case UnionAll():
            return f"UnionAll {', '.join(node.names)}"
        case Generate():
            outer = "outer " if node.outer else ""
            return f"Generate {outer}{', '.join(item.name for item in node.outputs)} = {_shown(node.generator)}"
        case Join():
            return _join(node)
        case AsofJoin():
            match = f"{_shown(node.match.left)} {node.match.comparison} {_shown(node.match.right)}"
            return f"AsofJoin {node.kind.value} on {' and '.join([*map(_key, node.keys), match])}"
        case Aggregate():
            groups = f" by {_items(node.groups)}" if node.groups else ""
            calls = ", ".join(f"{name} = {_shown(call.call)}" for name, call in node.aggregates)
            return f"Aggregate{groups}{': ' if calls else ''}{calls}"
        case Distinct():
            return "Distinct"
        case SetOperation():
            return f"{node.kind.value.capitalize()}{' all' if node.all else ''}"
        case TopK():
            return _top(node)
        case Window():
            return f"Window {_items(node.calls)}"
        case Session():
            keys = f" of each {', '.join(map(_shown, node.keys))}" if node.keys else ""
            return f"Session {_shown(node.time)}, gap {_shown(node.gap)}{keys}: {node.start}, {node.end}"
        case MatchRecognize():
            return _matches(node)
        case Recompute():
            return f"Recompute {_one_line(filled(node.text, [f'{{{place}}}' for place in range(len(node.relations))]))}"
        case Arriving():
            return "Arriving: the rows of this step"
        case Arrived():
            return "Arrived: what comes stays as it came"
        case Fixpoint():
            return f"Fixpoint {', '.join(node.views)} gives {node.views[node.output]}"
        case _:
            assert_never(node)


def _shown(scalar: Scalar) -> str:
    return readable(scalar.text)


def _items(items: Iterable[tuple[str, Scalar]]) -> str:
    return ", ".join(name if scalar.column == name else f"{name} = {_shown(scalar)}" for name, scalar in items)


def _join(join: Join) -> str:
    parts = [_key(key) for key in join.keys]
    if join.residual is not None:
        parts.append(_shown(join.residual))
    aware = " NOT IN" if join.null_aware else ""
    return f"Join {join.kind.value}{aware}{' on ' if parts else ''}{' and '.join(parts)}"


def _key(key: JoinKey) -> str:
    return f"{_shown(key.left)} {'<=>' if key.null_safe else '='} {_shown(key.right)}"


def _top(top: TopK) -> str:
    kept = [] if top.limit is None else [f"first {top.limit}"]
    if top.ties is not None:
        kept[0] += f" by {top.ties}"
    if top.offset:
        kept.append(f"after {top.offset}")
    if top.partition:
        kept.append(f"of each {', '.join(map(_shown, top.partition))}")
    if top.order:
        kept.append(f"ordered by {', '.join(map(_sort_key, top.order))}")
    if top.number is not None:
        kept.append(f"numbered {top.number}")
    return f"TopK {' '.join(kept)}"


def _matches(node: MatchRecognize) -> str:
    """The partition and the pattern."""
    keys = f" of each {', '.join(map(_shown, node.partition))}" if node.partition else ""
    return f"MatchRecognize{keys}: {pattern_text(node.pattern)}, after a match {node.skip.text}"


def _sort_key(key: SortKey) -> str:
    usual = key.nulls_first is not key.descending
    nulls = "" if usual else " nulls first" if key.nulls_first else " nulls last"
    return f"{_shown(key.value)}{' desc' if key.descending else ''}{nulls}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
