"""A position in a lake's table is one in that table: tables that are made anew, and columns that go by their ids."""

import json
import shutil
from dataclasses import dataclass, field

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyiceberg.types import LongType, StringType
from tests.sources.lakes import Followed, lake_source
from tests.sources.test_iceberg import Lake

from penstock.errors import DataError, SqlError


def rows(*ids, **columns):
    return pa.table({"id": pa.array(ids, pa.int64()), **columns})


class OfDelta:
    def __init__(self, folder):
        self.path = str(folder / "lake")

    def make(self, *ids):
        shutil.rmtree(self.path, ignore_errors=True)
        for number in ids:
            self.append(number)

    def append(self, number):
        write_deltalake(self.path, rows(number, s=["x"]), mode="append")

    def source(self, **said):
        return lake_source("delta", path=self.path, **said)


class OfIceberg(Lake):
    def make(self, *ids):
        self.catalog.drop_table("shop.orders")
        self.table = self.catalog.create_table("shop.orders", schema=rows(s=pa.array([], pa.string())).schema)
        for number in ids:
            self.append(number)

    def append(self, number):
        self.table.append(rows(number, s=["x"]))


@pytest.fixture(params=[OfDelta, OfIceberg])
def lake(request, tmp_path):
    return request.param(tmp_path)


def going_on(before, source):
    """Another process, which knows what the manifests tell."""
    source.skip(json.loads(json.dumps(before.known)))
    return Going(source, before.rows, known=before.known)


@dataclass
class Going(Followed):
    """Follows a source; `known` is what the last manifest has."""

    known: dict = field(default_factory=dict)

    def step(self, rows=1_000_000):
        read = super().step(rows)
        self.known = self.taken or self.known
        return read


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("ids", [(50,), (50, 51), (50, 51, 52, 53)], ids=["shorter", "as long", "longer"])
def test_a_table_that_is_made_anew_is_another_one(lake, ids, restarted):
    lake.make(1, 2)
    found = Going(lake.source())
    assert len(found.content()) == 2
    lake.append(3)
    found.step()
    lake.make(*ids)
    found = going_on(found, lake.source()) if restarted else found
    with pytest.raises(DataError, match=r"is another one: what steps have read was .*, and what is there is") as raised:
        found.step()
    assert raised.value.diagnostics[0].code == "CANNOT_READ_AGAIN"
    assert "on_replaced" in raised.value.diagnostics[0].hint


@pytest.mark.parametrize("restarted", [False, True])
def test_a_table_that_is_made_anew_may_be_read_as_a_new_one(lake, restarted):
    lake.make(1, 2)
    found = Going(lake.source(on_replaced="read"))
    found.step()
    lake.make(50, 51, 52)
    found = going_on(found, lake.source(on_replaced="read")) if restarted else found
    assert [row[0] for row in found.content()] == [1, 2, 50, 51, 52]
    lake.append(53)
    assert len(found.content()) == 6


def test_positions_without_identities_are_taken_up(lake):
    lake.make(1)
    found = Going(lake.source())
    found.step()
    del found.known["read"][0]["of"]
    lake.append(2)
    found = going_on(found, lake.source())
    assert [row[0] for row in found.content()] == [1, 2]
    lake.append(3)
    found.step()
    assert found.known["read"][0]["of"]["table"]


class TestColumnsOfIceberg:
    """What is read adds up to the rows that the table has, by the fields' ids."""

    @pytest.fixture(params=[False, True], ids=["followed", "restarted"])
    def follow(self, request, tmp_path):
        lake = Lake(tmp_path)
        lake.table.append(rows(1, 2, s=["a", "b"]))
        followed = [Going(lake.source())]
        followed[0].step()

        def step():
            found = followed[0]
            followed[0] = going_on(found, lake.source()) if request.param else found
            return followed[0].content()

        return lake.table, step

    def test_renamed(self, follow):
        table, step = follow
        with table.update_schema() as change:
            change.rename_column("s", "t")
        table.append(rows(3, t=["c"]))
        assert step() == [(1, "a"), (2, "b"), (3, "c")]
        table.delete("id = 1")
        assert step() == [(2, "b"), (3, "c")]
        with table.update_schema() as change:
            change.rename_column("t", "u")
        table.overwrite(rows(2, u=["z"]), "id = 2")
        assert step() == [(2, "z"), (3, "c")]

    def test_renamed_and_another_has_the_name(self, follow):
        table, step = follow
        with table.update_schema() as change:
            change.rename_column("s", "t")
        with table.update_schema() as change:
            change.add_column("s", LongType())
        table.append(rows(3, t=["c"], s=pa.array([7], pa.int64())))
        assert step() == [(1, "a"), (2, "b"), (3, "c")]

    def test_dropped(self, follow):
        table, step = follow
        with table.update_schema() as change:
            change.delete_column("s")
        table.append(rows(3))
        assert step() == [(1, "a"), (2, "b"), (3, None)]
        table.delete("id = 1")
        assert step() == [(2, None), (3, None)]

    def test_dropped_and_made_anew(self, follow):
        table, step = follow
        with table.update_schema() as change:
            change.delete_column("s")
        with table.update_schema() as change:
            change.add_column("s", StringType())
        table.append(rows(3, s=["c"]))
        assert step() == [(1, "a"), (2, "b"), (3, "c")]
        table.delete("id = 1")
        assert step() == [(2, None), (3, "c")]

    def test_positions_without_ids_have_those_of_their_snapshot(self, tmp_path):
        lake = Lake(tmp_path)
        lake.table.append(rows(1, s=["a"]))
        found = Going(lake.source())
        found.step()
        del found.known["read"][0]["of"]
        with lake.table.update_schema() as change:
            change.rename_column("s", "t")
        lake.table.append(rows(2, t=["b"]))
        assert going_on(found, lake.source()).content() == [(1, "a"), (2, "b")]


def test_a_column_of_iceberg_that_is_widened(tmp_path):
    lake = Lake(tmp_path)
    narrow = pa.schema([("id", pa.int32()), ("s", pa.string())])
    lake.catalog.drop_table("shop.orders")
    lake.table = lake.catalog.create_table("shop.orders", schema=narrow)
    lake.table.append(pa.table({"id": pa.array([1], pa.int32()), "s": ["a"]}))
    found = Going(lake.source())
    found.step()
    with lake.table.update_schema() as change:
        change.update_column("id", LongType())
    lake.table.append(rows(1 << 40, s=["b"]))
    assert found.content() == [(1, "a"), (1 << 40, "b")]
    lake.table.delete("s = 'a'")
    assert found.content() == [(1 << 40, "b")]


@pytest.mark.parametrize("name", ["a b", "[x]", "x?y", "100%"])
def test_a_path_of_delta_is_read_as_it_is_named(tmp_path, name):
    write_deltalake(str(tmp_path / "plain"), rows(1, s=["x"]))
    (tmp_path / "plain").rename(tmp_path / name)
    assert Going(lake_source("delta", path=str(tmp_path / name))).content() == [(1, "x")]


@pytest.mark.parametrize("name", ["q%20r", "back\\\\slash", "new\\nline"])
def test_a_path_that_deltalake_would_read_otherwise_is_refused(tmp_path, name):
    with pytest.raises(SqlError, match="deltalake reads another folder"):
        lake_source("delta", path=f"{tmp_path}/{name}")
