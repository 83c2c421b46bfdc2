"""Waterlines: values below which no accepted input changes a relation, column by column (SEMANTICS B8).

A waterline of a column promises: no later accepted input inserts or deletes a row with a smaller value in it (NULL is
not smaller). It is found from the columns with LATENESS, through expressions that do not go down (`direction`) and
operators that keep the promise. Rows that come and go as the clock moves are no input; `passing_time` asks for the
stronger promise that they keep it, too, which is what collecting state needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import assert_never, cast

from penstock.analysis.derived import Derived, SourceColumn, applied, converted, greatest, least, of_source
from penstock.analysis.determined import determined
from penstock.analysis.direction import Direction, Types, direction, one_of, rounded_down
from penstock.analysis.followers import told_by
from penstock.analysis.generated import each_generated, first_generated
from penstock.analysis.inequality import LowerBound, equality_bounds, lower_bounds, to_type_of
from penstock.analysis.local_time import kind_of, lowered, one_order
from penstock.analysis.looking_back import keeps_order_column
from penstock.analysis.reach import further, reach_of
from penstock.analysis.row_waterlines import is_row_waterline, source_in_text
from penstock.analysis.substreams import keys_of
from penstock.analysis.views import column_read, of_last, of_view, tables_read
from penstock.catalog.model import Catalog, Lateness, Table, View
from penstock.catalog.reserved import WATERLINE
from penstock.catalog.types import is_temporal
from penstock.catalog.zones import Shifts, session_shifts
from penstock.plan.expressions import conjunction, conjuncts, pairs_of, plan_reads_clock, reads_tables
from penstock.plan.forms import Call, Constant, Form, Reference, Span, called, reads_clock, references
from penstock.plan.matching import REACH, Taken, Told
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
from penstock.plan.scalar import Scalar

Waterlines = Mapping[str, Derived]

NONE: Waterlines = {}
_ORDERED = frozenset({">", ">=", "<", "<="})


def waterlines(plan: Plan, catalog: Catalog, *, passing_time: bool = False) -> Waterlines:
    """The waterline of each column that has one, by the name of the column."""
    return Reader(catalog, passing_time=passing_time).of(plan)


def has_waterline(catalog: Catalog, plan: Plan, name: str) -> bool:
    """True if a waterline can be inferred for a column of a plan."""
    return name in of_last(catalog, plan, "waterlines", Reader(catalog).of)


class Reader:
    """Finds waterlines; holds what does not change on the way down."""

    def __init__(
        self, catalog: Catalog, *, passing_time: bool = False, substreams: bool = False, of_rows: bool = False
    ) -> None:
        """With `substreams` the waterlines that each of these has for itself count as well.

        With `of_rows` they are those by which readers judge rows: a watermark that drops nothing counts as one that
        does, and relations without any time are left out.
        """
        self._catalog = catalog
        self._of_rows = of_rows
        self._passing_time = passing_time
        self._substreams = substreams
        self._shifts = session_shifts(catalog.settings)
        self._found: dict[int, tuple[Plan, Waterlines]] = {}  # with the plan, so that its number stays its own

    def of(self, plan: Plan) -> Waterlines:
        """The waterlines of one relation, which are found once: a condition above a join asks for its sides again."""
        if id(plan) not in self._found:
            self._found[id(plan)] = plan, self._of(plan)
        return self._found[id(plan)][1]

    def _of(self, plan: Plan) -> Waterlines:
        node = cast("Node", plan)
        if plan_reads_clock(plan) and not isinstance(node, Filter):
            return NONE
        match node:
            case Scan():
                return self._scan(node)
            case Project():
                return self._computed(node.items, node.input)
            case Filter():
                return self._filter(node)
            # Constant rows are there from the first step on: they never change.
            case Values():
                return NONE
            case UnionAll():
                return self._pointwise(node.branches, node.names)
            case SetOperation():
                return self._pointwise(node.inputs, node.names)
            case Distinct():
                return self.of(node.input)
            case Generate():
                known = self.of(node.input)
                return {**known, **self._generated(node, known)}
            case Join():
                return self._join(node)
            case AsofJoin():
                return self._asof(node)
            # A group changes when a row of it does, and then has that row's values.
            case Aggregate():
                return self._computed(node.groups, node.input)
            case TopK() | Window():
                return self._ordered(node)
            case Session():
                return self._session(node)
            case MatchRecognize():
                return self._matches(node)
            # A row comes with one of a stream, whatever it has met.
            case Arrived():
                return self.of(_met(node.input))
            # Nothing is known about which rows a change of the input changes; rows of a step go whatever they are.
            case Recompute() | Fixpoint() | Arriving():
                return NONE
            case _:
                assert_never(node)

    def of_relation(self, relation: Table | View) -> Waterlines:
        """The waterlines of a table's or view's columns, a view's own LATENESS included."""
        return self._of_table(relation) if isinstance(relation, Table) else self._of_view(relation)

    def _of_table(self, table: Table) -> dict[str, Derived]:
        """The columns with LATENESS; where WATERMARK holds rows back, only the one column that holds them.

        A column that keeps the waterline of another one is not below that from now on.
        """
        held = [column for column in table.columns if column.watermark is not None]
        found = {}
        for item in table.columns:
            bounded = item.lateness is not None and (item.lateness.drops or self._of_rows)
            if bounded and (not held or held == [item]):
                found[item.name] = of_source(SourceColumn(table.name, item.name))
            elif item.hidden and item.name.startswith(WATERLINE):
                found[item.name] = of_source(SourceColumn(table.name, item.name.removeprefix(WATERLINE)))
        return found

    def _tells(self, plan: Plan) -> bool:
        """True if rows of the relation may come later that are older."""
        return reads_tables(plan) and (not self._of_rows or _has_time(plan, self._catalog))

    def bound(
        self, form: Form, known: Waterlines, types: Types | None = None, there: frozenset[str] = frozenset()
    ) -> Derived | None:
        """The value below which an expression over columns with these waterlines cannot change; constants have none.

        `there` names the columns that are never NULL.
        """
        if isinstance(form, Reference):
            return known.get(form.name)
        chosen = one_of(form)
        if chosen is None:
            return self._computed_bound(form, known, types)
        if not self._of_one_type({kind_of(item, types or {}) or None for item in chosen}):
            return None
        function = form.function if isinstance(form, Call) else ""
        if function in ("greatest", "coalesce", "ifnull", "nvl"):
            # GREATEST is not below any argument that is there, and COALESCE gives the first if that is.
            sure = [item for item in chosen if _never_null(item, there)]
            alone = sure if function == "greatest" else sure[:1] if sure[:1] == list(chosen[:1]) else []
            found = greatest(self.bound(item, known, types, there) for item in alone)
            if found is not None:
                return found
        # Each gives one of these or NULL, whatever the rest of it says.
        return least(self.bound(item, known, types, there) for item in chosen)

    def _computed_bound(self, form: Form, known: Waterlines, types: Types | None) -> Derived | None:
        """The bound of an expression that goes up with its columns."""
        kept = source_in_text(form, self._catalog)
        if kept is not None:
            return of_source(kept)
        lower = self.never_below(form, dict.fromkeys(known, Direction.INCREASING), types)
        return None if lower is None else applied(lower, {name: known[name] for name in references(form)})

    def never_below(self, form: Form, columns: Mapping[str, Direction], types: Types | None = None) -> Form | None:
        """A lower limit of the expression from now on: itself, if it goes up, or a time that is a little earlier."""
        if self._goes_up(form, columns, types):
            return form
        found = lowered(form, types or {}, self._shifts)
        return None if found is None or not self._goes_up(found[0], columns, types) else found[1]

    def _goes_up(self, form: Form, columns: Mapping[str, Direction], types: Types | None) -> bool:
        return direction(form, columns, shifts=self._shifts, types=types).up

    def lower_limit(self, item: LowerBound, known: Waterlines, types: Types) -> Derived | None:
        """The value below which the column of the bound is not from now on; None if the bound can go down."""
        convert = to_type_of(item, types, self._shifts)
        found = None if convert is None else self.bound(item.bound, known, types)
        return None if found is None or convert is None else converted(found, convert)

    def alike(self, kinds: Iterable[str | None]) -> bool:
        """True if values of these types have one order: times with and without a zone may not."""
        return one_order(kinds, self._shifts)

    def bounds_in(self, condition: Scalar, types: Types) -> Iterator[LowerBound]:
        """The lower bounds of columns that a condition states, as times are read in the session's zone."""
        return lower_bounds(condition, types, self._shifts)

    def _of_one_type(self, kinds: Iterable[str | None]) -> bool:
        """True if a value that is one of several is so in its own type: a DATE among TIMESTAMPs becomes one."""
        found = set(kinds) - {"void"}
        known = {kind for kind in found if kind}
        return self.alike(found) and (len(known) <= 1 or not any(is_temporal(kind) for kind in known))

    def joined_bounds(self, join: Join, side: Plan, known: Waterlines) -> dict[str, Derived]:
        """Columns of one side of a join, and what a later row of the other side, with its waterlines, can match."""
        names, types = set(side.names), _types(join.left) | _types(join.right)
        found: dict[str, Derived] = {}
        for item in _bounds_of(join, self._shifts):
            if item.column not in names or references(item.bound) & names:
                continue
            bound = self.lower_limit(item, known, types)
            together = greatest((found.get(item.column), bound))
            if bound is not None and together is not None:
                found[item.column] = together
        return found

    def _scan(self, scan: Scan) -> Waterlines:
        relation = self._catalog.relation(scan.relation)
        if relation is None:
            return NONE
        found = self.of_relation(relation)
        columns = tuple(item.name for item in relation.columns) or tuple(found)
        read = {name: column_read(scan, name, columns) for name in scan.names}
        by_column = {name.lower(): derived for name, derived in found.items()}
        named = {name: by_column.get(column.lower()) for name, column in read.items() if column is not None}
        return {name: derived for name, derived in named.items() if derived is not None}

    def _of_view(self, view: View) -> dict[str, Derived]:
        question = f"waterlines {self._passing_time} {self._substreams} {self._of_rows}"
        found = dict(of_view(self._catalog, view, question, self.of, NONE))
        for name in (name for name, item in view.lateness.items() if self._counts(item)):
            column = next((item for item in found if item.lower() == name.lower()), name)
            together = greatest((found.get(column), of_source(SourceColumn(view.name, name))))
            if together is not None:
                found[column] = together
        return found

    def _counts(self, lateness: Lateness) -> bool:
        """True for a column with one waterline, or with one for each substream where these count."""
        return not lateness.keys or (self._substreams and lateness.remembering is None)

    def of_substreams(self, plan: Aggregate) -> Iterator[tuple[str, Derived, tuple[int, ...]]]:
        """The groups that have a waterline of their own substream, each with the places of the keys of these."""
        for name, derived in Reader(self._catalog, substreams=True).of(plan).items():
            keys = keys_of(derived, plan, self._catalog)
            if keys is not None:
                yield name, derived, keys

    def _computed(self, items: tuple[tuple[str, Scalar], ...], below: Plan) -> Waterlines:
        known, types = self.of(below), _types(below)
        there = frozenset(item.name for item in below.fields if not item.nullable)
        found = {name: self.bound(scalar.form, known, types, there) for name, scalar in items}
        return {name: derived for name, derived in found.items() if derived is not None}

    def _generated(self, node: Generate, known: Waterlines) -> Waterlines:
        """A waterline under what `explode` gives of a sequence: it is at least what the sequence starts with.

        A column of `inline` has the least of what stands in it, which is how the sets of GROUPING SETS are made.
        """
        least_element = first_generated(node.generator.form)
        if least_element is None:
            return self._inlined(node, known)
        derived = self.bound(least_element, known, _types(node.input))
        return NONE if derived is None else {node.outputs[-1].name: derived}

    def _inlined(self, node: Generate, known: Waterlines) -> Waterlines:
        types, columns = _types(node.input), each_generated(node.generator.form)
        if len(columns) != len(node.outputs):
            return NONE
        bounds = {
            output.name: [self.bound(form, known, types) for form in forms]
            for output, forms in zip(node.outputs, columns, strict=True)
        }
        lines = {name: least(found) for name, found in bounds.items() if None not in found}
        return {name: line for name, line in lines.items() if line is not None}

    def _filter(self, node: Filter) -> Waterlines:
        known = self._joined_under(node)
        for part in conjuncts(node.condition):
            known = self._with_clock(part, known, node) if part.reads_clock else self._with_bounds(part, known, node)
        return known

    def _joined_under(self, node: Filter) -> Waterlines:
        """Those of the input; a condition above an inner join tells as much of its sides as one in the join."""
        join, plain = node.input, [part for part in conjuncts(node.condition) if not part.reads_clock]
        known = self.of(join)
        if not isinstance(join, Join) or join.kind is not JoinKind.INNER or not plain:
            return known
        whole = plain if join.residual is None else [*conjuncts(join.residual), *plain]
        found = self._join(replace(join, residual=conjunction(tuple(whole))))
        higher = {name: greatest((known.get(name), found.get(name))) for name in {**known, **found}}
        return {name: derived for name, derived in higher.items() if derived is not None}

    def _with_bounds(self, part: Scalar, known: Waterlines, node: Filter) -> Waterlines:
        """`c >= e`: no row with a smaller c passes."""
        found, types = dict(known), _types(node.input)
        for item in self.bounds_in(part, types):
            together = greatest((found.get(item.column), self.lower_limit(item, known, types)))
            if together is not None:
                found[item.column] = together
        return found

    def _with_clock(self, part: Scalar, known: Waterlines, node: Filter) -> Waterlines:
        """A row leaves when the clock passes it, or comes when the clock reaches it."""
        types = _types(node.input)
        leaving = [item for item in self.bounds_in(part, types) if self.rises_with_clock(item, types) is not None]
        if leaving and isinstance(part.form, Call) and part.form.function in _ORDERED:
            found = {item.column: self.lower_limit(item, known, types) for item in leaving}
            bounds = {name: derived for name, derived in found.items() if derived is not None}
            if self._passing_time:
                return bounds
            return {**known, **{name: greatest((known.get(name), item)) or item for name, item in bounds.items()}}
        upper = _compared_with_clock(part)
        if upper is None or upper.column not in known or self.rises_with_clock(upper, types) is None:
            return NONE
        together = least((known[upper.column], self.lower_limit(upper, NONE, types)))
        return NONE if together is None else {upper.column: together}

    def rises_with_clock(self, item: LowerBound, types: Types) -> Form | None:
        """A lower limit, from now on, of a bound by the clock, its columns standing still; None if not known."""
        convert = to_type_of(item, types, self._shifts)
        if convert is None or not reads_clock(item.bound):
            return None
        fixed = dict.fromkeys(references(item.bound), Direction.CONSTANT)
        lower = self.never_below(item.bound, fixed, types)
        return None if lower is None else convert(lower)

    def _pointwise(self, inputs: tuple[Plan, ...], names: tuple[str, ...]) -> Waterlines:
        found = [(self.of(item), item.names) for item in inputs if self._tells(item)]
        kinds = [{item.fields[place].type for item in inputs} for place in range(len(names))]
        every = {
            name: least(known.get(own[place]) for known, own in found) if self._of_one_type(kinds[place]) else None
            for place, name in enumerate(names)
        }
        return {name: derived for name, derived in every.items() if derived is not None}

    def _join(self, join: Join) -> Waterlines:
        """A later row of one side changes results with old rows of the other, as old as the condition allows."""
        if join.null_aware:
            return NONE
        left, right = self.of(join.left), self.of(join.right)
        found = self._side(join, join.left, left, join.right, right)
        if join.kind not in (JoinKind.SEMI, JoinKind.ANTI):
            found |= self._side(join, join.right, right, join.left, left)
        return found

    def _asof(self, node: AsofJoin) -> Waterlines:
        """A change brings a pair of the row that has changed, or takes one back, for a pair with the same left row.

        That other pair's right row has not changed and may be of any age: of the right columns only those keep their
        line that are equated, or, where time runs backwards, the time itself, since the other row is farther.
        """
        match = node.match
        found = self._join(pairs_of(node))
        alike = [key.right.column for key in node.keys if key.left.type == key.right.type is not None]
        if not match.backwards and match.left.type == match.right.type is not None:
            alike.append(match.right.column)
        return {name: derived for name, derived in found.items() if name in node.left.names or name in alike}

    def _matches(self, node: MatchRecognize) -> dict[str, Derived]:
        """A match changes only by rows at or before the latest time that the search for it has looked at.

        With WITHIN that is less than so long behind its first row, and so behind each of its rows.
        """
        known = self.of(node.input)
        line = None if node.time is None else known.get(node.time)
        if line is None:
            return {}
        reached = (item.name for item in node.outputs if isinstance(item, Told) and item.code == REACH)
        return {**dict.fromkeys(reached, line), **_within(node, known)}

    def _side(self, join: Join, side: Plan, own: Waterlines, other: Plan, known: Waterlines) -> dict[str, Derived]:
        """The promises of a change of either side about one side's columns (docs/adr/0010).

        A row that an outer or anti join gives without a match need not meet the condition.
        """
        if not self._tells(other):
            return dict(own)
        alone = join.kind in (JoinKind.FULL, JoinKind.ANTI) or join.kind == (
            JoinKind.LEFT if side is join.left else JoinKind.RIGHT
        )
        here = own if alone else self._followed(join, own)
        there = {**self._followed(join, known), **self.joined_bounds(join, side, known)}
        found = {name: least((here.get(name), there.get(name))) for name in side.names}
        # A pair is judged by the later one of those that both of its rows keep, which is that of the row that has come.
        found |= {name: line for name, line in own.items() if is_row_waterline(name)}
        return {name: derived for name, derived in found.items() if derived is not None}

    def _followed(self, join: Join, known: Waterlines) -> dict[str, Derived]:
        """Waterlines of other columns that follow from one side's, where a pair meets the condition, step by step.

        Only comparisons within one type are followed: texts have another order than the times that they stand for.
        """
        found, types = dict(known), _types(join.left) | _types(join.right)
        bounds = [item for item in _bounds_of(join, self._shifts) if _in_one_type(item, types)]
        while True:
            new: dict[str, Derived] = {}
            for item in bounds:
                bound = None if item.column in found else self.lower_limit(item, found, types)
                together = greatest((new.get(item.column), bound))
                if together is not None:
                    new[item.column] = together
            if not new:
                return found
            found |= new

    def _ordered(self, node: TopK | Window) -> Waterlines:
        """A change touches its own partition, and in it only what comes after it if nothing looks ahead."""
        known = self.of(node.input)
        partition = {scalar.column for scalar in node.partition}
        kept = {*partition, keeps_order_column(node), *determined(node.input, partition, self._catalog)}
        found = {name: derived for name, derived in known.items() if name in kept}
        found = {**self._by_rounded(node, known), **found}
        return {**self._looking_ahead(node, known), **found} if isinstance(node, Window) else found

    def _by_rounded(self, node: TopK | Window, known: Waterlines) -> Waterlines:
        """A column that the partitions round down is not below where the partitions of its waterline begin."""
        lines: dict[str, Derived] = {}
        for scalar in node.partition:
            name = rounded_down(scalar.form)
            line = None if name is None else self.bound(scalar.form, known, _types(node.input))
            if name is not None and line is not None:
                lines[name] = line
        return lines

    def _looking_ahead(self, node: Window, known: Waterlines) -> Waterlines:
        """A frame that ends a time later lowers the line by that; one of so many rows has it where these are told."""
        told = {name: known[time] for name, time in told_by(node) if time in known}
        if told:
            return told
        reaches = [reach_of(call, node.input) for _, call in node.calls]
        framed = [item for item in reaches if item is not None and not item.rows]
        key = framed[0].key if framed else None
        if not isinstance(key, Reference) or len(framed) < len(reaches) or any(item.key != key for item in framed):
            return NONE
        lowered = least(self.bound(further(key, item.ahead), known, _types(node.input)) for item in framed)
        return NONE if lowered is None else {key.name: lowered}

    def _session(self, node: Session) -> Waterlines:
        """A row changes the session that it is in, which ends after it and may have begun long before."""
        known = self.of(node.input)
        found = {name: derived for name, derived in known.items() if name in {item.column for item in node.keys}}
        ends = self.bound(node.time.form, known, _types(node.input))
        return found if ends is None else {**found, node.end: ends}


