"""Functions of which only Spark knows what they take are named by `check`; ordinary programs have none."""

import json

import pytest
from click.testing import CliRunner

from penstock.bind.program.compile import compile_program
from penstock.catalog.functions import built_in_functions
from penstock.catalog.signatures import signatures
from penstock.cli.main import main
from penstock.explain.unjudged import unjudged

TABLE = "CREATE TABLE t (id INT, s STRING, at TIMESTAMP);"
FROM_JSON = f"{TABLE} CREATE VIEW v AS SELECT from_json(s, 'a INT') AS j, upper(s) AS u FROM t;"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("SELECT from_json(s, 'a INT').a AS a, from_csv(s, 'b INT') AS c FROM t", ["from_csv", "from_json"]),
        ("SELECT id FROM t WHERE assert_true(id > 0) IS NULL", ["assert_true"]),
        ("SELECT id, a FROM t LATERAL VIEW json_tuple(s, 'a') j AS a", ["json_tuple"]),
        ("SELECT window(at, '1 minute').start AS w, count(*) AS n FROM t GROUP BY window(at, '1 minute')", []),
        ("SELECT CASE WHEN id > 1 THEN array(id) END AS a, struct(id) AS b, map(s, id) AS c FROM t", []),
    ],
)
def test_they_are_named_by_view(query, found):
    catalog = compile_program(f"{TABLE} CREATE VIEW v AS {query};").catalog
    assert unjudged(catalog) == ({"v": found} if found else {})


def test_most_functions_are_judged():
    known = [name for name in built_in_functions() if name in signatures().functions]
    assert len(known) > 0.9 * len(built_in_functions())


def test_check_says_so():
    found = CliRunner().invoke(main, ["check", "-e", FROM_JSON])
    assert found.exit_code == 0
    assert "view v: what from_json takes is not checked without Spark" in found.stderr
    said = json.loads(CliRunner().invoke(main, ["check", "--format", "json", "-e", FROM_JSON]).stdout)
    assert said["unchecked_functions"] == {"v": ["from_json"]}
