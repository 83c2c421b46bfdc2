"""A bound expression in the meaning that its words have in the dialect's peer.

The types decide, so this is done when names have their meaning; inner parts come first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

from penstock.bind.marks import OUTER, is_mark
from penstock.bind.peers.casts import boolean_of_text, cut_decimal, text_of_boolean
from penstock.bind.peers.integers import divided, rounded, signed
from penstock.bind.peers.numbers import even_half, text_of_number
from penstock.bind.peers.rows import compared_rows, missing_row, row_in_list
from penstock.bind.peers.times import moved_date, number_as_time, time_as_number
from penstock.catalog.types import Type
from penstock.sql.rules import Rules
from penstock.sql.trees import cast_to, replaced
from penstock.types.infer import Typed, infer

Kind = Callable[[exp.Expression], Type | None]
_RULES: tuple[tuple[str, tuple[type[exp.Expression], ...], Callable[[Any, Kind], exp.Expression | None]], ...] = (
    ("whole_quotients", (exp.Div,), divided),
    ("argument_types", (exp.Anonymous,), rounded),
    ("argument_types", (exp.Anonymous,), signed),
    ("dates_stay_dates", (exp.Add, exp.Sub), moved_date),
    ("milliseconds", (exp.Cast,), number_as_time),
    ("milliseconds", (exp.Cast,), time_as_number),
    ("cuts_digits", (exp.Cast,), cut_decimal),
    ("true_or_false", (exp.Cast,), boolean_of_text),
    ("bare_numbers", (exp.Cast,), text_of_number),
    ("even_halves", (exp.Anonymous,), even_half),
    ("capital_booleans", (exp.Cast,), text_of_boolean),
    ("open_rows", (exp.EQ, exp.NEQ), compared_rows),
    ("open_rows", (exp.In,), row_in_list),
    ("missing_rows", (exp.Is,), missing_row),
)


def in_peers_meaning(
    tree: exp.Expression,
    fields: Mapping[str, Typed],
    rules: Rules,
    answer: Callable[[exp.Anonymous], Type | None],
) -> tuple[exp.Expression, set[str]]:
    """The expression with Spark's words for what the dialect means, and the names of the rules that changed it.

    `answer` gives the type of a scalar subquery.
    """
    applying = [item for item in _RULES if item[0] in rules.meanings]
    applied: set[str] = set()
    if not applying:
        return tree, applied

    def kind(part: exp.Expression) -> Type | None:
        return infer(_with_known_answers(part, answer), fields)[0]

    def meaning(node: exp.Expression) -> exp.Expression | None:
        for name, kinds, rule in applying:
            found = rule(node, kind) if isinstance(node, kinds) else None
            if found is not None:
                applied.add(name)
                return found
        return None

    nodes = tuple({item for _, kinds, _ in applying for item in kinds})
    return replaced(tree, nodes, meaning), applied


def _with_known_answers(tree: exp.Expression, answer: Callable[[exp.Anonymous], Type | None]) -> exp.Expression:
    """The expression with a NULL of its type in place of each scalar subquery; one of the enclosing query stays."""
    if tree.find(exp.Anonymous) is None:
        return tree

    def known(node: exp.Anonymous) -> exp.Expression | None:
        if is_mark(node, OUTER):
            return exp.Paren(this=node.expressions[0].copy())
        found = answer(node)
        return None if found is None else cast_to(exp.Null(), found)

    return replaced(exp.Paren(this=tree.copy()), (exp.Anonymous,), known)