def _has_time(plan: Plan, catalog: Catalog) -> bool:
    """True if some table that is read has a column with a bound."""
    return any(item.lateness is not None for table in tables_read(plan, catalog) for item in table.columns)


def _never_null(form: Form, there: frozenset[str]) -> bool:
    match form:
        case Reference(name):
            return name in there
        case Constant():
            return form.is_text or form.is_number
        case Span():
            return True
        case Call("+" | "-", (one, other)):
            return _never_null(one, there) and _never_null(other, there)
        case _:
            return False


def _met(plan: Plan) -> Plan:
    """The relation that a stream's rows meet when they come, with all else as it is then."""
    match plan:
        case Arriving():
            return plan.input
        case Scan():
            return Values((), plan.fields)
        case _:
            return plan.with_inputs(*map(_met, plan.inputs))


def _types(plan: Plan) -> dict[str, str | None]:
    return {item.name: item.type for item in plan.fields}


def _bounds_of(join: Join, shifts: Shifts) -> Iterator[LowerBound]:
    types = _types(join.left) | _types(join.right)
    for key in join.keys:
        yield from equality_bounds(key.left, key.right, types, shifts)
    if join.residual is not None:
        yield from lower_bounds(join.residual, types, shifts)


def _in_one_type(item: LowerBound, types: Types) -> bool:
    """True if a bound compares columns of one type, whose order is the same whichever of them are compared."""
    kind = types.get(item.column)
    read = {types.get(name) for name in references(item.bound)}
    return kind is not None and "collate" not in kind and read == {kind}


def _compared_with_clock(part: Scalar) -> LowerBound | None:
    """`c <= e` with e of the clock and constants alone: the column and e."""
    match part.form:
        case Call("<" | "<=", (Reference(name), limit)) | Call(">" | ">=", (limit, Reference(name))):
            return None if references(limit) else LowerBound(name, limit)
        case _:
            return None


def _within(node: MatchRecognize, known: Waterlines) -> dict[str, Derived]:
    """The times of rows of matches, where WITHIN says how far these reach."""
    items = dict(node.input.items) if isinstance(node.input, Project) else {}
    if node.within is None or node.anchored or node.time not in items:
        return {}
    moments = called(items[node.time].form, "unix_micros")
    length = Span(f"{node.within // 1_000_000}.{node.within % 1_000_000:06d}".rstrip("0").rstrip("."), "SECOND")
    found = {}
    for item in node.outputs:
        if isinstance(item, Taken) and (items[item.source].form,) == moments and item.source in known:
            earlier = Call("-", (Reference(item.source), length))
            found[item.name] = applied(earlier, {item.source: known[item.source]})
    return {name: derived for name, derived in found.items() if derived is not None}
