"""Real processes killed at each place between Kafka, PostgreSQL and the log: each row once, to each of them."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from tests.recovery.test_killed_between import (
    OF_RECEIVERS,
    OF_SOURCES,
    ROWS,
    Service,
    output_of,
    program_of,
    run,
    source_of,
    words,
)
from tests.recovery.test_killed_between import given as given_to
from tests.services.test_postgres_output import asked
from tests.services.topics import Topics


def kafka_words(topics: Topics, topic: str, **more: object) -> str:
    return f"{words(connector='kafka', topic=topic, format='json', **more)}, 'bootstrap.servers' = '{topics.address}'"


def from_postgres(database: str, rows_per_step: int = 9, *, key: str = " PRIMARY KEY") -> str:
    asked(database, f"CREATE TABLE events (id bigint{key}, kind text)")
    asked(database, f"INSERT INTO events VALUES {', '.join(map(str, ROWS[:6]))}")
    return words(connector="postgres", connection=database, rows_per_step=rows_per_step)


def in_postgres(database: str) -> list[tuple[int, str]]:
    return sorted(asked(database, "SELECT id, kind FROM copied"))


@pytest.mark.parametrize("name", OF_RECEIVERS)
def test_a_topic_is_given_each_row_once(name: str, topics: Topics, tmp_path: Path) -> None:
    topic, nobody = topics.new("copied"), Service()
    output = f"{kafka_words(topics, topic)}, 'form' = 'append'"
    program = program_of(source_of("files", tmp_path, nobody), output)
    assert run(program, tmp_path, f"{name}:2")[0] == -signal.SIGKILL, "the failpoint was not reached"
    assert run(program, tmp_path)[0] == 0
    rows = [json.loads(message.value()) for message in topics.all(topic)]
    assert sorted((row["id"], row["kind"]) for row in rows) == ROWS


@pytest.mark.parametrize("name", OF_RECEIVERS)
def test_a_table_is_given_each_row_once(name: str, database: str, tmp_path: Path) -> None:
    output = words(connector="postgres", connection=database, create="true", form="append")
    program = program_of(source_of("files", tmp_path, Service()), output)
    assert run(program, tmp_path, f"{name}:2")[0] == -signal.SIGKILL, "the failpoint was not reached"
    assert run(program, tmp_path)[0] == 0
    assert in_postgres(database) == ROWS


@pytest.mark.parametrize("name", OF_SOURCES)
def test_a_topic_gives_each_row_once(name: str, topics: Topics, tmp_path: Path) -> None:
    topic = topics.new("events")
    topics.write(topic, *({"id": number, "kind": kind} for number, kind in ROWS))
    program = program_of(kafka_words(topics, topic, rows_per_step=3), output_of("files", tmp_path, Service()))
    assert run(program, tmp_path, f"{name}:2")[0] == -signal.SIGKILL, "the failpoint was not reached"
    assert run(program, tmp_path)[0] == 0
    assert given_to("files", tmp_path, Service(), []) == ROWS


@pytest.mark.parametrize("name", ["source.slot", "source.copied", *OF_SOURCES])
def test_a_table_of_a_database_gives_each_row_once(name: str, database: str, tmp_path: Path) -> None:
    """At the first step, whose rows are those of a copy: nothing but the directory knows whose the slot is then."""
    program = program_of(from_postgres(database), output_of("files", tmp_path, Service()))
    assert run(program, tmp_path, name)[0] == -signal.SIGKILL, "the failpoint was not reached"
    asked(database, f"INSERT INTO events VALUES {', '.join(map(str, ROWS[6:]))}")
    assert run(program, tmp_path)[0] == 0
    assert given_to("files", tmp_path, Service(), []) == ROWS


@pytest.mark.parametrize("name", ["log.manifest", "source.before", "source.told"])
def test_changes_of_a_database_are_taken_once(name: str, database: str, tmp_path: Path) -> None:
    program = program_of(from_postgres(database), output_of("files", tmp_path, Service()))
    assert run(program, tmp_path)[0] == 0
    asked(database, f"INSERT INTO events VALUES {', '.join(map(str, ROWS[6:]))}")
    assert run(program, tmp_path, name)[0] == -signal.SIGKILL, "the failpoint was not reached"
    assert run(program, tmp_path)[0] == 0
    assert given_to("files", tmp_path, Service(), []) == ROWS


@pytest.mark.parametrize("key", [" PRIMARY KEY", ""], ids=["key", "none"])
@pytest.mark.parametrize("name", OF_SOURCES)
def test_a_copy_of_several_steps_gives_each_row_once(name: str, key: str, database: str, tmp_path: Path) -> None:
    """Amid the rows of the copy, of which the database knows nothing any more once the process has ended."""
    program = program_of(from_postgres(database, 2, key=key), output_of("files", tmp_path, Service()))
    assert run(program, tmp_path, f"{name}:2")[0] == -signal.SIGKILL, "the failpoint was not reached"
    asked(database, f"INSERT INTO events VALUES {', '.join(map(str, ROWS[6:]))}")
    assert run(program, tmp_path)[0] == 0
    assert given_to("files", tmp_path, Service(), []) == ROWS


@pytest.mark.parametrize("name", ["source.copied", *(f"{name}:2" for name in OF_SOURCES), "source.told:3"])
def test_rows_that_change_while_they_are_copied_are_right_in_the_end(name: str, database: str, tmp_path: Path) -> None:
    """Rows go and change that a step has, and that none has yet, before a killed process goes on with their copy."""
    program = (
        f"CREATE TABLE events (id BIGINT, kind STRING, PRIMARY KEY (id)) WITH ({from_postgres(database, 2)});"
        f"CREATE VIEW copied WITH ({words(connector='postgres', connection=database, create='true')}) AS "
        "SELECT id, kind FROM events;"
    )
    assert run(program, tmp_path, name)[0] == -signal.SIGKILL, "the failpoint was not reached"
    asked(database, "DELETE FROM events WHERE id IN (0, 5); UPDATE events SET id = id + 10 WHERE id IN (1, 4)")
    asked(
        database, "UPDATE events SET kind = 'z' WHERE id IN (2, 3); INSERT INTO events VALUES (0, 'again'), (20, 'new')"
    )
    assert run(program, tmp_path)[0] == 0
    assert in_postgres(database) == sorted(asked(database, "SELECT id, kind FROM events"))
