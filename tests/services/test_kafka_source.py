"""Rows from topics of a real broker: what comes, what comes later, what is gone, and going on where one was."""

import json
import random
import re
import socket
import time

import pytest
from tests.services.conftest import running, scripted
from tests.services.second_broker import NUMBER, second_broker
from tests.services.topics import Topics
from tests.steps.tables import NO_DEFAULTS, declared

import penstock
from penstock.errors import DataError, SqlError
from penstock.sources import api
from penstock.steps.events import SourceRemark
from penstock.steps.rows.batch import RowReader
from penstock.steps.rows.rejected import Rejections


def table(address, topic, columns="a INT", **properties):
    said = {"connector": "kafka", "topic": topic, "bootstrap.servers": address, "timeout": "20 seconds", **properties}
    words = ", ".join(f"'{name.replace('__', '-')}' = '{value}'" for name, value in said.items() if value is not None)
    return f"CREATE TABLE t ({columns}) WITH ({words});"


def opened(text):
    readers = lambda table, lenient: RowReader(table, NO_DEFAULTS, lenient=lenient)  # noqa: E731
    return api.open_source(declared(text.rstrip(";")), readers, None)


def received(source, rejections=None, *, rows=1000):
    """All values that there are now, as a run that ends with its input has them."""
    found, ended = [], False
    while True:
        batch = source.read(rows, rejections or Rejections(), ended=ended)
        if batch is None and ended:
            return found
        found += [] if batch is None else batch.rows.column(0).to_pylist()
        ended = batch is None


@pytest.mark.thin
def test_a_program_reads_topics_to_their_end(topics):
    orders = topics.new("orders", 3)
    for number in range(300):
        topics.write(orders, {"a": number, "b": number % 7}, partition=number % 3)
    topics.write(orders, b"poison", partition=1)
    program = table(topics.address, orders, "a INT, b INT, p INT METADATA FROM 'partition'")
    program += "CREATE VIEW v AS SELECT p, COUNT(*) AS n, SUM(a) AS s FROM t GROUP BY p"
    with penstock.Pipeline(program, engine="native") as pipeline:
        pipeline.run(once=True)
        rows = sorted(pipeline.query("SELECT * FROM v").rows)
        ((place,),) = pipeline.query("SELECT metadata FROM error_view").rows
    assert rows == [(part, 100, sum(range(part, 300, 3))) for part in range(3)]
    assert f'"{orders}/1@100"' in place


def test_columns_that_messages_bring_are_added_and_a_restart_reads_on(topics, tmp_path):
    topic = topics.new(partitions=2)
    topics.write(topic, {"a": 1})
    topics.write(topic, {"a": 2, "b": "x"}, partition=1)
    program = table(topics.address, topic, unknown_columns="add")

    def after_a_run():
        with penstock.Pipeline(program, engine="native", directory=tmp_path / "dir") as pipeline:
            pipeline.run(once=True)
            return sorted(pipeline.query("SELECT a, b FROM t").rows, key=str)

    assert after_a_run() == [(1, None), (2, "x")]
    topics.write(topic, {"a": 3, "b": "y"})
    assert after_a_run() == [(1, None), (2, "x"), (3, "y")]


@pytest.mark.spark  # the content of a MATERIALIZED view is shown by Spark
def test_a_keyed_topic_is_a_table_that_changes(topics):
    topic = topics.new()
    for key, value in [(b"1", {"b": "x"}), (b"2", {"b": "y"}), (b"1", {"b": "z"}), (b"2", None)]:
        topics.write(topic, value, key=key)
    text = table(topics.address, topic, "a INT PRIMARY KEY, b STRING", connector="upsert-kafka")
    with penstock.Pipeline(text + "CREATE MATERIALIZED VIEW v AS SELECT * FROM t", engine="native") as pipeline:
        pipeline.run(once=True)
        assert pipeline.query("SELECT * FROM v").rows == [(1, "z")]


