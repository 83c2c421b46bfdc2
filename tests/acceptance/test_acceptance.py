"""The acceptance cases: each passes, or waits for a named feature and does not pass yet. None is skipped.

They say what they expect, and are compared with that: in the process, where no JVM is to be had, and, extended, with
every operator on Spark. Those that `on_spark.yaml` names want Spark for something, and are extended. In their other
form, where all state is merged after every step, the oracle recomputes their views after every step too, by queries
that Spark does not compile: each is run once.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from tests.cases_on_spark import OnSpark, no_session

from penstock.testing.case_run import PASSED, Options, run_case
from penstock.testing.cases import read_cases

FOLDER = Path(__file__).with_name("cases")
FILES = sorted(FOLDER.glob("*.yaml"))
WAITING = yaml.safe_load(Path(__file__).with_name("waiting.yaml").read_text(encoding="utf-8"))
ON_SPARK = OnSpark.beside(Path(__file__))
CASES = [pytest.param(path, case, id=f"{path.stem}-{case.name}") for path in FILES for case in read_cases(path)]


def passes_or_waits(path, case, session, engine=None):
    result = run_case(case, path.name, session, Options(engine=engine, oracle=False))
    feature = WAITING.get(path.stem, {}).get(case.name)
    if feature is None:
        assert result.status == PASSED, result.detail
    else:
        assert result.status != PASSED, f"it passes: take it from waiting.yaml ({feature})"


# The same rows as in a case in steps of seven, one by one or many at once.
CUT_OTHERWISE = re.compile(r"_in_steps_of_50$|_with_time_row_by_row$")
IN_THE_PROCESS = [item for item in CASES if not ON_SPARK.has(*item.values)]


@pytest.mark.parametrize(("path", "case"), [item for item in IN_THE_PROCESS if not CUT_OTHERWISE.search(item.id)])
def test_a_case_passes_or_waits(path, case):
    passes_or_waits(path, case, no_session)


@pytest.mark.extended
@pytest.mark.parametrize(("path", "case"), [item for item in IN_THE_PROCESS if CUT_OTHERWISE.search(item.id)])
def test_a_case_that_is_cut_otherwise_passes_or_waits(path, case):
    passes_or_waits(path, case, no_session)


@pytest.mark.extended
@pytest.mark.spark
@pytest.mark.parametrize(("path", "case"), [item for item in CASES if ON_SPARK.has(*item.values)])
def test_a_case_that_wants_spark_passes_or_waits(interpreting, path, case):
    passes_or_waits(path, case, lambda: interpreting)


@pytest.mark.extended
@pytest.mark.spark
@pytest.mark.parametrize(("path", "case"), CASES)
def test_a_case_passes_or_waits_with_every_operator_on_spark(interpreting, path, case):
    passes_or_waits(path, case, lambda: interpreting, "spark")


@pytest.mark.extended
@pytest.mark.parametrize(("path", "case"), CASES)
def test_a_case_is_right_after_every_step(interpreting, path, case):
    result = run_case(case, path.name, lambda: interpreting, Options(compact=True))
    waits = case.name in WAITING.get(path.stem, {})
    assert waits or result.status == PASSED, result.detail


def test_all_cases_are_here():
    assert [path.stem for path in FILES] == ["calcite", "consistency", "feldera", "flink", "onesql", "timeplus"]


def test_waiting_names_only_cases_that_exist():
    known = {path.stem: {case.name for case in read_cases(path)} for path in FILES}
    for file, names in WAITING.items():
        assert names.keys() <= known[file]


def test_those_that_want_spark_are_there():
    known = {path.stem: {case.name for case in read_cases(path)} for path in FILES}
    for file, names in ON_SPARK.names.items():
        assert set(names) <= known[file]
