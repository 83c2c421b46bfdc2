"""Folders that columns name, as Spark writes them by partitionBy: read as Spark reads them."""

from __future__ import annotations

import json
import re
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.sources.folders import aged, reader, written

import penstock
from penstock.errors import DataError
from penstock.sources.files.partitions import named_values
from penstock.steps.rows.rejected import Rejections

COLUMNS = "a INT, d DATE, h INT"


def put(folder, name, rows):
    """A file of JSON lines in a folder that may be new."""
    folder.mkdir(parents=True, exist_ok=True)
    written(folder / name, "".join(json.dumps(row) + "\n" for row in rows))


def places(found):
    return [json.loads(row.metadata)["error"] for row in found.rejected]


@pytest.mark.parametrize(
    ("folder", "values"),
    [
        ("in/d=2024-01-01/h=7", {"d": "2024-01-01", "h": "7"}),
        ("in/D=1/x/d=2", {"d": "2"}),
        ("at=2024-01-01 10%3A00%3A00", {"at": "2024-01-01 10:00:00"}),
        ("s=100%25/t=a%2Fb%3Dc", {"s": "100%", "t": "a/b=c"}),
        ("s=%zz%4", {"s": "%zz%4"}),
        ("s=%C3%A4", {"s": "\u00c3\u00a4"}),
        ("s=__HIVE_DEFAULT_PARTITION__", {"s": None}),
        ("a%3Db=c=d", {"a=b": "c=d"}),
    ],
)
def test_folders_name_columns_and_values(folder, values):
    assert named_values(folder) == values


def test_nested_folders_and_new_ones_while_it_is_followed(tmp_path):
    put(tmp_path / "d=2024-01-01" / "h=1", "1.json", [{"a": 1}, {"a": 2}])
    found = reader(tmp_path, "json", COLUMNS, partitioned_by="d, h")
    assert found.read() == [(1, date(2024, 1, 1), 1), (2, date(2024, 1, 1), 1)]
    put(tmp_path / "h=2" / "d=2024-1-2", "1.json", [{"a": 3}])
    put(tmp_path / "d=__HIVE_DEFAULT_PARTITION__" / "h=3", "1.json", [{"a": 4}])
    put(tmp_path / "d=2024-01-03" / "h=3" / "_temporary", "1.json", [{"a": 5}])
    assert sorted(found.read()) == [(3, date(2024, 1, 2), 2), (4, None, 3)]
    assert found.rejected == []


def test_what_a_file_itself_says_of_the_column_counts_for_nothing(tmp_path):
    put(tmp_path / "d=2024-01-01" / "h=1", "1.json", [{"a": 1, "d": "1999-01-01", "h": 9}])
    assert reader(tmp_path, "json", COLUMNS, partitioned_by="d,h").read() == [(1, date(2024, 1, 1), 1)]


def test_operations_are_those_of_the_lines(tmp_path):
    put(tmp_path / "h=1", "1.json", [{"insert": {"a": 1}}, {"delete": {"a": 1}}])
    found = reader(tmp_path, "json", "h INT, a INT", partitioned_by="h")
    assert found.read() == [(1, 1), (1, 1)]


def test_csv_without_a_header_has_the_columns_that_folders_do_not_name(tmp_path):
    (tmp_path / "h=7").mkdir()
    written(tmp_path / "h=7" / "1.csv", "1,x\n2,y\n")
    found = reader(tmp_path, "csv", "h INT, a INT, b STRING", partitioned_by="h", header="false")
    assert found.read() == [(7, 1, "x"), (7, 2, "y")]


def test_parquet_with_a_column_of_a_folder_that_begins_with_an_underscore(tmp_path):
    folder = tmp_path / "_k=1.5" / "_x=a.tmp"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"a": [1, None]}), folder / "1.parquet")
    aged(folder / "1.parquet", 10)
    found = reader(tmp_path, "parquet", "a INT, _k DECIMAL(3, 2), _x VARCHAR(5)", partitioned_by="_k, _x")
    assert [(a, str(k), x) for a, k, x in found.read()] == [(1, "1.50", "a.tmp"), (None, "1.50", "a.tmp")]


@pytest.mark.parametrize(
    ("folder", "columns", "error"),
    [
        ("d=today/h=1", COLUMNS, "column d: found 'today' (str), expected DATE"),
        ("d=2024-01-01/h=1.5", COLUMNS, "column h: found '1.5' (str), expected INT"),
        ("d=2024-01-01", COLUMNS, "none of its folders is named h=…"),
        ("d=__HIVE_DEFAULT_PARTITION__/h=1", "a INT, d DATE NOT NULL, h INT", "column d: found NULL"),
    ],
)
def test_a_folder_that_does_not_fit_is_reported_once_and_the_others_are_read(tmp_path, folder, columns, error):
    put(tmp_path / folder, "1.json", [{"a": 1}])
    put(tmp_path / "d=2024-01-01" / "h=1", "good.json", [{"a": 2}])
    found = reader(tmp_path, "json", columns, partitioned_by="d, h")
    assert found.all() == [(2, date(2024, 1, 1), 1)]
    assert found.all() == []
    (said,) = places(found)
    assert error in said
    strict = reader(tmp_path / folder, "json", columns, partitioned_by="d, h", on_error="fail")
    with pytest.raises(DataError, match=re.escape(error)):
        strict.found.read(10, Rejections(), ended=True)


WRITTEN = """
    SELECT a, IF(a = 3, NULL, CONCAT('x', a)) AS b, d, s, at, n, x, ok FROM VALUES
        (1, DATE '2024-01-01', 'a b/c=d', TIMESTAMP '2024-01-01 10:00:00', 7, 1.25BD, true),
        (2, DATE '2024-01-02', '100%', TIMESTAMP '2024-03-31 02:30:00.123456', -7, 0.50BD, false),
        (3, CAST(NULL AS DATE), NULL, NULL, NULL, NULL, NULL),
        (4, DATE '0999-12-31', '', TIMESTAMP '1969-12-31 23:59:59', 0, 9.99BD, true),
        (5, DATE '2024-01-02', 'ä:"[]', TIMESTAMP '2024-01-01 10:00:00', 7, 1.25BD, true)
        AS t (a, d, s, at, n, x, ok)
"""
DECLARED = "a INT, b STRING, d DATE, s STRING, at TIMESTAMP, n INT, x DECIMAL(5, 2), ok BOOLEAN"
FOLDERS = ("d", "s", "at", "n", "x", "ok")


@pytest.mark.parametrize("style", ["parquet", "json", "csv"])
def test_differential_what_spark_has_written_is_read_as_spark_reads_it(spark, tmp_path, style):
    spark.conf.set("spark.sql.session.timeZone", "Europe/Rome")
    try:
        spark.sql(WRITTEN).repartition(1).write.partitionBy(*FOLDERS).format(style).save(str(tmp_path / "t"))
        program = f"""
            SET TIME ZONE 'Europe/Rome';
            CREATE TABLE t ({DECLARED}) USING {style} PARTITIONED BY ({", ".join(FOLDERS)})
            LOCATION '{tmp_path / "t"}';
            CREATE VIEW v AS SELECT * FROM t;
        """
        with penstock.Pipeline(program, spark=spark) as pipeline:
            pipeline.run(once=True)
            assert pipeline.rejected() == {}
            expected = spark.read.schema(DECLARED).format(style).load(str(tmp_path / "t"))
            found = pipeline.query("SELECT * FROM v").df()
            assert found.columns == expected.columns
            assert sorted(map(repr, found.collect())) == sorted(map(repr, expected.collect()))
            assert found.count() == 5
            assert pipeline.verify("v")
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
