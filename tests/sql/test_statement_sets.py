"""EXECUTE STATEMENT SET, UPSERT and ON CONFLICT as they are read."""

from __future__ import annotations

import pytest

from penstock.errors import SqlError
from penstock.sql.parse import parse
from penstock.sql.statements import Insert, Statement

INSERT = "INSERT INTO o SELECT k FROM t"


def insert(text: str) -> Insert:
    (found,) = parse(text)
    assert isinstance(found, Insert)
    return found


@pytest.mark.parametrize("opening", ["EXECUTE STATEMENT SET BEGIN", "BEGIN STATEMENT SET;"])
def test_a_set_is_its_statements(opening: str) -> None:
    found: tuple[Statement, ...] = parse(f"{opening} {INSERT}; {INSERT}; END; {INSERT};", "flink")
    assert [item.in_set for item in found if isinstance(item, Insert)] == [True, True, False]
    assert found[0].text == INSERT


def test_a_transaction_is_none() -> None:
    assert not any(isinstance(item, Insert) and item.in_set for item in parse(f"BEGIN; {INSERT}; COMMIT;"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"EXECUTE STATEMENT SET BEGIN {INSERT};", "no END"),
        ("EXECUTE STATEMENT SET BEGIN SELECT 1; END;", "alone"),
        ("EXECUTE STATEMENT SET BEGIN INSERT INTO o VALUES (1); END;", "alone"),
    ],
)
def test_a_set_that_is_wrong(text: str, said: str) -> None:
    with pytest.raises(SqlError, match=said) as caught:
        parse(text, "flink")
    assert caught.value.diagnostics[0].code == "STATEMENT_SET"


def test_upsert_and_conflicts() -> None:
    assert insert("UPSERT INTO o VALUES (1)").upsert
    assert not insert(INSERT).upsert
    assert insert(INSERT).conflict is None
    assert insert(f"{INSERT} ON CONFLICT DO NOTHING").conflict == "NOTHING"
    assert insert(f"{INSERT} JOIN u ON t.k = u.k ON CONFLICT (k) DO DEDUPLICATE").conflict == "DEDUPLICATE"
    with pytest.raises(SqlError, match="DEDUPLICATE, UPDATE, NOTHING or ERROR"):
        parse(f"{INSERT} ON CONFLICT DO SOMETHING")
