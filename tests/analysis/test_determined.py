"""Which columns other columns determine."""

# ruff: noqa: E501 - one case on one line

from __future__ import annotations

import pytest

from penstock.analysis.determined import determined
from penstock.bind.program.compile import compile_program
from penstock.rewrite import rewrite_views

PROGRAM = """
CREATE TABLE auctions (id INT PRIMARY KEY, seller INT, kind STRING, ends TIMESTAMP);
CREATE TABLE bids (auction BIGINT, bidder INT, at TIMESTAMP LATENESS INTERVAL 1 HOUR, price DOUBLE);
CREATE TABLE named (name STRING COLLATE UTF8_LCASE PRIMARY KEY, since TIMESTAMP);
CREATE TABLE measured (x DOUBLE PRIMARY KEY, since TIMESTAMP);
CREATE TABLE pairs (a INT, b INT, c INT, PRIMARY KEY (a, b));
CREATE VIEW plain AS SELECT id, ends FROM auctions WHERE seller > 1;
CREATE VIEW strict AS SELECT id, max(at) AS at FROM auctions JOIN bids ON id = auction GROUP BY id;
LATENESS strict.at INTERVAL 1 HOUR;
"""
JOINED = "FROM auctions a JOIN bids b ON a.id = b.auction"

CASES = [
    ("a key determines the row", "SELECT id, seller, ends FROM auctions", "id", "seller ends"),
    ("what is no key does not", "SELECT id, seller, ends FROM auctions", "seller", ""),
    ("part of a key does not", "SELECT a, b, c FROM pairs", "a", ""),
    ("all of a key does", "SELECT a, b, c FROM pairs", "a b", "c"),
    ("expressions of what is determined", "SELECT id, seller + 1 AS s, concat(kind, '!') AS k FROM auctions", "id", "s k"),
    ("a key that is not selected", "SELECT id + 1 AS id, ends FROM auctions", "id", ""),
    ("a join keeps what its sides say", f"SELECT a.id, a.ends, b.at {JOINED}", "id", "ends"),
    ("an equality carries over, INT to BIGINT too", f"SELECT b.auction, a.ends, a.id, b.price {JOINED}", "auction", "ends id"),
    ("through two joins", f"SELECT b.auction, p.c {JOINED} JOIN pairs p ON p.a = a.id AND p.b = a.seller", "auction", "c"),
    ("a side filled with NULLs", "SELECT a.id, a.ends, b.auction, b.at FROM bids b LEFT JOIN auctions a ON a.id = b.auction", "id", ""),
    ("... and the other one", "SELECT a.id, a.ends, b.at FROM auctions a LEFT JOIN bids b ON a.id = b.auction", "id", "ends"),
    ("FULL JOIN", "SELECT a.id, a.ends FROM auctions a FULL JOIN bids b ON a.id = b.auction", "id", ""),
    ("a semi join", "SELECT id, ends FROM auctions WHERE id IN (SELECT auction FROM bids)", "id", "ends"),
    ("GROUP BY", "SELECT seller, kind, max(ends) AS e FROM auctions GROUP BY seller, kind", "seller kind", "e"),
    ("... by part of the groups", "SELECT seller, kind, max(ends) AS e FROM auctions GROUP BY seller, kind", "seller", ""),
    ("... by more than is needed", f"SELECT a.id, a.ends, count(*) AS n {JOINED} GROUP BY a.id, a.ends", "id", "ends n"),
    ("the best of each", "SELECT auction, at, price FROM bids QUALIFY row_number() OVER (PARTITION BY auction ORDER BY at) = 1", "auction", "at price"),
    ("the best two of each", "SELECT auction, at, price FROM bids QUALIFY row_number() OVER (PARTITION BY auction ORDER BY at) <= 2", "auction", ""),
    ("all the best of each", "SELECT auction, at, price FROM bids QUALIFY rank() OVER (PARTITION BY auction ORDER BY at) = 1", "auction", ""),
    ("windows", "SELECT id, ends, count(*) OVER (PARTITION BY seller) AS n FROM auctions", "id", "ends"),
    ("UNION ALL", "SELECT id, ends FROM auctions UNION ALL SELECT id, ends FROM auctions", "id", ""),
    ("generators", "SELECT id, ends, k FROM auctions LATERAL VIEW explode(array(1, 2)) AS k", "id", "ends"),
    ("the clock", "SELECT id, ends FROM auctions WHERE ends > now()", "id", ""),
    ("a number that a cast may cut", "SELECT a.id, b.auction, a.ends FROM auctions a JOIN bids b ON a.id = CAST(b.auction AS INT)", "auction", ""),
    ("texts that a collation holds equal", "SELECT name, since FROM named", "name", ""),
    ("fractions, of which 0 is two", "SELECT x, since FROM measured", "x", ""),
    ("views", "SELECT id, ends FROM plain", "id", "ends"),
    ("a view that keeps what came too late", "SELECT id, at FROM strict", "id", ""),
]  # fmt: skip


@pytest.mark.parametrize(("what", "query", "by", "expected"), CASES, ids=[case[0] for case in CASES])
def test_determined(what, query, by, expected):
    catalog = rewrite_views(compile_program(f"{PROGRAM} CREATE VIEW v AS {query};").catalog)
    plan = catalog.views["v"].plan
    assert determined(plan, by.split(), catalog) == frozenset(expected.split())


def test_no_columns_determine_nothing():
    catalog = compile_program(PROGRAM).catalog
    plan = catalog.views["plain"].plan
    assert determined(plan, [], catalog) == frozenset()
    assert determined(plan, [None], catalog) == frozenset()
