"""Differential: every aggregate and window function on Spark and on DuckDB, in all types for which it is proven."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb
import pytest
from tests.backends.native import calls
from tests.backends.native.calls import Asked

from penstock.backends.native.aggregates import AGGREGATES, Calls, aggregated
from penstock.backends.native.comparing import key
from penstock.backends.native.expressions.kinds import storage
from penstock.backends.native.listing import TYPES
from penstock.backends.native.lists import LISTS
from penstock.backends.native.proof import NotProvenError, Proven, quoted
from penstock.backends.native.scalars import proven
from penstock.backends.native.windows import FUNCTIONS, windowed
from penstock.plan.forms import Call, Form
from penstock.plan.scalar import parsed
from penstock.testing.multisets import difference

AT_ONCE = 60
SOME = 3
FRAMES = (
    "ORDER BY `id`",
    "ORDER BY `id` ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING",
    "ORDER BY `id` ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
)
RANKS = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist")


class Both:
    """Spark and DuckDB with the same rows."""

    def __init__(self, spark):
        table = calls.rows(1)
        self.spark, self.duck = spark, duckdb.connect()
        self.duck.execute("SET disabled_optimizers = 'common_subplan'; SET TimeZone = 'UTC'")
        self.duck.register("given", table)
        listed = ", ".join(f"CAST({quoted(name)} AS {storage(kind)}) AS {quoted(name)}" for name, kind in _columns())
        self.duck.execute(f"CREATE TABLE rows_of_calls AS SELECT {listed} FROM given")
        given = spark.createDataFrame(table)
        given = given.withColumns({name: given[name].cast(kind) for name, kind in _columns() if kind.endswith("ntz")})
        given.coalesce(1).localCheckpoint().createOrReplaceTempView("rows_of_calls")

    def differences(self, texts: Sequence[str], answers: Sequence[Proven], wanted: str, found: str) -> Iterator[str]:
        """All that differs of calls: `wanted` and `found` are the queries but for what they answer."""
        expected = self.spark.sql(wanted.format(", ".join(f"{text} AS c{n}" for n, text in enumerate(texts))))
        kinds = [field.dataType.simpleString() for field in expected.schema]
        actual = self.duck.sql(found.format(", ".join(f"{item.text} AS c{n}" for n, item in enumerate(answers))))
        one, other = expected.toArrow(), actual.to_arrow_table()
        for place, (text, answer) in enumerate(zip(texts, answers, strict=True)):
            if kinds[place + 1] != answer.type:
                yield f"{text}: {kinds[place + 1]} on Spark, {answer.type} here"
            rows = [[(1, row) for row in _rows(table, place + 1)] for table in (one, other)]
            if unlike := difference(*rows, absolute=1e-9):
                yield f"{text}: {unlike.describe()}"


def _columns():
    return calls.COLUMNS.items()


def _rows(table, place):
    """Pairs of a key and an answer; times without their zone."""
    values = [value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value for value in table[place].to_pylist()]
    return list(zip(table[0].to_pylist(), values, strict=True))


@pytest.fixture(scope="module")
def both(spark):
    return Both(spark)


def _parts(asked):
    return [asked[start : start + AT_ONCE] for start in range(0, len(asked), AT_ONCE)]


def compared(both: Both, asked: Sequence[Asked], suffix: str = "") -> list[str]:
    """All that differs of aggregates over groups."""
    found: list[str] = []
    for column, group in dict.fromkeys((item.by, item.group) for item in asked):
        # Of rows with an equal value beside which another is chosen one is left: which one is chosen is open.
        only = "" if column is None else f", row_number() OVER (PARTITION BY `g`, {column} ORDER BY `id`) AS `only`"
        wanted = f"(SELECT *{only} FROM rows_of_calls)" + (" WHERE `only` = 1" if column else "")
        for part in _parts([item for item in asked if (item.by, item.group) == (column, group)]):
            texts = [item.text + suffix for item in part]
            needs = Calls()
            answers = [aggregated(parsed(text), calls.COLUMNS, proven, needs) for text in texts]
            grouped = f"FROM {_distinct(wanted, column)} GROUP BY {group}"
            inner = f"SELECT {group} AS `key`, {', '.join(needs.items)} {grouped}"
            found += both.differences(
                texts,
                answers,
                f"SELECT {group}, {{}} FROM {wanted} GROUP BY {group}",
                f"SELECT `key`, {{}} FROM ({inner})".replace("`", '"'),
            )
    return found


def _distinct(wanted: str, column: str | None) -> str:
    """The same rows for DuckDB, which is to tell values apart as keys."""
    name = (column or "").strip("`")
    if column is None or name not in calls.COLUMNS:
        return wanted
    return wanted.replace(column, key(Proven(quoted(name), calls.COLUMNS[name])))


def windows_compared(both: Both, texts: Sequence[str]) -> list[str]:
    """All that differs of calls over windows."""
    found: list[str] = []
    for part in _parts(list(texts)):
        needs = Calls()
        answers = [windowed(parsed(text), calls.COLUMNS, proven, (), needs) for text in part]
        assert not needs.beneath
        inner = f"SELECT `id`, {', '.join(needs.items)} FROM rows_of_calls"
        found += both.differences(
            part,
            answers,
            "SELECT `id`, {} FROM rows_of_calls",
            f"SELECT `id`, {{}} FROM ({inner})".replace("`", '"'),
        )
    return found


def over(texts: Sequence[str], frames: Sequence[str] = FRAMES, group: str = "`g`") -> list[str]:
    """Calls over windows, in each frame that it may have; those that are proven."""
    found = [f"{text} OVER (PARTITION BY {group} {frame})" for text in texts for frame in frames]
    return [text for text in found if _is_proven(text)]


def _is_proven(text):
    try:
        windowed(parsed(text), calls.COLUMNS, proven, (), Calls())
    except NotProvenError:
        return False
    return True


def framed(asked: Sequence[Asked]) -> list[str]:
    """Window functions over windows; only those that look at a frame in more than one."""
    ends = [item.text for item in asked if item.name.endswith("_value") or item.name in ("first", "last")]
    others = [item.text for item in asked if item.text not in ends]
    return over(ends) + over(others, FRAMES[:1])


def ordered() -> list[str]:
    """Places in the order of a column of each plain type, either way; equal ones are told apart or not."""
    return [
        f"{name}() OVER (PARTITION BY `g` ORDER BY `{calls.column(kind, 'a')}` {way}{last})"
        for kind in TYPES
        if "<" not in kind
        for name, way in zip(RANKS, ("", "DESC", "NULLS LAST", "DESC NULLS FIRST", "DESC"), strict=True)
        for last in (", `id`" if name == "row_number" else "",)
    ]


def test_some_aggregates_and_windows_answer_what_spark_answers(both, interpreting):
    asked = calls.some(calls.aggregates(), SOME)
    wrong = compared(both, asked) + windows_compared(both, framed(calls.some(calls.windows(), SOME)) + ordered()[::3])
    assert not wrong, "\n".join(wrong)


@pytest.mark.extended
@pytest.mark.parametrize("suffix", ["", " FILTER (WHERE `b_boolean`)"])
def test_every_aggregate_answers_what_spark_answers(both, interpreting, suffix):
    asked = [item for item in calls.aggregates() if not suffix or (item.group == "`g`" and item.name not in LISTS)]
    wrong = compared(both, asked, suffix)
    assert not wrong, "\n".join(wrong)


@pytest.mark.extended
def test_every_window_function_answers_what_spark_answers(both, interpreting):
    wrong = windows_compared(both, framed(calls.windows()) + ordered())
    assert not wrong, "\n".join(wrong)


@pytest.mark.extended
def test_every_aggregate_over_a_window_answers_what_spark_answers(both, interpreting):
    asked = [item for item in calls.aggregates() if item.name not in FUNCTIONS and item.by is None]
    small = over([item.text for item in asked if item.group == "`g`"], FRAMES[1:])
    large = [text for item in asked if item.group != "`g`" for text in over([item.text], FRAMES[2:], item.group)]
    wrong = windows_compared(both, small + large)
    assert not wrong, "\n".join(wrong)


@pytest.mark.extended
def test_every_aggregate_of_different_values_answers_what_spark_answers(both, interpreting):
    found = [
        item.text.replace("(", "(DISTINCT ", 1)
        for item in calls.aggregates()
        if len(item.taken) == 1 and item.name != "first"
    ]
    asked = [Asked(text, "", ()) for text in found if "WITHIN" not in text and _aggregates(text)]
    wrong = compared(both, asked)
    assert not wrong, "\n".join(wrong)


def _aggregates(text):
    try:
        aggregated(parsed(text), calls.COLUMNS, proven, Calls())
    except NotProvenError:
        return False
    return True


def test_every_rule_is_compared(repository):
    """Each aggregate and window function of the tables stands in a call, in each type that the page names for it."""
    for asked, rules in ((calls.aggregates(), AGGREGATES), (calls.windows(), FUNCTIONS)):
        met: dict[str, set[str]] = {}
        for item in asked:
            (call,) = [form for form in parsed(item.text).walk() if _is_of(form, rules)]
            assert isinstance(call, Call)
            assert call.function == item.name
            met.setdefault(call.function, set()).update(item.taken)
        assert met.keys() == rules
    assert {kind for item in calls.aggregates() for kind in item.taken} >= set(TYPES)
    assert {kind for item in calls.windows() for kind in item.taken} >= set(TYPES)
    page = (repository / "docs" / "reference" / "proven.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in AGGREGATES | FUNCTIONS)
    assert set(TYPES) <= calls.VALUES.keys()


def _is_of(form: Form, rules: frozenset[str]) -> bool:
    return isinstance(form, Call) and form.function in rules
