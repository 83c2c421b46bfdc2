"""What nobody has written is shown under a name that says what it is."""

import pytest

from penstock.bind.program.compile import compile_program
from penstock.bind.program.queries import bind_query
from penstock.catalog.shown_names import ShownNames
from penstock.explain import SECTIONS, explain, explain_json, explain_query
from penstock.sql.parse import parse_query

PROGRAM = """
CREATE TABLE o (id INT PRIMARY KEY, customer INT, amount INT, at TIMESTAMP LATENESS INTERVAL 1 HOUR);
CREATE TABLE c (id INT, name STRING);
CREATE VIEW sums AS SELECT customer + 1, SUM(amount), COUNT(DISTINCT id) FROM o GROUP BY customer + 1;
CREATE VIEW ranked AS SELECT id, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY at) AS n FROM o;
CREATE VIEW without AS SELECT id FROM o WHERE customer NOT IN (SELECT id FROM c);
CREATE VIEW above AS SELECT id FROM o WHERE EXISTS (SELECT 1 FROM c WHERE c.id = o.customer)
  OR amount > (SELECT AVG(amount) FROM o p WHERE p.customer = o.customer);
CREATE VIEW rolled AS SELECT customer, id, SUM(amount) FROM o GROUP BY ROLLUP (customer, id);
CREATE VIEW sessions AS SELECT customer, COUNT(*) FROM o GROUP BY customer, session_window(at, '5 minutes');
CREATE VIEW turned AS SELECT * FROM (SELECT customer, amount, id % 2 AS p FROM o) PIVOT (SUM(amount) FOR p IN (0, 1));
CREATE VIEW recent AS SELECT customer, COUNT(*) FROM o WHERE at > now() - INTERVAL 1 DAY GROUP BY customer;
CREATE VIEW best AS SELECT id FROM o QUALIFY ROW_NUMBER() OVER (PARTITION BY customer ORDER BY amount DESC) <= 2;
"""


@pytest.mark.parametrize("section", SECTIONS)
def test_no_internal_name_is_shown(section):
    assert "__" not in explain(compile_program(PROGRAM), options=(section,))


def test_nor_in_json():
    assert "__" not in str(explain_json(compile_program(PROGRAM)))


def test_what_they_are_called():
    text = explain(compile_program(PROGRAM), "ranked")
    assert "Project id = o.id, n = window1" in text
    text = explain(compile_program(PROGRAM), "sums", ("plan",))
    assert "Aggregate by group1 = o.customer + 1: aggregate1 = sum(o.amount)" in text


def test_a_name_of_the_program_stays_and_is_taken_by_no_other():
    program = compile_program(
        "CREATE TABLE t (__a0 INT, aggregate2 INT);"
        "CREATE VIEW v AS SELECT aggregate2, SUM(__a0) AS one, MAX(__a0) AS two FROM t GROUP BY aggregate2;"
    )
    text = explain(program, "v", ("plan",))
    assert "two = aggregate2_" in text
    assert "sum(t.__a0)" in text


def test_a_query():
    catalog = compile_program(PROGRAM).catalog
    asked = "SELECT customer AS __mine, COUNT(*) FROM o GROUP BY customer"
    text = explain_query(bind_query(parse_query(asked), catalog, asked), catalog, source=asked)
    assert "aggregate1" in text
    assert "__mine" in text


def test_words_that_only_look_like_one():
    names = ShownNames(compile_program("").catalog)
    assert names.text("a__b x__ __ 5__a") == "a__b x__ __ 5__a"
    assert names.text("`__s0.avg(x)` = h__s1.hit") == "`(subquery).avg(x)` = (found subquery 2).hit"


def test_a_subquery_has_no_name():
    program = compile_program(
        "CREATE TABLE o (id INT, k INT); CREATE TABLE c (id INT);"
        "CREATE VIEW v AS SELECT k FROM o WHERE id IN (SELECT id FROM c) AND k IN (SELECT id + 1 FROM c);"
    )
    text = explain(program, "v", ("plan",))
    assert "Join semi on o.id = (subquery).id" in text
    assert "(subquery 2)." in text
    assert "subquery1" not in text
