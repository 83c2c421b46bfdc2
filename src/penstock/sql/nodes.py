"""Syntax nodes that sqlglot does not have."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp

WINDOW_FUNCTIONS = frozenset({"TUMBLE", "HOP", "SESSION", "CUMULATE"})
SUBSTREAMS = "substreams"  # in the meta of a SELECT: the keys of PARTITION BY
WRITTEN = "written"  # in the meta of what stands for a function of another dialect: the call as it was written
SHUFFLED = "shuffle_by"  # the argument of a SELECT with the keys of SHUFFLE BY
TABLE_FUNCTIONS = WINDOW_FUNCTIONS | {"TABLE", "CHANGELOG", "DEDUP"}


class TableFunction(exp.Expression):
    """A function over a relation in FROM: `TUMBLE(TABLE t, DESCRIPTOR(c), …)`, `tumble(t, c, 5s)`, `table(t)`.

    `this` is the upper-case name, `expressions` the arguments: relations are `exp.Table`, `exp.Subquery` or
    another `TableFunction`, `DESCRIPTOR(c)` is an `exp.Anonymous`, a named argument an `exp.Kwarg`, the bounds of a
    Timeplus session an `exp.Anonymous` SESSION_RANGE(start, end, include_start, include_end).
    `partition_by` holds the keys of `TABLE t PARTITION BY …`.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "expressions": False,
        "alias": False,
        "partition_by": False,
        "joins": False,
        "pivots": False,
        "laterals": False,
        "sample": False,
    }

    @property
    def name(self) -> str:
        """The function's name, upper-case."""
        return str(self.args["this"])


class RowMatches(exp.Expression):
    """MATCH_RECOGNIZE over `this`, a relation of FROM.

    `measures`, `subsets` and `define` are aliases: what is measured, the variables, the condition, each under its
    name. `rows` says 'one', 'all', 'omit empty' or 'unmatched'; `skip` 'past', 'next', 'first' or 'last', these two
    with a variable in `meta`; `pattern` is the text of the pattern (`rowpattern` reads it).
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "partition_by": False,
        "order": False,
        "measures": False,
        "rows": True,
        "skip": False,
        "pattern": True,
        "within": False,
        "subsets": False,
        "define": False,
        "alias": False,
        "joins": False,
        "pivots": False,
        "laterals": False,
        "sample": False,
    }


class SessionCall(exp.Expression):
    """A call of a function, named `this`, that somebody has registered in Spark's session: only Spark knows it."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expressions": False}


class UnsignedRightShift(exp.Expression, exp.Binary):
    """`a >>> b`: a shift to the right that fills with zeros."""
