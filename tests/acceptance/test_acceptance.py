"""The acceptance cases: each passes, or waits for a named feature and does not pass yet. None is skipped.

The oracle recomputes their views after the last step, and after every step where they are run in another form.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from penstock.testing.case_run import PASSED, Options, run_case
from penstock.testing.cases import read_cases

FOLDER = Path(__file__).with_name("cases")
FILES = sorted(FOLDER.glob("*.yaml"))
WAITING = yaml.safe_load(Path(__file__).with_name("waiting.yaml").read_text(encoding="utf-8"))
# The same programs and rows in other steps, which are judged after every step alone.
CUT_OTHERWISE = ("_in_steps_of_7", "_row_by_row")
CASES = [pytest.param(path, case, id=f"{path.stem}-{case.name}") for path in FILES for case in read_cases(path)]
AS_THEY_STAND = [param for param in CASES if not param.values[1].name.endswith(CUT_OTHERWISE)]
IN_STEPS = [param for param in CASES if len(param.values[1].steps) > 1]


@pytest.mark.parametrize(("path", "case"), AS_THEY_STAND)
def test_a_case_passes_or_waits(spark, path, case):
    result = run_case(case, path.name, lambda: spark, Options(every_step=False))
    feature = WAITING.get(path.stem, {}).get(case.name)
    if feature is None:
        assert result.status == PASSED, result.detail
    else:
        assert result.status != PASSED, f"it passes: take it from waiting.yaml ({feature})"


@pytest.mark.extended
@pytest.mark.parametrize(("path", "case"), IN_STEPS)
def test_a_case_is_right_after_every_step(spark, path, case):
    result = run_case(case, path.name, lambda: spark, Options(compact=True))
    waits = case.name in WAITING.get(path.stem, {})
    assert waits or result.status == PASSED, result.detail


def test_all_cases_are_here():
    assert [path.stem for path in FILES] == ["calcite", "consistency", "feldera", "flink", "onesql", "timeplus"]


def test_waiting_names_only_cases_that_exist():
    known = {path.stem: {case.name for case in read_cases(path)} for path in FILES}
    for file, names in WAITING.items():
        assert names.keys() <= known[file]


def test_every_case_is_judged():
    assert {id(param) for param in CASES} == {id(param) for param in [*AS_THEY_STAND, *IN_STEPS]}
