"""Averages of DECIMALs by change: of sums and counts, rounded as Spark rounds them, on both engines."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest
from tests.tiers import either

import penstock

KINDS = [(18, 2), (12, 8), (5, 0), (18, 8), (18, 0), (3, 3)]
RECOMPUTED = [(20, 4), (18, 12)]  # whose sums, or averages, have too many digits
ALL = [*KINDS, *RECOMPUTED]


def averages(kinds: list[tuple[int, int]]) -> str:
    return ", ".join(f"avg(d{ALL.index(kind)}), sum(d{ALL.index(kind)})" for kind in kinds)


def program() -> str:
    columns = ", ".join(f"d{place} DECIMAL({digits}, {scale})" for place, (digits, scale) in enumerate(ALL))
    return f"""
    CREATE TABLE t (id INT PRIMARY KEY, k INT, {columns});
    CREATE VIEW v AS SELECT k, {averages(KINDS)} FROM t GROUP BY k;
    CREATE VIEW whole AS SELECT {averages(KINDS)}, avg(d0) FILTER (WHERE k = 1) AS f FROM t;
    CREATE VIEW others AS SELECT k, {averages(RECOMPUTED)} FROM t GROUP BY k;
    """


def value(draw: random.Random, digits: int, scale: int) -> Decimal | None:
    """Values at the limits, small ones, ones that leave thirds and halves behind, and NULL."""
    top = 10**digits - 1
    units = draw.choice([None, 0, 1, -1, 2, 5, top, -top, top - 1, draw.randint(-top, top), draw.randint(-99, 99)])
    return None if units is None else Decimal(units).scaleb(-scale)


@pytest.mark.spark
@pytest.mark.both
@pytest.mark.parametrize("engine", ["native", "spark"])
def test_oracle_averages_equal_the_batch_after_every_step(interpreting: object, engine: str) -> None:
    draw = random.Random(3)
    with penstock.Pipeline(program(), spark=interpreting, engine=engine) as pipeline:
        for step in range(either(2, 6)):
            rows = [
                (draw.randint(0, 40), draw.choice((1, 2, 3, None)), *(value(draw, *kind) for kind in ALL))
                for _ in range(30 if step else 60)
            ]
            pipeline.step({"t": list({row[0]: row for row in rows}.values())})
            if step % 2:
                pipeline.execute(f"DELETE FROM t WHERE id % 7 = {step}")
            assert all(pipeline.verify(name) for name in ("v", "whole", "others"))
        assert "Additive: Aggregate" in pipeline.explain("v", ["circuit"])
        assert "Keyed: Aggregate" in pipeline.explain("others", ["circuit"])  # for its averages


@pytest.mark.spark
def test_a_half_is_rounded_away_from_zero(interpreting: object) -> None:
    text = "CREATE TABLE t (x DECIMAL(9, 2)); CREATE VIEW v AS SELECT avg(x) AS a, count(*) AS n FROM t;"
    for engine in ("native", "spark"):
        with penstock.Pipeline(text, spark=interpreting, engine=engine) as pipeline:
            pipeline.step({"t": [(Decimal("0.01"),)] + [(Decimal("0.00"),)] * 31})  # 0.0003125
            assert pipeline.content("v").rows == [(Decimal("0.000313"), 32)]
            pipeline.execute("UPDATE t SET x = -0.01 WHERE x > 0")
            assert pipeline.content("v").rows == [(Decimal("-0.000313"), 32)]
            pipeline.execute("DELETE FROM t")
            assert pipeline.content("v").rows == [(None, 0)]
