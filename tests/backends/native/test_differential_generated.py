"""Expressions over values that are made up in their thousands: the same values and errors on Spark and on DuckDB."""

import random

import pytest
from tests.backends.native.both import Engines

MANY = 1_500
TARGETS = ("DOUBLE", "FLOAT", "DECIMAL(5,2)", "DECIMAL(2,2)", "DECIMAL(38,0)", "DECIMAL(38,10)", "DECIMAL(20,18)")


def made(*parts):
    """A text of one alternative of each."""
    return lambda draw: "".join(draw.choice(part)(draw) if callable(part[0]) else draw.choice(part) for part in parts)


def digits(letters, most):
    """So many of the letters."""
    return lambda draw: "".join(draw.choice(letters) for _ in range(draw.randint(0, most)))


_AROUND = ("", "", "", "", " ", "\t\n", "\x00", "\u00a0", "x")
_SIGN = ("", "", "-", "+", "--")
_POWER = (
    "",
    "",
    "",
    "e5",
    "E-3",
    "e+40",
    "e-38",
    "e",
    "e-400",
    "e400",
    "e0000000000005",
    "e2147483648",
    "e-99999999999",
)
_ENDS = ("", "", "", "", "f", "D", "l")
_WORDS = ("inf", "Infinity", "INFINITY", "NaN", "nan", "nAn", "infinit", "\u0130nf", "true", "0x", "e5", "_1", "1_0")
_DECIMAL = made(_AROUND, _SIGN, (digits("0123456789", 6), digits("0000059", 45), digits("12\u0663\uff15\U0001d7ce", 3)),
  ("", ".", "."), (digits("0123456789", 6), digits("0999995", 45)), _POWER, _ENDS, _AROUND)  # fmt: skip
_HEX = made(_AROUND, _SIGN, ("0x", "0X"), (digits("0123456789abcDEF", 20),), ("", "."), (digits("0008f", 20),),
  ("p", "P", ""), (lambda draw: str(draw.randint(-1130, 1080)), lambda draw: str(draw.randint(-160, 140)),
  lambda draw: "9" * draw.randint(0, 50)), _ENDS)  # fmt: skip
_NUMBERS = (_DECIMAL, _DECIMAL, _HEX, made(_AROUND, _SIGN, _WORDS, _ENDS, _AROUND))


def drawn(makers, count, seed):
    """So many texts and NULL."""
    draw = random.Random(seed)
    return [None, "", *(draw.choice(makers)(draw) for _ in range(count - 2))]


@pytest.mark.parametrize(
    "count", [MANY // 5, *(pytest.param(MANY * many, marks=pytest.mark.extended) for many in (1, 20))]
)
def test_texts_that_may_be_numbers(spark, interpreting, count):
    engines = Engines(spark, {"s": ("string", drawn(_NUMBERS, count, seed=count))}, most_said=30)
    texts = [f"{name}(s AS {target})" for target in TARGETS for name in ("TRY_CAST", "CAST")]
    assert not engines.differences([engines.entry(text) for text in texts], rows_raising=60)
