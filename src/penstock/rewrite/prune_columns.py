"""Columns that nobody reads go: each join, aggregate and window gets just the columns that it or its readers name.

    Aggregate(groups=(k), n: count(*))      Aggregate(groups=(k), n: count(*))
      Join(l.a = r.a)                         Join(l.a = r.a)
        Scan(l: a, k, x, y)             →       Project(a, k)
        Scan(r: a, z)                             Scan(l: a, k, x, y)
                                                Project(a)
                                                  Scan(r: a, z)

A sub-plan that stands in several places of one plan keeps what any of them reads, so that it is still one sub-plan
and its state is kept once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from typing import assert_never, cast

from penstock.plan.expressions import plan_reads_clock
from penstock.plan.matching import Taken, Told
from penstock.plan.nodes import (
    Aggregate,
    AggregateCall,
    Arrived,
    Arriving,
    AsofJoin,
    Distinct,
    Field,
    Filter,
    Fixpoint,
    Generate,
    Join,
    JoinKind,
    MatchRecognize,
    Node,
    Plan,
    Project,
    Recompute,
    Scan,
    Session,
    SetOperation,
    TopK,
    UnionAll,
    Values,
    Window,
)
from penstock.plan.scalar import Scalar, column

Names = frozenset[str]

_STATEFUL = (Join, AsofJoin, Aggregate, Window)


def prune_columns(plan: Plan) -> Plan | None:
    """The whole plan with unread columns left out; None if there are none. The root keeps all of its columns."""
    pruning = _Pruning(plan)
    pruning.require(plan, frozenset(plan.names))
    pruned = pruning.pruned(plan, frozenset(plan.names))
    return None if pruned == plan else pruned


class _Pruning:
    """Two walks from the root down: what is required of each sub-plan, then the sub-plans that give just that."""

    def __init__(self, root: Plan) -> None:
        self._numbers: dict[int, int] = {}
        self._known: dict[object, int] = {}
        self._required: dict[int, Names] = {}
        self._done: dict[int, Plan] = {}
        self._number(root)
        counts = Counter(self._numbers[id(node)] for node in root.walk())
        self._shared = {number for number, count in counts.items() if count > 1}

    def _number(self, plan: Plan) -> int:
        """The same number for equal sub-plans, without comparing whole trees."""
        inputs = tuple(self._number(item) for item in plan.inputs)
        key = (type(plan), _attributes(plan), inputs)
        self._numbers[id(plan)] = self._known.setdefault(key, len(self._known))
        return self._numbers[id(plan)]

    def require(self, plan: Plan, needed: Names) -> None:
        """Note what the readers of each shared sub-plan need, all together."""
        number = self._numbers[id(plan)]
        if number in self._shared:
            before = self._required.get(number)
            needed |= before or frozenset()
            if needed == before:
                return
            self._required[number] = needed
        for item, names in zip(plan.inputs, requirements(plan, needed), strict=True):
            self.require(item, names)

    def pruned(self, plan: Plan, needed: Names) -> Plan:
        """The plan with at least the columns needed, in their order."""
        number = self._numbers[id(plan)]
        if number in self._done:
            return self._done[number]
        needed = self._required.get(number, needed)
        wanted = requirements(plan, needed)
        inputs = [self.pruned(item, names) for item, names in zip(plan.inputs, wanted, strict=True)]
        if isinstance(plan, _STATEFUL) or (isinstance(plan, Filter) and plan_reads_clock(plan)):
            inputs = [_narrowed(item, names) for item, names in zip(inputs, wanted, strict=True)]
        found = _over(plan, needed, inputs)
        if number in self._shared:
            self._done[number] = found
        return found


def _attributes(plan: Plan) -> tuple[object, ...]:
    """The attributes that make the node equal to another one, its inputs left out."""
    found: list[object] = []
    for item in dataclass_fields(plan):
        value = getattr(plan, item.name)
        inputs = isinstance(value, Plan) or (isinstance(value, tuple) and value and isinstance(value[0], Plan))
        if item.compare and not inputs:
            found.append(value)
    return tuple(found)


def requirements(plan: Plan, needed: Names) -> tuple[Names, ...]:
    """The columns that each input has to give for the node to give those needed."""
    node = cast("Node", plan)
    match node:
        case Scan() | Values():
            return ()
        case Project():
            return (_read(scalar for _, scalar in _kept_items(node, needed)),)
        case Filter():
            return (needed | node.condition.columns,)
        case UnionAll():
            places = _places(node.names, needed)
            return tuple(frozenset(branch.names[place] for place in places) for branch in node.branches)
        case Generate():
            return (needed & frozenset(node.input.names) | node.generator.columns,)
        case Join():
            return _join_requirements(node, needed)
        # Which right row is taken where several are equally close, the whole row says.
        case AsofJoin():
            left = needed & frozenset(node.left.names) | _read(key.left for key in node.keys) | node.match.left.columns
            return left, frozenset(node.right.names)
        case Aggregate():
            calls = (scalar for _, call in _kept_calls(node, needed) for scalar in _scalars(call))
            return (_read([scalar for _, scalar in node.groups]) | _read(calls),)
        case Window():
            calls = (call for name, call in node.calls if name in needed)
            return (needed & frozenset(node.input.names) | _read(node.partition) | _read(calls),)
        case Session():
            times = node.time.columns | node.gap.columns
            return (needed & frozenset(node.input.names) | _read(node.keys) | times,)
        case MatchRecognize():
            taken = {item.source for item in _kept_outputs(node, needed) if isinstance(item, Taken)}
            own = {node.number, *node.reads, *taken}
            return (frozenset(own) | _read(node.partition),)
        case Arriving() | Arrived():
            return (needed,)
        # Whole rows are compared, or nothing is known about what is read.
        case Distinct() | SetOperation() | TopK() | Recompute() | Fixpoint():
            return tuple(frozenset(item.names) for item in node.inputs)
        case _:
            assert_never(node)


def _join_requirements(join: Join, needed: Names) -> tuple[Names, Names]:
    read = join.residual.columns if join.residual is not None else frozenset()
    if join.kind not in (JoinKind.SEMI, JoinKind.ANTI):
        read |= needed
        needed = read
    left = (needed | read) & frozenset(join.left.names) | _read(key.left for key in join.keys)
    right = read & frozenset(join.right.names) | _read(key.right for key in join.keys)
    return left, right


def _over(plan: Plan, needed: Names, inputs: list[Plan]) -> Plan:
    """The node over its pruned inputs, without what it computes for nobody."""
    node = cast("Node", plan)
    match node:
        case Project():
            return Project(inputs[0], _kept_items(node, needed))
        case UnionAll():
            places = _places(node.names, needed)
            branches = tuple(
                _exact(item, [branch.names[place] for place in places])
                for item, branch in zip(inputs, node.branches, strict=True)
            )
            return UnionAll(branches, tuple(node.outputs[place] for place in places))
        case Aggregate():
            return Aggregate(inputs[0], node.groups, _kept_calls(node, needed))
        case Window():
            calls = tuple((name, call) for name, call in node.calls if name in needed)
            return replace(node, input=inputs[0], calls=calls) if calls else inputs[0]
        case Session():
            return replace(node, input=inputs[0])
        case MatchRecognize():
            return replace(node, input=inputs[0], outputs=_kept_outputs(node, needed))
        case Scan() | Values() | Filter() | Generate() | Join() | AsofJoin() | Distinct() | SetOperation() | TopK():
            return _unchanged_over(node, inputs)
        case Recompute() | Fixpoint() | Arriving() | Arrived():
            return _unchanged_over(node, inputs)
        case _:
            assert_never(node)


def _unchanged_over(plan: Plan, inputs: list[Plan]) -> Plan:
    same = all(new is old for new, old in zip(inputs, plan.inputs, strict=True))
    return plan if same else plan.with_inputs(*inputs)


def _kept_items(project: Project, needed: Names) -> tuple[tuple[str, Scalar], ...]:
    kept = tuple(item for item in project.items if item[0] in needed)
    return kept or project.items[:1]


def _kept_calls(aggregate: Aggregate, needed: Names) -> tuple[tuple[str, AggregateCall], ...]:
    kept = tuple(item for item in aggregate.aggregates if item[0] in needed)
    return kept or (() if aggregate.groups else aggregate.aggregates[:1])


def _kept_outputs(matches: MatchRecognize, needed: Names) -> tuple[Taken | Told, ...]:
    return tuple(item for item in matches.outputs if item.name in needed) or matches.outputs[:1]


def _scalars(call: AggregateCall) -> tuple[Scalar, ...]:
    return (call.call, *call.arguments) if call.filter is None else (call.call, call.filter, *call.arguments)


def _read(scalars: Iterable[Scalar]) -> Names:
    return frozenset(name for scalar in scalars for name in scalar.columns)


def _places(names: tuple[str, ...], needed: Names) -> list[int]:
    """A relation has at least one column, so that its rows can be counted."""
    return [place for place, name in enumerate(names) if name in needed] or [0][: len(names)]


def _narrowed(plan: Plan, needed: Names) -> Plan:
    """The plan with just the columns needed."""
    return _exact(plan, [item.name for item in fields_needed(plan.fields, needed)])


def fields_needed(fields: tuple[Field, ...], needed: Names) -> tuple[Field, ...]:
    """The fields needed; one at least, the cheapest, where the rows are only counted."""
    found = tuple(item for item in fields if item.name in needed)
    return found or tuple(sorted(fields, key=_cost)[:1])


_CHEAP = ("boolean", "tinyint", "smallint", "int", "date", "float", "bigint", "double", "timestamp", "timestamp_ntz")


def _cost(item: Field) -> int:
    return _CHEAP.index(item.type) if item.type in _CHEAP else len(_CHEAP)


def _exact(plan: Plan, names: list[str]) -> Plan:
    if list(plan.names) == names:
        return plan
    found = {item.name: item for item in plan.fields}
    items = tuple((name, column(name, found[name].type, found[name].nullable)) for name in names)
    return Project(plan, items)
