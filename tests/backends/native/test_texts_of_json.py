"""Values within texts of JSON: what `get_json_object` makes of thousands of them, here and on Spark."""

from __future__ import annotations

import random

import duckdb
import pyarrow as pa
import pytest
from tests.backends.native.made_json import PATHS, drawn, large, ordinary

from penstock.backends.native.asked import nobody
from penstock.backends.native.functions import know_functions
from penstock.backends.native.json_texts import JSON, steps
from penstock.backends.native.proof import NotProvenError
from penstock.backends.native.raised import text_literal
from penstock.backends.native.scalars import proven
from penstock.backends.spark.telling import told
from penstock.plan.forms import Call, Constant, Reference

MANY = 1_000


def values(texts, ask):
    """Of each text the values at all paths."""
    calls = ", ".join(f"{JSON}({text_literal(path)}, t)" for path in PATHS)
    with duckdb.connect() as duck:
        know_functions(duck, ask)
        duck.register("given", pa.table({"t": pa.array(texts, pa.string())}))
        return duck.execute(f"SELECT {calls} FROM given").fetchall()


def compared(spark, texts):
    """Paths and texts of which the values differ; and how many values Spark was asked for."""
    wanted = {path: dict(zip(texts, told(spark, path, texts), strict=True)) for path in PATHS}
    asked = []

    def ask(path, given):
        asked.extend(given)
        return [wanted[path][text] for text in given]

    found = values(texts, ask)
    differences = [
        (path, text and text[:200], wanted[path][text], value)
        for text, row in zip(texts, found, strict=True)
        for path, value in zip(PATHS, row, strict=True)
        if wanted[path][text] != value
    ]
    return differences, len(asked)


@pytest.mark.spark
@pytest.mark.parametrize("count", [MANY, *(pytest.param(MANY * many, marks=pytest.mark.extended) for many in (5, 20))])
def test_differential_texts_of_all_kinds(spark, interpreting, count):
    texts = drawn(count, seed=count)
    differences, asked = compared(spark, texts)
    assert not differences[:5]
    assert asked < len(texts) * len(PATHS) / 10


@pytest.mark.spark
def test_differential_texts_at_the_limits_of_jackson(spark, interpreting):
    differences, _ = compared(spark, large())
    assert not differences


def test_nobody_is_asked_for_what_programs_write():
    draw = random.Random(1)
    found = values([ordinary(draw) for _ in range(MANY)], nobody)
    assert sum(value is not None for row in found for value in row) > MANY


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("$", ()),
        ("$.a['b c'][12].d e", ("a", "b c", 12, "d e")),
        ("$['a.b[0]']", ("a.b[0]",)),
        *((path, None) for path in ("", "a", "$a", "$.", "$..a", "$.*", "$.a*", "$[*]", "$['*']", "$[-1]", "$[1",
          "$['']", "$. a", " $.a", "$[ 1]", "$[1234567890]", "$.a.", "$['a", "$.a'b", "$.a]")),
    ],
)  # fmt: skip
def test_paths(path, known):
    assert steps(path) == known
    if known is None:
        with pytest.raises(NotProvenError, match="another path"):
            proven(Call("get_json_object", (Reference("s"), Constant(path, "string"))), {"s": "string"})


def test_a_path_that_is_a_column_is_not_proven():
    with pytest.raises(NotProvenError):
        proven(Call("get_json_object", (Reference("s"), Reference("s"))), {"s": "string"})
