"""The acceptance cases: each passes, or waits for a named feature and does not pass yet. None is skipped."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from penstock.testing.case_run import PASSED, run_case
from penstock.testing.cases import read_cases

FOLDER = Path(__file__).with_name("cases")
FILES = sorted(FOLDER.glob("*.yaml"))
WAITING = yaml.safe_load(Path(__file__).with_name("waiting.yaml").read_text(encoding="utf-8"))
# The same programs and rows in other steps.
CUT_OTHERWISE = "_in_steps_of_7"
CASES = [
    pytest.param(
        path,
        case,
        id=f"{path.stem}-{case.name}",
        marks=pytest.mark.extended if case.name.endswith(CUT_OTHERWISE) else (),
    )
    for path in FILES
    for case in read_cases(path)
]


@pytest.mark.parametrize(("path", "case"), CASES)
def test_a_case_passes_or_waits(spark, path, case):
    result = run_case(case, path.name, lambda: spark)
    feature = WAITING.get(path.stem, {}).get(case.name)
    if feature is None:
        assert result.status == PASSED, result.detail
    else:
        assert result.status != PASSED, f"it passes: take it from waiting.yaml ({feature})"


def test_all_cases_are_here():
    assert [path.stem for path in FILES] == ["calcite", "consistency", "feldera", "flink", "onesql", "timeplus"]


def test_waiting_names_only_cases_that_exist():
    known = {path.stem: {case.name for case in read_cases(path)} for path in FILES}
    for file, names in WAITING.items():
        assert names.keys() <= known[file]
