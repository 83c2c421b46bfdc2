"""The acceptance cases: each passes, or waits for a named feature and does not pass yet. None is skipped.

They say what they expect, and are compared with that; Spark is there for what only it can answer, and once more for
all. In their other form, where all state is merged after every step, the oracle recomputes their views after every step
too, by queries that Spark does not compile: each is run once.
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
CASES = [pytest.param(path, case, id=f"{path.stem}-{case.name}") for path in FILES for case in read_cases(path)]


@pytest.mark.spark
@pytest.mark.parametrize(("path", "case"), CASES)
def test_a_case_passes_or_waits(request, path, case):
    result = run_case(case, path.name, lambda: request.getfixturevalue("spark"), Options(oracle=False))
    feature = WAITING.get(path.stem, {}).get(case.name)
    if feature is None:
        assert result.status == PASSED, result.detail
    else:
        assert result.status != PASSED, f"it passes: take it from waiting.yaml ({feature})"


@pytest.mark.extended
@pytest.mark.once_more
@pytest.mark.parametrize(("path", "case"), CASES)
def test_a_case_is_right_after_every_step(interpreting, path, case):
    result = run_case(case, path.name, lambda: interpreting, Options(compact=True))
    waits = case.name in WAITING.get(path.stem, {})
    assert waits or result.status == PASSED, result.detail


@pytest.mark.extended
@pytest.mark.once_more
@pytest.mark.parametrize(("path", "case"), CASES)
def test_a_case_passes_on_spark(interpreting, path, case):
    options = Options(engine="spark", oracle=False)
    result = run_case(case, path.name, lambda: interpreting, options)
    waits = case.name in WAITING.get(path.stem, {})
    assert waits or result.status == PASSED, result.detail


def test_all_cases_are_here():
    assert [path.stem for path in FILES] == ["calcite", "consistency", "feldera", "flink", "onesql", "timeplus"]


def test_waiting_names_only_cases_that_exist():
    known = {path.stem: {case.name for case in read_cases(path)} for path in FILES}
    for file, names in WAITING.items():
        assert names.keys() <= known[file]
