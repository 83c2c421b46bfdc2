"""Nothing that is written may be dropped: a token more or less is another statement, or none.

The statements are those of the documentation, of the cases and of the examples. `silent_words.yaml` has the words that
may stand or be left out, each with the reason.
"""

from __future__ import annotations

import itertools
import random
import re
from functools import cache
from pathlib import Path

import pytest
import yaml
from sqlglot import exp
from tests.sql.corpus import Text, corpus
from tests.sql.shapes import shape_of
from tests.sql.written_text import written
from tests.tiers import EXTENDED, either

from penstock.errors import PenstockError
from penstock.sql.dialects import rules_of
from penstock.sql.lexer import tokenize
from penstock.sql.nodes import RowMatches
from penstock.sql.parse import parse, parse_query
from penstock.sql.text import type_of

SILENT = yaml.safe_load(Path(__file__).with_name("silent_words.yaml").read_text(encoding="utf-8"))["words"]
PATTERNS = [
    (item, [re.compile(item.get(key, ".*"), re.IGNORECASE | re.DOTALL) for key in ("word", "behind", "before")])
    for item in SILENT
]
ADDED = (
    *(
        ",",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ".",
        ":",
        "::",
        "*",
        "+",
        "-",
        "=",
        "!",
        "|",
        "%",
        "?",
        "@",
        "1",
        "x",
        "'x'",
        "(x)",
    ),
    *("AS", "ALL", "DISTINCT", "OUTER", "INNER", "LEFT", "CROSS", "NATURAL", "SEMI", "LATERAL", "ON", "USING", "ONLY"),
    *("NOT", "NULL", "AND", "IS", "IN", "TO", "FOR", "BY", "WITH", "FROM", "WHERE", "SELECT", "TABLE", "VALUES", "SET"),
    *("ASC", "DESC", "NULLS LAST", "ROWS", "ROW", "FIRST", "TIES", "LIMIT", "OFFSET", "ORDER BY", "GROUP BY", "UNION"),
    *(
        "IF",
        "EXISTS",
        "DEFAULT",
        "KEY",
        "COLUMN",
        "COMMENT",
        "CONSTRAINT",
        "BETWEEN",
        "THEN",
        "END",
        "RECURSIVE",
        "LOCAL",
    ),
    *(
        "MATERIALIZED",
        "TEMPORARY",
        "STREAM",
        "/*+ NONE(x) */",
        "IGNORE NULLS",
        "SETTINGS a = 1",
        "TABLESAMPLE (1 ROWS)",
    ),
)
SLICE = 100  # by default one token of so many


def shape(sql: str, dialect: str):
    """The shape of a text, None for one that is refused."""
    try:
        return shape_of(parse(sql, dialect))
    except PenstockError:
        return None


@cache
def understood() -> tuple[Text, ...]:
    """The statements that are read; what a page shows with `…` in it is none."""
    return tuple(text for text in corpus() if shape(text.sql, text.dialect) is not None)


def silent(word: str, behind: str, before: str) -> dict | None:
    """The entry for a word that may stand between two others or be left out."""
    for item, patterns in PATTERNS:
        if all(pattern.fullmatch(text) for pattern, text in zip(patterns, (word, behind, before), strict=True)):
            return item
    return None


def changed(text: Text, tokens, place: int, rng: random.Random):
    """What the statement is with a token removed, doubled, or another one behind it; with the word at stake."""
    token = tokens[place]
    start, end = token.start, token.end + 1
    written = text.sql[start:end]
    around = [text.sql[item.start : item.end + 1] for item in tokens]
    behind, before = (around[place - 1] if place else ""), (around[place + 1] if place + 1 < len(around) else "")
    yield f"{text.sql[:start]} {text.sql[end:]}", (written, behind, before)
    yield f"{text.sql[:end]} {written} {text.sql[end:]}", (written, written, before)
    for added in (rng.choice(ADDED), rng.choice(around)):
        yield f"{text.sql[:end]} {added} {text.sql[end:]}", (added, written, before)


def dropped(texts, share: int, seed: int):
    """The changes that leave a statement what it was, without being among the silent words."""
    rng = random.Random(seed)
    for text in texts:
        tokens = tokenize(text.sql, rules_of(text.dialect))
        chosen = [place for place in range(len(tokens)) if not rng.randrange(share)]
        whole = shape(text.sql, text.dialect) if chosen else None
        for place in chosen:
            for other, words in changed(text, tokens, place, rng):
                if other.split() == text.sql.split() or silent(*words) is not None:
                    continue
                if shape(other, text.dialect) == whole:
                    yield words, other


