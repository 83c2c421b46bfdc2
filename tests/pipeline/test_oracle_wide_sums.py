"""Sums of DECIMALs with many digits, by change: exact, and an error as in the batch where no DECIMAL holds one."""

from __future__ import annotations

import random
from decimal import Decimal, localcontext

import pytest
from tests.tiers import either

import penstock
from penstock.errors import PenstockError

KINDS = [(38, 6), (32, 4), (38, 0), (38, 37), (38, 18), (25, 2), (20, 19), (19, 0), (28, 4), (29, 18)]
DIGITS = 60


def program(columns: list[tuple[int, int]]) -> str:
    kinds = ", ".join(f"d{place} DECIMAL({digits}, {scale})" for place, (digits, scale) in enumerate(columns))
    sums = ", ".join(f"sum(d{place})" for place in range(len(columns)))
    return f"""
    CREATE TABLE t (id INT PRIMARY KEY, k INT, {kinds});
    CREATE VIEW v AS SELECT k, {sums}, sum(d0) FILTER (WHERE id % 2 = 0), count(d1) FROM t GROUP BY k;
    CREATE VIEW whole AS SELECT {sums} FROM t;
    """


def value(draw: random.Random, digits: int, scale: int, tens: int) -> Decimal | None:
    """Values around the limits of the halves, small ones, ones near a bound of so many digits, and NULL."""
    top = 10 ** (digits - tens) - 1
    edges = [sign * (10**power + by) for power in (18, 19) for by in (-1, 0, 1) for sign in (1, -1)]
    edges = [item for item in edges if abs(item) <= top]
    units = draw.choice(
        [None, 0, 1, -1, top, -top, draw.randint(-top, top), draw.randint(-99, 99), *edges[:2], *edges[-2:]]
    )
    with localcontext(prec=DIGITS):
        return None if units is None else Decimal(units).scaleb(-scale)


@pytest.mark.spark
@pytest.mark.both
@pytest.mark.parametrize("engine", ["native", "spark"])
def test_oracle_wide_sums_equal_the_batch_after_every_step(interpreting: object, engine: str) -> None:
    draw = random.Random(5)
    with penstock.Pipeline(program(KINDS), spark=interpreting, engine=engine) as pipeline:
        for step in range(either(2, 5)):
            rows = [
                (draw.randint(0, 40), draw.choice((1, 2, 3, None)), *(value(draw, *kind, tens=3) for kind in KINDS))
                for _ in range(30 if step else 60)
            ]
            pipeline.step({"t": list({row[0]: row for row in rows}.values())})
            if step % 2:
                pipeline.execute(f"DELETE FROM t WHERE id % 7 = {step}")
            assert all(pipeline.verify(name) for name in ("v", "whole"))
        assert "Additive: Aggregate" in pipeline.explain("v", ["circuit"])


@pytest.mark.spark
@pytest.mark.parametrize("engine", ["native", "spark"])
@pytest.mark.parametrize("scale", [0, 2, 30])
def test_a_sum_that_no_decimal_holds_refuses_the_step(interpreting: object, engine: str, scale: int) -> None:
    """As in the batch, at its place in the text; on the way to a sum that there is, more digits do no harm."""
    with localcontext(prec=DIGITS):
        top, unit = Decimal(10**38 - 1).scaleb(-scale), Decimal(1).scaleb(-scale)
        text = (
            f"CREATE TABLE t (id INT PRIMARY KEY, d DECIMAL(38, {scale})); CREATE VIEW v AS SELECT sum(d) AS s FROM t;"
        )
        with penstock.Pipeline(text, spark=interpreting, engine=engine) as pipeline:
            pipeline.step({"t": [(1, top), (2, top), (3, -top), (4, -unit)]})
            assert pipeline.content("v").rows == [(top - unit,)]
            pipeline.step({"t": [(4, None)]})
            with pytest.raises(PenstockError) as error:
                pipeline.step({"t": [(5, unit)]})
            assert error.value.code == "EVALUATION_ERROR"
            assert "Overflow in sum of decimals" in str(error.value)
            span = error.value.diagnostics[0].span
            assert span is not None
            assert text[span.start : span.end] == "sum(d)"
            assert pipeline.content("v").rows == [(top,)]
            pipeline.step({"t": [(1, -top)]})
            assert pipeline.content("v").rows == [(-top,)]
            with pytest.raises(PenstockError):
                pipeline.step({"t": [(5, -unit)]})
            pipeline.step({"t": [(6, unit)]})
            assert pipeline.content("v").rows == [(unit - top,)]
