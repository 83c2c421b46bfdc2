"""Views whose query our parser cannot read: which relations the text names, found by tokens."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.bind.relation import text_rows
from penstock.catalog.model import Catalog, Table, View
from penstock.plan.nodes import Recompute
from penstock.plan.opaque import escaped
from penstock.sql.dialects import rules_of
from penstock.sql.lexer import tokenize
from penstock.sql.statements import Unparsed

_OPENING = frozenset({"FROM", "JOIN"})
_CLOSING = frozenset({"SELECT", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "ON", "USING", "UNION", "WINDOW", "WITH"})
_NO_ALIAS = _OPENING | _CLOSING | {
    "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "SEMI", "ANTI", "NATURAL", "LATERAL", "TABLESAMPLE", "PIVOT", "UNPIVOT",
    "INTERSECT", "EXCEPT", "MINUS", "DISTRIBUTE", "CLUSTER", "SORT", "OFFSET", "QUALIFY",
}  # fmt: skip


def unparsed_view(catalog: Catalog, statement: Unparsed) -> View:
    """A view that Spark recomputes from the text as it stands; its columns are known when Spark has been asked."""
    text, relations = _with_places(statement.query_text, catalog)
    plan = Recompute(
        tuple(text_rows(found, statement.span) for found in relations), text, (), statement.reason, statement.span
    )
    return View(
        statement.name,
        statement.query_text,
        exp.Select(),
        (),
        plan,
        statement.kind,
        statement.properties,
        span=statement.name_span,
        declaration=statement.text,
        places=statement.places,
    )


def _with_places(text: str, catalog: Catalog) -> tuple[str, list[Table | View]]:
    """The text with `{0}`, `{1}` … where relations stand, and the relations."""
    dialect = catalog.settings.get("dialect", "penstock")
    tokens = tokenize(text, rules_of(dialect))
    relations: list[Table | View] = []
    pieces: list[str] = []
    done, in_from = 0, False
    for index, token in enumerate(tokens):
        word = str(token.text).upper()
        in_from = word in _OPENING or (in_from and word not in _CLOSING)
        found = catalog.relation(str(token.text)) if in_from and _starts_item(tokens, index) else None
        if found is None:
            continue
        if found not in relations:
            relations.append(found)
        after = str(tokens[index + 1].text).upper() if index + 1 < len(tokens) else ")"
        aliased = after == "AS" or (after.isidentifier() and after not in _NO_ALIAS)
        alias = "" if aliased else f" AS `{found.name}`"
        pieces.append(escaped(text[done : token.start]) + f"{{{relations.index(found)}}}" + alias)
        done = token.end + 1
    return "".join(pieces) + escaped(text[done:]), relations


def _starts_item(tokens: list[Token], index: int) -> bool:
    before = str(tokens[index - 1].text).upper() if index else ""
    qualified = index + 1 < len(tokens) and str(tokens[index + 1].text) in (".", "(")
    return before in _OPENING | {",", "(", "TABLE"} and not qualified
