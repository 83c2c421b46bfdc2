"""python -m bench.past: a question over history, answered from a MATERIALIZED view, from the rows, and as of a step."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa

import penstock
from bench.measure import Cost, Effort, Meter, Runs
from bench.report import Figure, Line

_PROGRAM = """CREATE STREAM orders (product BIGINT, at TIMESTAMP, amount BIGINT);
CREATE MATERIALIZED VIEW hourly AS
SELECT product, FLOOR(at TO HOUR) AS hour, COUNT(*) AS n, COUNT(amount) AS counted, SUM(amount) AS total
FROM orders GROUP BY product, FLOOR(at TO HOUR);
"""
_QUESTION = "SELECT product, COUNT(*) AS n, AVG(amount) AS mean FROM orders GROUP BY product"
_PRODUCTS, _HOURS, _STEPS = 100, 24, 20
_BEGIN = datetime(2024, 1, 1)  # noqa: DTZ001 - naive UTC


def figure(*, effort: Effort) -> Figure:
    """Milliseconds of one question over 100,000 rows, and over 1 M and 4 M."""
    runs = effort.runs(Runs(2, 10), quick=Runs(0, 1))
    sizes = (10_000,) if effort.quick else (100_000, 1_000_000, 4_000_000)
    lines = [_line(size, runs) for size in sizes]
    note = f"The view has {_PRODUCTS * _HOURS:,} rows, {_HOURS} for each row of the answer."
    heads = ("from the view", "from the rows", "as of half the steps", "rows / view")
    return Figure("past", "A question over history", lines, runs, heads=heads, notes=(note,))


def _line(size: int, runs: Runs) -> Line:
    found = costs(size, runs)
    cells = [f"{cost.wall:,.0f} ms" for cost in found.values()]
    return Line(f"{size:,} rows", (*cells, f"{found['rows'].wall / found['view'].wall:.1f} x"))


def costs(size: int, runs: Runs) -> dict[str, Cost]:
    """What the question costs from the view, from the rows, and as of half the steps; all answers are compared."""
    with penstock.Pipeline(_PROGRAM, engine="native") as pipeline:
        for step in range(_STEPS):
            pipeline.step({"orders": _rows(size // _STEPS, step)}, clock=_BEGIN + timedelta(minutes=step))

        def asked(setting: str, point: str = "") -> object:
            pipeline.execute(f"SET answer_from_views = '{setting}'")
            return sorted(pipeline.query(_QUESTION + point).rows)

        if asked("on") != asked("off"):
            msg = "the view and the rows answer differently"
            raise RuntimeError(msg)
        ways = {
            "view": lambda: asked("on"),
            "rows": lambda: asked("off"),
            "past": lambda: asked("off", f" AS OF STEP {_STEPS // 2}"),
        }
        return Meter().interleaved(ways, runs)


def _rows(count: int, seed: int) -> pa.Table:
    numbers = np.random.default_rng(seed)
    minutes = numbers.integers(0, _HOURS * 60, count)
    at = np.datetime64(_BEGIN, "us") + minutes.astype("timedelta64[m]")
    return pa.table(
        {
            "product": numbers.integers(0, _PRODUCTS, count),
            "at": pa.array(at, pa.timestamp("us")),
            "amount": numbers.integers(0, 1000, count),
        }
    )


if __name__ == "__main__":
    print(figure(effort=Effort()).text())
