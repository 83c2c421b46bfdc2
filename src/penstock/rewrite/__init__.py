"""From a bound plan to one that gives the same rows with less state and work.

    rewrite(plan)   STAGES, one after the other; in each, its rules until none of them fires

One rule is one function in the file of its name: the pattern, what replaces it, and why it may. `STAGES` is their order
with its reasons. The runner checks every firing and writes it down for EXPLAIN (TRACE). A rule never moves
what can raise an error to rows that would have been removed before (`raising`).
"""

from penstock.rewrite.rule import Fired, Rule, Stage
from penstock.rewrite.runner import rewrite, rewrite_views
from penstock.rewrite.stages import STAGES

__all__ = ["STAGES", "Fired", "Rule", "Stage", "rewrite", "rewrite_views"]
