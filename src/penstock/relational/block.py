"""One SELECT as a value; a call goes into it where SQL's order of clauses allows it, and around it where not."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, replace

from penstock.relational.columns import AND, Column
from penstock.relational.writing import named

_QUOTED = re.compile(r"`(?:[^`]|``)+`")


@dataclass(frozen=True)
class Block:
    """A SELECT: `source` is its FROM, `alias` names that; `items` None means all columns.

    `joins` are behind the source. `keys` is None where nothing is grouped, and empty for one group of all.
    """

    source: str
    alias: str | None = None
    joins: tuple[str, ...] = ()
    where: tuple[Column, ...] = ()
    items: tuple[str, ...] | None = None
    distinct: bool = False
    keys: tuple[str, ...] | None = None
    order: tuple[str, ...] = ()
    limit: int | None = None
    offset: int | None = None

    @property
    def is_bare(self) -> bool:
        """True for a relation alone, with nothing asked of it but perhaps a name."""
        return self == Block(self.source, self.alias)

    @property
    def is_table(self) -> bool:
        """True for a table or view itself, with nothing asked of it."""
        return self.is_bare and self.is_named

    @property
    def is_named(self) -> bool:
        """True for the rows of one table or view, whose name finds their columns."""
        return not self.joins and not self.source.startswith("(") and " " not in _QUOTED.sub("", self.source)

    @property
    def is_open(self) -> bool:
        """True as long as nothing is computed of the rows: conditions, joins and columns go in."""
        return self.items is None and self.takes_items

    @property
    def takes_items(self) -> bool:
        """True as long as a list of columns goes in."""
        return self.items is None and self.keys is None and not self.distinct and not self.is_cut

    @property
    def is_cut(self) -> bool:
        """True behind LIMIT or OFFSET."""
        return self.limit is not None or self.offset is not None

    @property
    def relation(self) -> str:
        """An item of FROM."""
        return self.source if self.alias is None else f"{self.source} AS {named(self.alias)}"

    @property
    def argument(self) -> str:
        """An argument of a function over relations, which has no name there."""
        return f"TABLE {self.source}" if self.is_table and self.alias is None else self.derived

    @property
    def derived(self) -> str:
        """The whole of it in parentheses."""
        return f"(\n{indented(self.sql)}\n)"

    def around(self) -> Block:
        """A SELECT of all of this one; rows of one table, or with one alias, keep the name of it."""
        if self.is_bare:
            return self
        name = self.alias or (self.source.strip("`") if self.is_named else None)
        return Block(self.derived, name if self.keys is None and not self.joins else None)

    def opened(self) -> Block:
        """The block without its order where it is open, else one around it."""
        return replace(self, order=()) if self.is_open else self.around()

    def for_items(self) -> Block:
        """The block where a list of columns goes in, else one around it."""
        return self if self.takes_items else self.around()

    @property
    def sql(self) -> str:
        """The SELECT as text, a clause a line."""
        items = ", ".join(self.items) if self.items is not None else "*"
        lines = [
            f"SELECT {'DISTINCT ' if self.distinct else ''}{items}",
            f"FROM {self.relation}",
            *self.joins,
            f"WHERE {_together(self.where)}" if self.where else "",
            f"GROUP BY {', '.join(self.keys)}" if self.keys else "",
            f"ORDER BY {', '.join(self.order)}" if self.order else "",
            "" if self.limit is None else f"LIMIT {self.limit}",
            "" if self.offset is None else f"OFFSET {self.offset}",
        ]
        return "\n".join(line for line in lines if line)


def indented(text: str) -> str:
    """The text two columns to the right."""
    return textwrap.indent(text, "  ")


def _together(conditions: tuple[Column, ...]) -> str:
    return conditions[0].text if len(conditions) == 1 else " AND ".join(item.within(AND) for item in conditions)
