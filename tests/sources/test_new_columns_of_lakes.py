"""`'unknown_columns'` of Delta and Iceberg: columns that the lake's table has, or gets while a pipeline follows it."""

import random
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import load_catalog

from penstock import Pipeline
from penstock.errors import DataError
from penstock.steps.events import ColumnsAdded

FEED = {"delta.enableChangeDataFeed": "true"}


def rows(*ids, v=None, **more):
    """Rows with the ids, and in each further column one value for all, of the type that Arrow finds."""
    found = {"id": pa.array(ids, pa.int64()), "v": pa.array([v] * len(ids), pa.int64())}
    return pa.table({**found, **{name: pa.array([value] * len(ids)) for name, value in more.items()}})


class Delta:
    """A Delta table that evolves."""

    configuration = None

    def __init__(self, folder):
        self.path = str(folder / "lake")
        self.said = f"'connector' = 'delta', 'path' = '{self.path}'"

    def append(self, data):
        write_deltalake(self.path, data, mode="append", schema_mode="merge", configuration=self.configuration)

    def delete(self, ids):
        DeltaTable(self.path).delete(f"id IN ({', '.join(map(str, ids))})")

    def set_v(self, ids, v):
        DeltaTable(self.path).update(predicate=f"id IN ({', '.join(map(str, ids))})", updates={"v": str(v)})

    def content(self):
        return pa.table(DeltaTable(self.path).to_pyarrow_table()).to_pylist()


class Fed(Delta):
    """The same with its change feed."""

    configuration = FEED


class Iceberg:
    """An Iceberg table that evolves."""

    def __init__(self, folder):
        uri = f"sqlite:///{folder}/catalog.db"
        self.catalog = load_catalog("mine", type="sql", uri=uri, warehouse=f"file://{folder}/lake")
        self.catalog.create_namespace("shop")
        self.table = None
        said = {"connector": "iceberg", "catalog": "mine", "catalog.type": "sql", "catalog.uri": uri}
        self.said = ", ".join(f"'{name}' = '{value}'" for name, value in {**said, "table": "shop.orders"}.items())

    def append(self, data):
        if self.table is None:
            self.table = self.catalog.create_table("shop.orders", schema=data.schema)
        elif set(data.column_names) - {field.name for field in self.table.schema().fields}:
            with self.table.update_schema() as update:
                update.union_by_name(data.schema)
        names = [field.name for field in self.table.schema().fields]
        self.table.append(data.select([name for name in names if name in data.column_names]))

    def delete(self, ids):
        self.table.delete(f"id IN ({', '.join(map(str, ids))})")

    def set_v(self, ids, v):
        chosen = f"id IN ({', '.join(map(str, ids))})"
        found = self.table.scan(row_filter=chosen).to_arrow()
        at = found.schema.get_field_index("v")
        self.table.overwrite(found.set_column(at, "v", pa.array([v] * len(found), pa.int64())), chosen)

    def content(self):
        return self.table.scan().to_arrow().to_pylist()


@pytest.fixture(params=[Delta, Fed, Iceberg])
def lake(request, tmp_path):
    return request.param(tmp_path)


def program(lake, unknown="add", key=""):
    return f"""
    SET engine = 'native';
    CREATE TABLE t (id BIGINT {key}, v BIGINT) WITH ({lake.said}, 'unknown_columns' = '{unknown}');
    CREATE VIEW total AS SELECT COUNT(*) AS n, SUM(v) AS s FROM t;
    """


class Run:
    """Pipelines that follow a lake, one after the other."""

    def __init__(self, lake, folder, **said):
        self.text, self.folder, self.told = program(lake, **said), folder / "dir", []

    def on(self, **how):
        """The rows of the table by name, once all that there is has been read."""
        with Pipeline(self.text, directory=self.folder, on_event=self.told.append, **how) as pipeline:
            pipeline.run(once=True)
            self.columns = {item.name: item.type for item in pipeline.catalog.table("t").columns}
            self.errors = pipeline.query("SELECT metadata FROM error_view").rows
            found = pipeline.query("SELECT * FROM t").rows
            assert pipeline.content("total").rows == pipeline.query("SELECT COUNT(*), SUM(v) FROM t").rows
            return sorted((dict(zip(self.columns, row, strict=True)) for row in found), key=repr)

    @property
    def added(self):
        return [line for event in self.told if isinstance(event, ColumnsAdded) for line in str(event).splitlines()]


