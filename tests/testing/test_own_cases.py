"""Our own case files as they stand, and in another form: compacted, and cut into other steps where that is allowed.

As they stand Spark evaluates their queries without compiling them, which takes less time and is its other way to the
same answers, but for collations, and recomputes the views after the last step. In the other form it compiles them, as
it does for users, and recomputes them after every step. The cases of `brought`,
many queries of odd names, scopes and types in each, are extended however they run.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.testing.case_run import PASSED, Options, run_case
from penstock.testing.cases import read_cases
from penstock.testing.recut import can_be_recut, recut

FILES = sorted((Path(__file__).resolve().parent.parent / "cases").glob("*.yaml"))
CASES = [pytest.param(path, case, id=f"{path.stem}-{case.name}") for path in FILES for case in read_cases(path)]


AS_THEY_STAND = [
    pytest.param(*item.values, id=item.id, marks=pytest.mark.extended if item.id.startswith("brought-") else ())
    for item in CASES
]


@pytest.mark.parametrize(("path", "case"), AS_THEY_STAND)
def test_case(spark, request, path, case):
    session = spark if "collation" in case.tags else request.getfixturevalue("interpreting")
    result = run_case(case, path.name, lambda: session, Options(every_step=False))
    assert result.status == PASSED, result.detail


@pytest.mark.extended
@pytest.mark.parametrize(("path", "case"), CASES)
def test_another_form(spark, path, case):
    form = recut(case, 7) if can_be_recut(case) else case
    result = run_case(form, path.name, lambda: spark, Options(compact=True))
    assert result.status == PASSED, result.detail
