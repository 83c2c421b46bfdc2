"""Values for which there is no room end their step with MEMORY_LIMIT, before they are made."""

import threading

import pytest

import penstock
from penstock.backends.native import room
from penstock.backends.native.room import MemoryWatch
from penstock.errors import DataError

TABLE = "SET engine = 'native'; CREATE TABLE t (n BIGINT, s STRING); "
EXPLODING = {
    "sequence": "size(sequence(1, n * 1000000000))",
    "sequence down": "size(sequence(n * 1000000000, 1))",
    "repeat": "length(repeat(repeat(s, 10000), 10000))",
    "replace": "length(replace(repeat(s, 10000), 'a', repeat(s, 10000)))",
}
SMALL = [(1, "b"), (None, None), (1, "")]


@pytest.mark.parametrize("name", EXPLODING)
def test_a_value_without_room_ends_its_step(name: str) -> None:
    """The step leaves no trace, and those behind it are made."""
    query = f"SELECT CASE WHEN s = 'a' THEN {EXPLODING[name]} END AS x FROM t"
    with penstock.Pipeline(f"{TABLE} CREATE VIEW v AS {query}", memory_limit="200MB") as pipeline:
        pipeline.step({"t": SMALL})
        with pytest.raises(DataError, match="MEMORY_LIMIT"):
            pipeline.step({"t": [(1, "a")]})
        assert pipeline.query("SELECT COUNT(*) FROM v").rows == [(3,)]
        pipeline.step({"t": [(2, "c")]})
        assert pipeline.query("SELECT COUNT(*) FROM t").rows == [(4,)]


def test_a_constant_without_room_is_not_computed_for_the_plan() -> None:
    """DuckDB computes constants before any row comes."""
    with penstock.Pipeline(
        f"{TABLE} CREATE VIEW v AS SELECT size(sequence(1, 1000000000)) AS x FROM t", memory_limit="200MB"
    ) as pipeline:
        with pytest.raises(DataError, match="MEMORY_LIMIT"):
            pipeline.step({"t": SMALL})
        assert pipeline.query("SELECT COUNT(*) FROM t").rows == [(0,)]


def test_many_rows_share_the_room() -> None:
    """What is made at once counts, each row of which alone would have room."""
    with penstock.Pipeline(
        f"{TABLE} CREATE VIEW v AS SELECT size(sequence(1, n)) AS x FROM t", memory_limit="200MB"
    ) as pipeline:
        pipeline.step({"t": [(100_000, "a")] * 10})
        with pytest.raises(DataError, match="MEMORY_LIMIT"):
            pipeline.step({"t": [(100_000, "a")] * 1000})
        assert pipeline.query("SELECT SUM(x) FROM v").rows == [(1_000_000,)]


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        ("sequence(1, 3)", [1, 2, 3]),
        ("sequence(3, n)", [3, 2, 1]),
        ("sequence(n, NULL)", None),
        ("repeat(s, 3)", "bbb"),
        ("repeat(CAST(NULL AS STRING), 3)", None),
        ("replace(s, 'b', 'cd')", "cd"),
        ("replace(s, '', 'x')", "b"),
        ("replace(s, 'b', CAST(NULL AS STRING))", None),
    ],
)
def test_small_values_are_as_they_were(call: str, answer: object) -> None:
    """The guard changes no answer, NULL among them."""
    with penstock.Pipeline(f"{TABLE} CREATE VIEW v AS SELECT {call} AS x FROM t") as pipeline:
        pipeline.step({"t": [(1, "b")]})
        assert pipeline.query("SELECT x FROM v").rows == [(answer,)]


class _Statement:
    """A statement that takes memory until it is interrupted."""

    works_for: int | None = threading.get_ident()
    works = 1
    memory_limit = 100 << 20
    resident_before = 50 << 20
    exceeds = False
    interrupts = 0

    def interrupt(self) -> None:
        self.interrupts += 1


@pytest.mark.parametrize(("resident", "works_for", "interrupts"), [(2000, 1, 1), (400, 1, 0), (2000, None, 0)])
def test_a_statement_that_takes_too_much_beside_its_tables_is_interrupted(
    monkeypatch: pytest.MonkeyPatch, resident: int, works_for: int | None, interrupts: int
) -> None:
    """What the process has beyond what it had and the limit ends the statement under way, and no other."""
    statement, watch = _Statement(), MemoryWatch()
    statement.works_for = works_for
    watch._known.add(statement)
    monkeypatch.setattr(room, "resident_bytes", lambda: resident << 20)
    watch._look()
    assert (statement.interrupts, statement.exceeds) == (interrupts, bool(interrupts))
