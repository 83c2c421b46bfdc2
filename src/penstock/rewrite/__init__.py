"""From a bound plan to one that gives the same rows with less state and work.

    rewrite(plan)   STAGES, one after the other; in each, its rules until none of them fires

One rule is one function in the file of its name: the pattern, what replaces it, and why it may. `STAGES` is their order
with its reasons. The rewriter checks every firing and writes it down for EXPLAIN (TRACE). A rule never moves
what can raise an error to rows that would have been removed before (`raising`).

| module | what is in it |
| --- | --- |
| `coarser_times` | the day of a time is the day of its hour: what is said of times, said of units of time |
| `factor_disjunction` | what every branch of an OR asks for is asked once, where it can be the key of a join |
| `filter_to_join_condition` | a comparison of both sides above an inner join is a part of its condition |
| `filter_to_join_key` | an equality above an inner join is a key of it: `FROM l, r WHERE l.k = r.k` is no cross join |
| `from_views` | queries over history answered from MATERIALIZED views; no rule of a stage |
| `merge_filters` | two conditions in a row are one |
| `merge_projects` | two projections in a row are one |
| `merge_unions` | a union of unions is one union |
| `order_joins` | relations of inner joins stand in an order in which each has a key with those before it |
| `prune_columns` | what nobody reads is not kept |
| `push_filter_below` | a condition on what tells groups apart decides before the group is kept |
| `push_filter_into_join` | a condition on one side of a join is decided before the join, which then keeps fewer rows |
| `push_lock_into_join` | a condition that locks the times of two streams is decided where they are joined |
| `push_filter_into_union` | a condition on a union is one on each of its branches |
| `push_filter_through_project` | a condition on computed columns becomes one on what they are computed from |
| `push_residual_into_join` | a part of a join's condition that speaks of one side only is a filter on that side |
| `push_semi_join_below` | IN and EXISTS on one side of a join are decided before it, which then keeps fewer rows |
| `raising` | whether evaluating an expression can raise: division by zero, overflow, a cast that does not fit |
| `remove_distinct` | DISTINCT over rows that are distinct already keeps state for nothing |
| `remove_distinct_under_semi_join` | IN and EXISTS ask whether there is a row, not how many |
| `remove_trivial_project` | a projection that changes nothing is left out |
| `remove_true_filter` | a condition that is always TRUE is left out |
| `remove_unlimited_top` | a Top-K that keeps every row, in no order, is left out |
| `rewriter` | applies the stages, checks each rule that fires, and writes it down |
| `rule` | what a rule is, and what is written down when one fires |
| `simplify_outer_join` | an outer join whose unmatched rows are filtered out again is an inner one |
| `split_clock_aggregate` | an aggregate whose condition reads the clock is one over the rows that pass it |
| `split_clock_filter` | what does not read the clock is decided before what does |
| `split_distinct_aggregates` | aggregates over DISTINCT values are plain ones over the rows that a DISTINCT has left |
| `splitting` | which parts of a condition may move below a node, and the two filters that come of it |
| `stages` | the stages of rewriting, in their order |
"""

from penstock.rewrite.rewriter import rewrite, rewrite_views
from penstock.rewrite.rule import Fired, Rule, Stage
from penstock.rewrite.stages import STAGES

__all__ = ["STAGES", "Fired", "Rule", "Stage", "rewrite", "rewrite_views"]