def test_a_source_goes_on_behind_a_step_and_reads_it_again_exactly(topics):
    topic = topics.new(partitions=2)
    topics.write(topic, *({"a": number} for number in range(10)))
    topics.write(topic, *({"a": number} for number in range(100, 105)), partition=1)
    source = opened(table(topics.address, topic))
    assert received(source, rows=4) == [*range(10), *range(100, 105)]
    taken = source.taken()
    assert [item["to"] for item in taken["read"]] == [{"offset": 10, "messages": 10}, {"offset": 5, "messages": 5}]
    source.rewind()
    assert received(source) == [*range(10), *range(100, 105)]
    source.commit()
    topics.write(topic, {"a": 10})
    again = opened(table(topics.address, topic))
    again.seek(taken)
    batch = again.read(1, Rejections())
    assert batch.rows.column(0).to_pylist() == [*range(10), *range(100, 105)]
    again.commit()
    assert received(again) == received(source) == [10]
    later = opened(table(topics.address, topic))
    later.skip(taken)
    later.skip(source.taken())
    assert received(later) == []


@pytest.mark.parametrize("seed", range(3))
def test_oracle_steps_that_are_refused_are_read_again(topics, seed):
    """Each message is in one step that is kept, in its order, and its manifest says so."""
    chance = random.Random(seed)
    topic = topics.new(partitions=2)
    written = [[], []]
    source = opened(table(topics.address, topic))
    kept, told = [[], []], [0, 0]
    until = time.monotonic() + 30
    while (kept != written or sum(map(len, written)) < 3_000) and time.monotonic() < until:
        if chance.random() < 0.5 and sum(map(len, written)) < 3_000:
            partition, count = chance.randrange(2), chance.randrange(1, 900)
            first = len(written[partition]) * 2 + partition
            more = [{"a": first + 2 * at} if chance.random() > 0.01 else {"a": "?"} for at in range(count)]
            topics.write(topic, *more, partition=partition)
            written[partition] += [item["a"] for item in more]
        rejections = Rejections(tolerant=True)
        batch = source.read(chance.choice([50, 300, 5_000]), rejections)
        if batch is None:
            continue
        taken = source.taken()["read"]
        if chance.random() < 0.3:
            source.rewind()
            continue
        source.commit()
        found = batch.rows.column(0).to_pylist()
        for item in taken:
            start, end = item["from"]["offset"], item["to"]["offset"]
            assert start == told[item["partition"]]
            told[item["partition"]] = end
            expected = written[item["partition"]][start:end]
            right = [value for value in expected if value != "?"]
            assert [value for value in found if value % 2 == item["partition"]] == right
            kept[item["partition"]] += expected
        assert len(rejections.rows) + len(found) == sum(item["to"]["messages"] for item in taken)
    assert kept == written


def test_a_transaction_that_was_not_committed_is_not_read(topics):
    from confluent_kafka import Producer

    topic = topics.new()
    writer = Producer({"bootstrap.servers": topics.address, "transactional.id": topic})
    writer.init_transactions()
    for value, commits in ((b'{"a": 1}', False), (b'{"a": 2}', True)):
        writer.begin_transaction()
        writer.produce(topic, value)
        writer.commit_transaction() if commits else writer.abort_transaction()
    source = opened(table(topics.address, topic))
    assert received(source) == [2]
    taken = source.taken()
    source.commit()
    source.seek(taken)
    assert source.read(1, Rejections()).rows.column(0).to_pylist() == [2]


@pytest.mark.parametrize(
    ("mode", "found"),
    [
        ({"scan.startup.mode": "latest-offset"}, []),
        ({"scan.startup.mode": "specific-offsets", "scan.startup.specific-offsets": "partition:0,offset:2"}, [2, 3]),
        ({"scan.startup.mode": "timestamp", "scan.startup.timestamp-millis": "4102444800000"}, []),
        ({"scan.startup.mode": "timestamp", "scan.startup.timestamp-millis": "1"}, [0, 1, 2, 3]),
        ({}, [0, 1, 2, 3]),
    ],
)
def test_reading_begins_where_the_table_says(topics, mode, found):
    topic = topics.new()
    topics.write(topic, *({"a": number} for number in range(4)))
    source = opened(table(topics.address, topic, **mode))
    assert received(source) == found
    taken = source.taken()
    source.commit()
    topics.write(topic, {"a": 4})
    again = opened(table(topics.address, topic, **mode))
    again.skip(taken)
    assert received(again) == received(source) == [4]


