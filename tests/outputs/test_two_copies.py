"""Two copies of one directory at work at once: the one that writes first goes on, the other stops and says why."""

import json
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest import mock

import pytest

import penstock
from penstock.errors import DataError
from penstock.outputs.files import claims
from penstock.outputs.receiver import Owner, refused
from penstock.steps.directory import directory_id
from penstock.steps.openings import FILE, Openings

T = "CREATE TABLE t (k STRING, v INT);"
SUMS = "SELECT k, SUM(v) AS s FROM t GROUP BY k"
LAKES = ("delta", "iceberg")
KINDS = ("files", *LAKES)


class Target:
    """A target of a kind: the program that writes it, and its content."""

    def __init__(self, kind, path, **said):
        self.kind, self.path = kind, path
        self.lake = {"type": "sql", "uri": f"sqlite:///{path}/lake.db", "warehouse": f"file://{path}/lake"}
        words = {"connector": kind, "form": "upsert", "timeout": "0.1 seconds", **said}
        if kind == "iceberg":
            (path / "lake").mkdir()
            words |= {"table": "shop.out", **{f"catalog.{name}": value for name, value in self.lake.items()}}
        else:
            words["path"] = path / "out"
        listed = ", ".join(f"'{name}' = '{value}'" for name, value in words.items())
        self.program = f"{T} CREATE VIEW v WITH ({listed}) AS {SUMS};"

    def iceberg(self):
        catalogs = pytest.importorskip("pyiceberg.catalog")
        return catalogs.load_catalog("default", **self.lake).load_table("shop.out")

    def content(self):
        if self.kind == "files":
            lines = [line for path in sorted((self.path / "out").glob("part-*")) for line in path.open()]
            found = {}
            for line in map(json.loads, lines):
                found |= {row["k"]: row["s"] for done, row in line.items() if done == "insert"}
            return sorted(found.items())
        if self.kind == "delta":
            rows = pytest.importorskip("deltalake").DeltaTable(str(self.path / "out")).to_pyarrow_table().to_pylist()
        else:
            rows = self.iceberg().scan().to_arrow().to_pylist()
        return sorted((row["k"], row["s"]) for row in rows)

    def steps(self):
        """The steps that have been written, in order."""
        if self.kind == "files":
            return [int(path.stem.rpartition("-")[2]) for path in sorted((self.path / "out").glob("part-*"))]
        if self.kind == "delta":
            history = pytest.importorskip("deltalake").DeltaTable(str(self.path / "out")).history()
            return sorted(int(commit["penstock.step"]) for commit in history if "penstock.step" in commit)
        said = [snapshot.summary["penstock.step"] for snapshot in self.iceberg().snapshots()]
        return [int(step) for step in dict.fromkeys(said)]


@pytest.fixture(params=KINDS)
def target(request, tmp_path):
    return Target(request.param, tmp_path)


def opened(text, directory):
    return penstock.Pipeline(text, engine="native", directory=directory)


def code_of(work):
    with pytest.raises(DataError) as caught:
        work()
    return caught.value.diagnostics[0].code


def copy_of(directory, copy):
    shutil.copytree(directory, copy)
    (copy / "lock").unlink()
    return copy


def copied(text, folder):
    """A pipeline after one step, and the directory of a copy that was made while it was at work."""
    mine = opened(text, folder / "mine")
    mine.step({"t": [("a", 1)]})
    return mine, copy_of(folder / "mine", folder / "copy")


def test_a_target_is_that_of_the_copy_that_wrote_first(target, tmp_path):
    mine, directory = copied(target.program, tmp_path)
    with opened(target.program, directory) as copy:
        copy.step({"t": [("b", 10)]})
        assert code_of(lambda: mine.step({"t": [("c", 100)]})) == "COPIED_DIRECTORY"
        copy.step({"t": [("b", 10)]})
    mine.close()
    assert code_of(lambda: opened(target.program, tmp_path / "mine").steps) == "COPIED_DIRECTORY"
    assert (target.content(), target.steps()) == ([("a", 1), ("b", 20)], [1, 2, 3])
    with opened(target.program, directory) as copy:
        copy.step({"t": [("b", 10)]})
    assert (target.content(), target.steps()) == ([("a", 1), ("b", 30)], [1, 2, 3, 4])


