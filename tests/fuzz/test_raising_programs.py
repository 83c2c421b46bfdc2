"""Programs that may raise: batch and both engines say the same of them, and set the same rows aside."""

from __future__ import annotations

from random import Random

import pytest

from penstock.backends.native.operators import partials
from penstock.testing.cases import Case, Operation, Step
from penstock.testing.fuzz.programs import Program
from penstock.testing.fuzz.raising import RaisingChecker, RaisingProgram, contents_of, general, raising_program
from penstock.testing.fuzz.tables import Relation

TABLE = Relation("t", (("k", "int"), ("h", "int"), ("p", "bigint")))
SUM = "SELECT k, sum(p) AS q FROM t GROUP BY k"
SHARE = "SELECT k, CASE WHEN k > 1 THEN 12 DIV h END AS q FROM t"
LARGE = 2**62


def program(view, *steps, spares=False):
    made = tuple(Step(operations=tuple(Operation("t", "+", row) for row in rows)) for rows in steps)
    case = Case(name="made", sql="", dialect="penstock", steps=made)
    return RaisingProgram(Program((TABLE,), (("v", view),), case), spares)


def test_a_seed_makes_one_program():
    made = [raising_program(Random(seed)) for seed in range(200)]
    assert made == [raising_program(Random(seed)) for seed in range(200)]
    assert len({item.program.views for item in made}) > 150
    assert {item.spares for item in made} == {True, False}


def test_values_are_no_part_of_a_sentence():
    said = 'The value \'12x\' of the type "STRING" cannot be cast to "INT"'
    assert general(said) == general(said.replace("12x", "é")) != general(said.replace("INT", "DATE"))
    assert general("-12.5BD cannot be represented") == general("NaN cannot be represented")


def test_rows_come_and_go():
    operations = [
        Operation("t", "+", (1,)),
        Operation("t", "+", (1,)),
        Operation("u", "+", (2,)),
        Operation("t", "-", (1,)),
    ]
    assert contents_of(operations, "t") == [(1,)]


@pytest.mark.parametrize("spares", [False, True])
def test_what_may_raise_is_judged_alike(interpreting, spares):
    checker = RaisingChecker(interpreting)
    assert (
        checker.check(program(SHARE, [(1, 0, 1), (2, 3, 1)], [(2, 0, 1), (3, 1, 1)], [(4, 4, 1)], spares=spares))
        is None
    )
    assert checker.check(program(SUM, [(1, 0, LARGE), (2, 3, 1)], [(1, 0, LARGE), (2, 1, 1)], spares=spares)) is None
    assert (checker.tally.raised, checker.tally.aside) == ((0, 2) if spares else (2, 0))


def test_an_engine_that_says_something_else_is_found(interpreting, monkeypatch):
    given = program(SUM, [(1, 0, LARGE)], [(1, 0, LARGE)])
    monkeypatch.setattr(partials, "SUM_TOO_LONG", "too long")
    found = RaisingChecker(interpreting).check(given)
    assert found is not None
    assert "too long" in found.detail


def test_an_engine_that_sets_other_rows_aside_is_found(interpreting, monkeypatch):
    given = program(SUM, [(1, 0, LARGE)], [(1, 0, LARGE), (2, 0, 5)], spares=True)
    monkeypatch.setattr(partials, "_LARGEST", 4)
    found = RaisingChecker(interpreting).check(given)
    assert found is not None
    assert found.kind == "aside"


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.extended) for seed in range(12)])
def test_differential_random_programs(interpreting, seed):
    assert RaisingChecker(interpreting).check(raising_program(Random(seed))) is None
