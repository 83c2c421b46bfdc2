"""Our own case files, through the runner, also compacted and in other cuts into steps.

Spark compiles the queries of the cases as they stand, as it does for users; where they run once more, it evaluates them
without, which takes less time and is Spark's other way to the same answers, but for collations.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.testing.cases import read_cases
from penstock.testing.recut import can_be_recut, recut
from penstock.testing.runner import PASSED, Options, run_case

FILES = sorted((Path(__file__).resolve().parent.parent / "cases").glob("*.yaml"))
CASES = [pytest.param(path, case, id=f"{path.stem}-{case.name}") for path in FILES for case in read_cases(path)]
RECUT = [parameters for parameters in CASES if can_be_recut(parameters.values[1])]
FORGETTING = [item for item in CASES if item.id.startswith("lateness-") and item not in RECUT]


@pytest.mark.parametrize(("path", "case"), CASES)
def test_case(spark, path, case):
    result = run_case(case, path.name, lambda: spark)
    assert result.status == PASSED, result.detail


@pytest.mark.parametrize(("path", "case"), RECUT)
def test_other_cuts_with_compaction(spark, request, path, case):
    session = spark if "collation" in case.tags else request.getfixturevalue("interpreting")
    result = run_case(recut(case, 7), path.name, lambda: session, Options(compact=True))
    assert result.status == PASSED, result.detail


@pytest.mark.parametrize(("path", "case"), FORGETTING)
def test_with_compaction(interpreting, path, case):
    result = run_case(case, path.name, lambda: interpreting, Options(compact=True))
    assert result.status == PASSED, result.detail
