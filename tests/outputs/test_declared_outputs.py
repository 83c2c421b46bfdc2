"""Outputs that the program declares: what they are given, in which form, once; what they refuse before the start."""

import errno
import json
import threading
import types

import pyarrow.parquet as pq
import pytest

import penstock
from penstock.bind.program.compile import compile_program
from penstock.cli.commands.check import command as check
from penstock.errors import DataError, SqlError, UnsupportedError
from penstock.outputs import installed
from penstock.outputs.connectors import outlets_of
from penstock.outputs.files import folder
from penstock.outputs.forms import Form, formed
from penstock.outputs.receiver import unreachable
from penstock.pipeline import outlets
from penstock.pipeline.outlets import Outlets
from penstock.pipeline.parcels import ParcelFiles
from penstock.pipeline.supported import check_supported
from penstock.steps.events import OutputAtLeastOnce, OutputFailed, StepDone

T = "CREATE TABLE t (k STRING, v INT);"
DOWN = unreachable("the target", "it went away before it had answered")
SUMS = "SELECT k, SUM(v) AS s FROM t GROUP BY k"


class Target:
    """A receiver in memory, which outlives those who open it; `fails` says what it does next."""

    def __init__(self):
        self.steps = []
        self.fails = []
        self.opened = 0
        self.lost_after_taking = False
        self.gate = threading.Event()
        self.gate.set()

    def taken(self):
        return max((step for step, _ in self.steps), default=0)

    def take(self, change):
        self.gate.wait()
        if self.fails:
            raise self.fails.pop(0)
        self.steps.append((change.step, sorted(change.rows)))
        if self.lost_after_taking:
            self.lost_after_taking = False
            raise DOWN

    def close(self):
        pass


@pytest.fixture
def target(monkeypatch):
    """The connector `memory`, and the one target of it."""
    found = Target()

    def open_receiver(sink, form, owner):
        found.opened += 1
        found.columns, found.form, found.owner = [item.name for item in sink.columns], form, owner
        return found

    module = types.SimpleNamespace(
        PROPERTIES=(),
        FORMS=tuple(Form),
        CHOSEN=(Form.APPEND, Form.UPSERT),
        check_sink=lambda *_: None,
        target_of=lambda sink: f"memory of {sink.name}",
        weakness_of=lambda _: None,
        open_receiver=open_receiver,
    )
    point = types.SimpleNamespace(name="memory", value="memory", load=lambda: module)
    monkeypatch.setattr(installed, "entry_points", lambda group: [point] if group == installed.GROUP else [])
    return found


def opened(text, **options):
    return penstock.Pipeline(text, engine="native", **options)


def refused(text):
    with pytest.raises(SqlError) as caught:
        check_supported(compile_program(text).catalog)
    return caught.value.diagnostics


def test_a_view_gives_its_changes_step_by_step(target):
    with opened(f"{T} CREATE VIEW v WITH ('connector' = 'memory') AS {SUMS};") as pipeline:
        pipeline.step({"t": [("a", 1), ("b", 2)]})
        pipeline.step({"t": []})
        pipeline.execute("INSERT INTO t VALUES ('a', 4)")
        (fact,) = pipeline.outputs()
    assert target.steps == [(1, [(1, ("a", 1)), (1, ("b", 2))]), (3, [(-1, ("a", 1)), (1, ("a", 5))])]
    assert (fact.form, fact.key, fact.step, fact.waiting, fact.state) == ("upsert", ("k",), 3, 0, "up to date")


def test_a_table_that_is_written_gives_its_changes(target):
    sink = "CREATE TABLE answers (k STRING, s BIGINT, PRIMARY KEY (k)) WITH ('connector' = 'memory');"
    with opened(f"{T} {sink} SET dialect = 'flink'; INSERT INTO answers {SUMS};") as pipeline:
        pipeline.step({"t": [("a", 1)]})
        pipeline.step({"t": [("-", ("a", 1))]})
        assert pipeline.query("SELECT * FROM answers").rows == []
    assert target.steps == [(1, [(1, ("a", 1))]), (2, [(-1, ("a", 1))])]


