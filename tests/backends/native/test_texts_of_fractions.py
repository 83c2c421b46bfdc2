"""DOUBLEs as texts: many more of them than other tests have, as Spark's Java writes them."""

from __future__ import annotations

import math
import random
import struct

import duckdb
import pyarrow as pa
import pytest

from penstock.backends.native.expressions.fractions import text_of_double
from penstock.backends.native.functions import know_functions

EDGES = [2.0**53, 2.0**53 - 1, 2.0**53 + 2, 1e-3, 1e7, 1e15, 1e16, 1e-4, 1e-5, 2.2250738585072014e-308, 2.0**63]


def many(seed):
    """Numbers of all sizes, of few digits and of many, and what sums and averages of prices are."""
    draw = random.Random(seed)
    found = [math.nextafter(edge, towards) for edge in EDGES for towards in (0.0, math.inf)] + EDGES
    for _ in range(3_000):
        found.append(struct.unpack("<d", struct.pack("<Q", draw.getrandbits(64)))[0])
        found.append(float(f"{draw.randint(1, 10 ** draw.randint(1, 17))}e{draw.randint(-25, 5)}"))
        found.append(sum(round(draw.random() * 1000, 2) for _ in range(draw.randint(2, 9))))
        found.append(draw.getrandbits(draw.randint(1, 70)) / draw.randint(1, 10_000))
    return [number * draw.choice((1, -1)) for number in found]


@pytest.mark.spark
@pytest.mark.parametrize("seed", range(2))
def test_the_texts_are_those_of_spark(spark, seed):
    rows, asked = pa.table({"x": many(seed)}), []
    wanted = spark.createDataFrame(rows).selectExpr("x", "CAST(x AS STRING) AS told").toArrow()["told"].to_pylist()
    texts = dict(zip(rows["x"].to_pylist(), wanted, strict=True))

    def ask(kind, numbers):
        assert kind == "double"
        asked.extend(numbers)
        return [texts[number] for number in numbers]

    with duckdb.connect() as duck:
        know_functions(duck, ask)
        duck.register("given", rows)
        found = duck.execute(f"SELECT {text_of_double('x')} AS told FROM given").fetchall()
    assert [told for (told,) in found] == wanted
    assert all(abs(number) >= 2.0**53 or abs(number) < 2.3e-308 for number in asked)
