"""Rows by rule: what each rule makes, the rate, the same rows again, and what is refused."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pytest
from tests.steps.tables import NO_DEFAULTS, declared

from penstock import Pipeline
from penstock.errors import DataError, SqlError
from penstock.sources.api import check_source, open_source
from penstock.sources.datagen.drawn import drawn, shares, whole
from penstock.steps.rows.batch import RowReader
from penstock.steps.rows.rejected import Rejections

BEGAN = 1_700_000_000.5


def declared_with(columns, **said):
    words = {name.replace("__", ".").replace("_", "-"): value for name, value in said.items()}
    texts = ", ".join(f"'{name}' = '{value}'" for name, value in {"connector": "datagen", **words}.items())
    return declared(f"CREATE TABLE t ({columns}) WITH ({texts})")


def source(columns, **said):
    table = declared_with(columns, **said)
    check_source(table)
    found = open_source(table, lambda table, lenient: RowReader(table, NO_DEFAULTS, lenient=lenient), UTC)
    found.now = lambda: BEGAN
    return found


def rows(found, count=100, *, ended=True):
    batch = found.read(count, Rejections(), ended=ended)
    return [] if batch is None else list(zip(*(column.to_pylist() for column in batch.rows.columns), strict=True))


def values(kind, count=200, **rules):
    said = {f"fields__v__{name}": value for name, value in rules.items()}
    return [row[0] for row in rows(source(f"v {kind}", number_of_rows=str(count), **said), count)]


def refused(columns, **said):
    with pytest.raises(SqlError) as caught:
        check_source(declared_with(columns, **said))
    return caught.value.diagnostics


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        ("TINYINT", -3, 3),
        ("INT", 1, 1),
        ("BIGINT", -(2**63), 2**63 - 1),
        ("DECIMAL(5,2)", Decimal("-1.50"), Decimal("1.05")),
        ("DECIMAL(38,3)", Decimal("-9e30"), Decimal("9e30")),
        ("DOUBLE", -0.5, 1e300),
        ("FLOAT", 0.25, 0.5),
        ("DATE", date(2024, 1, 30), date(2024, 2, 2)),
        ("TIMESTAMP_NTZ", datetime(1960, 1, 1), datetime(2024, 1, 1)),  # noqa: DTZ001
        ("TIME(6)", time(8), time(9, 30)),
    ],
)
def test_a_number_or_time_lies_between_two(kind, low, high):
    found = values(kind, min=str(low), max=str(high))
    assert all(low <= value <= high for value in found)
    assert len(set(found)) == 1 if low == high else len(set(found)) > 3


def test_all_values_of_a_small_range_are_drawn():
    assert set(values("INT", min="1", max="4")) == {1, 2, 3, 4}
    assert set(values("DECIMAL(3,1)", min="0.1", max="0.3")) == {Decimal("0.1"), Decimal("0.2"), Decimal("0.3")}
    assert set(values("BOOLEAN")) == {True, False}


def test_chance_is_spread_evenly_and_of_one_column_says_nothing_of_another():
    counters = np.arange(40_000, dtype=np.uint64)
    assert abs(float(shares(1, counters).mean()) - 0.5) < 0.01
    counts = np.bincount(whole(2, counters, 0, 9) * 10 + whole(3, counters, 0, 9))
    assert ((counts > 300) & (counts < 500)).all()
    assert len(set(drawn(4, counters).tolist())) == 40_000


def test_types_without_bounds_fill_their_range():
    assert min(values("INT")) < -(2**30)
    assert max(values("INT")) > 2**30
    assert max(map(abs, values("DECIMAL(38,0)"))) > Decimal("5e37")
    assert all(isinstance(value, timedelta) for value in values("INTERVAL DAY TO SECOND"))
    assert all(-12 <= value <= 12 for value in values("INTERVAL YEAR TO MONTH", min="-12", max="12"))


def test_texts_and_bytes_have_their_length():
    assert {len(value) for value in values("STRING")} == {100}
    assert {len(value) for value in values("VARCHAR(7)")} == {7}
    assert {len(value) for value in values("STRING", length="5", var_len="true")} == {1, 2, 3, 4, 5}
    assert {len(value) for value in values("BINARY", length="3")} == {3}
    assert all(len(value) == 6 and value.endswith("   ") for value in values("CHAR(6)", length="3"))
    assert set(values("STRING", length="0")) == {""}


def test_nested_types_are_made_of_their_parts():
    kind = "ARRAY<INT>"
    assert {len(value) for value in values(kind)} == {3}
    assert {item for value in values(kind, element__max="2", element__min="1") for item in value} == {1, 2}
    found = values("MAP<STRING, INT>", key__length="1", length="20")
    assert all(len(dict(value)) == len(value) <= 16 for value in found)
    found = values("STRUCT<x: INT, y: ARRAY<STRING>>", x__max="0", y__element__length="2", y__length="1")
    assert all(value["x"] <= 0 and [len(item) for item in value["y"]] == [2] for value in found)


def test_a_share_of_nulls():
    found = values("INT", 2000, null_rate="0.25")
    assert 400 < found.count(None) < 600
    assert values("INT", null_rate="1") == [None] * 200


def test_sequences_count_and_the_shortest_ends_the_source():
    found = source("a INT, b STRING, c DECIMAL(6,2)", fields__a__kind="sequence", fields__a__end="3",
                   fields__b__kind="sequence", fields__b__start="9", fields__c__kind="sequence")  # fmt: skip
    assert rows(found) == [(0, "9", Decimal("0.00")), (1, "10", 1), (2, "11", 2), (3, "12", 3)]
    assert rows(found) == []


def test_a_type_ends_the_sequence_that_it_cannot_hold():
    found = source("v TINYINT", fields__v__kind="sequence", fields__v__start="100")
    assert [row[0] for row in rows(found, 1000)] == list(range(100, 128))


def test_rows_are_due_by_the_clock_and_their_times_are_its():
    found = source("n BIGINT, at TIMESTAMP", rows_per_second="10", fields__n__kind="sequence")
    assert [row[0] for row in rows(found, ended=False)] == [0]
    found.now = lambda: BEGAN + 0.35
    made = rows(found, ended=False)
    began = datetime.fromtimestamp(BEGAN, UTC)
    assert made == [(number, began + timedelta(seconds=number / 10)) for number in (1, 2, 3)]
    assert rows(found, ended=False) == []
    found.now = lambda: BEGAN + 60
    assert len(rows(found, 25, ended=False)) == 25


def test_times_lie_up_to_max_past_before_their_row_is_due():
    began = datetime.fromtimestamp(BEGAN, UTC)
    found = values("TIMESTAMP", max_past="10 seconds")
    ages = [(began + timedelta(seconds=number / 10_000) - at).total_seconds() for number, at in enumerate(found)]
    assert min(ages) >= 0
    assert 5 < max(ages) <= 10
    assert values("DATE", 2) == [began.date()] * 2


def test_what_a_manifest_names_is_made_again_in_any_cut():
    columns = "n BIGINT, a DOUBLE, s STRING, at TIMESTAMP, l ARRAY<INT>"
    found = source(columns, fields__n__kind="sequence", rows_per_second="100")
    found.now = iter([BEGAN, BEGAN, BEGAN + 0.2, BEGAN + 0.5]).__next__
    first, second = rows(found, 7, ended=False), rows(found, 30, ended=False)
    taken = found.taken()
    found.rewind()
    assert rows(found, 1000, ended=False) == first + second + rows_between(first + second, found)
    again = source(columns, fields__n__kind="sequence", rows_per_second="100")
    again.now = lambda: BEGAN + 5000
    again.seek(taken)
    assert rows(again, 1, ended=False) == first + second
    again.commit()
    assert [row[0] for row in rows(again, 1, ended=False)] == [len(first + second)]


def rows_between(known, found):
    """The rows that were due by the last look and not by those before."""
    found.rewind()
    found.now = lambda: BEGAN + 0.5
    return rows(found, 1000, ended=False)[len(known) :]


def test_a_run_that_goes_on_makes_the_next_rows_at_the_rate_from_then_on():
    found = source("n BIGINT, at TIMESTAMP", fields__n__kind="sequence", rows_per_second="2")
    found.skip(
        {"connector": "datagen", "read": [{"rules": "x", "began": [0, 5.0], "from": {"row": 0}, "to": {"row": 40}}]}
    )
    assert rows(found, ended=False) == [(40, datetime.fromtimestamp(BEGAN, UTC))]
    assert found.waiting() == (0, 0)


def test_rows_by_other_rules_cannot_be_had_again():
    found = source("n INT")
    rows(found, 5, ended=False)
    with pytest.raises(DataError, match="the rules have changed"):
        source("n INT", seed="2").seek(found.taken())


def test_another_seed_gives_other_rows_and_other_columns_do_not():
    first = source("a BIGINT, b BIGINT", number_of_rows="9")
    assert rows(first) != rows(source("a BIGINT, b BIGINT", number_of_rows="9", seed="1"))
    alone = [row[0] for row in rows(source("b BIGINT", number_of_rows="9"))]
    assert alone == [row[1] for row in rows(source("a BIGINT, b BIGINT", number_of_rows="9"))]


def test_a_run_to_the_end_of_what_has_none_is_refused():
    with pytest.raises(DataError, match="do not end"):
        rows(source("n BIGINT", fields__n__kind="sequence"))


@pytest.mark.parametrize(
    ("columns", "said", "text"),
    [
        ("n INT", {"rows_per_second": "0"}, "no whole number above zero"),
        ("n INT", {"fields__n__min": "x"}, "expected a whole number from -2147483648"),
        ("n INT", {"fields__n__max": "3000000000"}, "expected a whole number from"),
        ("n INT", {"fields__n__min": "3", "fields__n__max": "2"}, "'min' is above 'max'"),
        ("n INT", {"fields__n__length": "3"}, "is no rule of a column"),
        ("n INT", {"fields__m__min": "3"}, "is no rule of a column"),
        ("n INT", {"fields__n": "3"}, "is no rule of a column"),
        ("n INT", {"fields__n__kind": "sequnce"}, "expected random or sequence"),
        ("n INT NOT NULL", {"fields__n__null_rate": "0.1"}, "NOT NULL"),
        ("n INT", {"fields__n__null_rate": "2"}, "from 0 to 1"),
        ("n DECIMAL(3,1)", {"fields__n__max": "100"}, "of the type DECIMAL"),
        ("n DATE", {"fields__n__max": "2024-01-01"}, "'min' and 'max'"),
        ("n DATE", {"fields__n__max": "soon", "fields__n__min": "2024-01-01"}, "soon"),
        ("n VARCHAR(3)", {"fields__n__length": "4"}, "from 0 to 3"),
        ("n BOOLEAN", {"fields__n__kind": "sequence"}, "no BOOLEAN"),
        ("n VARIANT", {}, "no rule that makes VARIANT"),
        ("n MAP<INT, INT>", {"fields__n__key__null_rate": "0.5"}, "never NULL"),
        ("n ARRAY<INT>", {"fields__n__element__kind": "sequence"}, "counts rows"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(columns, said, text):
    (found,) = refused(columns, **said)
    assert found.code == "BAD_PROPERTY"
    assert text in found.message


def test_a_misspelt_rule_says_what_there_is():
    (found,) = refused("amount INT", fields__amount__mni="3")
    assert found.candidates[0] == "fields.amount.min"
    (found,) = refused("amount INT", fields__amuont__min="3")
    assert found.candidates[0] == "amount"


def test_a_column_with_a_default_and_no_rule_takes_it():
    with Pipeline(
        "CREATE TABLE t (n BIGINT, s STRING DEFAULT 'x') WITH ('connector' = 'datagen', 'number-of-rows' = '7', "
        "'rows-per-second' = '1', 'fields.n.kind' = 'sequence');"
        "CREATE VIEW v AS SELECT s, COUNT(*), SUM(n) FROM t GROUP BY s;"
        "SET engine = 'native'"
    ) as pipeline:
        pipeline.run(once=True)
        assert pipeline.query("SELECT * FROM v").rows == [("x", 7, 21)]
