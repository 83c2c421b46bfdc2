"""B2 of a partitioned source: the least of its partitions' own waterlines, whatever the order in which they come."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.steps.tables import NO_DEFAULTS, declared
from tests.tiers import examples

import penstock
from penstock.steps.intake.apart import next_silence, settled
from penstock.steps.proposing import StepInput
from penstock.steps.rows.batch import RowReader, concatenated
from penstock.steps.rows.partitioned import Partitioned
from penstock.steps.rows.rejected import Rejections

START = datetime(2026, 1, 1)  # noqa: DTZ001 - UTC, as all clocks
IDLE = timedelta(seconds=60)
PLAIN = "CREATE TABLE t (t INT LATENESS 5, k INT)"
KEYED = "CREATE TABLE t (t INT LATENESS 5, k INT PRIMARY KEY)"


def batch_of(table, rows, names, unread=()):
    """Rows (partition, t, k) as a source brings them."""
    reader = RowReader(table, NO_DEFAULTS, UTC)
    found = reader.read([row[1:] for row in rows], Rejections())
    places = pa.array([names.index(row[0]) for row in rows], pa.int32())
    origin = Partitioned(tuple(names), places, frozenset(unread), IDLE)
    return type(found)(table, found.rows, found.operations, found.place, origin)


class Stepped:
    """A pipeline that is given the batches of a partitioned source."""

    def __init__(self, text=PLAIN, **given):
        self.pipeline = penstock.Pipeline(text + ";", engine="native", **given)
        self.late = 0

    def step(self, clock, rows=(), names=("a", "b"), unread=()):
        stepper = self.pipeline._opened().stepper
        batches = [batch_of(self.pipeline.catalog.tables["t"], list(rows), list(names), unread)] if names else []
        stepper.step(StepInput(clock, batches, Rejections(tolerant=True)))
        return self.line

    @property
    def line(self):
        return self.pipeline.waterlines()["t.t"]

    @property
    def rejected(self):
        return sum(self.pipeline.rejected().values())


@pytest.fixture
def stepped():
    found = Stepped()
    yield found
    found.pipeline.close()


def at(seconds):
    return START + timedelta(seconds=seconds)


def test_the_partition_that_is_furthest_behind_counts(stepped):
    assert stepped.step(at(0), [("a", 100, 0)]) is None
    assert stepped.step(at(1), [("b", 20, 0)]) == 15
    assert stepped.step(at(2), [("a", 200, 0), ("b", 21, 0)]) == 16
    (fact,) = stepped.pipeline.waterline_facts()
    assert (fact.seen, fact.waits_for) == (
        200,
        "a value more than 5 above it in b, the partition that is furthest behind",
    )
    assert stepped.rejected == 0


def test_a_silent_partition_is_left_out_until_it_speaks(stepped):
    stepped.step(at(0), [("a", 100, 0), ("b", 20, 0)])
    assert stepped.step(at(59), [("a", 200, 0)]) == 15
    assert stepped.step(at(60), [("a", 201, 0)]) == 196
    assert stepped.step(at(61), [("b", 30, 0), ("a", 300, 0)]) == 196
    assert stepped.rejected == 1
    assert stepped.step(at(62), [("b", 298, 0)]) == 293


def test_one_that_is_known_to_have_more_is_not_silent(stepped):
    stepped.step(at(0), [("a", 100, 0), ("b", 20, 0)])
    for seconds in (50, 100, 150):
        assert stepped.step(at(seconds), [("a", 200 + seconds, 0)], unread=["b"]) == 15
    assert stepped.step(at(210), [("a", 500, 0)]) == 495


def test_a_partition_that_is_added_holds_back_from_then_on(stepped):
    assert stepped.step(at(0), [("a", 100, 0)], names=["a"]) == 95
    assert stepped.step(at(1), [("a", 110, 0)]) == 95
    assert stepped.step(at(2), [("b", 101, 0)]) == 96
    assert stepped.step(at(3), [("a", 120, 0)], names=["a"]) == 115
    assert stepped.rejected == 0


def test_time_alone_leaves_out_what_is_silent(stepped):
    stepper = stepped.pipeline._opened().stepper
    stepped.step(at(0), [("b", 20, 0)])
    stepped.step(at(10), [("a", 100, 0)])
    assert stepper.next_timer == at(60)
    assert stepped.step(at(60), names=()) == 95
    assert stepper.next_timer is None
    assert stepped.step(at(600), names=()) == 95


def test_rows_of_no_partition_move_it_as_ever(stepped):
    stepped.step(at(0), [("a", 100, 0), ("b", 20, 0)])
    stepped.pipeline.execute("INSERT INTO t VALUES (50, 1)", clock=at(1))
    assert stepped.line == 45


def test_a_directory_goes_on_with_the_partitions_own_lines(tmp_path):
    first = Stepped(directory=tmp_path)
    first.step(at(0), [("a", 100, 0), ("b", 20, 0)])
    first.step(at(30), [("a", 200, 0)])
    before = first.pipeline._opened().stepper.waterline_facts()
    first.pipeline.close()
    again = Stepped(directory=tmp_path)
    assert again.pipeline.waterline_facts() == before
    assert again.step(at(59), [("a", 201, 0)]) == 15
    assert again.step(at(60), [("a", 202, 0)]) == 197
    again.pipeline.close()


def test_rows_that_are_left_out_take_their_partitions_along():
    table = declared(PLAIN)
    one = batch_of(table, [("a", 1, 0), ("b", 2, 0), ("a", 3, 0)], ["a", "b"])
    other = batch_of(table, [("c", 4, 0), ("a", 5, 0)], ["a", "c"])
    both = concatenated([one.taken(1, 2), other])
    named = [both.partitions.names[place] for place in both.partitions.places.to_pylist()]
    assert list(zip(named, both.rows.column(0).to_pylist(), strict=True)) == [("b", 2), ("a", 3), ("c", 4), ("a", 5)]


class Model:
    """The rule written down a second time, row by row, with sets of everything that was ever said."""

    def __init__(self):
        self.own, self.until, self.line = {}, {}, None

    def step(self, clock, moving, names, spoke, unread):
        for name in list(self.own):
            if name not in names:
                del self.own[name], self.until[name]
        for name in names:
            if name not in self.own or name in spoke or name in unread:
                self.until[name] = clock + IDLE
            self.own.setdefault(name, []).extend(t - 5 for part, t in moving if part == name)
        counting = [name for name in names if self.until[name] > clock]
        last = max(self.until.values())
        counting = counting or [name for name in names if self.until[name] == last]
        if all(self.own[name] for name in counting):
            least = min(max(self.own[name]) for name in counting)
            self.line = least if self.line is None else max(self.line, least)


STEPS = st.lists(
    st.tuples(
        st.integers(0, 90),
        st.integers(2, 4),
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60), st.integers(0, 3)), max_size=6),
        st.sets(st.integers(0, 3), max_size=2),
    ),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize("text", [PLAIN, KEYED], ids=["rows", "keyed"])
@examples(10, 40)
@given(steps=STEPS)
def test_oracle_any_interleaving_moves_the_waterline_as_the_rule_says(text, steps):
    keyed = text is KEYED
    stepped, model, seconds, stored = Stepped(text), Model(), 0, {}
    try:
        for passed, many, rows, unread in steps:
            seconds += passed
            names = list("abcd"[:many])
            # As a broker does it: a key has one partition.
            given_rows = [(names[(k if keyed else part) % many], t, k) for part, t, k in rows]
            waits = [names[item] for item in unread if item < many]
            moving = _accepted(given_rows, stored, model.line) if keyed else [row[:2] for row in given_rows]
            spoke = {part for part, _ in moving} if keyed else {row[0] for row in given_rows}
            model.step(at(seconds), moving, names, spoke, waits)
            assert stepped.step(at(seconds), given_rows, names, waits) == model.line
    finally:
        stepped.pipeline.close()


def _accepted(rows, stored, line):
    """(partition, t) of the rows of the change that operations on keys make, B6; `stored` follows."""
    before, last = dict(stored), {}
    for part, t, k in rows:
        last[k] = part
        held = before.get(k)
        if (line is not None and held is not None and held < line) or (line is not None and t < line):
            continue
        stored[k] = t
    changed = [k for k in last if before.get(k) != stored.get(k)]
    return [(last[k], t) for k in changed for t in (before.get(k), stored.get(k)) if t is not None]


ORDERS = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=8), min_size=1, max_size=4)


@examples(10, 40)
@given(jumps=ORDERS, choices=st.lists(st.integers(0, 3), max_size=40), pause=st.integers(0, 200))
def test_catching_up_makes_nothing_late(jumps, choices, pause):
    """Partitions whose own rows are in order are read in any order, however slowly: no row is late."""
    names = list("abcd"[: len(jumps)])
    waiting = {
        name: [sum(steps[: at + 1]) * 10 for at in range(len(steps))] for name, steps in zip(names, jumps, strict=True)
    }
    stepped, seconds = Stepped(), 0
    order = [names[item % len(names)] for item in choices] + [name for name in names for _ in waiting[name]]
    try:
        for name in order:
            if not waiting[name]:
                continue
            t = waiting[name].pop(0)
            stepped.step(at(seconds), [(name, t, 0)], names, [item for item in names if waiting[item]])
            seconds += pause
            if not waiting[name]:
                names_left = [item for item in names if waiting[item]]
                if not names_left:
                    break
        assert stepped.rejected == 0
    finally:
        stepped.pipeline.close()


def test_settling_is_done_once():
    stepped = Stepped()
    stepped.step(at(0), [("b", 20, 0)])
    stepped.step(at(10), [("a", 100, 0)])
    lateness = stepped.pipeline._opened().stepper._state.tables.known("t").lateness
    stepped.pipeline.close()
    moved = settled(lateness, at(60))
    assert settled(moved, at(60)) == moved
    assert (next_silence(lateness), next_silence(moved)) == (at(60), None)
