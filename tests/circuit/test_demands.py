"""`SET unbounded_state = 'reject'`: which views it refuses, and what it says; no JVM."""

import pytest

from penstock.bind.program.compile import compile_program
from penstock.errors import PenstockError
from penstock.pipeline.supported import check_promises


def refused(program):
    with pytest.raises(PenstockError) as error:
        check_promises(compile_program(program).catalog)
    assert all(item.span is not None for item in error.value.diagnostics)
    return [item.code for item in error.value.diagnostics]


UNBOUNDED = """
SET unbounded_state = 'reject';
CREATE STREAM s (at TIMESTAMP LATENESS INTERVAL 1 HOUR, k STRING, b BOOLEAN, d STRING DOMAIN CONSTANT);
"""


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, COUNT(*) AS n FROM s GROUP BY k",
        "SELECT DISTINCT k FROM s",
        "SELECT a.k FROM s a JOIN s b ON a.k = b.k",
        "SELECT k, COLLECT_LIST(at) AS n FROM s GROUP BY k",
    ],
)
def test_state_that_grows_for_ever_is_refused_where_that_is_asked(query):
    program = f"{UNBOUNDED} CREATE VIEW v AS {query};"
    assert set(refused(program)) == {"UNBOUNDED_STATE"}
    for value in ("warn", "allow"):
        check_promises(compile_program(program.replace("reject", value)).catalog)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT date_trunc('DAY', at) AS day, k, COUNT(*) AS n FROM s GROUP BY ALL",
        "SELECT b, d, COUNT(*) AS n FROM s GROUP BY b, d",
        "SELECT k FROM s WHERE at > now() - INTERVAL 1 DAY",
        "SELECT k, window_end FROM SESSION(TABLE s PARTITION BY k, DESCRIPTOR(at), INTERVAL 5 MINUTES)",
        "SELECT a.k FROM s a JOIN s b ON a.k = b.k AND b.at BETWEEN a.at - INTERVAL 1 HOUR AND a.at + INTERVAL 1 HOUR",
    ],
)
def test_state_that_is_bounded_is_accepted(query):
    check_promises(compile_program(f"{UNBOUNDED} CREATE VIEW v AS {query};").catalog)


def test_what_bounds_it_is_said():
    query = "SELECT k, COUNT(*) AS n FROM s GROUP BY k"
    catalog = compile_program(f"{UNBOUNDED} CREATE VIEW v AS {query};").catalog
    with pytest.raises(PenstockError) as error:
        check_promises(catalog)
    assert "s.at" in error.value.diagnostics[0].hint
