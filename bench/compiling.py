"""f: how long a program takes to check and to explain; no JVM takes part."""

from __future__ import annotations

from bench.measure import Cost, Effort, Meter, Runs
from bench.report import Figure, Line

_SIZES = (1, 20, 200)
_TABLES = """CREATE TABLE orders (id BIGINT, customer BIGINT, amount DECIMAL(12, 2), placed TIMESTAMP);
CREATE TABLE customers (id BIGINT, name STRING, country STRING);
"""


def _program(views: int) -> str:
    return _TABLES + "".join(
        f"CREATE VIEW v{at} AS SELECT c.country, date_trunc('DAY', o.placed) AS day, sum(o.amount) AS total, "
        f"count(*) AS n "
        f"FROM orders o JOIN customers c ON o.customer = c.id WHERE o.amount > {at} AND c.name IS NOT NULL "
        f"GROUP BY c.country, date_trunc('DAY', o.placed) HAVING count(*) > {at};\n"
        for at in range(views)
    )


def figure(*, effort: Effort) -> Figure:
    """Milliseconds for programs of 1, 20 and 200 views."""
    runs = effort.runs(Runs(3, 10), quick=Runs(1, 2))
    found = {size: _measured(size, runs) for size in _SIZES[: 2 if effort.quick else None]}
    lines = [
        Line(f"{size} view{'s' if size > 1 else ''}", tuple(f"{cost.wall:,.0f} ms" for cost in costs))
        for size, costs in found.items()
    ]
    return Figure("f", "Checking and explaining", lines, runs, heads=("check", "explain"))


def _measured(size: int, runs: Runs) -> tuple[Cost, Cost]:
    from penstock.bind.program.compile import compile_program
    from penstock.explain import explain

    text = _program(size)
    compiled = compile_program(text, None)
    found = Meter().interleaved(
        {"check": lambda: compile_program(text, None), "explain": lambda: str(explain(compiled.catalog))}, runs
    )
    return found["check"], found["explain"]
