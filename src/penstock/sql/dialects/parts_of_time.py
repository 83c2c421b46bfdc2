"""EXTRACT as Calcite and Feldera have it: whole numbers, also of parts that Spark does not have."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from penstock.sql.dialects.rewriting import call

_SECOND = exp.Var(this="SECOND")


def _renamed(unit: str) -> Callable[[exp.Extract], exp.Expression]:
    return lambda tree: exp.Extract(this=exp.Var(this=unit), expression=tree.expression)


def _within_minute(factor: int) -> Callable[[exp.Extract], exp.Expression]:
    """The second of a minute and its fraction, in whole parts: Spark's SECOND has the fraction behind the point."""

    def rewrite(tree: exp.Extract) -> exp.Expression:
        second: exp.Expression = exp.Extract(this=_SECOND.copy(), expression=tree.expression)
        if factor > 1:
            second = exp.Mul(this=second, expression=exp.Literal.number(factor))
        return exp.cast(second, "bigint")

    return rewrite


def _years(count: int, *, begun: bool) -> Callable[[exp.Extract], exp.Expression]:
    """The number of so many years that are over, or have `begun`: 2001 is in the third millennium."""

    def rewrite(tree: exp.Extract) -> exp.Expression:
        year: exp.Expression = exp.Extract(this=exp.Var(this="YEAR"), expression=tree.expression)
        if begun:
            year = exp.Paren(this=exp.Add(this=year, expression=exp.Literal.number(count - 1)))
        return exp.Paren(this=exp.IntDiv(this=year, expression=exp.Literal.number(count)))

    return rewrite


def _epoch(tree: exp.Extract) -> exp.Expression:
    """The seconds since 1970, of a date too."""
    return call("unix_seconds", exp.cast(tree.expression, "timestamp"))


PARTS: Mapping[str, Callable[[exp.Extract], exp.Expression]] = {
    "SECOND": _within_minute(1),
    "MILLISECOND": _within_minute(1000),
    "MICROSECOND": _within_minute(1_000_000),
    "ISODOW": _renamed("DAYOFWEEK_ISO"),
    "ISOYEAR": _renamed("YEAROFWEEK"),
    "EPOCH": _epoch,
    "DECADE": _years(10, begun=False),
    "CENTURY": _years(100, begun=True),
    "MILLENNIUM": _years(1000, begun=True),
}
