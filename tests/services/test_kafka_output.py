"""Topics that follow views: each step once for who reads what is committed, whatever ends the writer."""

import json
import random
import shutil
import subprocess
import sys

import pytest

import penstock
from penstock.errors import PenstockError

T = "CREATE TABLE t (k STRING, v INT);"
SUMS = "SELECT k, SUM(v) AS s, COUNT(*) AS n FROM t GROUP BY k"


def view(topics, topic, more="", query=SUMS, name="v"):
    said = f"'connector' = 'kafka', 'topic' = '{topic}', 'bootstrap.servers' = '{topics.address}'{more}"
    return f"CREATE VIEW {name} WITH ({said}) AS {query};"


def opened(text, **options):
    return penstock.Pipeline(text, engine="native", **options)


def decoded(message):
    """A message's key and value."""
    return tuple(None if part is None else json.loads(part) for part in (message.key(), message.value()))


def steps(messages):
    """The step of each message."""
    return [int(dict(message.headers())["penstock-step"]) for message in messages]


@pytest.mark.thin
def test_an_upserted_topic_is_the_view_after_each_step(topics):
    topic, chance, present = topics.new("out", 2), random.Random(7), []
    with opened(T + view(topics, topic)) as pipeline:
        for _ in range(20):
            gone = [present.pop(chance.randrange(len(present))) for _ in range(min(len(present), chance.randrange(4)))]
            come = [
                (chance.choice(["a", "b", "c", None]), chance.choice([1, 2, None])) for _ in range(chance.randrange(4))
            ]
            pipeline.step({"t": [*(("-", row) for row in gone), *come]})
            present += come
        wanted = sorted(pipeline.query("SELECT k, s, n FROM v").rows, key=repr)
    kept = {}
    for message in topics.all(topic):
        key, value = decoded(message)
        kept[key["k"]] = value
    assert sorted(((row["k"], row["s"], row["n"]) for row in kept.values() if row), key=repr) == wanted


@pytest.mark.thin
@pytest.mark.parametrize(
    ("more", "format"),
    [(", 'form' = 'retract'", "json"), (", 'form' = 'changelog', 'format' = 'debezium'", "debezium-json")],
)
def test_what_is_written_is_read_as_what_it_was(topics, more, format):  # noqa: A002
    topic = topics.new("out", 3)
    with opened(T + view(topics, topic, more)) as pipeline:
        for rows in ([("a", 1), ("b", 2)], [("a", 3)], [("-", ("b", 2))], [("-", ("a", 1)), ("c", None)]):
            pipeline.step({"t": rows})
        wanted = sorted(pipeline.query("SELECT * FROM v").rows)
    source = f"'connector' = 'kafka', 'topic' = '{topic}', 'bootstrap.servers' = '{topics.address}'"
    text = f"CREATE TABLE b (k STRING, s BIGINT, n BIGINT) WITH ({source}, 'format' = '{format}');"
    with opened(text) as back:
        back.run(once=True)
        assert sorted(back.query("SELECT k, s, n FROM b").rows) == wanted


def test_a_changelog_says_in_a_header_what_is_done(topics):
    topic = topics.new("out")
    with opened(T + view(topics, topic, ", 'form' = 'changelog'")) as pipeline:
        pipeline.step({"t": [("a", 1)]})
        pipeline.step({"t": [("a", 2)]})
        pipeline.step({"t": [("-", ("a", 1)), ("-", ("a", 2))]})
    found = topics.all(topic)
    told = [(dict(message.headers())["op"].decode(), decoded(message)[1]["s"]) for message in found]
    assert told == [("+I", 1), ("-U", 1), ("+U", 3), ("-D", 3)]
    assert steps(found) == [1, 2, 2, 3]


def test_a_writer_that_was_fenced_gives_its_step_once(topics, tmp_path):
    from confluent_kafka import Producer

    topic = topics.new("out")
    rows = view(topics, topic, query="SELECT k, v FROM t", more=", 'form' = 'append'")
    with opened(T.replace("TABLE", "STREAM") + rows, directory=tmp_path) as pipeline:
        for at in range(4):
            other = Producer({"bootstrap.servers": topics.address, "transactional.id": f"penstock/{topic}"})
            other.init_transactions()  # as another process does that begins to write
            pipeline.step({"t": [(str(at), at)]})
        assert pipeline.outputs()[0].step == 4
    assert [decoded(message)[1]["v"] for message in topics.all(topic)] == [0, 1, 2, 3]


