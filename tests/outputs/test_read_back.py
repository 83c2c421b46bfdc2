"""A program whose outputs write what its own tables read would never end: it is refused before the start."""

from __future__ import annotations

import pytest

from penstock.bind.program.compile import compile_program
from penstock.errors import SqlError
from penstock.pipeline.supported import check_supported

COLUMNS = "CREATE STREAM t (k STRING, v INT) WITH"
QUERY = "AS SELECT k, v FROM t;"
FLINK = "'properties.bootstrap.servers' = 'two:9092'"


def program(source, sink):
    return f"{COLUMNS} ({source});\nCREATE VIEW out WITH ({sink}) {QUERY}"


def refused(text):
    with pytest.raises(SqlError) as caught:
        check_supported(compile_program(text).catalog)
    (found,) = caught.value.diagnostics
    assert found.code == "OUTPUT_READ_BACK"
    return found.message


@pytest.mark.parametrize(
    ("source", "sink"),
    [
        ("'path' = '{0}'", "'path' = '{0}'"),
        ("'path' = '{0}'", "'path' = '{0}/out'"),
        ("'path' = '{0}/'", "'path' = '{0}/x/../d=1/out'"),
        ("'path' = 'file://{0}'", "'path' = '{0}/out'"),
        ("'path' = '{0}/out/*.json'", "'path' = '{0}/out'"),
        ("'path' = '{0}/**/part*'", "'path' = '{0}/a/b', 'format' = 'csv'"),
        ("'path' = '{0}/*/*'", "'path' = '{0}/link'"),
        ("'path' = '{0}', 'pattern' = '*'", "'path' = '{0}/out', 'format' = 'csv'"),
        ("'path' = '{0}', 'pattern' = 'out/*'", "'path' = '{0}/out'"),
    ],
)
def test_files_that_the_program_would_read_itself(tmp_path, source, sink):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    said = [f"'connector' = 'files', {item}".format(tmp_path) for item in (source, sink)]
    assert "which table t reads" in refused(program(*said))


@pytest.mark.parametrize(
    ("source", "sink"),
    [
        ("'path' = '{0}/in'", "'path' = '{0}/out'"),
        ("'path' = '{0}/in'", "'path' = '{0}'"),
        ("'path' = '{0}'", "'path' = '{0}/out', 'format' = 'csv'"),
        ("'path' = '{0}'", "'path' = '{0}/_out'"),
        ("'path' = '{0}'", "'path' = '{0}/.out'"),
        ("'path' = '{0}', 'pattern' = 'orders-*.json'", "'path' = '{0}'"),
        ("'path' = '{0}', 'pattern' = 'in/*.json'", "'path' = '{0}/out'"),
        ("'path' = '{0}/*.json'", "'path' = '{0}/out'"),
        ("'path' = '{0}/in*/**'", "'path' = '{0}/out'"),
        ("'path' = '{0}/part.json'", "'path' = '{0}/part.json/out'"),
        ("'path' = '{0}', 'format' = 'avro'", "'path' = '{0}'"),
    ],
)
def test_files_that_no_table_reads(tmp_path, source, sink):
    (tmp_path / "part.json").touch()
    check_supported(
        compile_program(
            program(*(f"'connector' = 'files', {item}".format(tmp_path) for item in (source, sink)))
        ).catalog
    )


EARLIER = "'start_after' = 'kafka', 'start_after.topic' = 'a', 'start_after.bootstrap.servers' = 'one'"
TOPIC = "'connector' = 'kafka', 'bootstrap.servers' = 'one, two:9092'"


@pytest.mark.parametrize(
    ("source", "sink"),
    [
        (f"{TOPIC}, 'topic' = 'a'", f"{TOPIC}, 'topic' = 'a'"),
        (f"{TOPIC}, 'topic' = 'b; a'", f"'connector' = 'kafka', {FLINK}, 'topic' = ' a'"),
        (f"{TOPIC}, 'topic-pattern' = 'a|b'", "'connector' = 'kafka', 'bootstrap.servers' = 'ONE:9092', 'topic' = 'a'"),
        (
            f"'connector' = 'datagen', {EARLIER}",
            f"{TOPIC}, 'topic' = 'a'",
        ),
    ],
)
def test_a_topic_that_the_program_reads_itself(source, sink):
    text = program(source, sink)
    with pytest.raises(SqlError) as caught:
        check_supported(compile_program(text).catalog)
    found = next(item for item in caught.value.diagnostics if item.code == "OUTPUT_READ_BACK")
    assert found.message.startswith("view out writes the topic a, which table t reads")
    assert text[found.span.start :].startswith("out WITH")


def test_a_statement_that_writes_the_topic_that_the_program_reads():
    said = f"WITH ({TOPIC}, 'topic' = 'a', 'format' = 'json')"
    tables = f"CREATE TABLE t (k STRING, v INT) {said}; CREATE TABLE out (k STRING, v INT) {said};"
    found = refused(f"SET dialect = 'flink'; {tables} INSERT INTO out SELECT k, v FROM t;")
    assert found.startswith("table out writes the topic a, which table t reads")


@pytest.mark.parametrize(
    ("source", "sink"),
    [
        (f"{TOPIC}, 'topic' = 'a', 'format' = 'json'", f"{TOPIC}, 'topic' = 'aa'"),
        (f"{TOPIC}, 'topic-pattern' = 'a', 'format' = 'json'", f"{TOPIC}, 'topic' = 'aa'"),
        (
            f"{TOPIC}, 'topic' = 'a', 'format' = 'json'",
            "'connector' = 'kafka', 'bootstrap.servers' = 'three', 'topic' = 'a'",
        ),
    ],
)
def test_topics_that_are_others(source, sink):
    check_supported(compile_program(program(source, sink)).catalog)
