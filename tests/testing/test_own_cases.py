"""Our own case files as they stand, and in another form: compacted, and cut into other steps where that is allowed.

As they stand, what they say of all their views is compared. Those that leave something unsaid have it recomputed after
the last step; Spark evaluates these queries without compiling them, which takes less time and is its other way to the
same answers, but for collations. In the other form all are recomputed after every step, and compiled, as for users.
Both work in the process where that is proven; once more all work on Spark alone, as they stand. The cases of `brought`,
many queries of odd names, scopes and types in each, are extended however they run.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.testing.case_run import PASSED, Options, run_case
from penstock.testing.cases import read_cases
from penstock.testing.recut import can_be_recut, recut

FILES = sorted((Path(__file__).resolve().parent.parent / "cases").glob("*.yaml"))
CASES = [pytest.param(path, case, id=f"{path.stem}-{case.name}") for path in FILES for case in read_cases(path)]


VIEW = re.compile(r"\bVIEW\s+(?:IF\s+NOT\s+EXISTS\s+)?[`\"]?(\w+)", re.IGNORECASE)
AS_THEY_STAND = [
    pytest.param(*item.values, id=item.id, marks=pytest.mark.extended if item.id.startswith("brought-") else ())
    for item in CASES
]


def says_all(case):
    """True if a case says what each of its views holds, or that it is refused."""
    views = {name.lower() for name in VIEW.findall(case.sql)}
    said = [step.out for step in case.steps] + [step.emit for step in case.steps] + [step.rows for step in case.steps]
    told = {name.lower() for names in (*said, case.expect.emitted, case.expect.rows) for name in names}
    return case.expect.error is not None or views <= told


@pytest.mark.spark
@pytest.mark.parametrize(("path", "case"), AS_THEY_STAND)
def test_case(request, path, case):
    def session():
        return request.getfixturevalue("spark" if "collation" in case.tags else "interpreting")

    result = run_case(case, path.name, session, Options(every_step=False, oracle=not says_all(case)))
    assert result.status == PASSED, result.detail


@pytest.mark.spark
@pytest.mark.extended
@pytest.mark.once_more
@pytest.mark.parametrize(("path", "case"), CASES)
def test_on_spark(request, path, case):
    """A program that names an engine itself keeps it: that is what its case is about."""

    def session():
        return request.getfixturevalue("spark" if "collation" in case.tags else "interpreting")

    options = Options(engine="spark", every_step=False, oracle=not says_all(case))
    result = run_case(case, path.name, session, options)
    assert result.status == PASSED, result.detail


def test_most_cases_say_all():
    said = [says_all(case) for _, case in (item.values for item in CASES)]
    assert len(said) / 2 < sum(said) < len(said)


@pytest.mark.extended
@pytest.mark.once_more
@pytest.mark.parametrize(("path", "case"), CASES)
def test_another_form(spark, path, case):
    form = recut(case, 7) if can_be_recut(case) else case
    result = run_case(form, path.name, lambda: spark, Options(compact=True))
    assert result.status == PASSED, result.detail