def test_the_directory_itself_goes_on_where_the_copy_comes_too_late(target, tmp_path):
    mine, directory = copied(target.program, tmp_path)
    copy = opened(target.program, directory)
    assert copy.steps == 1
    mine.step({"t": [("c", 100)]})
    mine.step({"t": [("c", 100)]})
    assert code_of(lambda: copy.step({"t": [("b", 10)]})) == "COPIED_DIRECTORY"
    copy.close()
    mine.step({"t": [("c", 100)]})
    mine.close()
    assert (target.content(), target.steps()) == ([("a", 1), ("c", 300)], [1, 2, 3, 4])


def test_a_directory_that_is_moved_goes_on(target, tmp_path):
    for name, other in (("one", "two"), ("two", "three")):
        with opened(target.program, tmp_path / name) as pipeline:
            pipeline.step({"t": [("a", 1)]})
        (tmp_path / name).rename(tmp_path / other)
    with opened(target.program, tmp_path / "three") as pipeline:
        pipeline.step({"t": [("a", 1)]})
    assert (target.content(), target.steps()) == ([("a", 3)], [1, 2, 3])


def test_a_target_of_an_earlier_release_gets_marks(target, tmp_path):
    with mock.patch.object(Openings, "mark", return_value=None), opened(target.program, tmp_path / "mine") as pipeline:
        pipeline.step({"t": [("a", 1)]})
    (tmp_path / "mine" / FILE).unlink()
    if target.kind == "files":
        claim = tmp_path / "out" / claims.CLAIM
        claim.write_text(json.dumps({name: value for name, value in json.loads(claim.read_text()).items() if value}))
        assert "marks" not in claim.read_text()
    mine, directory = opened(target.program, tmp_path / "mine"), copy_of(tmp_path / "mine", tmp_path / "copy")
    mine.step({"t": [("a", 1)]})
    assert code_of(lambda: opened(target.program, directory).step({"t": [("b", 1)]})) == "COPIED_DIRECTORY"
    mine.close()
    assert (target.content(), target.steps()) == ([("a", 2)], [1, 2])


def test_a_step_that_waits_in_both_is_written_once(target, tmp_path):
    """It has been made before the directory was copied: it is the same step in both, whoever writes it."""
    mine = opened(target.program, tmp_path / "mine")
    mine.step({"t": [("a", 1)]})
    (line,) = mine._execution.outlets._lines.values()
    with mock.patch.object(line.receiver, "take", side_effect=refused("it", "not now")), pytest.raises(DataError):
        mine.step({"t": [("b", 2)]})
    directory = copy_of(tmp_path / "mine", tmp_path / "copy")
    mine.close()
    copy = opened(target.program, directory)
    with opened(target.program, tmp_path / "mine") as mine:
        assert (mine.steps, copy.steps) == (2, 2)
        for pipeline in (mine, copy):
            pipeline._execution.outlets.settle()
        mine.step({"t": [("c", 3)]})
        assert code_of(lambda: copy.step({"t": [("d", 4)]})) == "COPIED_DIRECTORY"
    copy.close()
    assert (target.content(), target.steps()) == ([("a", 1), ("b", 2), ("c", 3)], [1, 2, 3])


def test_a_table_of_delta_that_nobody_else_writes_is_not_looked_through_again(tmp_path):
    deltalake = pytest.importorskip("deltalake")
    target = Target("delta", tmp_path)
    with opened(target.program, tmp_path / "mine") as pipeline:
        pipeline.step({"t": [("a", 1)]})
        (line,) = pipeline._execution.outlets._lines.values()
        with mock.patch.object(line.receiver, "_checked", wraps=line.receiver._checked) as looks:
            pipeline.step({"t": [("a", 1)]})
            pipeline.step({"t": [("b", 1)]})
            assert looks.call_count == 0
            deltalake.DeltaTable(str(tmp_path / "out")).optimize.compact()
            pipeline.step({"t": [("a", 1)]})
            assert looks.call_count == 1
    assert target.content() == [("a", 3), ("b", 1)]


