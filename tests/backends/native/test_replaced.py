"""The answers of a Top-K are replaced in their table, which is written anew before it has grown much."""

from __future__ import annotations

import pyarrow as pa

from penstock.backends.native import trace
from penstock.backends.native.operators.make import native_operator
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Rows
from penstock.bind.program.compile import compile_program
from penstock.circuit.build import build_circuit
from penstock.circuit.operators import Source
from penstock.rewrite import rewrite_views

KEYS, STEPS = 4_000, 8
VIEW = "SELECT k, x FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY x DESC) AS r FROM log) WHERE r = 1"


def operators_of(store, view):
    program = f"CREATE TABLE log (k BIGINT, x BIGINT) WITH ('append_only' = 'true'); CREATE VIEW v AS {view};"
    catalog = rewrite_views(compile_program(program, None).catalog)
    circuit = build_circuit({name: item.plan for name, item in catalog.views.items()}, catalog, bucketed=False)
    known, made = {}, []
    for operator in circuit.operators:
        if not isinstance(operator, Source):
            made.append(native_operator(store, operator, known))
            known[f"#{operator.number}"] = made[-1].outputs
    return made


def step_through(store, operators, number):
    """A step that replaces what is known of every key."""
    rows = {"k": range(KEYS), "x": [number] * KEYS, "__weight": [1] * KEYS}
    store.begin(None, None)
    change = Rows(store.taken(pa.table({name: pa.array(values, pa.int64()) for name, values in rows.items()})), KEYS)
    for operator in operators:
        change = operator.step([change], first=number == 0)
    store.commit()
    for operator in operators:
        operator.commit()
        operator.merge(None)


def places(store):
    """Places in tables of state, those of deleted rows among them."""
    tables = store.arrow("SELECT table_name FROM duckdb_tables() WHERE NOT temporary")["table_name"].to_pylist()
    return sum(store.value(f"SELECT coalesce(max(rowid), -1) + 1 FROM {name}") for name in tables)


def test_deleted_rows_do_not_pile_up(monkeypatch):
    monkeypatch.setattr(trace, "LEAST_DELETED_ROWS", KEYS)
    store = Store()
    operators = operators_of(store, VIEW)
    for number in range(STEPS):
        step_through(store, operators, number)
    assert sum(rows for operator in operators for rows, _ in operator.state()) == KEYS
    assert KEYS <= places(store) <= 3 * KEYS
    for operator in operators:
        operator.drop()
    assert places(store) == 0
    store.close()
