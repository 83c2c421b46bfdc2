"""A position in a table of PostgreSQL is one in that cluster, on its timeline."""

import json

import pytest
from tests.services.test_postgres_output import asked, opened
from tests.services.test_postgres_source import CUSTOMERS, followed, source

from penstock.errors import DataError
from penstock.sources.postgres.messages import lsn_number
from penstock.sources.postgres.origin import switch_from

HISTORY = "1\t0/3000060\tno recovery target specified\n\n2\t0/5000000\tbefore 2024-01-01 00:00:00+00\n"


@pytest.mark.parametrize(("timeline", "switch"), [(1, 0x3000060), (2, 0x5000000), (3, None)])
def test_the_switch_from_a_timeline(timeline, switch):
    assert switch_from(HISTORY, timeline) == switch


def _another(pipeline, **facts):
    """Have the position be one in another cluster, as if the address led to this one now."""
    for taken in pipeline._execution.taken.of("customers"):
        taken["read"][-1]["of"].update(facts)
    pipeline._execution.close_sources()
    pipeline._execution.sources.clear()


@pytest.mark.thin
def test_another_cluster_is_refused_with_both_identifiers(database):
    asked(database, CUSTOMERS)
    asked(database, "INSERT INTO customers VALUES (1, 'a', 1)")
    with opened(source(database)) as pipeline:
        followed(pipeline)
        (taken,) = pipeline._execution.taken.of("customers")
        ((system,),) = asked(database, "SELECT (pg_control_system()).system_identifier::text")
        assert taken["read"][0]["of"] == {"system": system, "timeline": 1}
        assert lsn_number(taken["read"][0]["to"]["lsn"])
        _another(pipeline, system="4711")
        with pytest.raises(DataError) as raised:
            pipeline.run(once=True)
    (found,) = raised.value.diagnostics
    assert found.code == "CANNOT_READ_AGAIN"
    assert "system identifier 4711, timeline 1, read up to" in found.message
    assert f"system identifier {system}" in found.message


def test_another_cluster_may_be_read_as_a_new_one(database):
    asked(database, CUSTOMERS)
    asked(database, "INSERT INTO customers VALUES (1, 'a', 1)")
    with opened(source(database, more=", 'on_replaced' = 'read', 'on_existing_slot' = 'replace'")) as pipeline:
        followed(pipeline)
        _another(pipeline, system="4711")
        asked(database, "DELETE FROM customers; INSERT INTO customers VALUES (2, 'b', 2)")
        assert [row[0] for row in followed(pipeline)] == [1, 2]
        asked(database, "INSERT INTO customers VALUES (3, 'c', 3)")
        assert [row[0] for row in followed(pipeline)] == [1, 2, 3]


def test_a_timeline_that_does_not_come_from_ours_is_another_one(database):
    asked(database, CUSTOMERS)
    with opened(source(database)) as pipeline:
        asked(database, "INSERT INTO customers VALUES (1, 'a', 1)")
        followed(pipeline)
        _another(pipeline, timeline=9)
        with pytest.raises(DataError, match="which does not come from that one"):
            pipeline.run(once=True)


def test_positions_without_an_origin_are_taken_up(database, tmp_path):
    asked(database, CUSTOMERS)
    asked(database, "INSERT INTO customers VALUES (1, 'a', 1)")
    with opened(source(database), directory=tmp_path) as pipeline:
        followed(pipeline)
        for taken in pipeline._execution.taken.of("customers"):
            del taken["read"][-1]["of"]
        pipeline._execution.close_sources()
        pipeline._execution.sources.clear()
        asked(database, "INSERT INTO customers VALUES (2, 'b', 2)")
        assert len(followed(pipeline)) == 2
        (taken,) = pipeline._execution.taken.of("customers")
        assert json.loads(json.dumps(taken["read"][-1]["of"]))["timeline"] == 1