@pytest.mark.thin
def test_partitions_and_topics_that_come_later_are_read_from_their_beginning(topics):
    first = topics.new("late")
    every = {"scan.topic-partition-discovery.interval": "0 seconds", "scan.startup.mode": "latest-offset"}
    pattern = first.rpartition("-")[0] + "-.*"
    topics.write(first, {"a": 0})
    source = opened(table(topics.address, None, **{"topic-pattern": pattern}, **every))
    assert received(source) == []
    second = topics.new("late")
    topics.grow(first, 2)
    topics.write(second, {"a": 1})
    topics.write(first, {"a": 2}, partition=1)
    topics.write(first, {"a": 3})
    found = []
    while len(found) < 3:
        batch = source.read(10, Rejections())
        found += [] if batch is None else batch.rows.column(0).to_pylist()
    assert sorted(found) == [1, 2, 3]


def test_messages_that_have_gone_stop_the_run_or_are_told_of(topics):
    topic = topics.new()
    topics.write(topic, *({"a": number} for number in range(4)))
    source = opened(table(topics.address, topic))
    assert source.read(1, Rejections()).rows.column(0).to_pylist() == [0]
    taken = source.taken()
    topics.forget(topic, 0, 3)
    again = opened(table(topics.address, topic))
    again.skip(taken)
    with pytest.raises(DataError) as caught:
        again.read(10, Rejections())
    (found,) = caught.value.diagnostics
    assert (found.code, f"{topic}/0: the messages from offset 1 up to 3 have gone" in found.message) == (
        "OFFSETS_GONE",
        True,
    )
    lenient = opened(table(topics.address, topic, on_lost="skip"))
    lenient.skip(taken)
    rejections = Rejections(tolerant=True)
    assert received(lenient, rejections) == [3]
    assert f"{topic}/0@1" in rejections.rows[0].metadata
    exact = opened(table(topics.address, topic))
    exact.seek(taken)
    with pytest.raises(DataError, match="cannot be read again: of 1 messages"):
        exact.read(1, Rejections())


def _of_now(topics, topic):
    source = opened(table(topics.address, topic))
    received(source, Rejections())
    return source.taken()


def test_offsets_of_another_cluster_are_refused_with_both_ids(topics):
    topic = topics.new()
    topics.write(topic, {"a": 1}, {"a": 2})
    taken = _of_now(topics, topic)
    cluster = taken["read"][0]["of"]["cluster"]
    assert cluster
    for item in taken["read"]:
        item["of"] = {"cluster": "elsewhere"}
    again = opened(table(topics.address, topic))
    again.skip(taken)
    with pytest.raises(DataError) as caught:
        again.read(10, Rejections())
    (found,) = caught.value.diagnostics
    assert found.code == "CANNOT_READ_AGAIN"
    assert f"was cluster elsewhere, and what is there is cluster {cluster}" in found.message
    anew = opened(table(topics.address, topic, on_replaced="read"))
    anew.skip(taken)
    assert received(anew, Rejections()) == [1, 2]
    for item in taken["read"]:
        del item["of"]
    older = opened(table(topics.address, topic))
    older.skip(taken)
    assert received(older, Rejections()) == []
    topics.write(topic, {"a": 3})
    assert received(older, Rejections()) == [3]
    assert older.taken()["read"][0]["of"] == {"cluster": cluster}


def test_a_topic_that_was_made_anew_is_another_however_long_it_is(topics):
    topic = topics.new()
    topics.write(topic, {"a": 1}, {"a": 2})
    source = opened(table(topics.address, topic))
    assert received(source, Rejections()) == [1, 2]
    taken = source.taken()
    topics.remove(topic)
    topics.made(topic)
    topics.write(topic, *({"a": number} for number in range(10, 15)))  # more than were read of the one before
    again = opened(table(topics.address, topic))
    again.skip(taken)
    with pytest.raises(DataError) as caught:
        again.read(10, Rejections())
    (found,) = caught.value.diagnostics
    ids = [item["read"][0]["id"] for item in (taken, _of_now(topics, topic))]
    assert found.code == "CANNOT_READ_AGAIN"
    assert all(number in found.message for number in ids)
    anew = opened(table(topics.address, topic, on_replaced="read"))
    anew.skip(taken)
    assert received(anew, Rejections(tolerant=True)) == [10, 11, 12, 13, 14]
    lenient, rejections = opened(table(topics.address, topic, on_lost="skip")), Rejections(tolerant=True)
    lenient.skip(taken)
    assert received(lenient, rejections) == [10, 11, 12, 13, 14]
    assert f"{topic}/0@2" in rejections.rows[0].metadata
    later = opened(table(topics.address, topic, on_lost="skip"))
    later.skip(lenient.taken())
    assert received(later, Rejections()) == []


