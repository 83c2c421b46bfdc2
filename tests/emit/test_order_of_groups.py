"""Rows that change together are shown in an order that does not depend on how they happen to lie."""

from __future__ import annotations

import random
from datetime import datetime
from itertools import permutations

import pyarrow as pa
import pytest

import penstock
from penstock.emit.dressing import Dressing
from penstock.plan.emission import Batch, Content, EmitClause
from penstock.plan.showing import Showing

START = datetime(2025, 1, 1)  # noqa: DTZ001 - UTC
KEYS = {
    "INT": [3, None, -1, 12],
    "DOUBLE": [2.5, None, float("nan"), -1.0],
    "STRING": ["b", None, "", "a"],
    "DATE": [datetime(2025, 1, day).date() for day in (9, 3, 5)],  # noqa: DTZ001 - a day
}


def numbers(kind, keys):
    """What is shown of each key, with its `ver`, by the key's text."""
    program = f"CREATE TABLE t (k {kind}, x INT)"
    with penstock.Pipeline(program, engine="native") as pipeline:
        query = pipeline.subscribe("SELECT k, SUM(x) AS s FROM t GROUP BY k EMIT STREAM ON UPDATE", clock=START)
        found = []
        for _ in range(2):
            pipeline.step({"t": [(key, 1) for key in keys]}, clock=START)
            while (rows := query.get(0)) is not None:
                found += [(repr(row[0]), row[1], row[2], row[-1]) for row in rows]
        return sorted(found)


@pytest.mark.parametrize("kind", KEYS)
def test_numbers_do_not_depend_on_the_order_of_the_rows(kind):
    chance = random.Random(1)
    expected = numbers(kind, KEYS[kind])
    assert [ver for *_, ver in sorted(expected, key=lambda row: row[-1])] == list(range(3 * len(KEYS[kind])))
    for _ in range(3):
        assert numbers(kind, chance.sample(KEYS[kind], len(KEYS[kind]))) == expected


def test_without_a_key_what_goes_is_shown_before_what_comes():
    clause = EmitClause("CHANGES", Batch())
    showing = Showing(clause, Content.CHANGES, Batch(), visible=1, marked=True, names=("r",))
    for rows in permutations([(1, 2), (2, -1), (3, 1), (4, -2)]):
        columns = [pa.array(values) for values in zip(*rows, strict=True)]
        shown, _ = Dressing(showing).shown(pa.table(columns, ["r", "__weight"]), START)
        found = list(zip(shown.column("change").to_pylist(), shown.column("r").to_pylist(), strict=True))
        assert [kind for kind, _ in found] == ["-D", "-D", "+I", "+I"]
        assert sorted(found) == [("+I", 1), ("+I", 3), ("-D", 2), ("-D", 4)]