@pytest.mark.both
def test_a_token_more_or_less_is_another_statement_or_none():
    found = list(dropped(understood(), either(SLICE, 4), seed=len(understood())))
    assert found == []


@pytest.mark.extended
@pytest.mark.parametrize("seed", range(3))
def test_so_is_it_with_other_tokens(seed):
    assert list(dropped(understood(), 8, seed)) == []


@pytest.mark.parametrize("item", SILENT, ids=itertools.count())
def test_a_silent_word_is_one(item):
    one, other = item["same"]
    dialect = item.get("dialect", "penstock")
    assert item["reason"]
    assert shape(one, dialect) is not None
    assert shape(one, dialect) == shape(other, dialect)


def test_there_is_something_to_change():
    assert len(understood()) > 1500 or EXTENDED


def spelled_alike(tree: exp.Expression) -> exp.Expression:
    """The tree with those parts alike that a text can write in two ways."""
    copy = tree.copy()
    for node in list(copy.walk()):
        match node:
            case exp.Interval(args={"unit": exp.Var() as unit}):
                unit.set("this", unit.name.upper().removesuffix("S"))  # 1 HOURS
            case exp.TryCast():
                node.set("safe", None)  # as a cast of the grammar has it, and one that stands for a call has not
            case exp.DataType():
                node.replace(exp.DataType(this=exp.DType.USERDEFINED, kind=type_of(node)))
            case exp.WindowSpec() if node.args.get("end") is None:
                node.set("end", "CURRENT ROW")  # ROWS 1 PRECEDING
            case exp.Literal():
                node.meta.pop("raw", None)  # a text with escapes, as it is written
            case exp.Star(args={"except_": [*columns]}):
                node.set("except_", [exp.to_identifier(item.name) for item in columns])
            case exp.Identifier():
                node.set("quoted", None)
            case exp.Not(this=exp.Paren() as inner):
                inner.replace(inner.this)  # NOT (x LIKE ALL (…))
            case exp.Anonymous():
                for mark in ("json", "sparks", "_tp_time"):  # what a dialect's function was made from
                    node.meta.pop(mark, None)
    return copy


# Nodes whose text is for people alone, or for Spark alone, with the reason.
UNWRITTEN = {
    RowMatches: "Spark has no MATCH_RECOGNIZE: its text is for EXPLAIN, and names the pattern alone",
    exp.Unnest: "WITH ORDINALITY counts from 1, WITH OFFSET from 0, and only Spark's words tell",
    exp.JSONExtract: "a path in brackets and one behind points are one path",
    exp.Fetch: "WITH TIES is refused when the query is bound",
    exp.Array: "[1, 2] is array(1, 2)",
    exp.Dot: "tuple_element(p, 'a') and p.a are one field",
}


def is_unwritten(tree: exp.Expression) -> bool:
    """True for what has no text in Penstock's own dialect, or one that is refused when it is bound."""
    totals = any(group.args.get("totals") for group in tree.find_all(exp.Group))
    latest = any(join.args.get("method") == "LATEST" for join in tree.find_all(exp.Join))  # of Timeplus alone
    latest = latest or any(select.args.get("shuffle_by") for select in tree.find_all(exp.Select))
    named = any(pivot.args.get("unpivot") for pivot in tree.find_all(exp.Pivot))  # columns without their relation
    return totals or latest or named or tree.find(*UNWRITTEN) is not None or isinstance(tree, exp.Values)


def unequal(texts):
    """The queries that are another tree once they are written and read again."""
    for text in texts:
        for statement in parse(text.sql, text.dialect):
            parts = (getattr(statement, name, None) for name in ("query", "tree", "source"))
            tree = next((part for part in parts if isinstance(part, exp.Expression)), None)
            if tree is None or is_unwritten(tree):
                continue
            again = parse_query(written(tree))
            if shape_of(spelled_alike(again)) != shape_of(spelled_alike(tree)):
                yield text.sql, written(tree)


@pytest.mark.both
def test_a_tree_is_its_text():
    assert list(unequal(understood()[:: either(12, 1)])) == []
