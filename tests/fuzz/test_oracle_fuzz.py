"""Random programs, steps and queries against the oracle: the same at every run, so that a failure is of your change.

`make fuzz MINUTES=10` makes up new ones.
"""

from pathlib import Path
from random import Random as Seeded

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from tests.tiers import either

from penstock.testing.cases import Case, parse_cases
from penstock.testing.fuzz.check import Checker, Finding
from penstock.testing.fuzz.plans import Contents
from penstock.testing.fuzz.programs import Program, Size, programs, random_program
from penstock.testing.fuzz.report import case_text, write_case
from penstock.testing.fuzz.tables import Relation

SMALL = Size(tables=2, views=3, steps=2, depth=1)
QUICK = settings(
    max_examples=either(2, 6),
    deadline=None,
    derandomize=True,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
FINDINGS = Path("fuzz-findings")


@pytest.mark.both
@QUICK
@given(program=programs(SMALL))
def test_every_view_is_what_the_oracle_says_after_every_step(spark, program):
    kept, finding = Checker(spark).check(program)
    if finding is not None:
        path = write_case(FINDINGS, kept, finding, "hypothesis")
        pytest.fail(f"{finding.kind}: {finding.detail}\n{kept.sql}written to {path}")


@pytest.mark.both
@pytest.mark.parametrize("seed", range(2))
def test_a_bound_query_answers_what_its_text_answers(spark, seed):
    contents = Contents(spark, Seeded(seed), shared=seed % 2 == 1)
    for _ in range(either(3, 8)):
        text = contents.query(1)
        finding = contents.judge(text)
        assert finding is None or finding.kind == "unsupported", (
            f"{contents.sql}\n{contents.inserts}\n{text}\n{finding}"
        )


def test_a_program_is_not_judged_by_the_names_of_the_one_before(spark):
    checker, empty = Checker(spark), Case(name="names", sql="", dialect="penstock", steps=())
    former = Program((), (("left_behind", "SELECT 1 AS a"),), empty)
    latter = Program((), (("v1", "SELECT a FROM left_behind"),), empty)
    assert checker.spoken(former) == former
    assert not checker.spoken(latter).views


def test_a_view_that_spark_itself_fails_to_plan_is_left_out(spark):
    """Spark 4.1 ends a correlated EXISTS over nothing with `None.get` in its optimizer, over whatever rows."""
    tables = tuple(Relation(name, (("k", "int"), ("x", "int"))) for name in ("t1", "t2"))
    view = ("v1", "SELECT k FROM t1 WHERE EXISTS (SELECT 1 FROM t2 WHERE t2.x = t1.x AND {asked})")
    for asked, kept in (("TRUE", 1), ("FALSE", 0)):
        views = ((view[0], view[1].format(asked=asked)),)
        program = Program(tables, views, Case(name="planned", sql="", dialect="penstock", steps=()))
        assert len(Checker(spark).spoken(program).views) == kept


def test_a_seed_makes_the_same_program():
    assert random_program(Seeded(7), Size()) == random_program(Seeded(7), Size())


def test_a_finding_reads_back_as_a_case():
    program = random_program(Seeded(11), Size())
    case = parse_cases(case_text(program, Finding("differs", "step 1: v1: …"), "found"), "found.yaml")[0]
    assert case.sql == program.sql
    operations = [operation for step in case.steps for operation in step.operations]
    written = [operation for step in program.case.steps for operation in step.operations]
    assert [(item.table, item.kind) for item in operations] == [(item.table, item.kind) for item in written]
