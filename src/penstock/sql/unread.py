"""The queries that the parser cannot read and leaves to Spark."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from penstock.sql.failure import ParseFailure
from penstock.sql.marks import word

# Constructs of Spark SQL that the grammar does not have; a query with one of them is not a mistake.
_SPARK_ONLY = {
    "TRANSFORM": "TRANSFORM … USING",
    "IDENTIFIER": "IDENTIFIER(…)",
    "REDUCE": "a script",
    "WATERMARK": "a watermark in a query",
}


def spark_alone_reads(tokens: Sequence[Token], failure: ParseFailure) -> str | None:
    """The reason why the query is left to Spark as it stands; None if it must be a mistake."""
    if failure.diagnostic is not None:
        return None
    for token, after in itertools.pairwise(tokens):
        construct = _SPARK_ONLY.get(word(token))
        if construct and after.token_type in {TokenType.L_PAREN, TokenType.DOT}:
            return f"{construct} is read by Spark alone"
    return None