def test_a_step_that_is_refused_is_given_to_nobody(target):
    sink = "CREATE TABLE answers (k STRING) WITH ('connector' = 'memory', 'form' = 'append');"
    with opened(sink) as pipeline:
        pipeline.execute("INSERT INTO answers VALUES ('a')")
        with pytest.raises(DataError, match="can only be added to"):
            pipeline.execute("DELETE FROM answers WHERE k = 'a'")
        assert pipeline.query("SELECT k FROM answers").rows == [("a",)]
        pipeline.execute("INSERT INTO answers VALUES ('b')")
    assert [step for step, _ in target.steps] == [1, 2]


def test_only_who_writes_opens_outputs(target):
    with opened(f"{T} CREATE VIEW v WITH ('connector' = 'memory') AS {SUMS};", writes=False) as pipeline:
        pipeline.step({"t": [("a", 1)]})
    assert (target.opened, target.steps) == (0, [])


def test_an_output_that_took_a_step_and_did_not_say_so_is_not_given_it_again(target):
    target.lost_after_taking = True
    with opened(f"{T} CREATE VIEW v WITH ('connector' = 'memory') AS {SUMS};") as pipeline:
        pipeline.step({"t": [("a", 1)]})
    assert ([step for step, _ in target.steps], target.opened) == ([1], 2)


@pytest.fixture
def full(monkeypatch):
    """As often as there is something in this list no file of steps can be finished; a step can be staged."""
    write, found = folder._write, []

    def written(path, content):
        if found and path.name.startswith("part-"):
            found.pop()
            raise OSError(28, "No space left on device")
        write(path, content)

    monkeypatch.setattr(folder, "_write", written)
    return found


def into(path, more=""):
    said = f"'connector' = 'files', 'path' = '{path}', 'form' = 'retract'{more}"
    return f"{T} CREATE VIEW v WITH ({said}) AS {SUMS};"


def finished(path):
    return [file.read_text() for file in path.glob("part-*")]


def test_a_file_that_could_not_be_finished_waits_for_no_later_step(tmp_path, full):
    with opened(into(tmp_path)) as pipeline:
        full += [1, 2, 3]
        pipeline.step({"t": [("a", 1)]})
        assert (finished(tmp_path), full) == (['{"insert": {"k": "a", "s": 1}}\n'], [])


def test_a_file_that_could_not_be_finished_at_the_end_of_a_run_is_by_the_next(tmp_path, full):
    with opened(into(tmp_path, ", 'roll_steps' = '9'")) as pipeline:
        pipeline.step({"t": [("a", 1)]})
        full += [1]
        with pytest.raises(DataError, match="No space left"):
            pipeline.run(once=True)
        assert finished(tmp_path) == []
        pipeline.run(once=True)
        assert finished(tmp_path) == ['{"insert": {"k": "a", "s": 1}}\n']


def test_a_receiver_that_goes_away_is_tried_until_its_time_is_up(target):
    told = []
    view = f"CREATE VIEW v WITH ('connector' = 'memory', 'timeout' = '0 seconds') AS {SUMS};"
    with opened(T + view, on_event=told.append) as pipeline:
        target.fails = [unreachable("the target", "it is down")]
        with pytest.raises(DataError, match="it is down"):
            pipeline.step({"t": [("a", 1)]})
        assert [event.message for event in told if isinstance(event, OutputFailed)] != []
        pipeline.step({"t": [("b", 1)]})
    assert [step for step, _ in target.steps] == [1, 2]


class Given:
    """An output that is given changes by hand."""

    def __init__(self, name="given", refuses=0):
        self.name, self.refuses, self.steps = name, refuses, []

    def describe(self):
        return self.name

    def write(self, changes):
        if self.refuses:
            self.refuses -= 1
            raise OSError(28, "no room")
        self.steps.append((changes["v"].step, sorted(changes["v"].rows)))

    def close(self):
        pass


NO_WAIT = f"{T} CREATE VIEW v WITH ('connector' = 'memory', 'timeout' = '0 seconds') AS {SUMS};"
FIRST, SECOND, THIRD = (
    (1, [(1, ("a", 1))]),
    (2, [(-1, ("a", 1)), (1, ("a", 3))]),
    (3, [(-1, ("a", 3)), (1, ("a", 7))]),
)


def fails_with_the_second(target, pipeline):
    target.fails = [DOWN]
    with pytest.raises(DataError, match="it went away"):
        pipeline.step({"t": [("a", 2)]})
    assert pipeline.steps == 2


