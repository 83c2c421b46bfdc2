"""A pipeline with a directory that meets with everything at once, as a state machine of Hypothesis.

    rows, ticks, files, changes of program, receivers that are down, snapshots   ×   kills, full disks, I/O errors

The model is plain Python: the rows of each table, the waterline, the views that there are. After each rule the
pipeline is where the model is, or one step behind if a disaster kept it from stepping, and

* each view is what DuckDB answers to its query over the model's rows;
* what each receiver has been given adds up to its view, up to the steps that it still lacks;
* the files of the output folder add up to what there was to show of windows that close.
"""

from __future__ import annotations

import errno
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from hypothesis import currently_in_test_context, note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.recovery.disasters import Disaster, Killed
from tests.recovery.host import Apart, Failed, Here, Host
from tests.recovery.programs import BEGINNING, DELAY, OUTPUTS, START, VIEWS, Chosen, answers, closed, program
from tests.recovery.target import DOWN, added_up, steps_of

from penstock.catalog.settings import NATIVE, ON_SPARK
from penstock.failpoints import NAMES

_LONG_AGO = datetime(1970, 1, 1)  # noqa: DTZ001

small = st.one_of(st.none(), st.integers(1, 3))
value = st.one_of(st.none(), st.integers(0, 5))
keyed = st.one_of(
    st.tuples(st.just("+"), st.tuples(st.integers(1, 5), small, value)),
    st.tuples(st.just("-"), st.tuples(st.integers(1, 5), small, value)),
    st.tuples(st.just("~"), st.fixed_dictionaries({"id": st.integers(1, 5), "x": value})),
)
seconds = st.one_of(st.none(), st.integers(-40, 3))
changes = st.fixed_dictionaries(
    {},
    optional={
        "keyed": st.lists(keyed, max_size=5),
        "bag": st.lists(st.one_of(st.tuples(small, value), st.integers(0, 20)), max_size=4),
        "timed": st.lists(st.tuples(seconds, small), max_size=4),
    },
)
kills = st.one_of(
    st.builds(Disaster, st.just("kill"), st.integers(1, 60)),
    st.builds(Disaster, st.just("kill"), st.integers(1, 3), st.sampled_from(sorted(NAMES))),
)
failures = st.one_of(
    st.builds(Disaster, st.just("error"), st.integers(1, 60), errno=st.sampled_from([errno.EIO, errno.ENOSPC])),
    st.builds(Disaster, st.just("full"), st.integers(1, 40), errno=st.just(errno.ENOSPC)),
    st.builds(Disaster, st.just("full"), st.integers(1, 40), errno=st.just(errno.EROFS)),
)
maybe = st.one_of(st.none(), st.none(), kills, failures)
chosen_views = st.fixed_dictionaries(
    {name: st.integers(0, len(VIEWS[name]) - 1) for name in OUTPUTS},
    optional={name: st.integers(0, len(forms) - 1) for name, forms in VIEWS.items() if name not in OUTPUTS},
)


@dataclass(frozen=True)
class Model:
    """What there is after a step."""

    step: int = 0
    clock: datetime = START
    keyed: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)
    bag: tuple[tuple[Any, ...], ...] = ()
    timed: tuple[tuple[Any, ...], ...] = ()
    fed: tuple[tuple[Any, ...], ...] = ()
    waterline: datetime | None = None
    late: int = 0
    chosen: Chosen = field(default_factory=lambda: BEGINNING)

    @property
    def tables(self) -> dict[str, list[tuple[Any, ...]]]:
        """The rows of each table."""
        rows = [(key, *rest) for key, rest in self.keyed.items()]
        return {"keyed": rows, "bag": list(self.bag), "timed": list(self.timed), "fed": list(self.fed)}

    def stepped(self, clock: datetime, rows: Mapping[str, Any]) -> Model:
        """After one step more."""
        found = replace(self, step=self.step + 1, clock=clock)
        keyed_rows = dict(self.keyed)
        for operation, row in rows.get("keyed", ()):
            if operation == "+":
                keyed_rows[row[0]] = row[1:]
            elif operation == "-":
                keyed_rows.pop(row[0], None)
            elif row["id"] in keyed_rows and row["x"] is not None:  # an update leaves what it gives no value
                keyed_rows[row["id"]] = (keyed_rows[row["id"]][0], row["x"])
        bag = list(self.bag)
        for operation, row in rows.get("bag", ()):
            bag.append(row) if operation == "+" else bag.remove(row)
        before = self.waterline or _LONG_AGO
        on_time = [row for row in rows.get("timed", ()) if row[0] is None or row[0] >= before]
        times = [row[0] - DELAY for row in rows.get("timed", ()) if row[0] is not None]
        waterline = max([*([] if self.waterline is None else [self.waterline]), *times], default=None)
        return replace(
            found,
            keyed=keyed_rows,
            bag=tuple(bag),
            timed=(*self.timed, *on_time),
            waterline=waterline,
            late=self.late + len(rows.get("timed", ())) - len(on_time),
        )