@pytest.mark.thin
def test_a_topic_that_is_not_there_is_named_with_those_that_are_near(topics):
    topic = topics.new("orders-of-shop")
    with pytest.raises(DataError) as caught:
        opened(table(topics.address, topic.replace("shop", "shpo")))
    (found,) = caught.value.diagnostics
    assert (found.code, found.candidates[0]) == ("NO_SUCH_TOPIC", topic)


def test_no_broker_is_an_error_once_it_was_waited_for():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens there
        with pytest.raises(DataError) as caught:
            opened(table(f"127.0.0.1:{taken.getsockname()[1]}", "t", timeout="1 second"))
    assert caught.value.diagnostics[0].code == "SOURCE_UNREACHABLE"


def test_a_secret_is_in_no_error(topics, monkeypatch):
    monkeypatch.setenv("HIDDEN_WORD", "hush-hush")
    wrong = {"properties.security.protocol": "${env:HIDDEN_WORD}"}
    with pytest.raises(SqlError) as caught:
        opened(table(topics.address, topics.new(), **wrong))
    assert "hush-hush" not in str(caught.value)
    assert "***" in str(caught.value)


def test_a_broker_that_restarts_is_waited_for(tmp_path):
    with running("kafka", tmp_path) as address:
        own = Topics(address)
        topic = own.new()
        own.write(topic, {"a": 1})
        source = opened(table(address, topic, timeout="60 seconds"))
        assert received(source) == [1]
        source.commit()
        scripted("kill", "kafka", folder=tmp_path)
        assert source.read(10, Rejections()) is None
        scripted("start", "kafka", folder=tmp_path)
        own.write(topic, {"a": 2})
        found = None
        while found is None:
            found = source.read(10, Rejections())
        assert found.rows.column(0).to_pylist() == [2]
        impatient = opened(table(address, topic, timeout="2 seconds"))
        assert received(impatient) == [1, 2]
        scripted("kill", "kafka", folder=tmp_path)
        with pytest.raises(DataError, match="no broker at"):
            for _ in iter(lambda: impatient.read(10, Rejections()), ()):
                pass


def test_a_partition_that_moves_to_another_broker_is_followed(tmp_path):
    """The broker that leads it is killed, so that another one does: each message is read and written once."""
    (tmp_path / "second").mkdir()

    def program(address, taken, given):
        output = f"'connector' = 'kafka', 'properties.bootstrap.servers' = '{address}', 'topic' = '{given}'"
        view = f"CREATE VIEW v WITH ({output}, 'format' = 'json') AS SELECT a FROM t;"
        return table(address, taken, timeout="60 seconds") + view

    with running("kafka", tmp_path) as address:
        own = Topics(address)
        with penstock.Pipeline(program(address, own.new("before"), own.new("behind"))) as pipeline:
            pipeline.run(once=True)  # what the brokers keep of groups and transactions lies with the first one
        with second_broker(tmp_path / "kafka", tmp_path / "second") as second:
            taken, given = (own.new(name, replicas=[[NUMBER, 1]]) for name in ("in", "out"))
            assert {own.leader(topic, 0) for topic in (taken, given)} == {NUMBER}
            with penstock.Pipeline(program(address, taken, given), engine="native") as pipeline:
                own.write(taken, {"a": 1}, {"a": 2})
                pipeline.run(once=True)
                second.kill()
                second.wait(30)
                own.write(taken, {"a": 3}, {"a": 4})
                pipeline.run(once=True)
                assert sorted(pipeline.query("SELECT a FROM t").rows) == [(1,), (2,), (3,), (4,)]
            assert {own.leader(topic, 0) for topic in (taken, given)} == {1}
            assert sorted(json.loads(item.value())["a"] for item in own.all(given)) == [1, 2, 3, 4]


