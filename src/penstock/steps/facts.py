"""The facts of SHOW WATERLINES and SHOW STATE: how far time has got, what was late, and what each operator keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.analysis.waterline import Reader
from penstock.catalog.model import Catalog
from penstock.catalog.reserved import COMPUTED
from penstock.circuit.boundedness import state_facts
from penstock.circuit.measured import Measured
from penstock.steps.intake.apart import holding_back
from penstock.steps.intake.holding import Holding
from penstock.steps.intake.lateness import LateColumn, TableLateness
from penstock.steps.lines import LineReader, Lines
from penstock.steps.rows.rejected import FUTURE, INFINITE, LATE

if TYPE_CHECKING:
    from penstock.engine.engine import Engine


@dataclass(frozen=True)
class WaterlineFact:
    """One column: its waterline (None before any row), the largest value seen, and rows of its relation.

    `late` counts the rows of the relation that were late, `set_aside` those with an impossible value, `held` those
    that WATERMARK holds back now; `waits_for` says in words what moves the waterline.
    """

    relation: str
    column: str
    waterline: Any
    seen: Any
    late: int
    set_aside: int
    held: int
    waits_for: str

    @property
    def name(self) -> str:
        """The column as `relation.column`."""
        return f"{self.relation}.{self.column}"


@dataclass(frozen=True)
class StateSize:
    """The size of one operator's state now: `operator` names it, `views` are those that it works for."""

    operator: str
    views: tuple[str, ...]
    rows: int
    bytes: int


@dataclass(frozen=True)
class OperatorState(StateSize):
    """The size of an operator's state and what will become of it: `growth` is 'bounded', 'content' or 'unbounded'.

    `keeps` says what the state is, `because` why it grows or does not, and `fix` what would bound it. `where` is
    'process' or 'spark', and `not_proven` what keeps an operator on Spark that might have worked in the process.
    """

    keeps: str
    growth: str
    because: str
    fix: str | None
    where: str = "spark"
    not_proven: str = ""


@dataclass(frozen=True)
class Spilled:
    """State in the process that memory has no room for: the bytes in files, their folder, and the limit in bytes."""

    bytes: int
    folder: str
    limit: int


def spilled_of(engine: Engine) -> Spilled | None:
    """The state in the process that lies in files now; None if all of it is in memory."""
    store = engine.store
    size = 0 if store is None else store.spilled_bytes
    return Spilled(size, str(store.folder), store.memory_limit) if store is not None and size else None


def sizes_of(engine: Engine) -> tuple[StateSize, ...]:
    """The size of each operator's state."""
    return tuple(
        StateSize(operator.title, circuit.readers[operator.number], rows, size)
        for circuit, operator, rows, size in engine.state()
    )


def measured_of(engine: Engine, number: int, seconds: float) -> tuple[Measured, ...]:
    """The measurements of the operators that worked in a step, which this ends, or were merged before it."""
    if not engine.profiler.on:
        return ()
    engine.profiler.stepped(number, seconds)
    return tuple(item for item in engine.profile().operators if item.last is not None or item.merged.jobs)


def states_of(engine: Engine, catalog: Catalog) -> list[OperatorState]:
    """The state of each operator that keeps some."""
    found = []
    for circuit, operator, rows, size in engine.state():
        (fact,) = state_facts([operator], catalog) or (None,)
        keeps, growth, because, fix = "", "bounded", "", None
        if fact is not None:
            keeps, growth, because, fix = fact.keeps, fact.growth.name.lower(), fact.because, fact.fix
        name, views = operator.title, circuit.readers[operator.number]
        place = engine.place_of(circuit, operator)
        found.append(OperatorState(name, views, rows, size, keeps, growth, because, fix, place.where, place.not_proven))
    return found


def inferred_facts(catalog: Catalog, reader: LineReader, lines: Lines) -> Iterator[WaterlineFact]:
    """The waterlines that columns of views have because of others, with their values now."""
    found = Reader(catalog)
    wanted = [
        (view, name, derived) for view in catalog.views.values() for name, derived in found.of_relation(view).items()
    ]
    values = reader.values([derived for _, _, derived in wanted], lines)
    for (view, name, derived), value in zip(wanted, values, strict=True):
        late = name.lower() in {column.lower() for column in view.lateness}
        if not late:
            yield WaterlineFact(view.name, name, value, None, 0, 0, 0, f"follows {_told(derived.shown)}")


def _told(text: str) -> str:
    """A term without quotes, over the program's names."""
    return text.replace("`", "").replace(COMPUTED, "")


def facts_of(
    relation: str, lateness: TableLateness, holding: Holding, rejected: Mapping[tuple[str, str], int]
) -> Iterator[WaterlineFact]:
    """The facts about one relation."""
    late = rejected.get((relation, LATE), 0)
    aside = rejected.get((relation, FUTURE), 0) + rejected.get((relation, INFINITE), 0)
    for item in (item for item in lateness.columns if not item.column.hidden or item.column.computed is not None):
        found = lateness.waterline(item)
        line = holding.line(item.column.name, found.at)
        waits = _waits_for(item)
        if (partition := holding_back(lateness, item)) is not None:
            waits += f" in {partition}, the partition that is furthest behind"
        yield WaterlineFact(relation, item.column.told, line, found.seen, late, aside, holding.count, waits)
    with_lateness = {item.column.name for item in lateness.columns}
    for held in holding.columns:
        if held.column.name not in with_lateness:
            seen = holding.seen.get(held.name)
            waits = f"rows wait for {held.column.watermark} later ones"
            yield WaterlineFact(relation, held.column.name, None, seen, late, aside, holding.count, waits)


def _waits_for(item: LateColumn) -> str:
    lateness = item.column.lateness
    if item.rows is not None:
        return f"{item.rows} larger values"
    return "a larger value" if lateness is None else f"a value more than {lateness.bound} above it"
