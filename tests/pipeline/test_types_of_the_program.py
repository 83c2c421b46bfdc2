"""CREATE TYPE: a name for a type, in the program and in statements behind it, also when a directory is gone on from."""

import pytest

import penstock
from penstock.bind.program.compile import compile_program
from penstock.errors import SqlError

PROGRAM = """
CREATE TYPE place AS (city STRING, zip INT);
CREATE TABLE people (id INT, home place);
CREATE VIEW cities AS SELECT home.city, COUNT(*) AS n FROM people GROUP BY home.city;
"""


def test_a_name_stands_for_the_type():
    program = compile_program(PROGRAM + "CREATE TYPE places AS place ARRAY; CREATE TABLE t (p places);")
    assert program.catalog.tables["people"].columns[1].type == "struct<city:string,zip:int>"
    assert program.catalog.tables["t"].columns[0].type == "array<struct<city:string,zip:int>>"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ("CREATE TYPE Place AS INT;", "ALREADY_EXISTS"),
        ("DROP TYPE plaice;", "UNKNOWN_TYPE"),
        ("DROP TYPE place; CREATE TABLE t (p place);", "UNKNOWN_TYPE"),
        ("CREATE TYPE pair AS (a INT, A INT);", "DUPLICATE_COLUMN"),
        ("CREATE TYPE pair (a INT);", "SYNTAX_ERROR"),
    ],
)
def test_what_is_refused(more, code):
    with pytest.raises(SqlError) as error:
        compile_program(PROGRAM + more)
    assert error.value.code == code


def test_a_directory_is_gone_on_from(tmp_path):
    with penstock.Pipeline(PROGRAM, directory=tmp_path, engine="native") as pipeline:
        pipeline.step({"people": [(1, {"city": "Rome", "zip": 1})]})
        pipeline.execute("CREATE TYPE code AS BIGINT; CREATE TABLE codes (c code, p place)")
        pipeline.step({"codes": [(7, {"city": "Bari", "zip": 2})]})
    with penstock.Pipeline(PROGRAM, directory=tmp_path, engine="native") as pipeline:
        pipeline.execute("CREATE TABLE more (c code)")
        changes = pipeline.step({"people": [(2, {"city": "Rome", "zip": 3})], "more": [(8,)]})
        assert sorted(changes["cities"].rows) == [(-1, ("Rome", 1)), (1, ("Rome", 2))]
        assert pipeline.query("SELECT c, p.city FROM codes").rows == [(7, "Bari")]


def test_a_type_is_changed_by_a_deployment(tmp_path):
    program = "CREATE TYPE code AS INT; CREATE TABLE t (id INT); CREATE VIEW v AS SELECT CAST(id AS code) AS c FROM t;"
    with penstock.Pipeline(program, directory=tmp_path, engine="native") as pipeline:
        pipeline.step({"t": [(1,)]})
        pipeline.deploy(program.replace("AS INT", "AS BIGINT").replace("AS c FROM", "AS b FROM"))
        assert pipeline.step({"t": [(2,)]})["v"].rows
        assert pipeline.catalog.views["v"].columns[0].type == "bigint"
