"""Expressions over values that are made up in their thousands: the same values and errors on Spark and on DuckDB."""

import random

import pytest
from tests.backends.native.both import Engines

MANY = 1_500
TARGETS = ("DOUBLE", "FLOAT", "DECIMAL(5,2)", "DECIMAL(2,2)", "DECIMAL(38,0)", "DECIMAL(38,10)", "DECIMAL(20,18)")


def made(*parts):
    """A text of one alternative of each."""

    def make(draw):
        chosen = (draw.choice(part) for part in parts)
        return "".join(item(draw) if callable(item) else item for item in chosen)

    return make


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


@pytest.mark.parametrize("count", [pytest.param(MANY * many, marks=pytest.mark.extended) for many in (1, 20)])
def test_texts_that_may_be_numbers(spark, interpreting, count):
    engines = Engines(spark, {"s": ("string", drawn(_NUMBERS, count, seed=count))}, most_said=30)
    texts = [f"{name}(s AS {target})" for target in TARGETS for name in ("TRY_CAST", "CAST")]
    assert not engines.differences([engines.entry(text) for text in texts], rows_raising=60)


_BLANK = ("", "", "", " ", "\t", "\x00", "\x7f", "\u00a0")
_TWO = (digits("0123456789", 2), lambda draw: f"{draw.randint(0, 62)}", lambda draw: f"{draw.randint(0, 60):02}")
_YEAR = (lambda draw: str(draw.randint(1, 9999)), lambda draw: f"{draw.randint(0, 9999):04}", digits("0129", 7),
  "294247", "-290307", "+2024")  # fmt: skip
_OFFSET = made(("+", "-", "UTC+", "GMT-", "UT+", "UTC", "GMT", "", "Z", "z", "+-", "+ "), _TWO, ("", ":", ":", "::"),
  _TWO, ("", "", ":"), ("", *_TWO))  # fmt: skip
_REGIONS = ("Europe/Paris", "America/New_York", "Asia/Kathmandu", "EST", "ACT", "GMT0", "Etc/GMT+5", "Zulu", "X/Y",
  "UTC", "Z", "utc", "GMT", "UT", "", "", "A", "Australia/Lord_Howe", "Africa/Monrovia")  # fmt: skip
_HOURS = made((lambda draw: str(draw.randint(0, 25)), *_TWO), ("", ":", ":", ":"), _TWO, ("", ":", ":", ":"), _TWO,
  ("", "", ".", "."), (digits("0123456789", 8),), _BLANK, (_OFFSET, *_REGIONS, *_REGIONS))  # fmt: skip
_USUAL = made((lambda draw: f"{draw.randint(1, 9999):04}-{draw.randint(1, 12):02}-{draw.randint(1, 31):02}",),
  (" ", "T"), (lambda draw: f"{draw.randint(0, 23):02}:{draw.randint(0, 59):02}:{draw.randint(0, 59):02}",),
  ("", ".5", ".123456", ".1234567"), ("", "Z", "+01:00", " Europe/Paris"))  # fmt: skip
_MOMENTS = (
    _USUAL,
    _USUAL,
    made(_BLANK, _YEAR, ("", "-", "/"), _TWO, ("", "-"), _TWO, ("", " ", "T", "t", "  "), (_HOURS,), _BLANK),
    made(_BLANK, ("", "T", "T", "+"), (_HOURS,), _BLANK),
)


@pytest.mark.parametrize(
    "count", [MANY // 3, *(pytest.param(MANY * many, marks=pytest.mark.extended) for many in (1, 20))]
)
def test_texts_that_may_be_times(spark, interpreting, count):
    """Those without a day are of today, on both, unless the day ends between."""
    engines = Engines(spark, {"s": ("string", drawn(_MOMENTS, count, seed=count))}, most_said=30)
    texts = [f"{name}(s AS {kind})" for kind in ("TIMESTAMP", "TIMESTAMP_NTZ") for name in ("TRY_CAST", "CAST")]
    entries = [engines.entry(text) for text in [*texts, "to_timestamp(s)"]]
    assert not engines.differences(entries, rows_raising=60)
    read = f"SELECT count({engines.entry('TRY_CAST(s AS TIMESTAMP)').proof.text}) FROM given_rows"
    assert engines.duck.execute(read).fetchone()[0] > count / 4


_LETTERS = ("\u03a3", "\u03a3\u03a3", "a", "A", "\u00df", "\u0130", "I", "i", " ", "'", "\u0301", "\u00ad", "\u02b0",
  ".", "\u1c89", "\ufb03", "\u0345", "\U00010d50", "1", "\u4e2d", "\u03b1", "\u00aa", "\u24b6", ":")  # fmt: skip


@pytest.mark.parametrize("count", [MANY, pytest.param(MANY * 20, marks=pytest.mark.extended)])
def test_texts_in_the_other_case(spark, interpreting, count):
    """Letters by themselves, and texts in which a sigma stands at the end of a word or does not."""
    last = 0x3000 if count == MANY else 0x110000
    letters = [chr(code) for code in range(1, last) if not 0xD800 <= code < 0xE000]
    words = drawn((made(*[_LETTERS] * 5), made(*[_LETTERS] * 9)), count, seed=count)
    engines = Engines(spark, {"s": ("string", [*letters, *words])})
    assert not engines.differences([engines.entry(text) for text in ("lower(s)", "upper(s)")])