class Recovering(RuleBasedStateMachine):
    """The machine, whose pipeline works in this process."""

    host_of: Callable[[Path, str], Host] = Here
    engine = NATIVE

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="penstock-recovering-")) / "world"
        (self.folder / "in").mkdir(parents=True)
        self.host = type(self).host_of(self.folder, self.engine)
        self.model = Model()
        self.files: list[tuple[Any, ...]] = []  # the rows of the files that are there
        self.is_open = self.is_fresh = self.met = False
        self.has_ended = False  # a run that comes to the end of its input closes the windows that are open
        self.contents: dict[str, dict[int, Counter[Any]]] = {}  # of the outputs' views, after each step

    @initialize(seconds=st.sampled_from(["0", "0.01", "1000"]), retention=st.sampled_from(["all", "recovery"]))
    def begins(self, seconds: str, retention: str = "all") -> None:
        self.settings = seconds, retention
        self._open()
        self._check()

    def teardown(self) -> None:
        self.host.close()
        shutil.rmtree(self.folder.parent)

    # What can happen

    @rule(rows=changes, later=st.integers(0, 20), disaster=maybe)
    def rows_come(self, rows: dict[str, Any], later: int, disaster: Disaster | None) -> None:
        clock = self.model.clock + timedelta(seconds=later)
        given = self._given(rows, clock)
        self._do("step", given, clock, disaster=disaster, after=self.model.stepped(clock, given))

    @rule(later=st.integers(1, 120), disaster=maybe)
    def the_clock_ticks(self, later: int, disaster: Disaster | None) -> None:
        clock = self.model.clock + timedelta(seconds=later)
        self._do("step", {}, clock, disaster=disaster, after=self.model.stepped(clock, {}))

    @rule()
    def a_step_is_refused(self) -> None:
        self._opened()
        for rows in ({"bag": [("+", (1, 1)), ("-", (9, 9))]}, {"keyed": [("+", (None, 1, 1))]}):
            try:
                self.host.call("step", rows, self.model.clock)
            except Failed as failed:
                _must(failed.told, failed.error)
            else:
                raise AssertionError(rows)
        self._check()

    @rule(rows=st.lists(st.tuples(st.integers(1, 9), small), min_size=1, max_size=3))
    def a_file_comes(self, rows: list[tuple[Any, ...]]) -> None:
        path = self.folder / "in" / f"{len(list((self.folder / 'in').iterdir())):04}.json"
        path.write_text("".join(json.dumps(dict(zip(("id", "k"), row, strict=True))) + "\n" for row in rows))
        self.files += rows

    @rule(disaster=maybe)
    def it_runs(self, disaster: Disaster | None) -> None:
        """Follow the folder to its end, at first under a disaster; whatever comes of that, each row is there once."""
        self._opened()
        self.has_ended = True
        for met in dict.fromkeys((disaster, None)):
            self._receive()
            try:
                self._call("run", self.model.clock, disaster=met)
            except Killed:
                self._open()
            except Failed as failed:
                _must(met is not None, failed.error)
                _must(failed.told, failed.error)
                self._observed()
        step = self._observed()["step"]
        assert step >= self.model.step
        self.model = replace(self.model, step=step, fed=tuple(self.files))
        self._check()

    @rule(chosen=chosen_views, disaster=maybe)
    def the_program_changes(self, chosen: dict[str, int], disaster: Disaster | None) -> None:
        self._opened()
        if chosen == dict(self.model.chosen):
            return
        self._receive()
        self._check()
        after = replace(self.model.stepped(self.model.clock, {}), chosen=chosen)
        text = program(chosen, self.folder, *self.settings)
        self._do("deploy", text, self.model.clock, disaster=disaster, after=after)

    @rule(disaster=st.one_of(st.none(), kills, failures))
    def a_snapshot_is_written(self, disaster: Disaster | None) -> None:
        self._do("snapshot", disaster=disaster, after=self.model)

    @rule()
    def state_is_compacted(self) -> None:
        self._do("compact", disaster=None, after=self.model)

    @rule(disaster=maybe)
    def it_is_left(self, disaster: Disaster | None) -> None:
        self._opened()
        self.is_open = False
        try:
            self.host.call("leave", disaster=disaster)
        except Killed:
            pass
        except Failed as failed:
            raise AssertionError(failed.error) from failed

    @rule()
    def it_is_killed(self) -> None:
        self.host.kill()
        self.is_open = False

    @rule(disaster=st.one_of(kills, failures))
    def it_is_opened_again_under_a_disaster(self, disaster: Disaster) -> None:
        self.host.kill()
        self._open(disaster)
        self._check()

    @rule(name=st.sampled_from(sorted(OUTPUTS)))
    def a_receiver_goes_down(self, name: str) -> None:
        (self.folder / name).mkdir(exist_ok=True)
        (self.folder / name / DOWN).touch()

    @rule()
    def receivers_come_back(self) -> None:
        self._opened()
        self._receive()
        self._check()

    # How it is done

    def _given(self, rows: Mapping[str, Any], clock: datetime) -> dict[str, Any]:
        """Rows for the tables: deletions of rows that are there, times that lie around the clock."""
        found: dict[str, Any] = {name: list(items) for name, items in rows.items() if name == "keyed"}
        there = list(self.model.bag)
        for item in rows.get("bag", ()):
            if not isinstance(item, int):
                found.setdefault("bag", []).append(("+", item))
                there.append(item)
            elif there:
                found.setdefault("bag", []).append(("-", there.pop(item % len(there))))
        if "timed" in rows:
            found["timed"] = [
                (None if after is None else clock + timedelta(seconds=after), k) for after, k in rows["timed"]
            ]
        return found

    def _do(self, name: str, *arguments: Any, disaster: Disaster | None, after: Model) -> None:
        """Make a call that leads to a state, or, under a disaster only, to the one before."""
        self._opened()
        before = self.model
        try:
            self._call(name, *arguments, disaster=disaster)
        except Killed:
            self._after_a_disaster(before, after)
            self._open()
        except Failed as failed:
            _note(f"{name}: {failed.error}")
            _must(failed.told, failed.error)
            down = any((self.folder / output / DOWN).exists() for output in OUTPUTS)
            _must(disaster is not None or down, failed.error)
            self._after_a_disaster(before, after)
            self._observed()
            self.host.call("give")  # the folder of outputs may lack the step
        else:
            self.model = after
        self._check()

    def _call(self, name: str, *arguments: Any, disaster: Disaster | None) -> None:
        """A call that may meet with a disaster; `met` says whether one has."""
        try:
            self.host.call(name, *arguments, disaster=disaster)
        finally:
            self.met = self.met or self.host.happened

    def _after_a_disaster(self, before: Model, after: Model) -> None:
        """The log decides where the pipeline is."""
        manifests = (self.folder / "dir" / "log" / "steps").glob("*.json")
        step = max((int(path.stem) for path in manifests), default=0)
        assert step in {before.step, after.step}
        self.model = after if step == after.step else before

    def _observed(self) -> dict[str, Any]:
        """What the pipeline is, which is opened again if it stands still."""
        try:
            found: dict[str, Any] = self.host.call("observe")
        except Failed as failed:
            _note(f"observe: {failed.error}")
            _must("STATE_BEHIND_LOG" in failed.error, failed.error)
            self.host.kill()
            self._open()
            found = self.host.call("observe")
        return found

    def _opened(self) -> None:
        if not self.is_open:
            self._open()

    def _open(self, disaster: Disaster | None = None) -> None:
        """Open it, if need be again after a disaster, and once its receivers answer."""
        text = program(self.model.chosen, self.folder, *self.settings)
        for met in dict.fromkeys((disaster, None)):
            try:
                self._call("open", text, self.model.clock, disaster=met)
            except Killed:
                continue
            except Failed as failed:
                _note(f"open: {failed.error}")
                _must(failed.told, failed.error)
                self.host.kill()
                if met is None:
                    _must((self.folder / "sums" / DOWN).exists(), failed.error)
                    (self.folder / "sums" / DOWN).unlink()
                    self.host.call("open", text, self.model.clock)
            else:
                break
        self.is_open = self.is_fresh = True

    def _receive(self) -> None:
        """All receivers answer and take what waits."""
        for name in OUTPUTS:
            (self.folder / name / DOWN).unlink(missing_ok=True)
        for _ in range(100):  # one that failed is tried again a little later
            self.host.call("settle")
            if not any(self.host.call("observe")["waiting"].values()):
                return
        raise AssertionError(self.host.call("observe")["waiting"])

    # What is compared

    def _check(self) -> None:
        if not self.is_open:
            return
        found, model = self._observed(), self.model
        assert found["step"] == model.step
        if self.is_fresh:
            self.is_fresh = False
            assert self.host.call("tables") == {name: Counter(rows) for name, rows in model.tables.items()}
        expected = answers(model.chosen, model.tables, model.clock)
        assert found["views"] == expected
        assert found["late"] == model.late
        for name in OUTPUTS:
            self._check_receiver(name, expected[name], waits=found["waiting"][name] > 0)
        if not any(found["waiting"].values()):
            assert files_of(self.folder / "counts") == (expected["counts"] if model.step else Counter())
        if not self.has_ended:
            assert folder_of(self.folder / "out" / "closed") == closed(model.timed, model.waterline)

    def _check_receiver(self, name: str, content: Counter[Any], *, waits: bool) -> None:
        history = self.contents.setdefault(name, {0: Counter()})
        history[self.model.step] = content
        steps = steps_of(self.folder / name)
        given = added_up(iter(steps.values()))
        if not waits:
            assert given == content, f"{name} has {given}, and is {content}"
            history[max(steps, default=0)] = content  # a run makes several steps
        else:
            known = max(step for step in history if step <= max(steps, default=0))
            assert given == history[known], f"{name} has {given}, which it was not after step {known}"


def _must(held: bool, text: str) -> None:  # noqa: FBT001 - as an assertion
    if not held:
        raise AssertionError(text)


def _note(text: str) -> None:
    if currently_in_test_context():
        note(text)


def folder_of(folder: Path) -> Counter[Any]:
    """What an output folder has of a view, added up."""
    rows = [tuple(row.values()) for path in folder.glob("*.parquet") for row in pq.read_table(path).to_pylist()]
    return added_up(iter([[(row[-2], _plain(row[:-2])) for row in rows]]))


def _plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(item.replace(tzinfo=None) if isinstance(item, datetime) else item for item in row)


def files_of(folder: Path) -> Counter[Any]:
    """The rows of a folder of files in the form `retract`, added up."""
    lines = [json.loads(line) for path in folder.glob("part-*") for line in path.read_text().splitlines()]
    return added_up(
        [(1 if what == "insert" else -1, tuple(row.values()))] for line in lines for what, row in line.items()
    )


class RecoveringApart(Recovering):
    """The same with a pipeline in a process of its own, which is really killed."""

    host_of = Apart


class RecoveringOnSpark(Recovering):
    """The same with operators on Spark, some of whose rows lie on the executors."""

    engine = ON_SPARK
