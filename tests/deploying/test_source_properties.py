"""How the source of a table is read may change under a pipeline that goes on; what is read may not."""

import pytest

from penstock import Pipeline
from penstock.catalog.properties import says_how
from penstock.errors import SqlError, UnsupportedError

VIEW = "CREATE VIEW s AS SELECT COUNT(*) AS n, SUM(a) AS total FROM t;"


def program(folder, columns="a INT, b STRING", **properties):
    said = {"connector": "files", "path": str(folder), "format": "csv", **properties}
    texts = ", ".join(f"'{name}' = '{value}'" for name, value in said.items())
    return f"SET engine = 'native'; CREATE TABLE t ({columns}) WITH ({texts}); {VIEW}"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("a,b\n1,x\n2,y\n")
    return tmp_path / "in"


def ran(pipeline):
    pipeline.run(once=True)
    return [tuple(row) for row in pipeline.query("SELECT n, total FROM s").rows]


def test_a_program_that_reads_otherwise_goes_on_where_it_was(folder, tmp_path):
    old, new = program(folder), program(folder, delimiter=";", complete_after="5 seconds", rows_per_step="10")
    with Pipeline(old, directory=tmp_path / "dir") as pipeline:
        assert ran(pipeline) == [(2, 3)]
        found = pipeline.deployment(new)
        (table,) = (item for item in found.differences if item.name == "t")
        assert (table.what, found.problems, found.added) == ("changed", (), ())
        others = "'complete_after', 'delimiter', 'rows_per_step'"
        assert table.about == f"its rows stay; its source is read with another {others}"
        assert found.statements == (
            "ALTER TABLE `t` SET ('complete_after' = '5 seconds', 'delimiter' = ';', 'rows_per_step' = '10');",
        )
        pipeline.deploy(new)
        (folder / "2.csv").write_text("a;b\n10;x,y\n")
        assert ran(pipeline) == [(3, 13)]
    with Pipeline(new, directory=tmp_path / "dir") as pipeline:
        (folder / "3.csv").write_text("a;b\n100;x\n")
        assert ran(pipeline) == [(4, 113)]
        pipeline.deploy(old)
        (folder / "4.csv").write_text("a,b\n1000,x\n")
        assert ran(pipeline) == [(5, 1113)]
        assert pipeline.deployment(old).is_empty


def test_columns_and_the_way_of_reading_change_together(folder, tmp_path):
    with Pipeline(program(folder), directory=tmp_path / "dir") as pipeline:
        assert ran(pipeline) == [(2, 3)]
        pipeline.deploy(program(folder, "a INT, b STRING, c INT", on_error="fail"))
        assert pipeline.catalog.tables["t"].properties["on_error"] == "fail"
        assert [tuple(row) for row in pipeline.query("SELECT a, c FROM t ORDER BY a").rows] == [(1, None), (2, None)]


@pytest.mark.parametrize("other", [{"path": "."}, {"format": "json"}, {"pattern": "*"}, {"history": "none"}])
def test_what_is_read_may_not_change(folder, tmp_path, other):
    with Pipeline(program(folder), directory=tmp_path / "dir") as pipeline:
        assert ran(pipeline) == [(2, 3)]
        with pytest.raises(UnsupportedError, match="declared in another way"):
            pipeline.deploy(program(folder, **other))


def test_a_statement_says_it_too(folder):
    with Pipeline(program(folder)) as pipeline:
        pipeline.execute("ALTER TABLE t SET ('delimiter' = ';', on_error = 'fail')")
        pipeline.execute("ALTER TABLE t RESET ('on_error')")
        pipeline.execute("ALTER TABLE t SET TBLPROPERTIES ('comment' = 'rows')")
        properties = dict(pipeline.catalog.tables["t"].properties)
        assert properties["delimiter"] == ";" and "on_error" not in properties  # noqa: PT018


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("ALTER TABLE t SET ('path' = 'x')", "PROPERTY_FIXED"),
        ("ALTER TABLE t RESET ('format')", "PROPERTY_FIXED"),
        ("ALTER TABLE t SET ('delimeter' = ';')", "UNKNOWN_PROPERTY"),
        ("ALTER TABLE t SET ('topic' = 'x')", "UNKNOWN_PROPERTY"),
        ("ALTER TABLE x SET ('delimiter' = ';')", "UNKNOWN_TABLE"),
    ],
)
def test_what_a_statement_cannot_set(folder, statement, code):
    with Pipeline(program(folder)) as pipeline:
        with pytest.raises(SqlError) as raised:
            pipeline.execute(statement)
        (found,) = raised.value.diagnostics
        assert found.code == code
        assert found.span is not None


@pytest.mark.parametrize(
    ("name", "connector", "how"),
    [
        ("complete_after", "files", True), ("null_text", "files", True), ("partitioned_by", "files", False),
        ("properties.sasl.password", "kafka", True), ("topic", "kafka", False), ("on_lost", "kafka", True),
        ("bootstrap.servers", "kafka", True), ("catalog.uri", "iceberg", True), ("table", "iceberg", False),
        ("password", "postgres", True), ("connection", "postgres", True), ("slot", "postgres", False),
        ("header.authorization", "http", True), ("url", "http", False), ("url", "sql", False),
        ("start_after.timeout", "files", True), ("start_after.path", "files", False),
        ("rows_per_step", "delta", True), ("seed", "datagen", False),
    ],
)  # fmt: skip
def test_which_properties_say_how(name, connector, how):
    assert says_how(name, connector) == how