@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "in a directory"])
def test_what_a_step_that_an_output_failed_with_has_changed_is_given_before_the_next(target, tmp_path, kept):
    given = Given()
    with opened(NO_WAIT, directory=tmp_path if kept else None) as pipeline:
        pipeline.give([given])
        pipeline.give([given], pipeline.step({"t": [("a", 1)]}))
        fails_with_the_second(target, pipeline)
        pipeline.give([given], pipeline.step({"t": [("a", 4)]}))
        pipeline.give([given])
    assert given.steps == target.steps == [FIRST, SECOND, THIRD]
    if kept:
        assert json.loads((tmp_path / "outputs.json").read_text())["taken"] == {"given": 3}


def test_no_step_is_made_while_an_output_does_not_take_the_one_before(target):
    with opened(NO_WAIT) as pipeline:
        pipeline.step({"t": [("a", 1)]})
        fails_with_the_second(target, pipeline)
        target.fails = [DOWN, DOWN]
        with pytest.raises(DataError, match="no step is made while an earlier one waits") as caught:
            pipeline.execute("INSERT INTO t VALUES ('a', 9)")
        assert (caught.value.code, pipeline.steps) == ("OUTPUT_WAITS", 2)
        pipeline.begin()
        pipeline.step({"t": [("a", 4)]})
        with pytest.raises(DataError, match="no step is made while an earlier one waits"):
            pipeline.commit()
        assert pipeline.in_transaction
        pipeline.commit()
    assert target.steps == [FIRST, SECOND, THIRD]


def test_an_output_that_begins_behind_a_failed_step_begins_with_it(target):
    given = Given()
    with opened(NO_WAIT) as pipeline:
        pipeline.step({"t": [("a", 1)]})
        fails_with_the_second(target, pipeline)
        pipeline.give([given])
        assert given.steps == [SECOND]


def test_each_of_the_outputs_gets_a_failed_step_once(target):
    one, other, slow = Given("one"), Given("other"), Given("slow", refuses=2)
    with opened(NO_WAIT) as pipeline:
        changes = pipeline.step({"t": [("a", 1)]})
        pipeline.give([one], changes)
        pipeline.give([other], changes)
        with pytest.raises(OSError, match="no room"):
            pipeline.give([slow], changes)
        fails_with_the_second(target, pipeline)
        with pytest.raises(OSError, match="no room"):
            pipeline.give([one])
        changes = pipeline.step({"t": [("a", 4)]})
        for item in (slow, other, one):
            pipeline.give([item], changes)
    assert one.steps == other.steps == slow.steps == [FIRST, SECOND, THIRD]


def test_a_step_before_a_statement_that_is_refused_is_given_with_the_next():
    given = Given()
    with opened(f"{T} CREATE VIEW v AS {SUMS};") as pipeline:
        pipeline.give([given], pipeline.execute("INSERT INTO t VALUES ('a', 1)"))
        with pytest.raises(SqlError, match="nowhere"):
            pipeline.execute("INSERT INTO t VALUES ('a', 2); INSERT INTO nowhere VALUES (1)")
        pipeline.run(once=True, outputs=[given])
    assert given.steps == [FIRST, SECOND, (3, [])]


def test_an_output_that_is_left_behind_keeps_its_steps(target):
    view = f"CREATE VIEW v WITH ('connector' = 'memory', 'on_output_error' = 'continue') AS {SUMS};"
    with opened(T + view) as pipeline:
        target.fails = [ValueError("no such row")]
        pipeline.step({"t": [("a", 1)]})
        pipeline.step({"t": [("b", 1)]})
        (fact,) = pipeline.outputs()
    assert (fact.state, fact.waiting, fact.error) == ("refused", 2, "no such row")


@pytest.fixture
def slow(target, monkeypatch):
    """The target, which takes nothing until its gate is open; the pipeline waits a moment for it."""
    monkeypatch.setattr(outlets, "_PATIENCE", 0.05)
    target.gate.clear()
    yield target
    target.gate.set()


LEFT_BEHIND = f"CREATE VIEW v WITH ('connector' = 'memory', 'on_output_error' = 'continue') AS {SUMS};"