@pytest.mark.parametrize("key", ["", "PRIMARY KEY"])
def test_a_column_that_the_lake_gets_comes_with_the_version_that_has_it(lake, tmp_path, key):
    run = Run(lake, tmp_path, key=key)
    lake.append(rows(1, 2, v=1))
    assert run.on() == [{"id": 1, "v": 1}, {"id": 2, "v": 1}]
    lake.append(rows(3, v=2, who="ann", price=Decimal("1.50")))
    lake.append(rows(4, v=3))
    lake.set_v([1, 3], 7)
    lake.delete([4])
    none = {"who": None, "price": None}
    whole = [{"id": 1, "v": 7, **none}, {"id": 2, "v": 1, **none}]
    whole.append({"id": 3, "v": 7, "who": "ann", "price": Decimal("1.50")})
    assert run.on() == whole
    assert run.columns["price"].startswith("decimal(")
    assert run.columns["who"] == "string"
    assert max(run.added) == "table t has a new column who STRING, as rows have it"
    lake.append(rows(5, day=date(2024, 1, 31)))
    whole = [{**row, "day": None} for row in whole] + [{"id": 5, "v": None, **none, "day": date(2024, 1, 31)}]
    for how in ({}, {}, {"rebuild": True}):
        assert (run.on(**how), run.errors) == (whole, [])
    assert len(run.added) == 3


def test_a_content_has_columns_that_the_table_lacks(lake, tmp_path):
    lake.append(rows(1, parts=[1, 2], nothing=1))
    lake.append(rows(2, v=5))
    run = Run(lake, tmp_path)
    assert run.on() == [
        {"id": 1, "v": None, "parts": "[1, 2]", "nothing": 1}, {"id": 2, "v": 5, "parts": None, "nothing": None},
    ]  # fmt: skip
    assert (run.columns["parts"], run.columns["nothing"], run.errors) == ("string", "bigint", [])
    lake.delete([1])
    assert run.on() == [{"id": 2, "v": 5, "parts": None, "nothing": None}]


@pytest.mark.parametrize("seed", range(3))
def test_oracle_a_lake_that_grows_in_both_directions(lake, tmp_path, seed):
    chance, run = random.Random(seed), Run(lake, tmp_path)
    lake.append(rows(1, 2, 3))
    fresh, columns = iter(range(10, 100)), 0
    for _ in range(8):
        there = [row["id"] for row in lake.content()] or [0]
        match chance.randrange(4):
            case 0:
                columns += 1
                lake.append(rows(next(fresh), next(fresh), **{f"c{columns}": chance.choice(["x", 5, 1.5, True])}))
            case 1:
                lake.append(rows(next(fresh), v=chance.randrange(9)))
            case 2:
                lake.set_v(chance.sample(there, min(2, len(there))), chance.randrange(9))
            case _:
                lake.delete([chance.choice(there)])
        if chance.random() < 0.5:
            run.on()
    found, there = run.on(), lake.content()
    assert found == sorted(({name: row[name] for name in run.columns} for row in there), key=repr)
    assert {name for row in there for name, value in row.items() if value is not None} <= {*run.columns}
    assert run.errors == []


def test_a_column_that_comes_later_is_left_out_or_ends_the_run(lake, tmp_path):
    lake.append(rows(1))
    left_out, refused = Run(lake, tmp_path / "a", unknown="ignore"), Run(lake, tmp_path / "b", unknown="reject")
    assert left_out.on() == refused.on() == [{"id": 1, "v": None}]
    with Pipeline(refused.text, directory=tmp_path / "c") as pipeline:
        pipeline.run(once=True)
        lake.append(rows(2, z=1))
        with pytest.raises(DataError, match="it has a column z, which the table lacks") as caught:
            pipeline.run(once=True)
        assert caught.value.diagnostics[0].code == "UNKNOWN_COLUMN"
    with pytest.raises(DataError, match="it has a column z, which the table lacks"):
        refused.on()
    assert left_out.on() == [{"id": 1, "v": None}, {"id": 2, "v": None}]


def test_a_name_that_no_column_can_have_ends_the_run(lake, tmp_path):
    lake.append(rows(1, __weight=5))
    with pytest.raises(DataError, match="a column cannot be named __weight"):
        Run(lake, tmp_path).on()


@pytest.mark.parametrize(("unknown", "columns"), [("add", "id BIGINT"), ("ignore", "id BIGINT, z BIGINT")])
@pytest.mark.parametrize("configuration", [None, FEED])
def test_rows_go_with_a_column_that_their_table_has_no_more(tmp_path, unknown, columns, configuration):
    path = str(tmp_path / "lake")
    write_deltalake(path, pa.table({"id": [1, 2], "z": [5, 6]}), configuration=configuration)
    said = f"'connector' = 'delta', 'path' = '{path}', 'unknown_columns' = '{unknown}'"
    text = f"SET engine = 'native'; CREATE TABLE t ({columns}) WITH ({said}); CREATE VIEW n AS SELECT SUM(z) FROM t;"
    text = text if unknown == "ignore" else text.replace("SUM(z)", "SUM(id)")
    with Pipeline(text) as pipeline:
        pipeline.run(once=True)
        assert sorted(pipeline.query("SELECT * FROM t").rows) == [(1, 5), (2, 6)]
        write_deltalake(path, pa.table({"id": [1, 3]}), mode="overwrite", schema_mode="overwrite")
        pipeline.run(once=True)
        assert sorted(pipeline.query("SELECT * FROM t").rows) == [(1, None), (3, None)]
        assert pipeline.query("SELECT * FROM error_view").rows == []
