"""Kafka in; Kafka, PostgreSQL and Delta Lake out, by a process that is killed again and again: each number once.

`make fuzz-once KILLS=40` kills more often.
"""

import json
import os
import time

from confluent_kafka.admin import NewTopic
from deltalake import DeltaTable
from tests.services.conftest import running, scripted
from tests.services.ids import GROUPS, Place, compared, ended, killed, program, run_of
from tests.services.test_postgres_output import asked
from tests.services.topics import Topics

KILLS = int(os.environ.get("PENSTOCK_KILLS", "4"))
SECONDS = 120


def written(topics, topic):
    """What feeds numbers into both partitions of a topic."""

    def feed(numbers):
        for part in (0, 1):
            topics.write(topic, *({"id": n, "k": n % GROUPS} for n in numbers if n % 2 == part), partition=part)

    return feed


def to_kafka(topics, prefix):
    """Topics that are made, and what they hold: the rows, or of a topic of upserts the last of each key."""
    made = topics.admin.create_topics([NewTopic(f"{prefix}-{name}", 1) for name in ("ids_kafka", "totals_kafka")])
    for future in made.values():
        future.result(30)

    def read(name):
        messages = [(item.key(), item.value()) for item in topics.all(f"{prefix}-{name}")]
        values = [value for _, value in messages] if name.startswith("ids") else dict(messages).values()
        return [tuple(json.loads(value).values()) for value in values if value is not None]

    place = f"'connector' = 'kafka', 'topic' = '{prefix}-{{name}}', 'bootstrap.servers' = '{topics.address}'"
    return Place(place, read, ", 'form' = 'upsert'")


def to_postgres(database):
    place = f"'connector' = 'postgres', 'connection' = '{database}', 'table' = '{{name}}', 'create' = 'true'"
    return Place(place, lambda name: asked(database, f"SELECT * FROM {name}"))


def to_delta(folder):
    def read(name):
        return [tuple(row.values()) for row in DeltaTable(folder / name).to_pyarrow_table().to_pylist()]

    return Place(f"'connector' = 'delta', 'path' = '{folder}/{{name}}'", read)


def from_kafka(topic, address):
    return f"'connector' = 'kafka', 'topic' = '{topic}', 'bootstrap.servers' = '{address}', 'format' = 'json'"


def test_a_process_that_is_killed_gives_each_number_once_to_each_receiver(kafka, topics, database, tmp_path):
    topic = topics.new("ids", partitions=2)
    places = {
        "kafka": to_kafka(topics, topic),
        "postgres": to_postgres(database),
        "delta": to_delta(tmp_path / "lake"),
    }
    text = program(from_kafka(topic, kafka), places)
    assert killed(text, tmp_path, written(topics, topic), places, kills=KILLS, seed=KILLS) > KILLS


def test_a_broker_that_starts_again_is_read_and_written_on(tmp_path):
    with running("kafka", tmp_path / "services") as address:
        topics = Topics(address)
        topic = topics.new("ids", partitions=2)
        places = {"kafka": to_kafka(topics, topic)}
        feed, text = written(topics, topic), program(from_kafka(topic, address), places)
        feed(range(100))
        with ended(run_of(text, tmp_path)) as process:
            there(places["kafka"], 100)
            assert scripted("kill", "kafka", folder=tmp_path / "services").returncode == 0
            time.sleep(1)
            assert scripted("start", "kafka", folder=tmp_path / "services").returncode == 0
            feed(range(100, 250))
            there(places["kafka"], 250)
            assert process.poll() is None
        compared(places["kafka"], "kafka", 250)


def there(place, count):
    """Wait until so many numbers have come to both outputs: each finds the broker again by itself."""
    until = time.monotonic() + SECONDS
    while len(list(place.read("ids_kafka"))) < count or sum(n for _, n, _ in place.read("totals_kafka")) < count:
        assert time.monotonic() < until, f"{count} numbers have not come in {SECONDS} seconds"
        time.sleep(0.2)