@pytest.mark.parametrize("engine", ["native", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.extended])])
def test_others_go_on_while_an_output_answers_slowly(slow, tmp_path, engine):
    files = f"CREATE VIEW w WITH ('connector' = 'files', 'path' = '{tmp_path}/w', 'form' = 'retract') AS {SUMS};"
    program = T + LEFT_BEHIND + files
    with penstock.Pipeline(program, engine=engine, directory=tmp_path / "state") as pipeline:
        for value in (1, 2, 3):
            pipeline.step({"t": [("a", value)]})
        facts = {fact.name: (fact.state, fact.step, fact.waiting) for fact in pipeline.outputs()}
        assert facts == {"v": ("waiting", 0, 3), "w": ("up to date", 3, 0)}
        slow.gate.set()
        pipeline._opened().outlets.rest()
        assert [(fact.state, fact.waiting) for fact in pipeline.outputs()] == [("up to date", 0)] * 2
    assert slow.steps == [
        (1, [(1, ("a", 1))]),
        (2, [(-1, ("a", 1)), (1, ("a", 3))]),
        (3, [(-1, ("a", 3)), (1, ("a", 6))]),
    ]
    assert slow.opened == 1


def test_a_pipeline_that_ends_waits_for_a_step_that_is_being_taken(slow, tmp_path):
    with opened(T + LEFT_BEHIND, directory=tmp_path) as pipeline:
        pipeline.step({"t": [("a", 1)]})
        threading.Timer(0.2, slow.gate.set).start()
    assert [step for step, _ in slow.steps] == [1]
    with opened(T + LEFT_BEHIND, directory=tmp_path) as pipeline:
        pipeline.step({"t": [("a", 2)]})
    assert [step for step, _ in slow.steps] == [1, 2]


def test_what_a_slow_output_fails_with_is_told_and_tried_again(slow):
    told = []
    with opened(T + LEFT_BEHIND, on_event=told.append) as pipeline:
        pipeline.step({"t": [("a", 1)]})
        slow.fails = [unreachable("the target", "it is down")]
        slow.gate.set()
        pipeline._opened().outlets.rest()
        (fact,) = pipeline.outputs()
        assert (fact.state, fact.waiting) == ("failing", 1)
        assert [event.step for event in told if isinstance(event, OutputFailed)] == [1]
        pipeline._opened().outlets._lines["v"].failure.again = 0
        pipeline.step({"t": [("b", 1)]})
    assert [step for step, _ in slow.steps] == [1, 2]


def test_more_than_can_be_kept_for_a_slow_output_is_waited_for(slow, monkeypatch):
    monkeypatch.setattr(outlets, "_MOST_WAITING", 2)
    with opened(T + LEFT_BEHIND) as pipeline:
        pipeline.step({"t": [("a", 1)]})
        pipeline.step({"t": [("b", 1)]})
        threading.Timer(0.2, slow.gate.set).start()
        pipeline.step({"t": [("c", 1)]})
        (fact,) = pipeline.outputs()
    assert (fact.waiting, [step for step, _ in slow.steps]) == (0, [1, 2, 3])


def test_a_disk_that_is_full_when_a_step_is_noted_is_tried_again(target, tmp_path, monkeypatch):
    view = f"CREATE VIEW v WITH ('connector' = 'memory', 'on_output_error' = 'continue') AS {SUMS};"
    noted, full = ParcelFiles.took, [OSError(errno.ENOSPC, "No space left on device")]

    def took(files, output, step):
        if full:
            raise full.pop()
        noted(files, output, step)

    monkeypatch.setattr(ParcelFiles, "took", took)
    with opened(T + view, directory=tmp_path) as pipeline:
        pipeline.step({"t": [("a", 1)]})
        (fact,) = pipeline.outputs()
        assert (fact.state, fact.waiting) == ("failing", 1)
        pipeline._opened().outlets._lines["v"].failure.again = 0
        pipeline.step({"t": [("b", 1)]})
        (fact,) = pipeline.outputs()
    assert (fact.state, fact.waiting, fact.error) == ("up to date", 0, None)
    assert [step for step, _ in target.steps] == [1, 2]


