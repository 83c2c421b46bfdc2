"""Nodes refuse to be invalid: what they read must be there, and aggregates stand in aggregates alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.bind.program.compile import compile_program
from penstock.circuit.collated import with_least_texts
from penstock.errors import InternalError, Span
from penstock.plan.expressions import scalars_of
from penstock.plan.nodes import (
    Aggregate,
    AggregateCall,
    AsofJoin,
    Field,
    Filter,
    Generate,
    Join,
    JoinKey,
    JoinKind,
    Match,
    Project,
    Session,
    SortKey,
    TopK,
    UnionAll,
    Values,
    Window,
)
from penstock.plan.parsing import parse_scalar
from penstock.plan.scalar import Scalar, column, parsed, render_scalar
from penstock.plan.writing import text_of
from penstock.sql.parse import parse_expression
from planning import aggregate, join, project, scalar, scan, where

T = scan("t", a="int", b="int", s="struct<k: int, a: int>")
U = scan("u", c="int", d="int")
OF_T, OF_U, ABSENT = scalar("a"), scalar("c"), scalar("d + 1")
TOTAL, RANK = scalar("sum(a)"), scalar("rank() OVER (PARTITION BY a ORDER BY b)")
GENERATED = (Field("x"),)


def count_where(argument, condition):
    return AggregateCall("count", (argument,), scalar("count(a) FILTER (WHERE b > 1)"), filter=condition)


def asof(*keys, left=OF_T, right=OF_U):
    return AsofJoin(T, U, JoinKind.INNER, keys, Match(left, ">=", right))


# One for each place of an expression: the node with any expression there.
PLACES = {
    "Values: a value": lambda item: Values(((item,),), GENERATED),
    "Project: the column x": lambda item: Project(T, (("x", item),)),
    "Filter: the condition": lambda item: Filter(T, item),
    "Generate: the generator": lambda item: Generate(T, item, GENERATED),
    "Join: a left key": lambda item: Join(T, U, JoinKind.SEMI, (JoinKey(item, OF_U),)),
    "Join: a right key": lambda item: Join(U, T, JoinKind.ANTI, (JoinKey(OF_U, item),)),
    "Join: the condition": lambda item: Join(T, scan("w", c="int"), JoinKind.INNER, (), item),
    "AsofJoin: a left key": lambda item: asof(JoinKey(item, OF_U)),
    "AsofJoin: the left time": lambda item: asof(left=item),
    "Aggregate: the column x": lambda item: Aggregate(T, (("x", item),), ()),
    "AggregateCall count(a) FILTER(WHERE b > 1): an argument": lambda item: count_where(item, None),
    "AggregateCall count(a) FILTER(WHERE b > 1): the filter": lambda item: count_where(OF_T, item),
    "TopK: a partition key": lambda item: TopK(T, (item,), (), 1),
    "TopK: an ORDER BY key": lambda item: TopK(T, (), (SortKey(item),), 1),
    "Window: a partition key": lambda item: Window(T, (item,), ()),
    "Session: a key": lambda item: Session(T, (item,), OF_T, OF_T, "from", "to"),
    "Session: the time": lambda item: Session(T, (), item, OF_T, "from", "to"),
    "Session: the gap": lambda item: Session(T, (), OF_T, item, "from", "to"),
}


def refused(make, *arguments):
    with pytest.raises(InternalError) as error:
        make(*arguments)
    (found,) = error.value.diagnostics
    assert found.code == "INVALID_PLAN"
    return found


@pytest.mark.parametrize("place", PLACES)
def test_a_column_that_the_input_does_not_have_is_refused(place):
    found = refused(PLACES[place], ABSENT)
    assert found.message.replace("`", "") == f"{place}, d + 1, reads d, which the input does not have"


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("call", "what"), [(TOTAL, "an aggregate"), (RANK, "a window function")])
def test_a_call_over_several_rows_is_refused_where_none_may_stand(place, call, what):
    call = call if "Values" not in place else scalar("count(1)" if call is TOTAL else "count(1) OVER ()")
    found = refused(PLACES[place], call)
    assert found.message.endswith(f"{call.text}, calls {what}")
    assert found.hint.endswith("may call neither aggregates nor window functions")


def test_a_refusal_says_what_the_input_has():
    misspelt = column("aa", span=Span(3, 5))
    found = refused(Filter, T, misspelt)
    assert (found.hint, found.candidates, found.span) == ("it has a, b, s", ("a",), Span(3, 5))
    assert refused(Values, ((OF_T,),), GENERATED).hint == "it has no columns"


def test_a_right_key_reads_the_right_side_alone():
    assert "a right key" in refused(Join, T, U, JoinKind.INNER, (JoinKey(OF_T, OF_T),)).message
    assert "the right time" in refused(lambda: asof(right=OF_T)).message


def test_aggregates_stand_in_aggregates_and_window_functions_in_windows():
    call = AggregateCall("sum", (OF_T,), TOTAL)
    assert Aggregate(T, (), (("n", call),)).names == ("n",)
    assert Window(T, (), (("n", RANK),)).names == ("a", "b", "s", "n")
    of_groups = scalar("sum(sum(a)) OVER (PARTITION BY b)")
    assert refused(Window, T, (), (("n", of_groups),)).hint == (
        "the column n may call window functions, but no aggregates outside of OVER"
    )
    ranked = AggregateCall("max", (OF_T,), scalar("max(a) OVER (PARTITION BY b)"))
    assert refused(Aggregate, T, (), (("n", ranked),)).hint == (
        "the column n may call aggregates, but no window functions"
    )
    elsewhere = AggregateCall("max", (), scalar("max(d)"))
    assert "reads d" in refused(Aggregate, T, (), (("n", elsewhere),)).message


def test_a_name_of_two_columns_is_refused():
    found = refused(Project, T, (("x", OF_T), ("X", OF_T)))
    assert (found.message, found.hint) == ("Project has two fields named X", "its fields: x, X")
    assert refused(Join, T, T, JoinKind.SEMI).message == "Join has a on both sides"


def test_an_asof_join_is_inner_or_left():
    found = refused(lambda: replace(asof(), kind=JoinKind.FULL))
    assert (found.message, found.hint) == ("AsofJoin has the kind full", "it is inner or left")


def test_a_node_is_checked_again_over_another_input():
    plan = project(where(T, "a > 1"), x="a + b")
    assert "reads b" in refused(plan.with_inputs, project(T, a="a")).message


def test_nodes_without_expressions_have_no_parts():
    assert scalars_of(UnionAll((T, T), T.fields)) == ()
    assert [item.text for item in scalars_of(join(T, U, on="a = c", residual="b > d"))] == ["`a`", "`c`", "`b` > `d`"]
    assert [item.text for item in scalars_of(aggregate(T, "a", n="sum(b)"))] == ["`a`", "sum(`b`)"]


def test_a_column_of_a_table_is_refused():
    tree = parse_expression("`s`.`a` + 1")
    found = refused(Project, T, (("x", Scalar(render_scalar(tree), tree)),))
    assert "reads `s`.`a` as a column of a table" in found.message


def test_the_text_of_a_field_of_a_struct_is_read_as_one():
    field = parse_scalar("`s`.`a`.`b` + `c`")
    assert Scalar(render_scalar(field), field).columns == {"s", "c"}
    assert render_scalar(field) == "`s`.`a`.`b` + `c`"
    assert text_of(parsed("`s`.`a`").argument) == "`s`"
    of_s = parse_scalar("upper(`s`.`a`)")
    moved = Scalar(render_scalar(of_s), of_s).over({"s": column("x"), "a": column("wrong")})
    assert moved.text == "upper(`x`.`a`)"


WHOLE_ROWS = (
    "SELECT k, row_number() OVER (PARTITION BY k ORDER BY k) AS x FROM t",
    "SELECT k, first(m) AS x FROM t GROUP BY k",
    "SELECT k FROM t QUALIFY row_number() OVER (PARTITION BY k ORDER BY m) = 1",
)


@pytest.mark.parametrize("query", WHOLE_ROWS)
def test_the_order_of_whole_rows_reads_structs_not_their_fields(query):
    table = "CREATE TABLE t (k INT, m INT, s STRUCT<n: STRING COLLATE UTF8_LCASE, o: MAP<STRING, INT>>);"
    view = compile_program(f"{table} CREATE VIEW v AS {query};").catalog.views["v"]
    read = {name for node in view.plan.walk() for item in scalars_of(node) for name in item.columns}
    assert "t.s" in read
    assert not read & {"n", "o"}


def test_the_least_of_collated_fields_reads_their_struct():
    name = Scalar("`s`.`a`", parse_scalar("`s`.`a`"))
    call = AggregateCall("min", (name,), Scalar("min(`s`.`a`)", parse_scalar("min(`s`.`a`)")))
    found = with_least_texts(Aggregate(T, (), (("m", call),)), lambda _plan, _scalar: "string collate UTF8_LCASE")
    assert [item.text for item in scalars_of(found)] == [
        "min_by(`s`.`a`, if((`s`.`a`) IS NULL, NULL, struct(`s`.`a`, collate(`s`.`a`, 'UTF8_BINARY'))))"
    ]
    assert scalars_of(found)[0].columns == {"s"}
