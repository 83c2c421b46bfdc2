"""Our own case files as they stand, in the process and on Spark, and in another form.

In the process, where no JVM is to be had, what a case says of its views is compared with what they hold. Cases that
`on_spark.yaml` names want Spark for something, and are extended. So are all of them with every operator on Spark; those
that leave something unsaid have it recomputed there after the last step, by queries that Spark evaluates without
compiling them (but for collations): its other way to the same answers, which takes less time. In the other form,
compacted and cut into other steps where that is allowed, all are recomputed after every step by compiled queries.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.cases_on_spark import OnSpark, WantedError, no_session

from penstock.testing.case_run import PASSED, Options, run_case
from penstock.testing.cases import read_cases
from penstock.testing.recut import can_be_recut, recut

FILES = sorted((Path(__file__).resolve().parent.parent / "cases").glob("*.yaml"))
CASES = [pytest.param(path, case, id=f"{path.stem}-{case.name}") for path in FILES for case in read_cases(path)]
ON_SPARK = OnSpark.beside(Path(__file__))
VIEW = re.compile(r"\bVIEW\s+(?:IF\s+NOT\s+EXISTS\s+)?[`\"]?(\w+)", re.IGNORECASE)


WITHOUT_SPARK = [item for item in CASES if not ON_SPARK.has(*item.values)]
WITH_SPARK = [item for item in CASES if ON_SPARK.has(*item.values)]


def says_all(case):
    """True if a case says what each of its views holds, or that it is refused."""
    views = {name.lower() for name in VIEW.findall(case.sql)}
    said = [step.out for step in case.steps] + [step.emit for step in case.steps] + [step.rows for step in case.steps]
    told = {name.lower() for names in (*said, case.expect.emitted, case.expect.rows) for name in names}
    return case.expect.error is not None or views <= told


def run_on_spark(request, path, case, engine):
    def session():
        return request.getfixturevalue("spark" if "collation" in case.tags else "interpreting")

    options = Options(engine=engine, every_step=False, oracle=not says_all(case))
    result = run_case(case, path.name, session, options)
    assert result.status == PASSED, result.detail


@pytest.mark.parametrize(("path", "case"), WITHOUT_SPARK)
def test_in_the_process(path, case):
    result = run_case(case, path.name, no_session, Options(every_step=False, oracle=False))
    assert result.status == PASSED, result.detail


def test_those_that_want_spark_are_there():
    known = {path.stem: {case.name for case in read_cases(path)} for path in FILES}
    for file, names in ON_SPARK.names.items():
        assert set(names) <= known[file]


def test_most_cases_say_all_and_want_no_spark():
    said = [says_all(case) for _, case in (item.values for item in CASES)]
    assert len(said) / 2 < sum(said) < len(said)
    assert len(WITHOUT_SPARK) > len(CASES) / 2


@pytest.mark.extended
@pytest.mark.spark
@pytest.mark.parametrize(("path", "case"), WITH_SPARK)
def test_where_spark_is_wanted(request, path, case):
    run_on_spark(request, path, case, "auto")
    with pytest.raises(WantedError):  # else it is to be taken from the list
        run_case(case, path.name, no_session, Options(every_step=False, oracle=False))


@pytest.mark.extended
@pytest.mark.spark
@pytest.mark.parametrize(("path", "case"), CASES)
def test_with_every_operator_on_spark(request, path, case):
    run_on_spark(request, path, case, "spark")


@pytest.mark.extended
@pytest.mark.parametrize(("path", "case"), CASES)
def test_another_form(spark, path, case):
    form = recut(case, 7) if can_be_recut(case) else case
    result = run_case(form, path.name, lambda: spark, Options(compact=True))
    assert result.status == PASSED, result.detail
