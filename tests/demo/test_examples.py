"""Every program in examples/ over its sample data, read to the end, file after file."""

from __future__ import annotations

import os
import shutil
from decimal import Decimal
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

EXPECTED = {
    "orders": {
        "revenue": {
            ("GB", 3, Decimal("33.75"), Decimal("33.75")),
            ("FR", 1, Decimal("89.00"), None),
        },
        "without_orders": {(3, "Carl")},
    },
    "top_sellers": {
        "best_of_category": {
            ("bread", 1, "baguette", 12),
            ("bread", 2, "roll", 12),
            ("bread", 3, "rye", 1),
            ("fruit", 1, "cherry", 11),
            ("fruit", 2, "banana", 7),
            ("fruit", 3, "apple", 5),
        },
        "best_of_all": {("baguette", 12), ("cherry", 11), ("roll", 12)},
    },
    "deduplicate": {
        "last_reading": {("attic", 29.0), ("cellar", 14.0), ("porch", 33.0)},
        "too_warm": {("porch", 33.0)},
    },
}


@pytest.fixture
def copied(tmp_path, monkeypatch) -> Path:
    """examples/, with files whose modification times are in the order of their names."""
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    for number, file in enumerate(sorted((tmp_path / "examples" / "data").rglob("*.*"))):
        os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))
    monkeypatch.chdir(tmp_path / "examples")
    return tmp_path / "examples"


@pytest.mark.spark
@pytest.mark.parametrize("program", EXPECTED)
def test_example(program, copied, spark):
    import penstock

    with penstock.Pipeline(copied / f"{program}.sql", spark=spark) as pipeline:
        pipeline.run(once=True)
        for view, expected in EXPECTED[program].items():
            columns = "device, celsius" if view == "last_reading" else "*"
            rows = pipeline.query(f"SELECT {columns} FROM {view}").rows
            assert {tuple(row) for row in rows} == expected
            assert len(rows) == len(expected)
        assert all(pipeline.verify(view) for view in pipeline.catalog.views)


def test_every_example_compiles():
    from penstock.bind.program.compile import compile_program

    for file in sorted(EXAMPLES.glob("*.sql")):
        program = compile_program(file.read_text(encoding="utf-8"))
        assert program.catalog.views


def test_every_example_is_in_the_readme():
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for file in EXAMPLES.glob("*.sql"):
        assert f"({file.name})" in text


def test_the_demo_runs_the_program_that_readers_see():
    import penstock.demo

    inside = Path(penstock.demo.__file__).parent / "flights.sql"
    assert inside.read_text(encoding="utf-8") == (EXAMPLES / "flights.sql").read_text(encoding="utf-8")
