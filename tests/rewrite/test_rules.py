"""Each rule on a plan of its own: where it fires, and where it must not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.errors import InternalError
from penstock.explain.plans import plan_text
from penstock.plan.nodes import (
    AggregateCall,
    AsofJoin,
    Distinct,
    Field,
    Filter,
    Generate,
    JoinKey,
    JoinKind,
    Match,
    Project,
    SortKey,
    TopK,
    UnionAll,
    Window,
)
from penstock.rewrite import STAGES, Stage, rewrite
from penstock.rewrite.filter_to_join_condition import filter_to_join_condition
from penstock.rewrite.filter_to_join_key import filter_to_join_key
from penstock.rewrite.merge_filters import merge_filters
from penstock.rewrite.merge_projects import merge_projects
from penstock.rewrite.merge_unions import merge_unions
from penstock.rewrite.prune_columns import prune_columns
from penstock.rewrite.push_filter_below import push_filter_below
from penstock.rewrite.push_filter_into_join import push_filter_into_join
from penstock.rewrite.push_filter_into_union import push_filter_into_union
from penstock.rewrite.push_filter_through_project import push_filter_through_project
from penstock.rewrite.push_residual_into_join import push_residual_into_join
from penstock.rewrite.remove_distinct import remove_distinct
from penstock.rewrite.remove_distinct_under_semi_join import remove_distinct_under_semi_join
from penstock.rewrite.remove_trivial_project import remove_trivial_project
from penstock.rewrite.remove_true_filter import remove_true_filter
from penstock.rewrite.remove_unlimited_top import remove_unlimited_top
from penstock.rewrite.simplify_outer_join import simplify_outer_join
from penstock.rewrite.split_clock_aggregate import split_clock_aggregate
from penstock.rewrite.split_clock_filter import split_clock_filter
from penstock.rewrite.split_distinct_aggregates import split_distinct_aggregates
from planning import aggregate, alias, join, project, scalar, scan, where

T = scan("t", a="int", b="int", f="double", s="string", at="timestamp")
L = alias(scan("l", k="int", a="int", at="timestamp"), "l")
R = alias(scan("r", k="int", b="int", s="string"), "r")


def shown(plan):
    return None if plan is None else plan_text(plan)


def test_merge_projects_substitutes():
    plan = project(project(T, c="a + 1"), d="c * 2")
    assert shown(merge_projects(plan)) == "Project d = (a + 1) * 2\n  Scan t"


def test_merge_projects_does_not_compute_twice():
    plan = project(project(T, c="a + 1"), d="c * c")
    assert merge_projects(plan) is None
    assert shown(merge_projects(project(project(T, c="a"), d="c * c"))) == "Project d = a * a\n  Scan t"


def test_merge_filters_keeps_the_order_and_each_part_once():
    plan = where(where(T, "a > 1 OR b > 1"), "b > 2 AND (a > 1 OR b > 1)")
    assert shown(merge_filters(plan)) == "Filter (a > 1 OR b > 1) AND b > 2\n  Scan t"


def test_merge_filters_leaves_what_can_raise_behind_the_row_that_is_gone():
    assert merge_filters(where(where(T, "a <> 0"), "10 / a > 2")) is None


def test_the_clock_stays_above():
    plan = where(T, "a > 1 AND at > now() - INTERVAL 1 DAY")
    expected = "Filter at > now() - INTERVAL '1' DAY\n  Filter a > 1\n    Scan t"
    assert shown(split_clock_filter(plan)) == expected
    assert merge_filters(split_clock_filter(plan)) is None
    swapped = split_clock_filter(where(where(T, "at > now()"), "a > 1"))
    assert shown(swapped) == "Filter at > now()\n  Filter a > 1\n    Scan t"


def test_filter_to_join_condition():
    plan = join(L, R, on="`l.k` = `r.k`", residual="`l.a` <> `r.b`")
    found = filter_to_join_condition(where(plan, "`l.a` < `r.b` AND `r.b` > 2 AND 1 / `l.a` > `r.b`"))
    assert shown(found).split("\n")[:2] == [
        "Filter r.b > 2 AND 1 / l.a > r.b",
        "  Join inner on l.k = r.k and l.a <> r.b AND l.a < r.b",
    ]
    for kind in (JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL):
        assert filter_to_join_condition(where(replace(plan, kind=kind), "`l.a` < `r.b`")) is None
    assert filter_to_join_condition(where(plan, "CASE WHEN `l.at` < now() THEN `l.a` ELSE `r.b` END > 5")) is None


def test_filter_to_join_condition_asks_of_the_same_pairs_what_can_raise():
    near = "`r.b` BETWEEN `l.a` AND `l.a` + 9"
    plan = join(L, R, on="`l.k` = `r.k`")
    found = filter_to_join_condition(where(plan, f"`r.b` > 2 AND {near} AND 1 / `r.b` > 0"))
    assert shown(found).split("\n")[:2] == [
        "Filter 1 / r.b > 0",
        "  Join inner on l.k = r.k and r.b > 2 AND r.b BETWEEN l.a AND l.a + 9",
    ]
    # The join would ask on where this is NULL, and the filter of what that keeps from it.
    unknown = replace(plan, residual=scalar("`l.a` <> `r.b`"))
    assert filter_to_join_condition(where(unknown, near)) is None
    assert filter_to_join_condition(where(plan, f"`l.at` < now() AND {near}")) is None
    decided = replace(plan, residual=scalar("`l.a` IS NULL OR NOT `l.a` <=> `r.b`"))
    assert shown(filter_to_join_condition(where(decided, near))).startswith(
        "Join inner on l.k = r.k and (l.a IS NULL OR NOT l.a <=> r.b) AND r.b BETWEEN l.a AND l.a + 9"
    )


def test_a_condition_on_the_clock_leaves_the_aggregate():
    plan = aggregate(T, "b", n="count(CASE WHEN at > now() THEN a END)", m="max(a)", s="sum(if(at > now(), 2, 0))")
    assert shown(split_clock_aggregate(plan)) == (
        "Project b, n = coalesce(__c0.n, 0), m, s = coalesce(__c0.s, 0)\n"
        "  Join left on b <=> __c0.b\n"
        "    Aggregate by b: m = max(a)\n"
        "      Scan t\n"
        "    Project __c0.b = b, __c0.n = n, __c0.s = s\n"
        "      Aggregate by b: n = count(a), s = sum(2)\n"
        "        Filter at > now()\n"
        "          Scan t"
    )


def test_what_reads_the_clock_otherwise_stays():
    assert split_clock_aggregate(aggregate(T, "b", m="max(a)")) is None
    for call in (
        "max(now())",
        "sum(if(at > now(), a, 0))",
        "count(CASE WHEN at > now() THEN 1 ELSE 2 END)",
        "count(CASE WHEN at > now() THEN now() END)",
        "collect_list(CASE WHEN at > now() THEN a END)",
    ):
        assert split_clock_aggregate(aggregate(T, "b", n=call)) is None, call
    # Without groups there is a row over nothing, and its sum is NULL.
    assert split_clock_aggregate(aggregate(T, "", n="sum(if(at > now(), 1, 0))")) is None


def test_remove_trivial_project():
    assert remove_trivial_project(project(T, a="a", b="b", f="f", s="s", at="at")) is T
    assert remove_trivial_project(project(T, b="b", a="a")) is None


def test_remove_true_filter():
    assert remove_true_filter(where(T, "TRUE")) is T
    assert shown(remove_true_filter(where(T, "a > 1 AND TRUE"))) == "Filter a > 1\n  Scan t"


def test_merge_unions():
    two = UnionAll((T, T), T.fields)
    assert merge_unions(UnionAll((two, T), T.fields)) == UnionAll((T, T, T), T.fields)


def test_remove_distinct_over_rows_that_are_there_once():
    grouped = aggregate(T, "a")
    assert remove_distinct(Distinct(where(grouped, "a > 1"))) == where(grouped, "a > 1")
    assert remove_distinct(Distinct(T)) is None


def test_remove_distinct_under_semi_join():
    plan = join(L, Distinct(R), JoinKind.SEMI, "`l.k` = `r.k`")
    assert remove_distinct_under_semi_join(plan) == replace(plan, right=R)
    assert remove_distinct_under_semi_join(replace(plan, kind=JoinKind.INNER)) is None


def test_remove_unlimited_top():
    assert remove_unlimited_top(TopK(T, (scalar("a"),), (), None)) is T
    assert remove_unlimited_top(TopK(T, (), (SortKey(scalar("a")),), None)) is None
    assert remove_unlimited_top(TopK(T, (), (), 3)) is None


def test_push_filter_through_project_even_if_it_can_raise():
    plan = where(project(T, c="a + 1"), "10 / c > 2")
    assert shown(push_filter_through_project(plan)) == "Project c = a + 1\n  Filter 10 / (a + 1) > 2\n    Scan t"


def test_push_filter_into_union_under_the_branch_s_names():
    other = scan("u", x="int", y="int", g="double", z="string", w="timestamp")
    found = push_filter_into_union(where(UnionAll((T, other), T.fields), "a > 1"))
    expected = "UnionAll a, b, f, s, at\n  Filter a > 1\n    Scan t\n  Filter x > 1\n    Scan u"
    assert shown(found) == expected


def test_push_filter_into_inner_join():
    plan = where(join(L, R, on="`l.k` = `r.k`"), "`l.a` > 1 AND `r.b` > 2 AND `l.a` < `r.b`")
    lines = shown(push_filter_into_join(plan)).split("\n")
    assert lines[:3] == ["Filter l.a < r.b", "  Join inner on l.k = r.k", "    Filter l.a > 1"]
    assert "    Filter r.b > 2" in lines


ASOF = AsofJoin(
    L, R, JoinKind.LEFT, (JoinKey(scalar("`l.k`"), scalar("`r.k`")),), Match(scalar("`l.a`"), ">=", scalar("`r.b`"))
)


def test_left_rows_of_an_asof_join_are_filtered_before_it():
    lines = shown(push_filter_into_join(where(ASOF, "`l.a` > 1 AND `r.b` > 2"))).split("\n")
    assert lines[:3] == ["Filter r.b > 2", "  AsofJoin left on l.k = r.k and l.a >= r.b", "    Filter l.a > 1"]
    assert push_filter_into_join(where(ASOF, "`r.b` > 2")) is None


def test_an_asof_join_keeps_unmatched_rows_only_if_they_are_wanted():
    found = shown(simplify_outer_join(where(ASOF, "`r.b` > 2")))
    assert found.startswith("Filter r.b > 2\n  AsofJoin inner on l.k = r.k and l.a >= r.b")
    assert simplify_outer_join(where(ASOF, "`r.b` IS NULL")) is None


def test_an_asof_join_reads_whole_right_rows():
    found = prune_columns(project(ASOF, x="`r.s`"))
    assert [item.names for item in found.input.inputs] == [("l.k", "l.a"), ("r.k", "r.b", "r.s")]


def test_nothing_is_pushed_to_the_side_that_is_filled_with_nulls():
    left = where(join(L, R, JoinKind.LEFT, "`l.k` = `r.k`"), "`r.b` IS NULL")
    assert push_filter_into_join(left) is None
    assert push_filter_into_join(where(join(L, R, JoinKind.FULL, "`l.k` = `r.k`"), "`l.a` > 1")) is None


@pytest.mark.parametrize(
    "condition", ["10 / `l.a` > 2", "`r.s` > 5", "CAST(`r.s` AS INT) = 1", "`l.a` + 1 > 2", "`r.s` = `l.a`"]
)
def test_what_can_raise_is_not_pushed_into_a_join(condition):
    assert push_filter_into_join(where(join(L, R, on="`l.k` = `r.k`"), condition)) is None


@pytest.mark.parametrize(
    "condition",
    ["`r.s` = 'x'", "`l.at` >= '2013-01-01'", "`l.a` IN (1, 2)", "`r.s` LIKE 'x%'", "NOT `l.a` IS NULL",
     "coalesce(`l.a`, 0) > 1", "CASE WHEN `l.a` > 1 THEN TRUE ELSE FALSE END", "CAST(`l.k` AS BIGINT) > 1L",
     "`l.at` > now() - INTERVAL 1 DAY", "TRY_CAST(`r.s` AS INT) = 1"],
)  # fmt: skip
def test_what_cannot_raise_is_pushed_into_a_join(condition):
    found = push_filter_into_join(where(join(L, R, on="`l.k` = `r.k`"), condition))
    assert found is not None
    assert not isinstance(found, Filter)


def test_residual_of_a_left_join_filters_the_right_side_only():
    plan = join(L, R, JoinKind.LEFT, "`l.k` = `r.k`", "`r.b` > 2 AND `l.a` > 1")
    found = push_residual_into_join(plan)
    assert found.residual.text == "`l.a` > 1"
    assert isinstance(found.right, Filter)
    assert found.left is plan.left


def test_residual_of_not_in_is_left_alone():
    plan = replace(join(L, R, JoinKind.ANTI, "`l.k` = `r.k`", "`r.b` > 2"), null_aware=True)
    assert push_residual_into_join(plan) is None


def test_filter_to_join_key():
    found = filter_to_join_key(where(join(L, R), "`r.k` = `l.k` AND `l.a` > 1"))
    assert shown(found).startswith("Filter l.a > 1\n  Join inner on l.k = r.k")


def test_filter_to_join_key_casts_whole_numbers_and_refuses_other_types():
    wide = alias(scan("r", k="bigint", s="string"), "r")
    found = filter_to_join_key(where(join(L, wide), "`l.k` = `r.k`"))
    assert shown(found).startswith("Join inner on CAST(l.k AS BIGINT) = r.k")
    assert filter_to_join_key(where(join(L, wide), "`l.k` = `r.s`")) is None
    assert filter_to_join_key(where(join(L, R, JoinKind.LEFT, "`l.a` = `r.b`"), "`l.k` = `r.k`")) is None


def test_filter_to_join_key_of_the_rest_of_a_condition():
    found = filter_to_join_key(join(L, R, JoinKind.LEFT, None, "`l.k` = `r.k` AND `l.a` < `r.b`"))
    assert shown(found).startswith("Join left on l.k = r.k and l.a < r.b")
    assert filter_to_join_key(replace(join(L, R, JoinKind.ANTI, None, "`l.k` = `r.k`"), null_aware=True)) is None


def test_filter_to_join_key_that_can_only_overflow():
    shifted = "`l.k` = `r.k` + 1"
    assert shown(filter_to_join_key(where(join(L, R), f"{shifted} AND `l.a` > 1"))).startswith(
        "Filter l.a > 1\n  Join inner on l.k = r.k + 1"
    )
    assert shown(filter_to_join_key(where(join(L, R), "`l.k` = `r.k` + 3000000000"))).startswith(
        "Join inner on CAST(l.k AS BIGINT) = r.k + 3000000000"
    )
    assert filter_to_join_key(where(join(L, R, on="`l.a` = `r.b`"), shifted)) is None
    assert filter_to_join_key(where(join(L, R, residual="`l.a` < `r.b`"), shifted)) is None
    assert filter_to_join_key(where(join(L, R), f"`l.a` < `r.b` AND {shifted}")) is None
    assert filter_to_join_key(where(join(L, R), "`l.k` = `r.k` / 1")) is None
    assert filter_to_join_key(where(join(L, R), "`l.k` = `r.k` + 99999999999999999999")) is None


def test_simplify_outer_join():
    full = join(L, R, JoinKind.FULL, "`l.k` = `r.k`")
    assert simplify_outer_join(where(full, "`r.b` > 2")).input.kind == JoinKind.RIGHT
    assert simplify_outer_join(where(full, "`r.b` > `l.a`")).input.kind == JoinKind.INNER
    assert simplify_outer_join(where(full, "`r.b` <=> 2")) is None
    assert simplify_outer_join(where(full, "coalesce(`r.b`, 3) > 2")) is None
    assert (
        simplify_outer_join(where(replace(full, kind=JoinKind.LEFT), "NOT `r.b` IS NULL")).input.kind == JoinKind.INNER
    )


def test_push_filter_below_an_aggregate():
    plan = where(aggregate(T, "g = a + 1; b", n="count(1)"), "b > 1 AND n > 2")
    assert (
        shown(push_filter_below(plan))
        == "Filter n > 2\n  Aggregate by g = a + 1, b: n = count(1)\n    Filter b > 1\n      Scan t"
    )
    assert push_filter_below(where(aggregate(T, "", n="count(1)"), "n > 2")) is None


def test_push_filter_below_partitions_and_generators():
    top = TopK(T, (scalar("a"),), (SortKey(scalar("b")),), 3)
    assert shown(push_filter_below(where(top, "a > 1 AND b > 1"))).startswith("Filter b > 1\n  TopK")
    window = Window(T, (scalar("a"),), (("n", scalar("row_number() OVER (PARTITION BY a ORDER BY b)")),))
    assert shown(push_filter_below(where(window, "a > 1"))).startswith("Window")
    exploded = Generate(T, scalar("explode(s)"), (Field("x", "int"),))
    assert shown(push_filter_below(where(exploded, "a > 1 AND x > 1"))).startswith("Filter x > 1\n  Generate")


def test_prune_columns_keeps_what_is_named():
    plan = aggregate(join(L, R, on="`l.k` = `r.k`"), "`r.s`", n="count(1)")
    assert shown(prune_columns(plan)) == (
        "Aggregate by r.s: n = count(1)\n"
        "  Project r.s\n"
        "    Join inner on l.k = r.k\n"
        "      Project l.k = k\n"
        "        Scan l\n"
        "      Project r.k = k, r.s = s\n"
        "        Scan r"
    )


def test_prune_columns_counts_rows_by_the_cheapest_column():
    assert shown(prune_columns(aggregate(T, "", n="count(1)"))).startswith("Aggregate: n = count(1)\n  Project a\n")


def test_prune_columns_leaves_whole_rows_to_top_k_and_distinct():
    top = TopK(T, (), (SortKey(scalar("b")),), 3)
    assert prune_columns(project(top, a="a")) is None
    assert prune_columns(project(Distinct(T), a="a")) is None


def test_prune_columns_keeps_a_shared_plan_one_plan():
    shared = aggregate(join(L, R, on="`l.k` = `r.k`"), "`l.k`", n="count(1)", m="max(`r.b`)")
    left, right = alias(project(shared, k="`l.k`", n="n"), "x"), alias(project(shared, k="`l.k`", m="m"), "y")
    pruned = prune_columns(project(join(left, right, on="`x.k` = `y.k`"), n="`x.n`", m="`y.m`"))
    aggregates = [node for node in pruned.walk() if type(node).__name__ == "Aggregate"]
    assert len(aggregates) == 2
    assert aggregates[0] == aggregates[1]
    assert aggregates[0].names == ("l.k", "n", "m")


def test_the_runner_names_the_rule_that_breaks_a_plan():
    def drop_everything(plan):
        return project(plan, only="a") if plan == T else None

    with pytest.raises(InternalError, match="drop_everything broke a plan: it turned the columns a, b"):
        rewrite(T, stages=(Stage("bad", "", (drop_everything,)),))


def test_the_runner_names_the_rule_that_makes_a_node_that_cannot_be():
    def read_what_is_gone(plan):
        return where(project(plan, a="a"), "b > 1") if plan == T else None

    with pytest.raises(InternalError, match=r"read_what_is_gone broke a plan: Filter: the condition, .* reads b"):
        rewrite(T, stages=(Stage("bad", "", (read_what_is_gone,)),))


def test_the_runner_stops_rules_that_undo_each_other():
    def turn(plan):
        return (
            where(T, "b > 1") if plan == where(T, "a > 1") else where(T, "a > 1") if plan == where(T, "b > 1") else None
        )

    with pytest.raises(InternalError, match="do not come to an end"):
        rewrite(where(T, "a > 1"), stages=(Stage("bad", "", (turn,)),))


def test_rewriting_is_stable_and_deterministic():
    plan = Project(
        where(join(L, R), "`l.k` = `r.k` AND `l.a` > 1 AND 10 / `r.b` > 2 AND `l.at` > now()"),
        (("a", scalar("`l.a`")),),
    )
    trace = []
    once = rewrite(plan, trace)
    assert rewrite(once) == once == rewrite(plan)
    assert {fired.stage for fired in trace} <= {stage.name for stage in STAGES}


def distinct(name, argument, where=None):
    """An aggregate call over the distinct values of a column."""
    call = scalar(f"{name}(DISTINCT {argument})" + (f" FILTER (WHERE {where})" if where else ""))
    condition = scalar(where, "boolean") if where else None
    return AggregateCall(name, (scalar(argument, "int"),), call, distinct=True, filter=condition)


def test_split_distinct_aggregates_counts_what_a_distinct_has_left():
    plan = replace(aggregate(T, "b"), aggregates=(("n", distinct("count", "a")), ("s", distinct("sum", "a"))))
    assert shown(split_distinct_aggregates(plan)) == (
        "Aggregate by b = __k0: n = count(__v0), s = sum(__v0)\n"
        "  Distinct\n"
        "    Project __k0 = b, __v0 = a\n"
        "      Scan t"
    )


def test_split_distinct_aggregates_keeps_other_calls_beside():
    plan = aggregate(T, "b", c="count(1)")
    plan = replace(plan, aggregates=(("n", distinct("count", "a")), *plan.aggregates))
    assert shown(split_distinct_aggregates(plan)) == (
        "Aggregate by b = __k0: n = count(__d0_0) FILTER(WHERE __part = 1), c = count(1) FILTER(WHERE __part = 0)\n"
        "  UnionAll __k0, __d0_0, __part\n"
        "    Project __k0, __d0_0 = CAST(NULL AS int), __part = 0\n"
        "      Project __k0 = b\n"
        "        Scan t\n"
        "    Project __k0, __d0_0, __part\n"
        "      Distinct\n"
        "        Project __k0 = b, __d0_0 = a, __part = 1\n"
        "          Scan t"
    )


def test_split_distinct_aggregates_has_one_distinct_for_values_of_one_type():
    plan = aggregate(T, "b", c="count(1)")
    filtered = distinct("count", "a", where="f > 1")
    calls = (("n", distinct("count", "a")), ("m", filtered), ("o", distinct("sum", "b")))
    assert shown(split_distinct_aggregates(replace(plan, aggregates=(*plan.aggregates, *calls)))) == (
        "Aggregate by b = __k0: c = count(1) FILTER(WHERE __part = 0), n = count(__d0_0) FILTER(WHERE __part = 1), "
        "m = count(__d0_0) FILTER(WHERE __part = 2), o = sum(__d0_0) FILTER(WHERE __part = 3)\n"
        "  UnionAll __k0, __d0_0, __part\n"
        "    Project __k0, __d0_0 = CAST(NULL AS int), __part = 0\n"
        "      Project __k0 = b\n"
        "        Scan t\n"
        "    Project __k0, __d0_0, __part\n"
        "      Distinct\n"
        "        UnionAll __k0, __d0_0, __part\n"
        "          Project __k0 = b, __d0_0 = a, __part = 1\n"
        "            Scan t\n"
        "          Project __k0 = b, __d0_0 = a, __part = 2\n"
        "            Filter f > 1\n"
        "              Scan t\n"
        "          Project __k0 = b, __d0_0 = b, __part = 3\n"
        "            Scan t"
    )
    # Without a part that has all rows, a group whose rows all fail the filter is there by its NULL.
    alone = shown(split_distinct_aggregates(replace(plan, aggregates=calls)))
    assert "__d0_0 = CASE WHEN f > 1 THEN a END, __part = 2" in alone
    assert "Filter" not in alone


def test_split_distinct_aggregates_leaves_what_cannot_be_added_up():
    plan = aggregate(T, "b", p="percentile(f, 0.5)")
    assert split_distinct_aggregates(plan) is None
    assert (
        split_distinct_aggregates(replace(plan, aggregates=(*plan.aggregates, ("n", distinct("count", "a"))))) is None
    )
