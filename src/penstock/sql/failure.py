"""The end of a parse that stops: the place, before anybody has said what is wrong there."""

from __future__ import annotations

from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token

from penstock.errors import Diagnostic


class ParseFailure(ParseError):  # noqa: N818 - a reader stops often, and not always in error
    """Parsing stopped at `token` (None: at the end of the statement); sqlglot's own words are not kept.

    It is sqlglot's error type so that its own backtracking works. `diagnostic` is set by those who know what is wrong.
    """

    def __init__(self, token: Token | None, diagnostic: Diagnostic | None = None) -> None:
        super().__init__(diagnostic.message if diagnostic else "parsing stopped")
        self.token = token
        self.diagnostic = diagnostic
