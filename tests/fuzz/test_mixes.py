"""Operators are drawn to work on Spark or in the process; either way a view changes alike."""

from dataclasses import replace
from random import Random

import pytest

from penstock.testing.cases import Case, Operation, Step
from penstock.testing.content import Observed
from penstock.testing.fuzz.check import Finding, opened
from penstock.testing.fuzz.mirrored import Mirrored
from penstock.testing.fuzz.programs import Program, Setting, Size, random_program
from penstock.testing.fuzz.reduce import reduced
from penstock.testing.fuzz.report import case_text
from penstock.testing.fuzz.tables import Relation

TABLES = (Relation("t", (("k", "int"), ("x", "double"))),)
VIEWS = (
    ("sums", "SELECT k, sum(x) AS s, count(*) AS n FROM t GROUP BY k"),
    ("most", "SELECT max(n) AS n FROM sums WHERE k > 0"),
)
STEPS = (
    Step(operations=(Operation("t", "+", (1, 0.5)), Operation("t", "+", (1, 2.0)), Operation("t", "+", (2, None)))),
    Step(operations=(Operation("t", "-", (1, 0.5)),)),
)
MIXED = Setting(on_spark=(False, True, False, True, True))


def program(setting):
    return Program(TABLES, VIEWS, Case(name="mixed", sql="", dialect="penstock", steps=STEPS), setting)


def places(pipeline):
    """The places of the operators by their numbers."""
    (installed,) = pipeline._opened().stepper.engine.installed
    found = {operator.number: installed.place_of(operator.number) for operator in installed.circuit.operators}
    return {
        number: place for number, place in found.items() if number in installed.native or number in installed.others
    }


@pytest.mark.parametrize("setting", [MIXED, MIXED.opposite])
def test_an_operator_works_where_the_setting_has_it(interpreting, setting):
    with opened(interpreting, program(setting).sql, setting) as pipeline:
        found = places(pipeline)
        numbers = range(len(setting.on_spark))
        kept = {number for number in found if setting.on_spark[number % len(numbers)]}
        assert {number for number, place in found.items() if place.where == "spark"} == kept
        assert kept
        assert kept < found.keys()
        assert all("keeps it there" in found[number].not_proven for number in kept)


def test_without_a_draw_each_works_where_it_is_proven(interpreting):
    with opened(interpreting, program(Setting()).sql, Setting()) as pipeline:
        assert {place.where for place in places(pipeline).values()} == {"process"}


def test_a_change_that_is_another_one_is_found(interpreting):
    found = program(MIXED)
    with (
        opened(interpreting, found.sql, Setting()) as one,
        opened(interpreting, found.sql, MIXED) as other,
    ):
        mirrored = Mirrored(other, Observed(one, found.case), found.case)
        sums = [(1, (1, 2.5 + 1e-12, 2)), (1, (2, None, 1))]
        assert mirrored.violation(STEPS[0], {"sums": sums, "most": [(1, (2,))]}) is None
        wrong = mirrored.violation(STEPS[1], {"sums": [(-1, (1, 2.5, 2)), (1, (1, 2.25, 1))]})
        assert wrong is not None
        assert wrong.startswith("most: in the other places")


def test_a_seed_draws_the_same_places():
    drawn = [random_program(Random(seed), Size()).setting for seed in range(40)]
    assert drawn == [random_program(Random(seed), Size()).setting for seed in range(40)]
    assert 15 < sum(bool(setting.on_spark) for setting in drawn) < 40
    assert len({setting.on_spark for setting in drawn}) > 15


def test_a_finding_names_its_places_and_keeps_the_one_that_matters():
    wrong = program(replace(MIXED, driver_rows=2, compact=True))
    small = reduced(wrong, lambda candidate: any(candidate.setting.on_spark[3:4]), 20)
    assert small.setting == Setting(on_spark=(False, False, False, True, False))
    assert "on_spark=pppsp" in case_text(small, Finding("differs", "step 1"), "found")
