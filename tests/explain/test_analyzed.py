"""EXPLAIN ANALYZE over measurements that are given: what it shows, and what it says where there are none."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from penstock.bind.program.compile import compile_program
from penstock.bind.program.queries import bind_query
from penstock.circuit.measured import NO_WORK, Measured, MeasuredCircuit, Profile, Work
from penstock.circuit.places import IN_PROCESS, SPARK, Place
from penstock.errors import DataError, SqlError
from penstock.explain import explain, explain_query
from penstock.explain.verdict import circuit_of
from penstock.rewrite import rewrite_views
from penstock.sql.parse import parse_query

GOLDEN = Path(__file__).with_name("analyzed.txt")
PROGRAM = """CREATE TABLE customers (id INT PRIMARY KEY, name STRING);
CREATE TABLE orders (customer INT, amount BIGINT);
CREATE VIEW totals AS SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer;
CREATE VIEW named AS SELECT c.name, t.total FROM totals t JOIN customers c ON t.customer = c.id;
CREATE VIEW pairs AS SELECT a.name, b.name AS other FROM named a JOIN named b ON a.total = b.total;
"""


def profile(catalog, *, steps=3, **kinds):
    """A profile in which every operator has done what `kinds` says of its class, or nothing."""
    circuit = circuit_of(rewrite_views(catalog))
    measured = {
        item.number: Measured(item, circuit.readers[item.number], **kinds.get(type(item).__name__, {}))
        for item in circuit.operators
    }
    return Profile(steps, 2, 4, 12.5, 0.25, (MeasuredCircuit(circuit, measured),))


KINDS = {
    "Source": {"steps": 3, "total": Work(0.003, 1200, 1200), "last": Work(0.001, 10, 10)},
    "Additive": {
        "steps": 3,
        "total": Work(11.25, 1200, 40, 1_000_000, 4, 9),
        "last": Work(0.0401, 10, 2, 100, 1, 1),
        "merging": Work(seconds=0.5, jobs=2),
        "state_rows": 1,
        "state_bytes": 999,
    },
    "Bilinear": {"steps": 1, "total": Work(0.1, 20, 0, 5, 0, 1), "state_rows": 25, "state_bytes": 12_345_678},
}


def test_golden():
    program = compile_program(PROGRAM)
    found = profile(program.catalog, **KINDS)
    shown = "\n\n".join(explain(program, view, ("analyze",), profile=found) for view in ("named", "pairs")) + "\n"
    if os.environ.get("PENSTOCK_GOLDENS") == "write":
        GOLDEN.write_text(shown, encoding="utf-8")
    assert shown == GOLDEN.read_text(encoding="utf-8")


def test_other_options_come_before_it():
    program = compile_program(PROGRAM)
    shown = explain(program, "totals", ("analyze", "circuit"), profile=profile(program.catalog, **KINDS))
    assert 0 < shown.index("  circuit:") < shown.index("  profile of 3 steps (2 to 4)")


def test_json_has_every_number():
    program = compile_program(PROGRAM)
    found = json.loads(explain(program, "named", ("analyze", "json"), profile=profile(program.catalog, **KINDS)))
    (view,) = found["views"]
    assert view["verdict"] == "incremental"
    shown = view["profile"]
    assert [shown[name] for name in ("steps", "first_step", "last_step", "seconds", "last_seconds")] == [
        *(3, 2, 4, 12.5, 0.25)
    ]
    (additive,) = [item for item in shown["operators"] if item["class"] == "Additive"]
    assert additive["views"] == ["totals", "named", "pairs"]
    assert additive["total"] == {
        "seconds": 11.25,
        "rows_in": 1200,
        "rows_out": 40,
        "state_rows_read": 1_000_000,
        "state_layers_read": 4,
        "jobs": 9,
    }
    assert (additive["last"]["jobs"], additive["merging_jobs"], additive["state_bytes"]) == (1, 2, 999)
    (join,) = [item for item in shown["operators"] if item["class"] == "Bilinear"]
    assert join["last"] is None


def test_it_says_where_operators_work():
    compiled = compile_program(PROGRAM)
    left = Place(SPARK, "soundex(string)")
    kinds = {**KINDS, "Additive": {"steps": 1, "place": IN_PROCESS}, "Bilinear": {"steps": 1, "place": left}}
    found = profile(compiled.catalog, **kinds)
    shown = explain(compiled, "named", ("analyze",), profile=found)
    assert "     in the process; 1 step, " in shown
    assert "   on Spark, for soundex(string); 1 step, " in shown
    (view,) = json.loads(explain(compiled, "named", ("analyze", "json"), profile=found))["views"]
    places = {item["class"]: (item["where"], item["not_proven"]) for item in view["profile"]["operators"]}
    assert places["Additive"] == ("process", None)
    assert places["Bilinear"] == ("spark", "soundex(string)")
    assert places["Source"] == ("spark", None)


def refused(view, options, found, program=PROGRAM):
    with pytest.raises((DataError, SqlError)) as error:
        explain(compile_program(program), view, options, profile=found)
    return error.value.code, error.value.diagnostics[0]


def test_without_a_measurement_it_says_what_would_measure():
    code, said = refused("named", ("analyze",), None)
    assert (code, said.message) == ("NOT_MEASURED", "nothing has run here, so nothing is measured")
    assert "run --once --profile" in said.hint
    code, said = refused("named", ("analyze", "json"), Profile())
    assert (code, said.message) == ("NOT_MEASURED", "no step has been measured: profile is off")
    assert "SET profile = 'on'" in said.hint
    code, said = refused("named", ("analyze",), Profile(), f"SET profile = on; {PROGRAM}")
    assert (code, said.message) == ("NOT_STEPPED", "no step has been measured yet")


def test_a_view_that_had_no_step_while_others_had():
    found = profile(compile_program(PROGRAM).catalog, Source=KINDS["Source"])
    assert refused("named", ("analyze",), Profile(1, 1, 1, 0.1, 0.1))[0] == "NOT_STEPPED"
    idle = profile(compile_program(PROGRAM).catalog)
    assert refused("named", ("analyze",), idle)[0] == "NOT_STEPPED"
    assert "no work yet" in explain(compile_program(PROGRAM), "named", ("analyze",), profile=found)


def test_names_come_first():
    assert refused("nmed", ("analyze",), None) == ("UNKNOWN_VIEW", refused("nmed", (), None)[1])
    assert refused("orders", ("analyze",), Profile())[0] == "NOT_A_VIEW"


def test_a_query_is_not_measured():
    program, text = compile_program(PROGRAM), "SELECT * FROM named"
    plan = bind_query(parse_query(text), program.catalog, text)
    with pytest.raises(DataError) as error:
        explain_query(plan, program.catalog, ("analyze",))
    assert (error.value.code, "make it a view" in error.value.diagnostics[0].hint) == ("NOT_MEASURED", True)


def test_work_adds_up():
    assert Work(1.5, 1, 2, 3, 4, 5) + Work(0.5, 10, 20, 30, 40, 50) == Work(2.0, 11, 22, 33, 44, 55)
    assert NO_WORK + NO_WORK == NO_WORK
    assert Profile().followed(7, 0.5).followed(9, 0.25) == Profile(2, 7, 9, 0.75, 0.25)
