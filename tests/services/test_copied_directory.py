"""Two copies of one directory at work at once: the one that writes first goes on, the other stops and says why."""

import json
import shutil

import psycopg
import pytest

import penstock
from penstock.errors import DataError

T = "CREATE TABLE t (k STRING, v INT);"
SUMS = "SELECT k, SUM(v) AS s FROM t GROUP BY k"


def opened(text, directory):
    return penstock.Pipeline(text, engine="native", directory=directory)


def code_of(work):
    with pytest.raises(DataError) as caught:
        work()
    return caught.value.diagnostics[0].code


def table(database):
    said = f"'connector' = 'postgres', 'connection' = '{database}', 'create' = 'true', 'timeout' = '1 second'"
    return f"{T} CREATE VIEW v WITH ({said}) AS {SUMS};"


def asked(database, sql):
    with psycopg.connect(database, autocommit=True) as connection:
        done = connection.execute(sql)
        return sorted(done.fetchall()) if done.description else []


def end_sessions(database):
    asked(database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'penstock'")


def copied(text, tmp_path):
    """A directory after one step, and a copy of it that was made while it was in use."""
    mine = opened(text, tmp_path / "mine")
    mine.step({"t": [("a", 1)]})
    shutil.copytree(tmp_path / "mine", tmp_path / "copy")
    (tmp_path / "copy" / "lock").unlink()
    return mine


def test_a_table_of_postgres_is_that_of_the_copy_that_wrote_first(database, tmp_path):
    text = table(database)
    mine = copied(text, tmp_path)
    found = code_of(lambda: opened(text, tmp_path / "copy").steps)
    assert found == "OUTPUT_UNREACHABLE"  # while the other has the table
    mine._execution.outlets.rest()
    with opened(text, tmp_path / "copy") as copy:
        copy.step({"t": [("b", 10)]})
        end_sessions(database)
        assert code_of(lambda: mine.step({"t": [("c", 100)]})) == "COPIED_DIRECTORY"
        copy.step({"t": [("b", 10)]})
    assert asked(database, "SELECT k, s FROM v") == [("a", 1), ("b", 20)]
    mine.close()
    assert code_of(lambda: opened(text, tmp_path / "mine").steps) == "COPIED_DIRECTORY"


def test_the_directory_itself_goes_on_where_the_copy_comes_too_late(database, tmp_path):
    text = table(database)
    mine = copied(text, tmp_path)
    mine._execution.outlets.rest()
    copy = opened(text, tmp_path / "copy")
    assert copy.steps == 1
    end_sessions(database)  # the copy has its table open, and has not written
    mine.step({"t": [("c", 100)]})
    mine.close()
    assert code_of(lambda: copy.step({"t": [("b", 10)]})) == "COPIED_DIRECTORY"
    assert asked(database, "SELECT k, s FROM v") == [("a", 1), ("c", 100)]


def test_a_book_of_an_earlier_release_gets_marks(database, tmp_path):
    text = table(database)
    with opened(text, tmp_path) as pipeline:
        pipeline.step({"t": [("a", 1)]})
    asked(database, "ALTER TABLE penstock_steps DROP COLUMN mark")
    with opened(text, tmp_path) as pipeline:
        pipeline.step({"t": [("a", 1)]})
    assert asked(database, "SELECT step, length(mark) FROM penstock_steps") == [(2, 32)]


def test_a_directory_that_is_moved_goes_on(database, tmp_path):
    text = table(database)
    for name, other in (("one", "two"), ("two", "three")):
        with opened(text, tmp_path / name) as pipeline:
            pipeline.step({"t": [("a", 1)]})
        (tmp_path / name).rename(tmp_path / other)
    with opened(text, tmp_path / "three") as pipeline:
        pipeline.step({"t": [("a", 1)]})
    assert asked(database, "SELECT k, s FROM v") == [("a", 3)]


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
def test_a_topic_is_that_of_the_copy_that_wrote_first(topics, tmp_path, delivery):
    topic = topics.new("out")
    said = f"'connector' = 'kafka', 'topic' = '{topic}', 'bootstrap.servers' = '{topics.address}'"
    text = f"{T} CREATE VIEW v WITH ({said}, 'sink.delivery-guarantee' = '{delivery}') AS {SUMS};"
    mine = copied(text, tmp_path)
    with opened(text, tmp_path / "copy") as copy:
        copy.step({"t": [("b", 10)]})
        assert code_of(lambda: mine.step({"t": [("c", 100)]})) == "COPIED_DIRECTORY"
        copy.step({"t": [("b", 10)]})
    values = [json.loads(message.value()) for message in topics.all(topic)]
    assert [(row["k"], row["s"]) for row in values] == [("a", 1), ("b", 10), ("b", 20)]
