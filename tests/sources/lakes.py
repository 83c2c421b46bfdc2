"""Tables of lakes as sources, read by hand: what the rows read so far add up to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tests.steps.tables import NO_DEFAULTS, declared

from penstock.sources.api import check_source, open_source
from penstock.steps.rows.batch import RowReader
from penstock.steps.rows.rejected import Rejections


def lake_source(connector, columns="id BIGINT, s STRING", kind="TABLE", **said):
    words = {"connector": connector, **{name.replace("__", "."): value for name, value in said.items()}}
    texts = ", ".join(f"'{name}' = '{value}'" for name, value in words.items())
    table = declared(f"CREATE {kind} t ({columns}) WITH ({texts})")
    check_source(table)
    return open_source(table, lambda table, lenient: RowReader(table, NO_DEFAULTS, lenient=lenient), None)


@dataclass
class Followed:
    """Follows a source; `rows` is the multiset that it adds up to, or the map of a table with a key."""

    found: object
    rows: Counter = field(default_factory=Counter)
    rejected: list = field(default_factory=list)
    taken: dict = field(default_factory=dict)

    def step(self, rows=1_000_000):
        """The operations and rows of one step."""
        rejections = Rejections(tolerant=True)
        batch = self.found.read(rows, rejections)
        self.rejected += rejections.rows
        self.taken = self.found.taken()
        self.found.commit()
        read = operations(batch)
        for operation, row in read:
            self.rows[row] += 1 if operation == "+" else -1
        assert min(self.rows.values(), default=0) >= 0
        self.rows = +self.rows
        return read

    def content(self):
        """All rows, after all steps."""
        while self.step():
            pass
        return sorted(self.rows.elements(), key=repr)


def operations(batch):
    if batch is None:
        return []
    rows = zip(*(column.to_pylist() for column in batch.rows.columns), strict=True)
    return [(batch.operation(index), row) for index, row in enumerate(rows)]
