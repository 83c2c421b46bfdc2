"""Scalar expressions on Spark and on DuckDB: the same values, types and errors, row by row."""

import pyarrow as pa
import pytest
from tests.backends.native import entries
from tests.backends.native.both import Engines

from penstock.backends.native.expressions.site import Site
from penstock.backends.native.proof import Proven, quoted
from penstock.backends.native.scalars import RULES
from penstock.plan.forms import Call, Reference
from penstock.plan.scalar import parsed

SOME = 1
# The clock is another in each engine: test_scalars.
ELSEWHERE = {(name, 0) for name in ("now", "current_timestamp", "localtimestamp", "current_date", "curdate")}


@pytest.fixture(scope="module")
def engines(spark):
    return Engines(spark)


@pytest.mark.parametrize("theme", entries.THEMES)
def test_differential_scalars(engines, interpreting, theme):
    """Of each template with its first types."""
    found = [engines.entry(*item) for item in entries.texts(theme, most=SOME)]
    assert not engines.differences([entry for entry in found if entry is not None], rows_raising=3)


@pytest.mark.extended
@pytest.mark.parametrize("theme", entries.THEMES)
def test_differential_scalars_of_all_types(engines, interpreting, theme):
    found = [engines.entry(*item) for item in entries.texts(theme)]
    assert not engines.differences([entry for entry in found if entry is not None])


def test_every_rule_is_compared(engines):
    """Each function of the tables stands in an expression that is proven."""
    met = set()
    for theme in entries.THEMES:
        for text, shape in entries.texts(theme):
            form = parsed(text)
            calls = {(item.function, len(item.arguments)) for item in form.walk() if isinstance(item, Call)}
            if not calls <= met and engines.entry(text, shape) is not None:
                met |= calls
    names = {name for name, _ in met}
    assert not {key for key in RULES if key not in met and (key[1] is not None or key[0] not in names)} - ELSEWHERE


@pytest.mark.parametrize("last", [0x3000, pytest.param(0x110000, marks=pytest.mark.extended)])
def test_every_letter_that_becomes_one_of_ascii_does_on_both(spark, engines, last):
    """Which is all that a comparison of lower(x) or upper(x) with a constant of ASCII asks."""
    letters = [chr(code) for code in range(1, last) if not 0xD800 <= code < 0xE000]
    table = pa.table({"s": letters})
    wanted = spark.createDataFrame(table).selectExpr("lower(s) AS low", "upper(s) AS high").toArrow().to_pylist()
    engines.duck.register("letters", table)
    folded = [folds(name, "s").text for name in ("lower", "upper")]
    answers = (
        engines.duck.sql(f"SELECT {folded[0]} AS low, {folded[1]} AS high FROM letters").to_arrow_table().to_pylist()
    )
    for letter, one, two in zip(letters, wanted, answers, strict=True):
        for name in ("low", "high"):
            assert one[name] == two[name] or not (one[name].isascii() or two[name].isascii()), letter


def folds(name, column):
    """A column in one case, as it stands in a comparison."""
    value = Proven(quoted(column), "string")
    form = Call(name, (Reference(column),))
    return RULES[name, 1](Site(form, name, form.arguments, (value,)))
