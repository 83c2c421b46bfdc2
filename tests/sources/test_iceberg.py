"""Tables of Apache Iceberg as sources: content, snapshots, catalogs and folders, what is gone or cannot be followed."""

import json
import random
import sys

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.types import StringType
from tests.sources.lakes import Followed, lake_source, operations

from penstock.errors import DataError, SqlError, UnsupportedError
from penstock.sources.lake.api import UnreadableError
from penstock.steps.rows.rejected import Rejections

SCHEMA = pa.schema([("id", pa.int64()), ("s", pa.string())])


def rows(*ids, s="x"):
    return pa.table({"id": pa.array(ids, pa.int64()), "s": pa.array([s] * len(ids), pa.string())})


class Lake:
    """A catalog in a file, with one table."""

    def __init__(self, folder):
        self.uri, self.folder = f"sqlite:///{folder}/catalog.db", folder / "lake" / "shop" / "orders"
        self.catalog = load_catalog("mine", type="sql", uri=self.uri, warehouse=f"file://{folder}/lake")
        self.catalog.create_namespace("shop")
        self.table = self.catalog.create_table("shop.orders", schema=SCHEMA)

    def source(self, columns="id BIGINT, s STRING", kind="TABLE", **said):
        words = {"catalog": "mine", "catalog__type": "sql", "catalog__uri": self.uri, "table": "shop.orders", **said}
        return lake_source("iceberg", columns, kind, **words)

    def content(self):
        found = self.table.scan().to_arrow()
        return sorted(zip(found["id"].to_pylist(), found["s"].to_pylist(), strict=True), key=repr)


@pytest.fixture
def lake(tmp_path):
    return Lake(tmp_path)


def test_the_content_comes_first_and_then_each_snapshot(lake):
    found = Followed(lake.source())
    assert found.step() == []
    lake.table.append(rows(1, 2))
    assert found.step(1) == [("+", (1, "x"))]
    assert found.step(1) == [("+", (2, "x"))]
    lake.table.append(rows(3))
    lake.table.append(rows(4, 5))
    assert found.step(1) == [("+", (3, "x"))]
    assert found.step(1) == [("+", (4, "x")), ("+", (5, "x"))]
    assert found.step() == []


def test_oracle_what_is_read_adds_up_to_the_table(lake):
    chance, fresh = random.Random(3), iter(range(100, 200))
    lake.table.append(rows(*range(6)))
    found = Followed(lake.source())
    for _ in range(12):
        match chance.randrange(4):
            case 0:
                lake.table.append(rows(next(fresh), next(fresh), s=chance.choice("ab")))
            case 1:
                lake.table.delete(f"id > {chance.randrange(110)}")
            case 2:
                lake.table.overwrite(rows(next(fresh)), overwrite_filter=f"id < {chance.randrange(110)}")
            case _:
                known = sorted({row[0] for row in lake.content()})[:2]
                lake.table.upsert(rows(*known, next(fresh), s="m"), join_cols=["id"])
        if chance.random() < 0.6:
            found.content()
    assert found.content() == lake.content()
    assert found.rejected == []


def test_what_a_manifest_names_is_read_again(lake):
    lake.table.append(rows(1, 2))
    source = lake.source()
    content = operations(source.read(9, Rejections()))
    first = json.loads(json.dumps(source.taken()))
    source.commit()
    lake.table.delete("id = 1")
    lake.table.append(rows(3))
    change = operations(source.read(9, Rejections()))
    second = json.loads(json.dumps(source.taken()))
    lake.table.append(rows(4))
    again = lake.source()
    for taken, expected in ((first, content), (second, change)):
        again.seek(taken)
        assert operations(again.read(1, Rejections())) == expected
        again.commit()
    assert operations(again.read(9, Rejections())) == [("+", (4, "x"))]


def test_a_table_in_a_folder_needs_no_catalog(lake):
    lake.table.append(rows(1))
    found = Followed(lake_source("iceberg", path=str(lake.folder)))
    assert found.step() == [("+", (1, "x"))]
    lake.table.append(rows(2))
    assert found.step() == [("+", (2, "x"))]


def test_a_column_that_came_later(lake):
    lake.table.append(rows(1))
    with lake.table.update_schema() as update:
        update.add_column("z", StringType())
    found = Followed(lake.source("id BIGINT, z STRING"))
    assert found.step() == [("+", (1, None))]


def test_a_snapshot_that_is_gone_is_said(lake):
    lake.table.append(rows(1))
    found = Followed(lake.source())
    found.step()
    lake.table.append(rows(2))
    lake.table.append(rows(3))
    for snapshot in [item.snapshot_id for item in lake.table.snapshots()][:2]:
        lake.table.maintenance.expire_snapshots().by_id(snapshot).commit()
    with pytest.raises(DataError, match="is not there any more") as caught:
        found.step()
    assert caught.value.diagnostics[0].code == "CANNOT_READ_AGAIN"


def test_rows_marked_as_deleted_cannot_be_followed(lake, monkeypatch):
    from pyiceberg.manifest import ManifestContent, ManifestFile

    lake.table.append(rows(1))
    source = lake.source()
    source.read(9, Rejections())
    source.commit()
    lake.table.append(rows(2))
    monkeypatch.setattr(ManifestFile, "content", ManifestContent.DELETES)
    with pytest.raises(UnreadableError, match="merge on read"):
        source.lake.change(source.lake.latest())
    with pytest.raises(DataError, match="merge on read") as caught:
        source.read(9, Rejections(tolerant=True))
    assert "copy-on-write" in caught.value.diagnostics[0].hint


def test_a_stream_takes_no_rows_back(lake):
    lake.table.append(rows(1, 2))
    source = lake.source(kind="STREAM")
    source.read(9, Rejections())
    source.commit()
    lake.table.delete("id = 1")
    with pytest.raises(DataError, match="t is a stream, and version"):
        source.read(9, Rejections(tolerant=True))


def test_what_is_not_there_or_not_of_the_table_is_said(lake, tmp_path, monkeypatch):
    with pytest.raises(DataError, match=r"the catalog has no table shop\.nothing"):
        lake.source(table="shop.nothing")
    with pytest.raises(DataError, match="there is no Iceberg table"):
        lake_source("iceberg", path=str(tmp_path))
    with pytest.raises(DataError, match="cannot be opened") as caught:
        lake.source(catalog__uri="nosuch://user:secret@host")
    assert "secret" not in str(caught.value)
    with pytest.raises(DataError, match="none of its columns"):
        lake.source("y INT")
    with pytest.raises(DataError, match="which the table lacks"):
        lake.source("id INT", unknown_columns="reject")
    with pytest.raises(SqlError, match="needs 'table'"):
        lake_source("iceberg")
    with pytest.raises(SqlError, match="needs 'table'"):
        lake.source(path="x")
    monkeypatch.setitem(sys.modules, "pyiceberg.catalog", None)
    with pytest.raises(UnsupportedError, match="the connector iceberg needs a package"):
        lake.source()