def test_a_topic_of_another_pipeline_is_refused(topics):
    topic = topics.new("out")
    with opened(T + view(topics, topic)) as pipeline:
        pipeline.step({"t": [("a", 1)]})
    with pytest.raises(PenstockError) as caught, opened(T + view(topics, topic)) as pipeline:
        pipeline.step({"t": [("a", 1)]})
    assert caught.value.diagnostics[0].code == "OUTPUT_IN_USE"
    with opened(T + view(topics, topic, ", 'on_other_pipeline' = 'replace'")) as pipeline:
        pipeline.step({"t": [("a", 2)]})
    assert [decoded(message)[1]["s"] for message in topics.all(topic)] == [1, 2]


@pytest.mark.thin
@pytest.mark.parametrize(
    "more", ["", ", 'form' = 'changelog'", ", 'form' = 'retract'", ", 'sink.delivery-guarantee' = 'at-least-once'"]
)
def test_a_topic_has_one_pipeline_whatever_its_outputs_are_called(topics, tmp_path, more):
    topic = topics.new("out")
    with opened(T + view(topics, topic, more), directory=tmp_path / "first") as pipeline:
        pipeline.step({"t": [("a", 1)]})
        own = (tmp_path / "first" / "id").read_text(encoding="ascii")
    with pytest.raises(PenstockError) as caught, opened(T + view(topics, topic, more, name="w")) as pipeline:
        pipeline.step({"t": [("a", 1)]})
    (found,) = caught.value.diagnostics
    assert found.code == "OUTPUT_IN_USE"
    assert found.message.endswith(f"holds what another pipeline has written: output v of pipeline {own}")
    shutil.copytree(tmp_path / "first", tmp_path / "moved")
    for options in ({"directory": tmp_path / "moved"}, {"directory": tmp_path / "moved", "rebuild": True}):
        with opened(T + view(topics, topic, more), **options) as pipeline:
            pipeline.step({"t": [("a", 2)]})
    assert set(steps(topics.all(topic))) == {1, 2, 3}


def test_who_takes_a_topic_over_has_it_from_then_on(topics, tmp_path):
    topic, takes = topics.new("out"), ", 'on_other_pipeline' = 'replace'"
    with opened(T + view(topics, topic), directory=tmp_path / "a") as first:
        first.step({"t": [("a", 1)]})
        with opened(T + view(topics, topic, takes, name="w"), directory=tmp_path / "b") as second:
            second.step({"t": [("a", 2)]})
            with pytest.raises(PenstockError) as caught:
                first.step({"t": [("a", 4)]})
            assert caught.value.diagnostics[0].code == "OUTPUT_IN_USE"
            second.step({"t": [("a", 8)]})
    with opened(T + view(topics, topic, takes, name="w"), directory=tmp_path / "b") as second:
        second.step({"t": [("a", 16)]})
    with pytest.raises(PenstockError), opened(T + view(topics, topic), directory=tmp_path / "a") as first:
        first.step({"t": [("a", 32)]})
    assert [decoded(message)[1]["s"] for message in topics.all(topic)] == [1, 2, 10, 26]


def test_an_output_that_was_dropped_comes_again_under_any_name(topics, tmp_path):
    topic, other = topics.new("out"), "CREATE VIEW other AS SELECT k FROM t;"
    with opened(T + view(topics, topic) + other, directory=tmp_path) as pipeline:
        pipeline.step({"t": [("a", 1)]})
        pipeline.deploy(T + other)
        pipeline.step({"t": [("a", 2)]})
        pipeline.deploy(T + view(topics, topic, name="w") + other)
        pipeline.step({"t": [("a", 4)]})
        pipeline.deploy(T + view(topics, topic, name="x") + other)  # opened before the other is let go
        pipeline.step({"t": [("a", 8)]})
    with opened(T + view(topics, topic, name="x") + other, directory=tmp_path) as pipeline:
        pipeline.step({"t": [("a", 16)]})
    assert decoded(topics.all(topic)[-1])[1] == {"k": "a", "s": 31, "n": 5}


def test_a_topic_of_rows_that_come_is_shared_by_those_who_say_so(topics, tmp_path):
    topic, stream, rows = topics.new("out"), T.replace("TABLE", "STREAM"), "SELECT k, v FROM t"
    shared = ", 'form' = 'append', 'shared' = 'true'"
    with (
        opened(stream + view(topics, topic, shared, rows, "v"), directory=tmp_path / "v") as first,
        opened(stream + view(topics, topic, shared, rows, "w"), directory=tmp_path / "w") as second,
    ):
        for at in range(3):
            first.step({"t": [("v", at)]})
            second.step({"t": [("w", at)]})
    found = [tuple(decoded(message)[1].values()) for message in topics.all(topic)]
    assert found == [(name, at) for at in range(3) for name in ("v", "w")]
    alone = view(topics, topic, ", 'form' = 'append'", rows, "x")
    with pytest.raises(PenstockError, match="is shared by output w of pipeline"), opened(stream + alone) as pipeline:
        pipeline.step({"t": [("x", 1)]})
    with opened(stream + view(topics, topic, shared, rows, "v"), directory=tmp_path / "v") as first:
        first.step({"t": [("v", 3)]})
    assert len(topics.all(topic)) == 7