@pytest.mark.parametrize("kind", LAKES)
@pytest.mark.parametrize("form", ["upsert", "append"])
def test_of_two_that_have_looked_one_commits(kind, form, tmp_path):
    """Between a look at the table and the commit of a step the copy commits its own."""
    target = Target(kind, tmp_path, form=form)
    program = target.program
    if form == "append":
        program = program.replace("TABLE t", "STREAM t").replace(SUMS, "SELECT k, v AS s FROM t")
    mine, directory = copied(program, tmp_path)
    copy = opened(program, directory)
    assert copy.steps == 1
    (line,) = mine._execution.outlets._lines.values()
    look = "_there" if kind == "delta" else "loaded"
    looked, first = getattr(line.receiver, look), []

    def between(*given):
        there = looked(*given)
        if not first:
            first.append(True)
            copy.step({"t": [("b", 10)]})
        return there

    setattr(line.receiver, look, between)
    assert code_of(lambda: mine.step({"t": [("c", 100)]})) == "COPIED_DIRECTORY"
    assert first
    copy.close()
    mine.close()
    assert (target.content(), target.steps()) == ([("a", 1), ("b", 10)], [1, 2])


def test_a_file_that_both_have_begun_is_finished_once(tmp_path):
    target = Target("files", tmp_path, roll_steps="3")
    mine, directory = copied(target.program, tmp_path)
    copy = opened(target.program, directory)
    assert copy.steps == 1
    mine.step({"t": [("c", 100)]})
    assert code_of(lambda: copy.step({"t": [("b", 10)]})) == "COPIED_DIRECTORY"
    copy.close()  # the first step is staged, and belongs to who goes on
    assert target.steps() == []
    mine.step({"t": [("c", 100)]})
    mine.close()
    assert [path.name for path in (tmp_path / "out").glob("part-*")] == ["part-000000000001-000000000003.json"]
    assert target.content() == [("a", 1), ("c", 200)]


def test_files_are_marked_before_the_first_step_and_looked_at_before_each(tmp_path):
    target = Target("files", tmp_path)
    claim = tmp_path / "out" / claims.CLAIM
    with opened(target.program, tmp_path / "mine") as pipeline:
        pipeline.step({"t": [("a", 1)]})
        written = claim.stat().st_mtime_ns, claim.stat().st_ino
        pipeline.step({"t": [("a", 1)]})
        assert (claim.stat().st_mtime_ns, claim.stat().st_ino) == written
    for _ in range(3):
        with opened(target.program, tmp_path / "mine") as pipeline:
            pipeline.step({"t": [("a", 1)]})
    marks = json.loads(claim.read_text())["marks"]
    assert [first for _, first in marks] == [4, 5]
    openings = Openings(tmp_path / "mine")
    openings.begin(5)
    assert [openings.mark(first) for _, first in marks] == [mark for mark, _ in marks]


def test_an_opening_that_was_killed_before_its_first_step_leaves_the_marks_of_the_last():
    claim = claims.Claim("p", "v").marked(1, "a", 0).marked(4, "b", 3)
    assert [claim.mark(step) for step in (1, 3, 4, 9)] == ["a", "a", "b", "b"]
    again = claim.marked(4, "c", 3)
    assert [again.mark(step) for step in (3, 4)] == ["a", "c"]
    assert again.marked(5, "c", 4) is again
    assert again.marked(5, "", 4) is again
    assert claims.Claim("p", "v").mark(7) is None


def test_a_folder_that_another_pipeline_has_taken_over_is_left_alone(tmp_path):
    program = Target("files", tmp_path).program
    other = Target("files", tmp_path, on_other_pipeline="replace").program
    mine = opened(program, tmp_path / "mine")
    mine.step({"t": [("a", 1)]})
    with opened(other, tmp_path / "other") as pipeline:
        pipeline.step({"t": [("b", 1)]})
    assert code_of(lambda: mine.step({"t": [("c", 1)]})) == "OUTPUT_IN_USE"
    mine.close()