def test_an_output_that_is_created_while_the_pipeline_works_has_all_of_its_view(target):
    with opened(T) as pipeline:
        pipeline.step({"t": [("a", 1)]})
        pipeline.execute(f"CREATE VIEW v WITH ('connector' = 'memory') AS {SUMS}")
        pipeline.step({"t": [("a", 2)]})
        assert target.steps == [(2, [(1, ("a", 3))])]
        with pytest.raises(UnsupportedError, match="cannot be replaced"):
            pipeline.execute("CREATE OR REPLACE VIEW v WITH ('connector' = 'memory') AS SELECT DISTINCT k FROM t")


def test_what_waits_in_a_directory_is_given_to_who_opens_it_next(target, tmp_path):
    program = f"{T} CREATE VIEW v WITH ('connector' = 'memory', 'timeout' = '0 seconds') AS {SUMS};"
    with opened(program, directory=tmp_path) as pipeline:
        target.fails = [unreachable("the target", "down")]
        with pytest.raises(DataError, match="down"):
            pipeline.execute("INSERT INTO t VALUES ('a', 1)")
        workspace, catalog, owner = pipeline._opening.workspace, pipeline.catalog, target.owner
    again = Outlets(owner, lambda _: None)
    again.follow(catalog)
    again.start(1, workspace)
    again.settle()
    assert target.steps == [(1, [(1, ("a", 1))])]
    assert [path.name for path in (tmp_path / "outbox" / "v").iterdir()] == ["000000000001.taken"]
    target.steps.pop()
    behind = Outlets(owner, lambda _: None)
    behind.follow(catalog)
    with pytest.raises(DataError, match="which had given it step 1"):
        behind.start(1, workspace)
    target.steps.append((7, []))
    with pytest.raises(DataError, match="has step 7 of this pipeline, which is at step 1"):
        behind.start(1, workspace)


def test_a_step_that_never_happened_is_forgotten(target, tmp_path):
    program = f"{T} CREATE VIEW v WITH ('connector' = 'memory') AS {SUMS};"
    with opened(program, directory=tmp_path) as pipeline:
        pipeline.step({"t": [("a", 1)]})
        workspace, catalog, owner = pipeline._opening.workspace, pipeline.catalog, target.owner
    folder = tmp_path / "outbox" / "v"
    (folder / "000000000002.arrow").write_bytes((folder / "000000000001.taken").read_bytes())
    again = Outlets(owner, lambda _: None)
    again.follow(catalog)
    again.start(1, workspace)
    again.settle()
    assert [step for step, _ in target.steps] == [1]


UPSERT = "VIEW v WITH ('connector' = 'print', 'form' = 'upsert'{}) AS {}"
REFUSED = (
    ("VIEW v WITH ('connector' = 'fiels') AS SELECT 1 AS a", "UNKNOWN_CONNECTOR", "fiels"),
    ("VIEW v WITH ('connector' = 'files') AS SELECT 1 AS a", "MISSING_PROPERTY", "path"),
    ("VIEW v WITH ('connector' = 'files', 'path' = 'x', 'roll_steps' = '0') AS SELECT 1 AS a", "BAD_PROPERTY", "0"),
    ("LOCAL VIEW v WITH ('connector' = 'print') AS SELECT 1 AS a", "NOT_AN_OUTPUT", "LOCAL"),
    (f"VIEW v WITH ('connector' = 'files', 'path' = 'x') AS {SUMS}", "TAKES_ROWS_BACK", "Aggregate"),
    ("VIEW v WITH ('connector' = 'files', 'path' = 'x') AS SELECT k FROM t", "TAKES_ROWS_BACK", "deletions"),
    (UPSERT.format("", "SELECT k FROM t"), "VIEW_WITHOUT_KEY", "no key"),
    (UPSERT.format(", 'key' = 'x'", "SELECT k FROM t"), "UNKNOWN_COLUMN", "x"),
    (UPSERT.format(", 'key' = 's'", SUMS), "KEY_DIFFERS", "several rows"),
    ("VIEW v WITH ('connector' = 'print', 'form' = 'upsrt') AS SELECT k FROM t", "BAD_PROPERTY", "upsrt"),
    (UPSERT.format("", f"{SUMS} EMIT PERIODIC 5s"), "VIEW_WITHOUT_KEY", "does not say which have gone"),
)


@pytest.mark.parametrize(("view", "code", "said"), REFUSED)
def test_what_cannot_be_is_said_before_the_start(view, code, said):
    (found, *_) = refused(f"{T} CREATE {view}")
    assert found.code == code
    assert said in found.message


