"""A node as the text that the function over its partitions is given."""

from __future__ import annotations

import json

from penstock.backends.matching.instructions import instructions
from penstock.backends.matching.program import DOUBLES, LONGS, TEXTS
from penstock.plan.matching import Code, MatchRecognize, Taken, Told


def program_text(plan: MatchRecognize) -> str:
    """The node as a text."""
    return json.dumps({
        "code": instructions(plan.pattern),
        "define": dict(plan.define),
        "written": {name: scalar.text for name, scalar in plan.written},
        "subsets": dict(plan.subsets),
        "picks": picked_rows(plan),
        **{shape: [item.code for item in told(plan, shape)] for shape in (LONGS, DOUBLES, TEXTS)},
        "time": None if plan.time is None else plan.reads.index(plan.time),
        "shows": plan.shows,
        "skip": (plan.skip.kind, plan.skip.variable),
        "within": plan.within,
    })  # fmt: skip


def picked_rows(plan: MatchRecognize) -> list[Code]:
    """The rows that columns are taken from, each once."""
    return list(dict.fromkeys(item.row for item in plan.outputs if isinstance(item, Taken)))


def told(plan: MatchRecognize, shape: str) -> list[Told]:
    """The columns that are handed over in one shape."""
    return [item for item in plan.outputs if isinstance(item, Told) and item.shape == shape]