def test_a_folder_is_written_by_one_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "_PAUSE", 0.001)
    target = Target("files", tmp_path)
    with opened(target.program, tmp_path / "mine") as pipeline:
        pipeline.step({"t": [("a", 1)]})
        with claims.alone(tmp_path / "out"):
            assert code_of(lambda: pipeline.step({"t": [("a", 1)]})) == "OUTPUT_UNREACHABLE"
        pipeline._execution.outlets.settle()
    assert target.content() == [("a", 2)]


def test_a_file_system_without_locks_is_written_all_the_same(tmp_path, monkeypatch):
    error = OSError(claims.errno.EOPNOTSUPP, "not supported")
    monkeypatch.setattr(claims.fcntl, "flock", mock.Mock(side_effect=error))
    (tmp_path / claims.STAGED).mkdir()
    with claims.alone(tmp_path):
        pass
    error.errno = claims.errno.EIO
    with pytest.raises(OSError, match="not supported"), claims.alone(tmp_path):
        pass


class Hook(BaseHTTPRequestHandler):
    """An address that notes each step with its key."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.got.append((self.headers["Idempotency-Key"], body["step"], body["rows"]))
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def hook():
    found = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    found.got, found.status = [], 200
    threading.Thread(target=found.serve_forever, daemon=True).start()
    yield found
    found.shutdown()
    found.server_close()


def to(hook):
    said = f"'connector' = 'http', 'url' = 'http://127.0.0.1:{hook.server_address[1]}/', 'timeout' = '0.1 seconds'"
    return f"{T} CREATE VIEW v WITH ({said}) AS {SUMS};"


def test_two_copies_send_steps_of_one_number_with_other_keys(hook, tmp_path):
    mine, directory = copied(to(hook), tmp_path)
    with opened(to(hook), directory) as copy:
        copy.step({"t": [("b", 10)]})
        mine.step({"t": [("c", 100)]})
    mine.close()
    keys = [key.split("/") for key, _, _ in hook.got]
    assert [(pipeline, output, step) for pipeline, _, output, step in keys] == [
        (directory_id(tmp_path / "mine"), "v", step) for step in ("1", "2", "2")
    ]
    assert keys[0][1] == keys[2][1] != keys[1][1]


def test_a_step_that_is_sent_again_by_the_next_process_has_its_key(hook, tmp_path):
    pipeline = opened(to(hook), tmp_path / "mine")
    pipeline.step({"t": [("a", 1)]})
    hook.status = 503
    assert code_of(lambda: pipeline.step({"t": [("b", 2)]})) == "OUTPUT_UNREACHABLE"
    pipeline.close()
    hook.status = 200
    with opened(to(hook), tmp_path / "mine") as pipeline:
        pipeline.step({"t": [("c", 3)]})
    keys = {step: {key for key, at, _ in hook.got if at == step} for step in (1, 2, 3)}
    assert [len(keys[step]) for step in (1, 2, 3)] == [1, 1, 1]
    marks = [key.split("/")[1] for step in (1, 2, 3) for key in keys[step]]
    assert marks[0] == marks[1] != marks[2]


def test_a_step_from_before_there_were_marks_has_the_key_of_then(hook, tmp_path):
    with mock.patch.object(Openings, "mark", return_value=None), opened(to(hook), tmp_path / "mine") as pipeline:
        pipeline.step({"t": [("a", 1)]})
    assert [key for key, _, _ in hook.got] == [f"{directory_id(tmp_path / 'mine')}/v/1"]


def test_the_beginning_of_a_mark_is_enough():
    openings = Openings()
    openings.begin(0)
    owner = Owner("p", openings=openings)
    for mark in (None, "", owner.mark(1), owner.mark(1)[:15]):
        owner.check_mark(1, mark, "there")
    assert code_of(lambda: owner.check_mark(1, "x" * 15, "there")) == "COPIED_DIRECTORY"