def test_the_operator_that_takes_rows_back_is_shown_in_the_text():
    text = f"{T} CREATE VIEW v WITH ('connector' = 'files', 'path' = 'x') AS {SUMS}"
    (found,) = refused(text)
    assert text[found.span.start : found.span.end].startswith("SUM")


def test_two_outputs_cannot_write_one_place():
    views = "".join(
        f"CREATE VIEW {name} WITH ('connector' = 'files', 'path' = 'out', 'form' = 'retract') AS {SUMS};"
        for name in ("a", "b")
    )
    (found,) = refused(T + views)
    assert found.code == "OUTPUT_TWICE"


def test_rows_that_are_final_are_only_added():
    table = "CREATE TABLE t (k STRING, at TIMESTAMP LATENESS INTERVAL 1 HOUR);"
    final = (
        "CREATE VIEW v WITH ('connector' = 'files', 'path' = 'x', 'emit_final' = 'at') AS SELECT DISTINCT at FROM t;"
    )
    shown = (
        "CREATE VIEW w WITH ('connector' = 'files', 'path' = 'y') AS SELECT window_start, window_end, COUNT(*) AS n "
        "FROM tumble(t, at, 1h) GROUP BY window_start, window_end EMIT AFTER WATERMARK;"
    )
    forms = [outlet.form for outlet in outlets_of(compile_program(table + final + shown).catalog)]
    assert forms == [Form.APPEND, Form.APPEND]


def rows_of(folder):
    return [json.loads(line) for path in sorted(folder.glob("part-*.json")) for line in path.read_text().splitlines()]


def test_files_hold_what_a_table_reads_again(tmp_path):
    view = f"CREATE VIEW v WITH ('connector' = 'files', 'path' = '{tmp_path}/out', 'form' = 'upsert') AS {SUMS};"
    with opened(T + view) as pipeline:
        for rows in ([("a", 1), ("b", 2)], [("a", 4), ("-", ("b", 2))], [("c", None)]):
            pipeline.step({"t": rows})
        wanted = sorted(pipeline.query("SELECT * FROM v").rows)
    assert rows_of(tmp_path / "out")[2:4] == [{"insert": {"k": "a", "s": 5}}, {"delete": {"k": "b", "s": 2}}]
    table = "CREATE TABLE r (k STRING, s BIGINT, PRIMARY KEY (k)) WITH ('connector' = 'files', 'path' = '{}');"
    with opened(table.format(tmp_path / "out")) as reader:
        reader.run(once=True)
        assert sorted(reader.query("SELECT * FROM r").rows) == wanted


@pytest.mark.parametrize("style", ["json", "csv", "parquet"])
def test_files_are_finished_after_so_many_steps_and_at_the_end(tmp_path, style):
    out = tmp_path / "out"
    properties = (
        f"'connector' = 'files', 'path' = '{out}', 'format' = '{style}', 'form' = 'changelog', 'roll_steps' = '2'"
    )
    with opened(f"{T} CREATE VIEW v WITH ({properties}) AS {SUMS};") as pipeline:
        for at in range(3):
            pipeline.step({"t": [("a", at), ('b\n"', 1)]})
        assert [path.name for path in out.glob("part-*")] == [f"part-000000000001-000000000002.{style}"]
    first, second = sorted(out.glob("part-*"))
    assert second.name == f"part-000000000003-000000000003.{style}"
    if style == "parquet":
        found = [tuple(row.values()) for row in pq.read_table(first).to_pylist()]
        assert found[:2] == [("+I", "a", 0), ("+I", 'b\n"', 1)]
        assert len(found) == 6
    elif style == "csv":
        assert first.read_text().startswith('__op,k,s\n+I,a,0\n+I,"b\n\\"",1\n-U,a,0\n+U,a,1\n')
    else:
        assert json.loads(first.read_text().splitlines()[0]) == {"__op": "+I", "k": "a", "s": 0}


