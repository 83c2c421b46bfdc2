"""DOUBLEs and FLOATs as texts: many more of them than other tests have, as Spark's Java writes them."""

from __future__ import annotations

import math
import random
import struct

import duckdb
import pyarrow as pa
import pytest

from penstock.backends.native.expressions.fractions import text_of_fraction
from penstock.backends.native.functions import know_functions

EDGES = [2.0**53, 2.0**53 - 1, 2.0**53 + 2, 1e-3, 1e7, 1e15, 1e16, 1e-4, 1e-5, 2.2250738585072014e-308, 2.0**63]
# Between two texts of eight digits; more digits in DuckDB than are needed; next to what is asked for.
NARROW = [
    2.00390625,
    131072.125,
    2234752.25,
    0.0034518151,
    0.052299351,
    1e-6,
    9.53692e-7,
    2.0**24,
    1.4e-45,
    1.17549435e-38,
]
KINDS = {"double": pa.float64(), "float": pa.float32()}
ALIKE = {"double": (2.3e-308, 2.0**53), "float": (1e-6, 2.0**24)}
WORDS = [0.0, -0.0, math.nan, math.inf, -math.inf, None]


def single(number):
    """The nearest FLOAT."""
    return struct.unpack("<f", struct.pack("<f", number))[0] if abs(number) < 3.4e38 else math.copysign(3.4e38, number)


def many(seed, kind):
    """Numbers of all sizes, of few digits and of many, and what sums and averages of prices are."""
    draw = random.Random(seed)
    found = [math.nextafter(edge, towards) for edge in EDGES for towards in (0.0, math.inf)] + EDGES + NARROW
    for _ in range(3_000):
        wide = kind == "double"
        bits = draw.getrandbits(64 if wide else 32)
        found.append(struct.unpack("<d", struct.pack("<Q", bits))[0] if wide else bits_of_single(bits))
        found.append(float(f"{draw.randint(1, 10 ** draw.randint(1, 17))}e{draw.randint(-25, 5)}"))
        found.append(sum(round(draw.random() * 1000, 2) for _ in range(draw.randint(2, 9))))
        found.append(draw.getrandbits(draw.randint(1, 70)) / draw.randint(1, 10_000))
        found.append(draw.getrandbits(24) / 2 ** draw.randint(0, 23))
    signed = [number * draw.choice((1, -1)) for number in found if not math.isnan(number)]
    return WORDS + (signed if kind == "double" else [single(number) for number in signed])


def bits_of_single(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


@pytest.mark.spark
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_the_texts_are_those_of_spark(spark, seed, kind):
    rows, asked = pa.table({"x": pa.array(many(seed, kind), KINDS[kind])}), []
    wanted = spark.createDataFrame(rows).selectExpr("x", "CAST(x AS STRING) AS told").toArrow()["told"].to_pylist()
    texts = dict(zip(rows["x"].to_pylist(), wanted, strict=True))

    def ask(named, numbers):
        assert named == kind
        asked.extend(numbers)
        return [texts[number] for number in numbers]

    with duckdb.connect() as duck:
        know_functions(duck, ask)
        duck.register("given", rows)
        found = duck.execute(f"SELECT {text_of_fraction('x', kind)} AS told FROM given").fetchall()
    assert [told for (told,) in found] == wanted
    least, most = ALIKE[kind]
    assert all(abs(number) >= most or abs(number) < least for number in asked)
