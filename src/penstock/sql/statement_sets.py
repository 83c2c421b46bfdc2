"""EXECUTE STATEMENT SET BEGIN INSERT …; INSERT …; END: statements of dialect flink that stand together.

Each of them stands, and all of a program stand in the same steps; so the set says no more than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot.tokenizer_core import Token

from penstock.errors import Diagnostic, Span, SqlError
from penstock.sql.marks import word
from penstock.sql.statements import Insert, Statement

_OPENINGS: tuple[tuple[str, ...], ...] = (("EXECUTE", "STATEMENT", "SET", "BEGIN"), ("BEGIN", "STATEMENT", "SET"))
_HINT = "EXECUTE STATEMENT SET BEGIN INSERT INTO …; INSERT INTO …; END"


@dataclass
class StatementSets:
    """The sets of a program as it is read, statement by statement; `opened` is the place of one that has no END yet.

    `frame` has the places of words around a set that no statement has been given yet.
    """

    opened: Span | None = None
    frame: tuple[Span, ...] = ()

    def without_frame(self, tokens: list[Token]) -> list[Token]:
        """The tokens of a statement without the words around a set."""
        words = tuple(word(token) for token in tokens)
        opening = next((item for item in _OPENINGS if words[: len(item)] == item), None)
        if opening is not None:
            self.opened = Span(tokens[0].start, tokens[len(opening) - 1].end + 1)
            self.frame = (self.opened,)
            return tokens[len(opening) :]
        if self.opened is not None and words == ("END",):
            self.opened, self.frame = None, (Span(tokens[0].start, tokens[0].end + 1),)
            return []
        return tokens

    def within(self, statement: Statement) -> Statement:
        """The statement as one of the set that it stands in; SqlError for one that cannot stand there."""
        if self.opened is None:
            return statement
        if not isinstance(statement, Insert) or statement.is_constant:
            message = "a set of statements holds INSERT INTO … SELECT … alone"
            raise SqlError(Diagnostic("STATEMENT_SET", message, statement.span, hint=_HINT))
        statement = replace(statement, in_set=True, frame=self.frame)
        self.frame = ()
        return statement

    def closing(self, statements: Sequence[Statement]) -> list[Statement]:
        """The statements so far, the last of which has the END behind it, if that has just been read."""
        last = statements[-1] if statements else None
        if self.opened is not None or not isinstance(last, Insert) or not last.in_set:
            return list(statements)
        last, self.frame = replace(last, frame=(*last.frame, *self.frame)), ()
        return [*statements[:-1], last]

    def finished(self) -> None:
        """SqlError for a set without its END."""
        if self.opened is not None:
            message = "this set of statements has no END"
            raise SqlError(Diagnostic("STATEMENT_SET", message, self.opened, hint=_HINT))
