"""Tables of Delta Lake as sources: content, versions, change feed, what is gone or cannot be read."""

import json
import random
import sys
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.sources.lakes import Followed, lake_source, operations

from penstock import Pipeline
from penstock.errors import DataError, SqlError, UnsupportedError
from penstock.sources.delta.log import Action
from penstock.sources.delta.table import _rows
from penstock.sources.lake.netting import net
from penstock.steps.rows.rejected import Rejections

FEED = {"delta.enableChangeDataFeed": "true"}


@pytest.fixture
def lake(tmp_path):
    return str(tmp_path / "lake")


def rows(*ids, s="x"):
    return pa.table({"id": pa.array(ids, pa.int64()), "s": pa.array([s] * len(ids), pa.string())})


def append(lake, *ids, **options):
    write_deltalake(lake, rows(*ids, **{k: v for k, v in options.items() if k == "s"}), mode="append",
                    configuration=options.get("configuration"))  # fmt: skip


def test_the_content_comes_first_and_then_each_version(lake):
    append(lake, 1, 2)
    append(lake, 3)
    found = Followed(lake_source("delta", path=lake))
    assert sorted(found.step()) == [("+", (1, "x")), ("+", (2, "x")), ("+", (3, "x"))]
    assert found.step() == []
    append(lake, 4)
    append(lake, 5)
    assert found.step(1) == [("+", (4, "x"))]
    assert found.step(1) == [("+", (5, "x"))]
    (item,) = found.taken["read"]
    assert (item["from"], item["to"]) == ({"version": 2}, {"version": 3})


def test_a_content_is_cut_into_steps_and_a_version_is_not(lake):
    append(lake, *range(10))
    append(lake, *range(10, 15))
    found = Followed(lake_source("delta", path=lake))
    assert [len(found.step(4)) for _ in range(5)] == [4, 4, 4, 3, 0]
    assert found.found.waiting() == (0, 0)
    append(lake, *range(20))
    assert len(found.step(4)) == 20


def test_a_table_without_rows_begins_with_its_first_version(lake):
    DeltaTable.create(lake, rows(1).schema)
    found = Followed(lake_source("delta", path=lake))
    assert found.step() == []
    append(lake, 1)
    assert found.step() == [("+", (1, "x"))]


def test_changes_from_a_version_on(lake):
    append(lake, 1)
    append(lake, 2)
    append(lake, 3)
    assert Followed(lake_source("delta", path=lake, starting_version="1")).content() == [(2, "x"), (3, "x")]