def test_the_partition_that_is_furthest_behind_holds_the_waterline_back(topics):
    """Old messages of one partition are caught up with in small steps: none is late, and the source says its lag."""
    topic = topics.new(partitions=2)
    topics.write(topic, *({"a": number} for number in range(1000, 1050)), partition=0)
    topics.write(topic, *({"a": number} for number in range(50)), partition=1)
    program = table(topics.address, topic, "a INT LATENESS 5", rows_per_step="10", idle_after="1 hour")
    with penstock.Pipeline(program, engine="native") as pipeline:
        pipeline.run(once=True)
        assert pipeline.query("SELECT COUNT(*) FROM t").rows == [(100,)]
        assert pipeline.query("SELECT COUNT(*) FROM error_view").rows == [(0,)]
        assert pipeline.waterlines() == {"t.a": 44}
        (fact,) = pipeline.sources()
    assert (fact.rows, fact.lag.rows, fact.lag.seconds) == (100, 0, 0.0)
    assert re.fullmatch(rf"{topic}/0/\S+@50; {topic}/1/\S+@50", fact.position_text)  # with the topic's id


@pytest.mark.thin
def test_a_schema_registry_beside_a_topic(topics, tmp_path):
    import io
    import json

    import fastavro

    schema = {"type": "record", "name": "A", "fields": [{"name": "a", "type": "int"}]}
    (tmp_path / "7.avsc").write_text(json.dumps(schema))
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), {"a": 3})
    topic = topics.new()
    topics.write(topic, b"\0\0\0\0\x07" + out.getvalue(), b"\0\0\0\0\x08" + out.getvalue())
    program = table(topics.address, topic, format="avro-confluent", **{"schema.registry.url": str(tmp_path)})
    with penstock.Pipeline(program, engine="native") as pipeline:
        pipeline.run(once=True)
        assert pipeline.query("SELECT a FROM t").rows == [(3,)]
        ((told,),) = pipeline.query("SELECT metadata FROM error_view").rows
    assert "knows no schema 8" in told
    assert f"{topic}/0@1" in told


def test_the_past_of_a_lake_and_then_a_topic(topics, tmp_path):
    deltalake = pytest.importorskip("deltalake")
    pa = pytest.importorskip("pyarrow")

    deltalake.write_deltalake(str(tmp_path / "past"), pa.table({"a": pa.array([1, 2], pa.int32())}))
    topic = topics.new()
    topics.write(topic, {"a": 10})
    past = {"start_after": "delta", "start_after.path": str(tmp_path / "past")}
    program = table(topics.address, topic, **past)
    for expected in (13, 33):
        with penstock.Pipeline(program, engine="native", directory=tmp_path / "dir") as pipeline:
            pipeline.run(once=True)
            assert pipeline.query("SELECT SUM(a) FROM t").rows == [(expected,)]
        topics.write(topic, {"a": 20})


def test_a_pattern_that_matches_no_topic_is_said_once_and_waited_for(topics):
    first, told = topics.new("there"), []
    wanted = f"later-{first}"
    more = f"'topic-pattern' = 'later-{first}.*', 'scan.topic-partition-discovery.interval' = '1 second'"
    source = f"'connector' = 'kafka', 'bootstrap.servers' = '{topics.address}', 'format' = 'json', {more}"
    with penstock.Pipeline(
        f"CREATE STREAM t (k INT) WITH ({source}); CREATE VIEW v AS SELECT k FROM t;",
        engine="native",
        on_event=told.append,
    ) as pipeline:
        pipeline.start()
        until = time.monotonic() + 30
        while not any(isinstance(event, SourceRemark) for event in told) and time.monotonic() < until:
            time.sleep(0.05)
        topics.write(topics.made(wanted), {"k": 1})
        while not pipeline.query("SELECT k FROM v").rows and time.monotonic() < until:
            time.sleep(0.1)
        assert pipeline.query("SELECT k FROM v").rows == [(1,)]
        pipeline.stop()
        pipeline.run(once=True)  # now there is one
    (remark,) = [event for event in told if isinstance(event, SourceRemark)]
    assert remark.message.startswith(f"'topic-pattern' = 'later-{first}.*' matches no topic at {topics.address} now")
    assert first in remark.message
