"""The 23 queries, each as one view over three tables, and what of its answer is determined."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

QUERIES = tuple(f"q{number}" for number in range(23))
VIEW = "answer"
_FOLDER = Path(__file__).parent / "queries"
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "person": {
        "id": "BIGINT",
        "name": "STRING",
        "email_address": "STRING",
        "credit_card": "STRING",
        "city": "STRING",
        "state": "STRING",
        "date_time": "TIMESTAMP",
        "extra": "STRING",
    },
    "auction": {
        "id": "BIGINT",
        "item_name": "STRING",
        "description": "STRING",
        "initial_bid": "BIGINT",
        "reserve": "BIGINT",
        "date_time": "TIMESTAMP",
        "expires": "TIMESTAMP",
        "seller": "BIGINT",
        "category": "BIGINT",
        "extra": "STRING",
    },
    "bid": {
        "auction": "BIGINT",
        "bidder": "BIGINT",
        "price": "BIGINT",
        "channel": "STRING",
        "url": "STRING",
        "date_time": "TIMESTAMP",
        "extra": "STRING",
    },
    "side_input": {"key": "BIGINT", "value": "STRING"},
}
_LATENESS = " LATENESS INTERVAL 4 SECONDS"
_KEY = " PRIMARY KEY LATENESS 10000"  # more auctions than 4 seconds have
_READS = {
    "person": ("q3", "q8"),
    "auction": ("q3", "q4", "q6", "q8", "q9", "q20"),
    "side_input": ("q13",),
}
# Ties that SQL leaves open: which of several rows wins is each system's choice, but not what the rows tie in.
_AUCTION = ("id", "item_name", "description", "initial_bid", "reserve", "date_time", "expires", "seller", "category")
_DETERMINED = {
    "q9": (*_AUCTION, "extra", "price", "bid_date_time"),
    "q18": ("auction", "bidder", "date_time"),
    "q19": ("auction", "price", "place"),
}
_FALLBACK = {"streaming": "batch"}
# What another system calls by another name, everywhere; queries that differ in more have a file of their own.
_WORDS = {
    "duckdb": (
        (r"date_format\((\w+), 'yyyy-MM-dd'\)", r"strftime(\1, '%Y-%m-%d')"),
        (r"date_format\((\w+), 'HH(.)mm'\)", r"strftime(\1, '%H\2%M')"),
        (r"char_length", "length"),
    ),
    "flink": (
        (r"INTERVAL (\d+) SECONDS", r"INTERVAL '\1' SECOND"),
        (r"split_part\(url, '/', 4\)", "SPLIT_INDEX(url, '/', 3)"),
        (r"split_part\(url, '/', 5\)", "SPLIT_INDEX(url, '/', 4)"),
        (r"split_part\(url, '/', 6\)", "SPLIT_INDEX(url, '/', 5)"),
        (r"\b(day|minute|value|final|key)\b", r"`\1`"),
    ),
}


@dataclass(frozen=True)
class Query:
    """One query of the suite."""

    name: str

    def text(self, system: str = "") -> str:
        """The query in Penstock's words, or in those of another system where they differ."""
        folders = (_FOLDER / system, _FOLDER / _FALLBACK.get(system, ""), _FOLDER)
        path = next(path for folder in folders if (path := folder / f"{self.name}.sql").exists())
        text = path.read_text().strip()
        for pattern, word in _WORDS.get(system, ()):
            text = re.sub(pattern, word, text)
        return text

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables with events that the query reads."""
        found = [table for table in ("person", "auction") if self.name in _READS[table]]
        return (*found, "bid") if self.name not in {"q3", "q8"} else tuple(found)

    def read(self, table: str) -> list[str]:
        """The columns of a table that the query names, and its time; all of them for `*`."""
        text = self.text()
        everything = re.search(r"(?:SELECT\s+|\.|,\s*)\*", text) is not None
        return [name for name in COLUMNS[table] if everything or name == "date_time" or re.search(rf"\b{name}\b", text)]

    @property
    def side_input(self) -> bool:
        """Whether the query looks something up in the side input."""
        return self.name in _READS["side_input"]

    @property
    def determined(self) -> tuple[str, ...] | None:
        """The columns that every right answer agrees in; None for all of them."""
        return _DETERMINED.get(self.name)

    def program(self, *, history: bool = False, keyed: bool = False) -> str:
        """Tables and the view as a program of Penstock; with history the tables can be queried.

        Where auctions are keyed their ids are declared to be what they are, unique and almost in order; then what is
        kept for an auction goes when the auction has ended.
        """
        tables = [_table(name, history=history, keyed=keyed and name == "auction") for name in self.tables]
        if self.side_input:
            tables.append("CREATE TABLE side_input (key BIGINT PRIMARY KEY, value STRING);")
        return "\n".join([*tables, f"CREATE VIEW {VIEW} AS", f"{self.text()};"])


def _table(name: str, *, history: bool, keyed: bool = False) -> str:
    clauses = {"date_time": _LATENESS, "id": _KEY if keyed else ""}
    columns = ", ".join(f"{column} {kind}{clauses.get(column, '')}" for column, kind in COLUMNS[name].items())
    kept = "" if history else ", 'history' = 'none'"
    return f"CREATE TABLE {name} ({columns}) WITH ('append_only' = 'true'{kept});"


def chosen(names: str) -> list[Query]:
    """The queries of a list such as `q0,q4-q9`; all of them for `all`. Raises ValueError for what is none."""
    if names.strip().lower() == "all":
        return [Query(name) for name in QUERIES]
    found: list[Query] = []
    for part in names.split(","):
        first, _, last = part.strip().lower().partition("-")
        bounds = [QUERIES.index(_known(item)) for item in (first, last or first)]
        found += [Query(name) for name in QUERIES[bounds[0] : bounds[1] + 1]]
    return list(dict.fromkeys(found))


def _known(name: str) -> str:
    name = name if name.startswith("q") else f"q{name}"
    if name not in QUERIES:
        message = f"{name!r} is no query of NEXMark: there are q0 to q22"
        raise ValueError(message)
    return name