@pytest.mark.parametrize("feed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_oracle_what_is_read_adds_up_to_the_table(lake, feed, seed):
    chance = random.Random(seed)
    write_deltalake(lake, rows(*range(6)), configuration=FEED if feed else None)
    found = Followed(lake_source("delta", path=lake))
    fresh = iter(range(100, 200))
    for _ in range(10):
        change(lake, chance, fresh)
        if chance.random() < 0.6:
            found.content()
    assert found.content() == sorted(content(lake), key=repr)
    assert found.rejected == []


def change(lake, chance, fresh):
    """One commit by chance."""
    table, low = DeltaTable(lake), chance.randrange(150)
    match chance.randrange(6):
        case 0:
            append(lake, next(fresh), next(fresh), s=chance.choice("ab"))
        case 1:
            table.delete(f"id % 7 = {low % 7}")
        case 2:
            table.update(predicate=f"id > {low}", updates={"s": f"concat('u', '{low % 3}')"})
        case 3:
            table.optimize.compact()
        case 4:
            source = pa.concat_tables([rows(*sorted({row[0] for row in content(lake)})[:2], s="m"), rows(next(fresh))])
            merge = table.merge(source, "t.id = n.id", source_alias="n", target_alias="t")
            merge.when_matched_update_all().when_not_matched_insert_all().execute()
        case _:
            write_deltalake(lake, pa.table(table.to_pyarrow_table()).slice(0, 5), mode="overwrite")


def content(lake):
    found = DeltaTable(lake).to_pyarrow_table()
    return list(zip(found["id"].to_pylist(), found["s"].to_pylist(), strict=True))


def test_what_goes_stands_before_what_comes_so_that_a_key_may_move(lake):
    schema = pa.table({"id": [1, 2], "s": ["a", "b"]})
    write_deltalake(lake, schema, partition_by=["s"], configuration=FEED)
    DeltaTable(lake).update(updates={"s": "'c'"})
    found = Followed(lake_source("delta", "id BIGINT PRIMARY KEY, s STRING", path=lake, starting_version="1"))
    found.rows.update([(1, "a"), (2, "b")])
    assert [operation for operation, _ in found.step()] == ["-", "-", "+", "+"]


def test_a_pipeline_keeps_up_with_a_delta_table(lake):
    append(lake, 1, 2, 3)
    program = f"""
        SET engine = 'native';
        CREATE TABLE t (id BIGINT PRIMARY KEY, s STRING) USING delta LOCATION '{lake}';
        CREATE VIEW v AS SELECT s, COUNT(*) AS n, SUM(id) AS total FROM t GROUP BY s;"""
    with Pipeline(program) as pipeline:
        pipeline.run(once=True)
        assert pipeline.query("SELECT * FROM v").rows == [("x", 3, 6)]
        DeltaTable(lake).update(predicate="id = 2", updates={"s": "'y'"})
        DeltaTable(lake).delete("id = 3")
        pipeline.run(once=True)
        assert sorted(pipeline.query("SELECT * FROM v").rows) == [("x", 1, 1), ("y", 1, 2)]


def test_types_partitions_and_columns_that_came_later(lake):
    at = datetime(2024, 1, 31, 12, tzinfo=UTC)
    first = pa.table({
        "n": pa.array([Decimal("1.50")], pa.decimal128(9, 2)), "d": pa.array([date(2024, 1, 31)]), "at": pa.array([at]),
        "l": pa.array([[1, None]]), "p": pa.array(["a b:ü"]), "q": pa.array([date(2024, 2, 1)]), "e": pa.array([""]),
    })  # fmt: skip
    write_deltalake(lake, first, partition_by=["p", "q", "e"])
    later = first.append_column("z", pa.array([7]))
    write_deltalake(lake, later, mode="append", schema_mode="merge")
    columns = "n DECIMAL(9,2), d DATE, at TIMESTAMP, l ARRAY<INT>, p STRING, q DATE, z INT, e STRING"
    plain = (Decimal("1.50"), date(2024, 1, 31), at, [1, None], "a b:ü", date(2024, 2, 1))
    for said in ({}, {"starting_version": "0"}):
        read = [row for _, row in operations(lake_source("delta", columns, path=lake, **said).read(9, Rejections()))]
        assert sorted(read, key=repr) == sorted([(*plain, None, None), (*plain, 7, None)], key=repr)


def test_what_a_manifest_names_is_read_again(lake):
    append(lake, *range(8))
    append(lake, 8, 9)
    source = lake_source("delta", path=lake)
    first = operations(source.read(5, Rejections()))
    source.rewind()
    assert operations(source.read(5, Rejections())) == first
    parts = json.loads(json.dumps(source.taken()))
    source.commit()
    DeltaTable(lake).delete("id = 1")
    rest = operations(source.read(50, Rejections()))
    more = json.loads(json.dumps(source.taken()))
    append(lake, 100)
    DeltaTable(lake).optimize.compact()
    again = lake_source("delta", path=lake)
    again.seek(parts)
    assert operations(again.read(1, Rejections())) == first
    again.commit()
    again.seek(more)
    assert operations(again.read(1, Rejections())) == rest
    again.commit()
    assert operations(again.read(50, Rejections())) == [("+", (100, "x"))]
    behind = lake_source("delta", path=lake)
    behind.skip(more)
    assert operations(behind.read(50, Rejections())) == [("+", (100, "x"))]


def test_a_table_vacuumed_below_the_position_is_said(lake):
    append(lake, 1, 2)
    source = lake_source("delta", path=lake, starting_version="1")
    append(lake, 3)
    DeltaTable(lake).delete("id = 3")
    DeltaTable(lake).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    with pytest.raises(DataError, match="is not there any more") as caught:
        source.read(9, Rejections(tolerant=True))
    assert caught.value.diagnostics[0].code == "CANNOT_READ_AGAIN"


def test_a_log_that_was_cut_is_said(lake, tmp_path):
    append(lake, 1)
    append(lake, 2)
    append(lake, 3)
    source = lake_source("delta", path=lake, starting_version="0")
    assert source.read(1, Rejections()) is not None
    source.commit()
    append(lake, 4)
    DeltaTable(lake).create_checkpoint()
    (tmp_path / "lake" / "_delta_log" / f"{1:020}.json").unlink()
    (tmp_path / "lake" / "_delta_log" / f"{0:020}.json").unlink()
    with pytest.raises(DataError, match="version 1 is not in its log any more, which goes on to 3"):
        source.read(9, Rejections())


def test_a_log_with_a_gap_is_said(lake, tmp_path):
    append(lake, 1)
    append(lake, 2)
    append(lake, 3)
    source = lake_source("delta", path=lake, starting_version="1")
    (tmp_path / "lake" / "_delta_log" / f"{1:020}.json").unlink()
    with pytest.raises(DataError, match="its log cannot be read"):
        source.read(9, Rejections())


def test_a_file_that_is_broken_goes_alone(lake, tmp_path):
    append(lake, 1)
    broken = next((tmp_path / "lake").glob("*.parquet"))
    append(lake, 2)
    broken.write_bytes(b"PAR1 nothing of the kind PAR1")
    found = Followed(lake_source("delta", path=lake))
    assert found.content() == [(2, "x")]
    assert [row.message for row in found.rejected] == ["Bad file"]


def test_a_stream_cannot_take_rows_back(lake):
    append(lake, 1, 2)
    source = lake_source("delta", kind="STREAM", path=lake)
    source.read(9, Rejections())
    source.commit()
    DeltaTable(lake).optimize.compact()
    assert source.read(9, Rejections(tolerant=True)) is None
    DeltaTable(lake).delete("id = 1")
    with pytest.raises(DataError, match="takes rows back"):
        source.read(9, Rejections(tolerant=True))


def test_a_file_outside_of_the_folder_is_not_read(lake, tmp_path):
    append(lake, 1)
    source = lake_source("delta", path=lake, starting_version="1")
    add = {
        "add": {
            "path": "../secret.parquet",
            "partitionValues": {},
            "dataChange": True,
            "size": 1,
            "modificationTime": 1,
        }
    }
    (tmp_path / "lake" / "_delta_log" / f"{1:020}.json").write_text(json.dumps(add))
    with pytest.raises(DataError, match="outside of the table's folder"):
        source.read(9, Rejections(tolerant=True))


def test_deletion_vectors_are_said(lake, tmp_path):
    append(lake, 1)
    source = lake_source("delta", path=lake, starting_version="1")
    add = {
        "add": {"path": "a.parquet", "partitionValues": {}, "dataChange": True, "deletionVector": {"storageType": "u"}}
    }
    (tmp_path / "lake" / "_delta_log" / f"{1:020}.json").write_text(json.dumps(add))
    with pytest.raises(DataError, match="deletion vector") as caught:
        source.read(9, Rejections(tolerant=True))
    assert "PURGE" in caught.value.diagnostics[0].hint


def test_what_is_not_there_or_not_of_the_table_is_said(lake, tmp_path, monkeypatch):
    with pytest.raises(DataError, match="there is no Delta table"):
        lake_source("delta", path=str(tmp_path / "nothing"))
    append(lake, 1)
    with pytest.raises(DataError, match="none of its columns"):
        lake_source("delta", "z INT", path=lake)
    with pytest.raises(DataError, match="which the table lacks"):
        lake_source("delta", "id INT", path=lake, unknown_columns="reject")
    with pytest.raises(SqlError, match="needs 'path'"):
        lake_source("delta")
    with pytest.raises(SqlError, match="no version"):
        lake_source("delta", path=lake, starting_version="latest")
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(UnsupportedError, match="'connector' = 'delta' needs a package"):
        lake_source("delta", path=lake)


def test_what_a_rewritten_file_has_as_before_is_no_change():
    kinds = pa.schema([("f", pa.float64()), ("l", pa.list_(pa.int64())), ("m", pa.map_(pa.string(), pa.int64()))])
    nan, none = {"f": float("nan"), "l": [1, None], "m": [("k", 1)]}, {"f": None, "l": None, "m": None}
    other = {"f": 0.5, "l": [], "m": []}
    removed = pa.Table.from_pylist([nan, nan, none, other], kinds)
    gone, come = net(removed, pa.Table.from_pylist([none, nan, other, other, none], kinds))
    assert repr(gone.to_pylist()) == repr([nan])
    assert sorted(map(repr, come.to_pylist())) == sorted(map(repr, [other, none]))


def test_times_that_no_nanoseconds_can_say_are_what_they_are(tmp_path):
    """As Spark writes times, INT96: read as nanoseconds the year 9999 would be 1816."""
    texts = ("0001-01-01", "9999-12-31T23:59:59.999999")
    times = pa.array([*(datetime.fromisoformat(text) for text in texts), None], pa.timestamp("us"))
    pq.write_table(pa.table({"at": times}), tmp_path / "x.parquet", use_deprecated_int96_timestamps=True)
    kind = pa.timestamp("us", "UTC")
    files = pa_fs.SubTreeFileSystem(str(tmp_path), pa_fs.LocalFileSystem())
    found = _rows(files, "x.parquet", Action("add", "x.parquet", {}), {"at": kind})
    assert found.column("at").cast(pa.timestamp("us")).to_pylist() == times.to_pylist()


def test_a_store_that_does_not_let_the_table_be_seen_is_named_with_table_and_path(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    with pytest.raises(DataError) as caught:
        lake_source("delta", path="s3://penstock-nowhere/orders")
    (found,) = caught.value.diagnostics
    assert found.code == "CANNOT_READ"
    assert found.message.startswith("table t: the Delta table s3://penstock-nowhere/orders cannot be reached: ")
    assert "AWS_ACCESS_KEY_ID" in found.hint
    assert not set(found.message) & set("\x1b\n\u21b3")
