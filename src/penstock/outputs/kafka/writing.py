"""A step's change as messages: each with the key by which its order is kept, and a value that may be none.

    append      key of the rows, where one is known, else none      row
    upsert      key                                                 row, or no value for a key that goes
    changelog   key, else the whole row                             row, with `op` in a header; or Debezium's envelope
    retract     key, else the whole row                             {"insert": row} or {"delete": row}

Messages of one key are in one partition, in the order in which they are said here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.outputs.forms import Form, Row, formed
from penstock.outputs.zoned import Zoned, as_it_is
from penstock.steps.change import Change
from penstock.steps.rows.rejected import json_text

_TAKES = ("-U", "-D")


@dataclass(frozen=True, slots=True)
class Written:
    """One message: its key and value as JSON, None for none; `op` is said in a header."""

    key: str | None
    value: str | None
    op: str | None = None


@dataclass(frozen=True)
class Writing:
    """The form and format of an output, and the places of its key; () if none is known."""

    columns: Sequence[str]
    form: Form
    key: tuple[int, ...]
    debezium: bool = False
    zoned: Zoned = as_it_is

    def messages(self, change: Change) -> Iterator[Written]:
        """The messages of one step."""
        done = formed(change.rows, self.form, self.key or None)
        if self.debezium:
            yield from self._envelopes(done)
            return
        for what, row in done:
            yield self._message(what, row)

    def _message(self, what: str, row: Row) -> Written:
        match self.form:
            case Form.UPSERT:
                return Written(self._key(row), self._row(row) if what == "upsert" else None)
            case Form.RETRACT:
                return Written(self._key(row), json_text({what: self._named(row)}))
            case Form.CHANGELOG:
                return Written(self._key(row), self._row(row), what)
            case Form.APPEND:
                return Written(self._key(row) if self.key else None, self._row(row))

    def _envelopes(self, done: Iterator[tuple[str, Row]]) -> Iterator[Written]:
        """Debezium's: `-U` and the `+U` behind it are one change."""
        before: Row | None = None
        for what, row in done:
            if what == "-U":
                before = row
                continue
            goes = what in _TAKES
            yield Written(self._key(row), self._envelope(row if goes else before, None if goes else row))
            before = None

    def _envelope(self, before: Row | None, after: Row | None) -> str:
        op = "d" if after is None else "c" if before is None else "u"
        rows = {"before": before, "after": after}
        return json_text({**{name: row and self._named(row) for name, row in rows.items()}, "op": op})

    def _key(self, row: Row) -> str:
        """The key as JSON; of rows without one the whole row, so that what takes it back stands behind it."""
        places = self.key or range(len(self.columns))
        values = self.zoned(row)
        return json_text({self.columns[at]: values[at] for at in places})

    def _row(self, row: Row) -> str:
        return json_text(self._named(row))

    def _named(self, row: Row) -> dict[str, object]:
        return dict(zip(self.columns, self.zoned(row), strict=True))
