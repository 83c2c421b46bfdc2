"""Oracle: after every step a view with MATCH_RECOGNIZE has the matches that a plain search finds in the rows so far.

Rows come and go at random: NULLs, ties of time, duplicates, empty steps, times out of order; merged after each step,
and not.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_matches import Spec, matches
from tests import tiers

import penstock
from penstock.errors import DataError

TABLE = "CREATE TABLE t (k INT, at TIMESTAMP, x INT, id INT);"
START = datetime(2024, 1, 1)  # noqa: DTZ001 - the pipeline's zone is UTC


def less(one, other):
    return None if one is None or other is None else one < other


def either(one, other):
    return True if one is True or other is True else None if one is None or other is None else False


FALLING = {
    "A": lambda m: either(m.last("A", "x", 1) is None, less(m.last("A", "x", 1), m.last("A", "x"))),
    "B": lambda m: less(m.last("B", "x"), m.last("A", "x")),
}
FALLING_SQL = "DEFINE A AS LAST(A.x, 1) IS NULL OR A.x > LAST(A.x, 1), B AS B.x < LAST(A.x)"
SIGNS = {
    "A": lambda m: less(m.last("A", "x"), 2),
    "B": lambda m: less(1, m.last("B", "x")),
    "C": lambda m: less(2, m.last("C", "x")),
}
SIGNS_SQL = "DEFINE A AS x < 2, B AS x > 1, C AS C.x > 2"
SIGNS_AB, SIGNS_C = "DEFINE A AS x < 2, B AS x > 1", "DEFINE C AS C.x > 2"
ENDS = (lambda m: m.first("", "id"), lambda m: m.last("", "id"))
ENDS_SQL = "MEASURES FIRST(id) AS f, LAST(id) AS l"

SPECS = {
    "falling": Spec(
        f"{ENDS_SQL} PATTERN (A+ B) {FALLING_SQL}", ("seq", ("A", "+"), "B"), FALLING, ENDS
    ),
    "overlapping": Spec(
        f"{ENDS_SQL} AFTER MATCH SKIP TO NEXT ROW PATTERN (A+ B) {FALLING_SQL}",
        ("seq", ("A", "+"), "B"), FALLING, ENDS, skip="next",
    ),
    "reluctant": Spec(
        f"{ENDS_SQL}, COUNT(A.*) AS a, COUNT(B.x) AS b, MATCH_NUMBER() AS n "
        f"PATTERN (A*? (B | C){{1,2}}? C) {SIGNS_SQL}",
        ("seq", ("A", "*?"), (("or", "B", "C"), (1, 2), "?"), "C"), SIGNS,
        (*ENDS, lambda m: len(m.places("A")), lambda m: len(m.values("B", "x")), lambda m: m.number),
    ),
    "empty": Spec(
        f"{ENDS_SQL}, MATCH_NUMBER() AS n, COUNT(*) AS c PATTERN (A* | C) DEFINE A AS x < 2, C AS C.x > 2",
        ("or", ("A", "*"), "C"), SIGNS, (*ENDS, lambda m: m.number, lambda m: len(m.labels)),
    ),
    "all rows": Spec(
        "MEASURES CLASSIFIER() AS v, SUM(A.x) AS s, FINAL SUM(A.x) AS fs, FINAL LAST(id) - id AS d, x AS y "
        f"ALL ROWS PER MATCH PATTERN (A+ B?) {SIGNS_AB}",
        ("seq", ("A", "+"), ("B", "?")), SIGNS,
        (
            lambda m: m.label(), lambda m: m.sum("A", "x"), lambda m: m.sum("A", "x", final=True),
            lambda m: m.last("", "id", final=True) - m.near(0, "id"), lambda m: m.near(0, "x"),
        ),
        shows="all",
    ),
    "omit empty": Spec(
        f"MEASURES MATCH_NUMBER() AS n, CLASSIFIER() AS v ALL ROWS PER MATCH OMIT EMPTY MATCHES PATTERN (C*) {SIGNS_C}",
        ("C", "*"), SIGNS, (lambda m: m.number, lambda m: m.label()), shows="omit empty",
    ),
    "unmatched": Spec(
        "MEASURES MATCH_NUMBER() AS n, COUNT(C.*) AS c, 7 AS seven ALL ROWS PER MATCH WITH UNMATCHED ROWS "
        f"AFTER MATCH SKIP TO LAST B PATTERN (A (B C?)+) {SIGNS_SQL}",
        ("seq", "A", (("seq", "B", ("C", "?")), "+")), SIGNS,
        (lambda m: m.number, lambda m: len(m.places("C")), lambda _m: 7), shows="unmatched", skip=("last", "B"),
    ),
    "hidden": Spec(
        f"MEASURES CLASSIFIER() AS v, LAST(C.id) AS c ALL ROWS PER MATCH PATTERN (A {{- B* -}} C) {SIGNS_SQL}",
        ("seq", "A", ("not shown", ("B", "*")), "C"), SIGNS, (lambda m: m.label(), lambda m: m.last("C", "id")),
        shows="all",
    ),
    "permuted": Spec(
        f"{ENDS_SQL}, LAST(CLASSIFIER(), 1) AS v AFTER MATCH SKIP TO FIRST C PATTERN (A PERMUTE(A, B, C)) {SIGNS_SQL}",
        ("seq", "A", ("permute", "A", "B", "C")), SIGNS, (*ENDS, lambda m: m.labels[-2]), skip=("first", "C"),
    ),
    "anchored": Spec(
        f"{ENDS_SQL} PATTERN (^ A+ | B+ $) {SIGNS_AB}",
        ("or", ("seq", "^", ("A", "+")), ("seq", ("B", "+"), "$")), SIGNS, ENDS,
    ),
    "within": Spec(
        f"{ENDS_SQL}, LAST(U.x) AS u PATTERN (A (B | A)* C) WITHIN INTERVAL '3' MINUTE SUBSET U = (A, C) {SIGNS_SQL}",
        ("seq", "A", (("or", "B", "A"), "*"), "C"), SIGNS, (*ENDS, lambda m: m.last("AC", "x")),
        within=timedelta(minutes=3),
    ),
    "counting": Spec(
        f"{ENDS_SQL}, AVG(A.x) AS v, MIN(A.x) AS lo, MAX(x) AS hi PATTERN (A+ B) "
        "DEFINE A AS SUM(A.x) <= 4 AND COUNT(*) < 4, B AS B.x >= AVG(A.x) AND MIN(A.x) < B.x + 1",
        ("seq", ("A", "+"), "B"),
        {
            "A": lambda m: less(m.sum("A", "x"), 5) and len(m.labels) < 4,
            "B": lambda m: m.values("A", "x") and m.last("B", "x") is not None
            and m.last("B", "x") >= m.sum("A", "x") / len(m.values("A", "x"))
            and min(m.values("A", "x")) < m.last("B", "x") + 1,
        },
        (
            *ENDS, lambda m: m.sum("A", "x") / len(m.values("A", "x")), lambda m: min(m.values("A", "x")),
            lambda m: max(m.values("", "x")),
        ),
    ),
    "neighbours": Spec(
        f"{ENDS_SQL}, PREV(LAST(A.id), 2) AS p, NEXT(id) AS q PATTERN (A+ B) "
        "DEFINE A AS x > PREV(x), B AS B.x <= coalesce(NEXT(B.x, 2), 2) AND PREV(FIRST(A.x)) IS NOT NULL",
        ("seq", ("A", "+"), "B"),
        {
            "A": lambda m: less(m.near(-1, "x"), m.near(0, "x")),
            "B": lambda m: m.near(0, "x") is not None
            and m.near(0, "x") <= (2 if m.near(2, "x") is None else m.near(2, "x"))
            and m.places("A")[0] > 0 and m.rows[m.places("A")[0] - 1]["x"] is not None,
        },
        (*ENDS, lambda m: m.last("A", "id", shift=-2), lambda m: m.near(1, "id")),
    ),
    "timed": Spec(
        f"MEASURES FIRST(at) AS f, LAST(B.at) AS l PATTERN (A+ B*) WITHIN INTERVAL '3' MINUTE {SIGNS_AB}",
        ("seq", ("A", "+"), ("B", "*")), SIGNS, (lambda m: m.first("", "at"), lambda m: m.last("B", "at")),
        within=timedelta(minutes=3),
    ),
    "looping": Spec(
        f"{ENDS_SQL} PATTERN ((A* B?)* C) {SIGNS_SQL}",
        ("seq", (("seq", ("A", "*"), ("B", "?")), "*"), "C"), SIGNS, ENDS,
    ),
}  # fmt: skip

ROWS = st.tuples(
    st.sampled_from([1, 1, 1, 2, None]), st.sampled_from([*range(8), None]), st.sampled_from([0, 1, 1, 2, 3, None])
)
STEPS = st.lists(
    st.tuples(st.lists(ROWS, max_size=6), st.lists(st.integers(0, 50), max_size=2)), min_size=1, max_size=5
)


def view(spec, name="v"):
    return f"CREATE VIEW {name} AS SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY at {spec.sql}) AS m;"


def wanted(spec, rows):
    """What the view has to show; a row without a time is in no match."""
    partitions = {}
    names = ("k", "at", "x", "id")
    for row in sorted((row for row in rows if row[1] is not None), key=ordered):
        partitions.setdefault(row[0], []).append(dict(zip(names, row, strict=True)))
    found = Counter()
    for key, items in partitions.items():
        for row, measures in matches(spec, items):
            front = (key,) if spec.shows == "one" else (key, row["at"])
            behind = () if spec.shows == "one" else (row["x"], row["id"])
            found[(*front, *measures, *behind)] += 1
    return found


def ordered(row):
    """By time, and then by the whole row, NULLs first."""
    return (row[1], *((value is not None, value or 0) for value in (row[0], row[2], row[3])))


def changed(content, inserts, deletes, numbers):
    """The rows of the table after a change, and the change; ids go by pairs, so that rows may be equal."""
    rows = [(k, None if at is None else START + timedelta(minutes=at), x, next(numbers) // 2) for k, at, x in inserts]
    content = [*content, *rows]
    gone = [content.pop(place % len(content)) for place in deletes if content]
    return content, [*rows, *(("-", row) for row in gone)]


def check(name, steps, *, merged):
    spec, content, shown, numbers = SPECS[name], [], Counter(), iter(range(1000))
    with penstock.Pipeline(TABLE + view(spec), engine="native") as pipeline:
        for inserts, deletes in steps:
            content, rows = changed(content, inserts, deletes, numbers)
            for weight, row in pipeline.step({"t": rows})["v"].rows:
                shown[row] += weight
            if merged:
                pipeline.compact()
            assert {row: weight for row, weight in shown.items() if weight} == wanted(spec, content)


@pytest.mark.both
@pytest.mark.parametrize("name", SPECS)
def test_a_view_has_the_matches_of_the_rows_so_far(name):
    @settings(max_examples=tiers.either(2, 6), deadline=None)
    @given(steps=STEPS, merged=st.booleans())
    def run(steps, merged):
        check(name, steps, merged=merged)

    run()


LATE = "CREATE TABLE t (k INT, at TIMESTAMP LATENESS INTERVAL 2 MINUTES, x INT, id INT);"
FORGETTING = sorted(set(SPECS) - {"reluctant", "empty", "omit empty", "unmatched", "anchored", "neighbours"})


def check_late(name, steps):
    """Late rows are dropped, and what is kept is merged after each step: nothing that is shown may change."""
    spec, content, shown, numbers = SPECS[name], [], Counter(), iter(range(1000))
    line, last = datetime.min, datetime.min  # noqa: DTZ901 - the pipeline's zone is UTC
    with penstock.Pipeline(LATE + view(spec), engine="native") as pipeline:
        for place, (inserts, deletes) in enumerate(steps):
            ahead = timedelta(minutes=3 * place)
            rows = [
                (k, None if at is None else START + timedelta(minutes=at) + ahead, x, next(numbers) // 2)
                for k, at, x in inserts
            ]
            gone = list(
                {id(row): row for row in (content[item % len(content)] for item in deletes if content)}.values()
            )
            for weight, row in pipeline.step({"t": [*rows, *(("-", row) for row in gone)]})["v"].rows:
                shown[row] += weight
                assert name != "timed" or line == datetime.min or row[1] >= line - spec.within  # noqa: DTZ901
            content += [row for row in rows if row[1] is None or row[1] >= line]
            for row in gone:
                if row[1] is None or row[1] >= line:
                    content.remove(row)
            last = max([last, *(row[1] for row in rows + gone if row[1] is not None)])
            line = last if last == datetime.min else last - timedelta(minutes=2)  # noqa: DTZ901
            pipeline.compact()
            assert {row: weight for row, weight in shown.items() if weight} == wanted(spec, content)


@pytest.mark.both
@pytest.mark.parametrize("name", SPECS)
def test_what_is_forgotten_changes_no_match(name):
    @settings(max_examples=tiers.either(2, 6), deadline=None)
    @given(steps=STEPS)
    def run(steps):
        check_late(name, steps)

    run()


@pytest.mark.parametrize("name", FORGETTING)
def test_rows_go_that_no_match_can_need(name):
    spec = SPECS[name]
    within = spec.sql if "WITHIN" in spec.sql else spec.sql.replace("DEFINE", "WITHIN INTERVAL 5 MINUTES DEFINE")
    with penstock.Pipeline(LATE + view(Spec(within, "A", {}, ())), engine="native") as pipeline:
        assert all(item.growth == "bounded" for item in pipeline.state()), [item.because for item in pipeline.state()]
        for day in range(4):
            rows = [(k, START + timedelta(days=day, minutes=at), at % 4, at) for k in (1, 2) for at in range(30)]
            pipeline.step({"t": rows})
            pipeline.compact()
            assert sum(item.rows for item in pipeline.state()) < 20


def a_few_steps():
    dice = Random(7)
    rows = [
        (dice.choice([1, 1, 2, None]), dice.choice([*range(9), None]), dice.choice([0, 1, 1, 2, 3, None]))
        for _ in range(40)
    ]
    return [(rows[:20], []), ([], [3, 7]), (rows[20:], [1]), ([], [])]


@pytest.mark.spark
def test_spark_forgets_what_no_match_can_need(interpreting):
    names = ("within", "falling")
    views = "".join(view(SPECS[name], name) for name in names)
    content, numbers, shown = [], iter(range(1000)), {name: Counter() for name in names}
    with penstock.Pipeline(LATE + views, engine="spark", spark=interpreting) as pipeline:
        for place, (inserts, _) in enumerate(a_few_steps()):
            content, rows = changed(content, [(k, at, x) for k, at, x in inserts if at is not None], [], numbers)
            later = timedelta(minutes=20 * place)
            rows = [(k, at + later, x, number) for k, at, x, number in rows]
            content = content[: len(content) - len(rows)] + rows
            for name, change in pipeline.step({"t": rows}).items():
                for weight, row in change.rows:
                    shown[name][row] += weight
            pipeline.compact()
        for name in names:
            assert {row: weight for row, weight in shown[name].items() if weight} == wanted(SPECS[name], content)
        assert sum(item.rows for item in pipeline.state()) < len(content)


@pytest.mark.spark
@pytest.mark.parametrize(
    "names", [list(SPECS)[::6], pytest.param(list(SPECS), marks=pytest.mark.extended)], ids=("some", "all")
)
def test_spark_finds_the_same_matches(interpreting, names):
    """All of them in one pipeline: each view would open its own."""
    program = TABLE + "".join(view(SPECS[name], name.replace(" ", "_")) for name in names)
    shown, content, numbers = {name: Counter() for name in names}, [], iter(range(1000))
    with penstock.Pipeline(program, engine="spark", spark=interpreting) as pipeline:
        for inserts, deletes in a_few_steps():
            content, given_rows = changed(content, inserts, deletes, numbers)
            for name, change in pipeline.step({"t": given_rows}).items():
                for weight, row in change.rows:
                    shown[name.replace("_", " ")][row] += weight
        for name in names:
            assert {row: weight for row, weight in shown[name].items() if weight} == wanted(SPECS[name], content), name
        for spec in [SPECS[name] for name in names[::3]]:
            answered = pipeline.query(f"SELECT * FROM ({view(spec).partition(' AS ')[2][:-1]})").rows
            assert Counter(answered) == wanted(spec, content)


def test_a_query_is_answered_over_what_there_is():
    with penstock.Pipeline(TABLE, engine="native") as pipeline:
        content, rows = changed([], a_few_steps()[0][0], [], iter(range(1000)))
        pipeline.step({"t": rows})
        for name, spec in SPECS.items():
            answered = pipeline.query(f"SELECT * FROM ({view(spec).partition(' AS ')[2][:-1]})").rows
            assert Counter(answered) == wanted(spec, content), name


@pytest.mark.parametrize(
    ("skip", "message"),
    [
        ("LAST B", "SKIP TO B, of which the match has no row"),
        ("FIRST A", "SKIP TO A, which is the first row of the match"),
    ],
)
def test_a_step_fails_in_which_the_search_cannot_go_on(skip, message):
    spec = Spec(f"AFTER MATCH SKIP TO {skip} PATTERN (A B? A) DEFINE B AS x = 1", "A", {}, ())
    program = f"{TABLE} {view(spec)}"
    with penstock.Pipeline(program, engine="native") as pipeline:
        with pytest.raises(DataError, match=message) as caught:
            pipeline.step({"t": [(1, START, 0, 1), (1, START + timedelta(minutes=1), 0, 2)]})
        assert "view v" in str(caught.value)
        pipeline.step({"t": [(1, START, 0, 1)]})
        assert pipeline.steps == 1


def test_long_matches_are_found():
    sql = "MEASURES COUNT(*) AS n PATTERN (A+ B) DEFINE A AS x = 0, B AS x = 1"
    rows = [(1, START + timedelta(seconds=second), 0 if second < 20_000 else 1, second) for second in range(20_001)]
    with penstock.Pipeline(TABLE + view(Spec(sql, "A", {}, ())), engine="native") as pipeline:
        assert pipeline.step({"t": rows})["v"].rows == [(1, (1, 20_001))]


def test_a_pattern_that_could_be_tried_in_countless_ways_is_tried_once_at_each_row():
    sql = "MEASURES COUNT(*) AS n PATTERN ((A | A A)+ B) DEFINE A AS x = 0, B AS x = 1"
    rows = [(1, START + timedelta(seconds=second), 0, second) for second in range(300)]
    with penstock.Pipeline(TABLE + view(Spec(sql, "A", {}, ())), engine="native") as pipeline:
        assert pipeline.step({"t": rows})["v"].rows == []
