"""Waterlines as values of their columns' types."""

from decimal import Decimal

import pytest

from penstock.runtime.lines import typed_literal


@pytest.mark.parametrize(
    ("at", "kind", "expected"),
    [
        (Decimal("0.0000000005"), "decimal(20,10)", "CAST(0.0000000005 AS decimal(20,10))"),
        (Decimal("1.005"), "decimal(10,2)", "CAST(1.01 AS decimal(10,2))"),
        (Decimal("-1.005"), "decimal(10,2)", "CAST(-1.00 AS decimal(10,2))"),
        (5, "decimal(4,1)", "CAST(5 AS decimal(4,1))"),
        (Decimal(-1099), "decimal(3,0)", "CAST(-999 AS decimal(3,0))"),
        (Decimal("99.995"), "decimal(4,2)", "CAST(99.99 AS decimal(4,2))"),
        (Decimal("1E-20"), "decimal(38,20)", "CAST(0.00000000000000000001 AS decimal(38,20))"),
        (Decimal("1234567890123456789012345678.9012345678"), "decimal(38,10)",
         "CAST(1234567890123456789012345678.9012345678 AS decimal(38,10))"),
        (None, "decimal(4,1)", "CAST(NULL AS decimal(4,1))"),
    ],
)  # fmt: skip
def test_a_decimal_is_one_of_its_column(at, kind, expected):
    assert typed_literal(at, kind) == expected