def test_what_one_pipeline_has_for_itself_is_not_shared_by_another(topics):
    topic, stream, rows = topics.new("out"), T.replace("TABLE", "STREAM"), "SELECT k, v FROM t"
    with opened(stream + view(topics, topic, ", 'form' = 'append'", rows)) as pipeline:
        pipeline.step({"t": [("a", 1)]})
    shared = view(topics, topic, ", 'form' = 'append', 'shared' = 'true'", rows, "w")
    with pytest.raises(PenstockError) as caught, opened(stream + shared) as pipeline:
        pipeline.step({"t": [("b", 1)]})
    assert caught.value.diagnostics[0].code == "OUTPUT_IN_USE"


def test_a_claim_that_is_old_is_made_again_before_a_step(topics, monkeypatch):
    from penstock.outputs.kafka import claims

    topic = topics.new("out")
    with opened(T + view(topics, topic)) as pipeline:
        pipeline.step({"t": [("a", 1)]})
        group = f"penstock/{topic}"
        topics.admin.delete_consumer_groups([group])[group].result(30)  # as when a broker has forgotten it
        monkeypatch.setattr(claims, "_AGAIN", 0.0)
        pipeline.step({"t": [("a", 2)]})
    with pytest.raises(PenstockError) as caught, opened(T + view(topics, topic, name="w")) as pipeline:
        pipeline.step({"t": [("a", 1)]})
    assert caught.value.diagnostics[0].code == "OUTPUT_IN_USE"


def test_a_topic_that_is_not_there_is_refused(topics):
    with pytest.raises(PenstockError) as caught, opened(T + view(topics, "not-there")) as pipeline:
        pipeline.step({"t": [("a", 1)]})
    assert caught.value.diagnostics[0].code == "OUTPUT_REFUSED"


def test_a_process_that_is_killed_between_two_topics_leaves_whole_steps(topics):
    feed, out = topics.new("feed", 2), topics.new("out")
    source = (
        f"'connector' = 'kafka', 'topic' = '{feed}', 'bootstrap.servers' = '{topics.address}', 'rows_per_step' = '4'"
    )
    program = f"CREATE STREAM t (k INT, v INT) WITH ({source});" + view(
        topics, out, query="SELECT k, v FROM t", more=", 'form' = 'append'"
    )
    for at in range(40):
        topics.write(feed, {"k": at, "v": 0}, {"k": at, "v": 1}, partition=at % 2)
    command = [sys.executable, "-m", "penstock.cli.main", "run", "--quiet", "--engine", "native", "-e", program]
    with subprocess.Popen(command) as process:
        while len(topics.all(out)) < 12:
            assert process.poll() is None
        process.kill()
    ids = [(row["k"], row["v"]) for row in (decoded(message)[1] for message in topics.all(out))]
    assert len(ids) == len(set(ids)) >= 12
    assert len(ids) % 4 == 0


def test_without_transactions_a_step_whose_number_does_not_arrive_is_written_again_whole(topics, monkeypatch):
    from confluent_kafka import KafkaError, KafkaException

    from penstock.outputs.kafka import receiver

    topic, in_time, lost = topics.new("out"), receiver._in_time, [3]
    more = ", 'form' = 'append', 'sink.delivery-guarantee' = 'at-least-once'"

    def losing(work):
        lost[0] -= 1
        if not lost[0]:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "the coordinator does not answer"))
        in_time(work)

    monkeypatch.setattr(receiver, "_in_time", losing)
    text = T.replace("TABLE", "STREAM") + view(topics, topic, more, query="SELECT k, v FROM t")
    with opened(text) as pipeline:
        for at in range(4):
            pipeline.step({"t": [("a", at), ("b", at)]})
        (told,) = pipeline.outputs()
        assert told.step == 4
        assert told.guarantee == "at least once, because 'sink.delivery-guarantee' asks for no more"
    found = topics.all(topic)
    assert [decoded(message)[1]["v"] for message in found] == [0, 0, 1, 1, 2, 2, 2, 2, 3, 3]
    assert steps(found) == [1, 1, 2, 2, 3, 3, 3, 3, 4, 4]
