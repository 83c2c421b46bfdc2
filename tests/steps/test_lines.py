"""Waterlines as values of their columns' types."""

import math
from decimal import Decimal

import pytest

from penstock.backends.waterlines import typed_literal


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


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (1.5, 1.5),
        (0.1, 0.10000000149011612),
        (-0.1, -0.09999999403953552),
        (16_777_217, 16_777_218.0),
        (1e39, math.inf),
        (-1e39, -3.4028234663852886e38),
        (1e-50, 1.401298464324817e-45),
        (-1e-50, -0.0),
        (math.inf, math.inf),
    ],
)
def test_a_float_is_the_least_of_four_bytes_that_is_not_below(at, expected):
    assert typed_literal(at, "float") == f"CAST('{expected!r}' AS FLOAT)"