def test_a_folder_is_one_pipelines_unless_it_is_replaced(tmp_path):
    properties = f"'connector' = 'files', 'path' = '{tmp_path}/out', 'form' = 'retract'"
    program = f"{T} CREATE VIEW v WITH ({{}}) AS {SUMS};"
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    for _ in range(2):
        with opened(program.format(f"{properties}, 'on_other_pipeline' = 'replace'")) as pipeline:
            pipeline.step({"t": [("a", 1)]})
    assert rows_of(tmp_path / "out") == [{"insert": {"k": "a", "s": 1}}]
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"
    pipeline = opened(program.format(properties))
    with pytest.raises(DataError) as caught:
        pipeline.step({"t": [("a", 1)]})
    pipeline.close()
    assert caught.value.diagnostics[0].code == "OUTPUT_IN_USE"


def test_printed_lines_name_step_view_and_what_was_done(capsys):
    with opened(f"{T} CREATE VIEW v WITH ('connector' = 'print') AS {SUMS};") as pipeline:
        pipeline.step({"t": [("a", 1)]})
        pipeline.step({"t": [("a", 4)]})
    assert capsys.readouterr().out == "step 1  v  +I  (a, 1)\nstep 2  v  -U  (a, 1)\nstep 2  v  +U  (a, 5)\n"


def test_what_goes_into_a_black_hole_is_made_and_gone(capsys):
    holes = "WITH ('connector' = 'blackhole')"
    program = f"""{T} CREATE VIEW v {holes} AS {SUMS};
    CREATE TABLE nowhere (k STRING, s BIGINT, PRIMARY KEY (k)) {holes};
    INSERT INTO nowhere SELECT k, v FROM t;"""
    with opened(program) as pipeline:
        change = pipeline.step({"t": [("a", 1)]})["v"]
        assert list(change.rows) == [(1, ("a", 1))]
        said = "output: v → nowhere: changelog, at least once, because nothing is kept of a step"
        assert pipeline.explain("v").splitlines()[-1] == said
        pipeline.step({"t": [("-", ("a", 1))]})
        assert pipeline.content("v").rows == []
    assert capsys.readouterr().out == ""
    (found, *_) = refused(f"{T} CREATE VIEW v WITH ('connector' = 'blackhole', 'format' = 'json') AS {SUMS}")
    assert found.code == "UNKNOWN_PROPERTY"


def test_a_key_that_several_rows_leave_and_one_takes_is_upserted_once():
    rows = [(-1, ("a", 1)), (1, ("a", 2)), (-1, ("b", 1))]
    assert list(formed(rows, Form.UPSERT, (0,))) == [("upsert", ("a", 2)), ("delete", ("b", None))]


def test_explain_and_show_name_outputs(tmp_path):
    view = f"CREATE VIEW v WITH ('connector' = 'files', 'path' = '{tmp_path}/out', 'form' = 'upsert') AS {SUMS};"
    with opened(T + view) as pipeline:
        assert pipeline.explain("v").splitlines()[-1] == f"output: v → {tmp_path}/out: upsert by (k), exactly once"


def test_an_address_that_is_a_secret_as_a_whole_is_named_by_it():
    place = "WITH ('connector' = 'postgres', 'connection' = '{}', 'table' = 'public.v')"
    text = f"{T}CREATE VIEW v {place.format('${env:SHOP_DATABASE}')} AS SELECT k, COUNT(*) AS n FROM t GROUP BY k;"
    (outlet,) = outlets_of(compile_program(text).catalog)
    assert outlet.connector.target_of(outlet.sink) == "table public.v at ${env:SHOP_DATABASE}"


def test_an_output_that_may_be_given_a_step_twice_says_so_before_it_is_given_one(capsys):
    program = f"{T} CREATE VIEW v WITH ('connector' = 'print') AS {SUMS};"
    events = []
    with opened(program, on_event=events.append) as pipeline:
        pipeline.step({"t": [("a", 1)]})
        pipeline.execute(f"CREATE VIEW w WITH ('connector' = 'print') AS {SUMS}")
    said = [(type(event), str(event)) for event in events if isinstance(event, OutputAtLeastOnce | StepDone)]
    assert [kind for kind, _ in said] == [OutputAtLeastOnce, StepDone, OutputAtLeastOnce]
    assert said[0][1] == "output v → stdout: changelog, at least once, because stdout keeps no number of a step"
    capsys.readouterr()
    assert check.main(["-e", program], standalone_mode=False) == 0
    assert said[0][1] in capsys.readouterr().err
