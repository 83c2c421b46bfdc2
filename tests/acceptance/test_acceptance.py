"""The acceptance cases: each passes, or waits for a named feature and does not pass yet. None is skipped.

As they stand Spark compiles nothing; with all state merged after each step it does, as it does for users.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from penstock.testing.cases import read_cases
from penstock.testing.runner import PASSED, Options, run_case

FOLDER = Path(__file__).with_name("cases")
FILES = sorted(FOLDER.glob("*.yaml"))
WAITING = yaml.safe_load(Path(__file__).with_name("waiting.yaml").read_text(encoding="utf-8"))
CASES = [pytest.param(path, case, id=f"{path.stem}-{case.name}") for path in FILES for case in read_cases(path)]


PASSING = [item for item in CASES if item.values[1].name not in WAITING.get(item.values[0].stem, {})]


@pytest.mark.parametrize(("path", "case"), CASES)
def test_a_case_passes_or_waits(interpreting, path, case):
    result = run_case(case, path.name, lambda: interpreting)
    feature = WAITING.get(path.stem, {}).get(case.name)
    if feature is None:
        assert result.status == PASSED, result.detail
    else:
        assert result.status != PASSED, f"it passes: take it from waiting.yaml ({feature})"


@pytest.mark.extended
@pytest.mark.parametrize(("path", "case"), PASSING)
def test_a_case_passes_with_compaction(spark, path, case):
    result = run_case(case, path.name, lambda: spark, Options(compact=True))
    assert result.status == PASSED, result.detail


def test_all_cases_are_here():
    assert [path.stem for path in FILES] == ["calcite", "consistency", "feldera", "flink", "onesql", "timeplus"]


def test_waiting_names_only_cases_that_exist():
    known = {path.stem: {case.name for case in read_cases(path)} for path in FILES}
    for file, names in WAITING.items():
        assert names.keys() <= known[file]
