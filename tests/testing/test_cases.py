"""Case files: what they mean, and what is said about malformed ones."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from penstock.errors import DataError
from penstock.testing.case_run import FAILED, PASSED, run_case
from penstock.testing.cases import Operation, Refusal, parse_cases, read_cases
from penstock.testing.recut import can_be_recut, recut

OWN = sorted((Path(__file__).resolve().parent.parent / "cases").glob("*.yaml"))

FULL = """
dialect: feldera
settings: {ansi: true}
cases:
- name: all_keys
  about: every key of a step
  tags: [one, two]
  sql: CREATE TABLE t (a INT)
  steps:
  - clock: 2024-01-01 10:00:00
    in: [[t, '+', [1, 10:17:00, 1e3, .nan, on, 2024-01-02, ~]], [t, '-', [1]]]
    sql: UPDATE t SET a = 1
    out: {v: [[-2, [1]]], w: []}
    rows: {v: [[1, '*']]}
    query: {q: SELECT 1}
  - advance: 1.5s
    error: {contains: late}
  end_of_input: true
  ordered: [q]
  invariant: floats differ
  expect: {rows: {v: [[1]]}, error: {code: X}}
- {name: other, dialect: flink, sql: ''}
"""


def test_every_key_is_read():
    case, other = parse_cases(FULL, "f.yaml")
    first, second = case.steps
    assert (case.dialect, other.dialect) == ("feldera", "flink")
    assert case.settings == {"ansi": "True"}
    assert first.clock == datetime(2024, 1, 1, 10, tzinfo=UTC)
    assert first.operations[1] == Operation("t", "-", (1,))
    assert first.out == {"v": ((-2, (1,)),), "w": ()}
    assert second.advance == timedelta(seconds=1.5)
    assert second.error == Refusal(None, "late")
    assert case.expect.error == Refusal("X", None)
    assert (case.end_of_input, case.ordered, case.invariant) == (True, ("q",), "floats differ")


def test_scalars_are_those_of_yaml_1_2():
    row = parse_cases(FULL, "f.yaml")[0].steps[0].operations[0].row
    assert row[:3] == (1, "10:17:00", 1000.0)
    assert math.isnan(row[3])
    assert row[4:] == ("on", "2024-01-02", None)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "empty"),
        ("cases: [", "not YAML"),
        ("- 1", "mapping"),
        ("case: []", "did you mean: cases"),
        ("cases: {}", "list"),
        ("cases:\n- sql: x", "`name`"),
        ("cases:\n- name: x", "`sql`"),
        ("cases:\n- {name: x, sql: y}\n- {name: x, sql: y}", "two cases"),
        ("cases:\n- {name: x, sql: y, stepss: []}", "did you mean: steps"),
        ("cases:\n- {name: x, sql: y, steps: [{in: [[t, '+']]}]}", "[table, '+' or '-' or '~', row]"),
        ("cases:\n- {name: x, sql: y, steps: [{in: [[t, '*', [1]]]}]}", "no kind of change"),
        ("cases:\n- {name: x, sql: y, steps: [{in: [[t, '+', 1]]}]}", "a row is a list"),
        ("cases:\n- {name: x, sql: y, steps: [{out: {v: [[1]]}}]}", "[weight, row]"),
        ("cases:\n- {name: x, sql: y, steps: [{out: {v: [[true, [1]]]}}]}", "[weight, row]"),
        ("cases:\n- {name: x, sql: y, steps: [{clock: soon}]}", "2024-01-31 08:00:00"),
        ("cases:\n- {name: x, sql: y, steps: [{advance: 3 parsecs}]}", "3s, 100ms"),
        ("cases:\n- {name: x, sql: y, end_of_input: maybe}", "true or false"),
        ("cases:\n- {name: x, sql: y, sql: z}", "twice"),
        ("cases:\n- {name: x, normal_form: {clause: EMIT STREAM}}", "what it `equals`"),
        ("cases:\n- {name: x, normal_form: {clause: EMIT STREAM, equal: EMIT STREAM}}", "did you mean: equals"),
    ],
)
def test_a_malformed_file_is_answered_with_the_place(text, wanted):
    with pytest.raises(DataError) as caught:
        parse_cases(text, "f.yaml")
    shown = caught.value.render()
    assert wanted in shown
    assert "f.yaml" in shown
    assert caught.value.code in ("CASE_FILE", "CASE_FILE_YAML")
    assert not text or caught.value.diagnostics[0].span is not None


@pytest.mark.parametrize(
    ("case", "status", "detail"),
    [
        ("normal_form: {clause: EMIT PERIODIC 60s, equals: EMIT PERIODIC 1m}", PASSED, ""),
        (
            "normal_form: {clause: EMIT CHANGES, equals: EMIT STREAM}",
            FAILED,
            "expected EMIT STREAM, found EMIT CHANGELOG",
        ),
        ("normal_form: {clause: EMIT PERIODIC 1w, equals: EMIT PERIODIC 7d}", FAILED, "PERIODIC takes no weeks"),
        (
            "normal_form: {clause: EMIT LAST 1w, equals: EMIT LAST 1w}, expect: {error: {code: EMIT_LENGTH}}",
            PASSED,
            "",
        ),
    ],
)
def test_normal_forms_need_no_session(case, status, detail):
    found = run_case(parse_cases(f"cases:\n- {{name: x, {case}}}", "f.yaml")[0], "f.yaml", pytest.fail)
    assert found.status == status
    assert detail in found.detail


def test_a_file_that_is_not_utf8(tmp_path):
    path = tmp_path / "f.yaml"
    path.write_bytes(b"cases: \xff")
    with pytest.raises(DataError, match="not UTF-8: byte 7 is 0xff"):
        read_cases(path)


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_our_own_files_are_well_formed(path):
    cases = read_cases(path)
    assert cases
    assert all(case.steps or case.expect.error for case in cases)


def test_recutting_keeps_the_input_and_its_order():
    case = next(case for case in read_cases(OWN[0]) if can_be_recut(case))
    before = [operation for step in case.steps for operation in step.operations]
    for seed in range(20):
        after = [operation for step in recut(case, seed).steps for operation in step.operations]
        assert after == before
    assert recut(case, 1) == recut(case, 1)


@pytest.mark.parametrize("extra", ["clock: '2024-01-01'", "sql: DELETE FROM t", "error: {}"])
def test_what_counts_steps_is_not_recut(extra):
    text = f"cases:\n- name: x\n  sql: CREATE TABLE t (a INT)\n  steps:\n  - in: [[t, '+', [1]]]\n    {extra}"
    assert not can_be_recut(parse_cases(text, "f.yaml")[0])
