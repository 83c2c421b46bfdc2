"""CREATE TABLE … USING a connector, by Spark's options or by ours."""

import pytest
from tests.steps.tables import declared

from penstock.errors import SqlError
from penstock.sources.api import check_source

SERVERS = "'kafka.bootstrap.servers' 'h:1'"


def properties(using, columns="id INT"):
    table = declared(f"CREATE TABLE t ({columns}) USING {using}")
    check_source(table)
    return dict(table.properties)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("subscribe 'a,b'", {"topic": "a,b"}),
        (
            "subscribePattern 'a.*', startingOffsets 'latest'",
            {"topic-pattern": "a.*", "scan.startup.mode": "latest-offset"},
        ),
        ("subscribe 'a', failOnDataLoss false", {"topic": "a", "on_lost": "skip"}),
        ("subscribe 'a', maxOffsetsPerTrigger 100", {"topic": "a", "rows_per_step": "100"}),
        (
            "topic 'a', 'kafka.sasl.username' 'u', format 'csv'",
            {"topic": "a", "properties.sasl.username": "u", "format": "csv"},
        ),
        (
            "subscribe 'a', startingTimestamp '1000'",
            {"topic": "a", "scan.startup.mode": "timestamp", "scan.startup.timestamp-millis": "1000"},
        ),
    ],
    ids=["topics", "pattern", "loss", "limit", "others", "time"],
)
def test_kafka_by_sparks_words(options, expected):
    found = properties(f"kafka OPTIONS ({SERVERS}, {options})")
    assert found == {"connector": "kafka", "bootstrap.servers": "h:1", **expected}


def test_jdbc_is_asked_by_a_column_that_grows():
    found = properties("jdbc OPTIONS (url 'jdbc:sqlite:shop.db', dbtable 'orders', partitionColumn 'id')")
    assert found == {"connector": "sql", "url": "sqlite:shop.db", "table": "orders", "column": "id"}
    with pytest.raises(SqlError) as caught:
        properties("jdbc OPTIONS (url 'jdbc:sqlite:shop.db', dbtable 'orders')")
    assert caught.value.diagnostics[0].code == "MISSING_PROPERTY"


def test_any_connector_has_its_properties_as_options():
    found = properties("datagen OPTIONS ('rows-per-second' '5') TBLPROPERTIES ('append_only' = 'true')")
    assert found == {"connector": "datagen", "rows-per-second": "5", "append_only": "true"}


def test_what_has_no_meaning_is_a_warning():
    table = declared(f"CREATE TABLE t (id INT) USING kafka OPTIONS ({SERVERS}, subscribe 'a', minPartitions 3)")
    assert [item.message for item in table.warnings] == ["the option 'minpartitions' has no meaning here"]
