"""The operators' classes: each says all that is known of it, in a file of its own, and stands in the one list."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.circuit import operators
from penstock.circuit.operators import OPERATORS, Bilinear, Keyed, Operator, Recomputed, leaf, rank_of
from penstock.circuit.operators.operator import NO_STATE
from penstock.plan.nodes import Aggregate, Field, Join, JoinKind

FOLDER = Path(operators.__file__).parent
ROWS = leaf(0, (Field("k"),))


def subclasses(kind):
    return {found for own in kind.__subclasses__() for found in (own, *subclasses(own))}


def test_all_operators_stand_in_the_list():
    assert set(OPERATORS) == subclasses(Operator)


def test_each_stands_in_a_file_of_its_own_and_in_the_table():
    table = dict(re.findall(r"^\| (\w+) +\| (.*?) +\|$", operators.__doc__, re.MULTILINE))
    del table["module"]
    assert set(table) == {path.stem for path in FOLDER.glob("*.py")} - {"__init__"}
    for kind in OPERATORS:
        name = kind.__name__
        assert kind.__module__ == f"penstock.circuit.operators.{name.lower()}"
        assert table[name.lower()].startswith(f"`{name}`: ")


@pytest.mark.parametrize("kind", OPERATORS)
def test_each_says_what_it_keeps_and_costs(kind):
    assert kind.__doc__
    assert kind.usual.state
    assert kind.usual.step
    says_what_goes, says_what_stays = kind.forgets is not Operator.forgets, kind.keeps is not Operator.keeps
    assert says_what_stays or not says_what_goes
    if kind.usual.state == NO_STATE:
        assert not says_what_stays


def test_without_a_key_it_costs_more():
    keyed = Keyed(1, Aggregate(ROWS, (), ()), (0,), keys=((),), append_only=(False,), single=(False,))
    cross = Bilinear(2, Join(ROWS, leaf(1, (Field("l"),)), JoinKind.INNER, ()), (0, 1), append_only=(False, False))
    assert (keyed.cost.step, cross.cost.step) == ("everything", "the change, and all rows of the other side")
    assert rank_of(keyed) > rank_of(Recomputed(3, ROWS, (0,))) > rank_of(cross)
