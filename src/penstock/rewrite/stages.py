"""The stages of rewriting, in their order."""

from __future__ import annotations

from penstock.rewrite.factor_disjunction import factor_disjunction
from penstock.rewrite.filter_to_join_condition import filter_to_join_condition
from penstock.rewrite.filter_to_join_key import filter_to_join_key
from penstock.rewrite.merge_filters import merge_filters
from penstock.rewrite.merge_projects import merge_projects
from penstock.rewrite.merge_unions import merge_unions
from penstock.rewrite.order_joins import order_joins
from penstock.rewrite.prune_columns import prune_columns
from penstock.rewrite.push_filter_below import push_filter_below
from penstock.rewrite.push_filter_into_join import push_filter_into_join
from penstock.rewrite.push_filter_into_union import push_filter_into_union
from penstock.rewrite.push_filter_through_project import push_filter_through_project
from penstock.rewrite.push_lock_into_join import push_lock_into_join
from penstock.rewrite.push_residual_into_join import push_residual_into_join
from penstock.rewrite.push_semi_join_below import push_semi_join_below
from penstock.rewrite.remove_distinct import remove_distinct
from penstock.rewrite.remove_distinct_under_semi_join import remove_distinct_under_semi_join
from penstock.rewrite.remove_trivial_project import remove_trivial_project
from penstock.rewrite.remove_true_filter import remove_true_filter
from penstock.rewrite.remove_unlimited_top import remove_unlimited_top
from penstock.rewrite.rule import Stage
from penstock.rewrite.simplify_outer_join import simplify_outer_join
from penstock.rewrite.split_clock_aggregate import split_clock_aggregate
from penstock.rewrite.split_clock_filter import split_clock_filter
from penstock.rewrite.split_distinct_aggregates import split_distinct_aggregates

STAGES = (
    Stage(
        "normalize",
        "one shape for plans that mean the same, so that views find their common parts",
        (
            remove_true_filter,
            remove_trivial_project,
            merge_projects,
            merge_filters,
            factor_disjunction,
            merge_unions,
            remove_distinct,
            remove_distinct_under_semi_join,
            remove_unlimited_top,
            # Before filters move: it makes some.
            split_clock_aggregate,
        ),
    ),
    Stage(
        "push down",
        "fewer rows reach what keeps state",
        (
            # Before filters leave for the sides of the join: only above it do they show that its NULLs never pass.
            simplify_outer_join,
            # Before the rest of the condition is split: an equality is worth more as a key than as a filter.
            filter_to_join_key,
            # Before the condition of the upper join takes them along.
            push_lock_into_join,
            filter_to_join_condition,
            push_filter_into_join,
            push_residual_into_join,
            # After filters have left the way between the two joins.
            push_semi_join_below,
            push_filter_through_project,
            push_filter_into_union,
            push_filter_below,
            # After those that move filters: what comes to stand together is merged, then parted by the clock.
            merge_filters,
            split_clock_filter,
            remove_true_filter,
        ),
    ),
    # After all equalities have become keys. What can raise is then asked last, above joins that it may belong to.
    Stage("join order", "no state of all pairs of rows where keys tie them", (order_joins, filter_to_join_condition)),
    # After the filters have moved: below them, their columns are needed no longer.
    Stage("prune", "narrower rows in what keeps state", (prune_columns,), whole=True),
    # After pruning: an aggregate that nobody reads need not be split.
    Stage("two levels", "aggregates that can be added up, in place of those that cannot", (split_distinct_aggregates,)),
    # Pruning puts projections where there may be one already.
    Stage("tidy", "one projection where there are several", (merge_projects, remove_trivial_project)),
)
