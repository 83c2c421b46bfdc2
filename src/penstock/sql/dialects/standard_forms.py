"""The words of standard SQL that are values or differences, as Calcite, Feldera and Flink have them.

| written | read as |
| --- | --- |
| `UNKNOWN` | a BOOLEAN that is NULL |
| `PI` | `pi()` |
| `(a - b) DAY` where it is compared, added or subtracted | the difference itself, whose hours count there |

They are reserved there: a column of that name stands in quotes, or behind the name of its relation.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.sql.dialects.rewriting import call
from penstock.sql.nodes import WRITTEN
from penstock.sql.standardforms import DIFFERENCE

_EXACT = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.Add, exp.Sub)


def in_standard_forms(node: exp.Expression) -> exp.Expression | None:
    """The words of Spark for such a form; None for anything else."""
    match node:
        case exp.Column() if len(node.parts) == 1 and not node.this.args.get("quoted"):
            return _value(node)
        case exp.Cast() if DIFFERENCE in node.meta and isinstance(_around(node), _EXACT):
            return exp.Cast(this=node.this, to=exp.DataType(this=exp.DType.USERDEFINED, kind="interval day to second"))
        case _:
            return None


def _value(node: exp.Column) -> exp.Expression | None:
    match node.name.upper():
        case "UNKNOWN":
            found: exp.Expression = exp.cast(exp.Null(), "boolean")
        case "PI":
            found = call("pi")
        case _:
            return None
    found.meta.update(node.meta | {WRITTEN: node.name})
    return found


def _around(node: exp.Expr) -> exp.Expr | None:
    """The node around a value, out of its parentheses."""
    around = node.parent
    while isinstance(around, exp.Paren):
        around = around.parent
    return around
