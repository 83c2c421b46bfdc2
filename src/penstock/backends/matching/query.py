"""MATCH_RECOGNIZE as SQL: the rows of each partition in one list, and what is shown of the matches in it.

SELECT taken[m.picks[0]].t0, m.longs[0] …
  FROM (SELECT taken, unnest(penstock_match('{…}', reads)) AS m
          FROM (SELECT list((reads) ORDER BY number) AS reads, list((taken) ORDER BY number) AS taken
                  FROM (rows) GROUP BY partition))
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.backends.dialect import Carry, Dialect
from penstock.backends.matching.function import MATCH, SETTLED
from penstock.backends.matching.program import TEXTS
from penstock.backends.matching.spelling import picked_rows, program_text, told
from penstock.catalog.reserved import WEIGHT
from penstock.catalog.types import is_decimal
from penstock.plan.matching import OWN, MatchRecognize, Taken, Told
from penstock.plan.nodes import Field, Plan, Project, Scan
from penstock.plan.scalar import column

if TYPE_CHECKING:
    from penstock.backends.render import Renderer

_NEVER = -(1 << 63)  # below all times
_READS, _TAKEN, _MATCH = "__reads", "__taken", "__match"


def match_query(dialect: Dialect, plan: MatchRecognize, rows: str, carry: Carry) -> str:
    """The query over the query of the input: the node's fields, then what is carried, in which rows must agree."""
    carried = [*map(dialect.quoted, carry)]
    fields = [f"{_field(dialect, plan, item)} AS {dialect.quoted(item.name)}" for item in plan.outputs]
    call = dialect.unfolded(f"{MATCH}({dialect.literal(program_text(plan))}, {_READS})")
    matches = (
        f"SELECT {', '.join([_TAKEN, *carried, f'{call} AS {_MATCH}'])} FROM ({_lists(dialect, plan, rows, carried)})"
    )
    return f"SELECT {', '.join([*fields, *carried])} FROM ({matches})"


def unsettled_query(renderer: Renderer, plan: MatchRecognize, line: str) -> str:
    """The rows of an operator's trace that a row from a line (microseconds) on can still lead to, with what is carried.

    The node stands over the windows and projections of its operator, whose leaf the renderer knows with the weight.
    """
    dialect, carried = renderer.dialect, [*map(renderer.dialect.quoted, renderer.carry)]
    wide, kept = _with_columns(plan.input)
    searched = replace(
        plan,
        input=wide,
        reads=(*plan.reads, WEIGHT),
        outputs=tuple(Taken(item.name, OWN, item.name) for item in kept),
    )
    known = f"coalesce(({line}), CAST('{_NEVER}' AS BIGINT))"
    count = f"{SETTLED}({dialect.literal(program_text(searched))}, {_READS}, {known})"
    lists = _lists(dialect, searched, renderer.sql(wide), carried)
    rows = (
        f"SELECT {', '.join([*carried, f'{dialect.unfolded(dialect.rest(_TAKEN, count))} AS {_MATCH}'])} FROM ({lists})"
    )
    named = [f"{_MATCH}.t{place} AS {dialect.quoted(item.name)}" for place, item in enumerate(kept)]
    return f"SELECT {', '.join([*named, *carried])} FROM ({rows})"


def _with_columns(plan: Plan) -> tuple[Plan, tuple[Field, ...]]:
    """The windows and projections below a node with all columns of their leaf, and the weight; these columns."""
    if isinstance(plan, Scan):
        found = replace(plan, outputs=(*plan.outputs, Field(WEIGHT, "bigint", nullable=False)))
        return found, found.outputs
    below, kept = _with_columns(plan.inputs[0])
    wide = plan.with_inputs(below)
    if not isinstance(wide, Project):
        return wide, kept
    own = {name for name, _ in wide.items}
    more = tuple((item.name, column(item.name, item.type, item.nullable)) for item in kept if item.name not in own)
    return Project(below, (*wide.items, *more)), kept


def _lists(dialect: Dialect, plan: MatchRecognize, rows: str, carried: list[str]) -> str:
    number = dialect.quoted(plan.number)
    keys = [f"__k{place}" for place in range(len(plan.partition))]
    named = [f"{dialect.key(item, plan.input)} AS {key}" for item, key in zip(plan.partition, keys, strict=True)]
    reads, taken = (
        dialect.packed(_packed(dialect, plan, plan.reads)),
        dialect.packed(_packed(dialect, plan, sources(plan))),
    )
    columns = [*carried, *named, f"{number} AS __n", f"{reads} AS __r", f"{taken} AS __t"]
    collected = [f"{dialect.collected('__r', '__n')} AS {_READS}", f"{dialect.collected('__t', '__n')} AS {_TAKEN}"]
    by = [*carried, *keys]
    grouped = f" GROUP BY {', '.join(by)}" if by else ""
    return f"SELECT {', '.join([*carried, *collected])} FROM (SELECT {', '.join(columns)} FROM ({rows})){grouped}"


def sources(plan: MatchRecognize) -> tuple[str, ...]:
    """The columns of the input that values are taken from."""
    return tuple(dict.fromkeys(item.source for item in plan.outputs if isinstance(item, Taken)))


def _packed(dialect: Dialect, plan: MatchRecognize, names: tuple[str, ...]) -> dict[str, str]:
    """The columns as parts of one value; one that has no parts has a place all the same."""
    found = {f"t{place}": dialect.column(plan.input.field(name)) for place, name in enumerate(names)}
    return found or {"t0": "true"}


def _field(dialect: Dialect, plan: MatchRecognize, item: Taken | Told) -> str:
    if isinstance(item, Taken):
        place = dialect.element(f"{_MATCH}.picks", str(picked_rows(plan).index(item.row)))
        return f"{dialect.element(_TAKEN, place)}.t{sources(plan).index(item.source)}"
    value = dialect.element(f"{_MATCH}.{item.shape}", str(told(plan, item.shape).index(item)))
    narrow = (item.shape == TEXTS and is_decimal(item.type)) or item.type in ("tinyint", "smallint", "int")
    return f"CAST({value} AS {item.type.upper()})" if narrow else value
