"""The state of a snapshot, where its operators work elsewhere now: the engine or the master is another one.

The circuits stay as they are. An operator that has another place is made anew there, and holds what the one before it
remembered (`Portable`), so that neither its rows nor what they came from are asked for again: what a waterline has had
it forget stays forgotten. Answers that only one of both keeps are made by the operator on Spark, which takes them back
as it has given them: the rows of a key have one order there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import pyarrow.compute as pc

from penstock.backends.api import Content, Runner
from penstock.backends.native.kinds import schema_in_arrow
from penstock.backends.native.operators.answered import AnsweredOperator
from penstock.backends.native.operators.operator import NativeOperator
from penstock.backends.native.trace import Columns
from penstock.backends.portable import Portable
from penstock.backends.spark.change import Delta
from penstock.backends.spark.operators.make import make_runner
from penstock.backends.spark.operators.runner import SparkRunner
from penstock.backends.spark.schemas import weight_field
from penstock.catalog.model import Catalog
from penstock.catalog.reserved import WEIGHT
from penstock.catalog.types import FRACTIONAL
from penstock.circuit.operators import OfStep, Operator
from penstock.circuit.places import Place
from penstock.engine.engine import Engine
from penstock.engine.installed import Installed
from penstock.engine.native import NativeRunner
from penstock.engine.owing import OwingRunner
from penstock.engine.placing import check_native, placed
from penstock.engine.schemas import relation_schema, schema_of
from penstock.engine.view_content import ViewContent, can_lie_in_process
from penstock.plan.nodes import Aggregate, Plan, Window
from penstock.plan.scalar import quoted

Places = tuple[Mapping[int, NativeOperator], Mapping[int, Place]]


def move_operators(engine: Engine, catalog: Catalog, circuits: Sequence[Installed]) -> None:
    """Have the operators of circuits be where the catalog has them work.

    UnsupportedError if it wants none on Spark and one of them needs it; nothing has been moved then.
    """
    store = engine.process(catalog)
    places: list[Places] = []
    try:
        for item in circuits:
            places.append(({}, {}) if store is None else placed(store, item.circuit, engine.kept))
            check_native(catalog, item.circuit, places[-1][1])
    except BaseException:
        for native, _ in places:
            _drop(native.values())
        raise
    for item, (native, others) in zip(circuits, places, strict=True):
        _Moving(engine, item).to(native, others)
    engine.workspace.release()


def move_contents(
    engine: Engine, catalog: Catalog, contents: dict[str, Content], circuits: Sequence[Installed]
) -> None:
    """Have the contents of views, by their lower-case names, lie where those lie that are begun now."""
    here = engine.process(catalog) is not None and not any(item.needs_spark for item in circuits)
    for name, content in contents.items():
        view = catalog.views[name]
        if isinstance(content, ViewContent) and engine.process(catalog) is None:
            rows, found = content.arrow(), engine.new_content(view, in_process=False)
            if rows.num_rows:
                schema = relation_schema(catalog, name).add(weight_field())
                found.propose(Delta.of_arrow(engine.workspace, rows, schema).consolidated())
                found.commit()
            contents[name] = found
        elif not isinstance(content, ViewContent) and here and can_lie_in_process(view):
            weighted, moved = content.weighted(), engine.content_here(view)
            if weighted is not None:
                moved.load(engine.relations.change_from(weighted).arrow())
            contents[name] = moved


def _drop(operators: Iterable[NativeOperator]) -> None:
    for operator in operators:
        operator.drop()


class _Moving:
    """One circuit, on the way."""

    def __init__(self, engine: Engine, installed: Installed) -> None:
        self._engine = engine
        self._workspace = engine.workspace
        self._installed = installed

    def to(self, native: Mapping[int, NativeOperator], others: Mapping[int, Place]) -> None:
        """Have those operators in the process that are native, and all others on Spark."""
        before, installed = dict(self._installed.native), self._installed
        installed.native = {number: before.get(number, item) for number, item in native.items()}
        installed.others = dict(others)
        for operator in installed.circuit.operators:
            number = operator.number
            runner = installed.runners.get(number)
            if runner is None or isinstance(operator, OfStep) or (number in before) == (number in native):
                continue
            found = self._on_spark(operator, before[number]) if number in before else self._here(operator, runner)
            installed.runners[number] = found
        _drop(item for number, item in native.items() if number in before)
        _drop(item for number, item in before.items() if number not in native)

    def _on_spark(self, operator: Operator, native: NativeOperator) -> Runner[Delta]:
        found, runner = native.portable(), self._made(operator)
        runner.hold(found)
        owed = self._owed(operator, native, found) if isinstance(native, AnsweredOperator) else None
        return runner if owed is None or owed.is_empty() else OwingRunner(runner, owed)

    def _here(self, operator: Operator, runner: Runner[Delta]) -> Runner[Delta]:
        native = self._installed.native[operator.number]
        worked, owed = (runner.runner, runner.owed) if isinstance(runner, OwingRunner) else (runner, None)
        assert isinstance(worked, SparkRunner)  # noqa: S101 - what was not in the process
        found = worked.portable()
        if native.keeps_answers:
            answers = self._answers(operator, found)
            if owed is not None:
                answers = answers.added_up_with(self._negated(owed))
            wanted = schema_in_arrow((*native.outputs, (WEIGHT, "bigint")))
            found = replace(found, answers=answers.consolidated().arrow().select(wanted.names).cast(wanted))
        native.hold(found)
        return NativeRunner(self._workspace, native)

    def _made(self, operator: Operator) -> SparkRunner:
        """The operator on Spark, without state."""
        known = [schema_of(self._workspace, self._installed, number) for number in operator.inputs]
        output = partial(schema_of, self._workspace, self._installed, operator.number)
        runner = make_runner(self._workspace, operator, known, output)
        runner.expiries = operator.expiries
        return runner

    def _answers(self, operator: Operator, found: Portable) -> Delta:
        """The whole answer of the operator on Spark over what has come of its only input."""
        (rows,), kind = found.rows, schema_of(self._workspace, self._installed, operator.inputs[0])
        delta = None if rows is None else Delta.of_arrow(self._workspace, rows.select(kind.names), kind)
        answer = self._made(operator).step([delta], first=True)
        if answer is None:
            schema = schema_of(self._workspace, self._installed, operator.number)
            return Delta.of_frame(self._workspace, self._workspace.empty(schema), rows=0)
        return answer.settled()

    def _owed(self, operator: Operator, native: NativeOperator, found: Portable) -> Delta | None:
        """The answer on Spark less what was answered in the process; None where both are the same for sure."""
        names = _not_added_up(operator.node, native.outputs)
        if found.answers is None or names is None:
            return None
        answers = self._answers(operator, found)
        before = Delta.of_arrow(self._workspace, found.answers, answers.schema)
        owed = answers.added_up_with(self._negated(before))
        return owed if owed.is_empty() or not names else self._of_both(owed, answers, before, names)

    def _of_both(self, owed: Delta, answers: Delta, before: Delta, names: Sequence[str]) -> Delta:
        """The part of it that is owed of keys that both know: of others the rows, or answers, have been forgotten."""
        keys = ", ".join(map(quoted, names))
        both = f"(SELECT {keys} FROM {answers.view} INTERSECT SELECT {keys} FROM {before.view})"
        on = " AND ".join(f"__d.{quoted(name)} <=> __k.{quoted(name)}" for name in names)
        frame = self._workspace.sql(f"SELECT __d.* FROM {owed.view} __d LEFT SEMI JOIN {both} __k ON {on}")
        return Delta.of_frame(self._workspace, frame, estimate=owed.count()).settled()

    def _negated(self, delta: Delta) -> Delta:
        rows = delta.arrow()
        place = rows.column_names.index(WEIGHT)
        return Delta.of_arrow(self._workspace, rows.set_column(place, WEIGHT, pc.negate(rows[WEIGHT])), delta.schema)


def _not_added_up(node: Plan, outputs: Columns) -> list[str] | None:
    """The columns of an answer beside those that may be sums in floating point; None where there are none of these."""
    match node:
        case Aggregate():
            names = [name for name, _ in node.groups]
        case Window():
            names = [item.name for item in node.input.fields]
        case _:
            return None  # it answers with rows of its input
    kinds = [str(kind) for name, kind in outputs if name not in names]
    return names if any(item in kind for kind in kinds for item in FRACTIONAL) else None
