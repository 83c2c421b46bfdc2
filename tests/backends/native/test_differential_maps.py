"""MAPs that are made of keys that may be NULL, or be there twice: the same MAPs and errors on Spark and on DuckDB.

An expression of Spark that has raised such an error keeps the entries that it had until then, and goes on with them
where the query does: `try_eval` of one expression over several rows tells nothing. So each row has one of its own.
"""

from datetime import date, datetime

import pytest
from tests.backends.native.both import Engines
from tests.tiers import either

DAY = date(1969, 12, 31)
AT, EARLY, FIRST, LAST = map(
    datetime.fromisoformat, ("2024-02-29 12:34:56.000789", "1969-01-01", "0001-01-01", "9999-12-31")
)
AB, BA = [("a", 1), ("b", None)], [("b", 2), ("a", 1)]
COLUMNS = {
    "m": ("map<string,int>", [None, [], AB, BA, AB, [("a", 1)], [("b", 1), ("a", 1)], [("", 0), ("é", 1), ("b", 3)]]),
    "n": ("map<string,int>", [BA, AB, None, [], [("c", 1)], BA, [("é", None)], [("é", 2)]]),
    "i": ("int", [None, 1, 1, 2, -1, 0, 2**31 - 1, 1]),
    "j": ("int", [1, None, 1, 1, -1, 3, 2**31 - 1, 2]),
    "l": ("bigint", [1, None, 1, 2, -1, 0, 2**40, 2**31 - 1]),
    "s": ("string", [None, "a", "a", "", "é", 'it\'s "x"\n', "b", "A"]),
    "t": ("string", ["a", None, "a", "", "e", 'it\'s "x"\n', "a", "a"]),
    "b": ("boolean", [None, True, True, False, False, True, False, True]),
    "c": ("boolean", [True, None, True, False, True, False, False, True]),
    "d": ("date", [None, DAY, DAY, date(9999, 12, 31), date(1, 1, 1), DAY, date(2024, 2, 29), DAY]),
    "e": ("date", [DAY, None, DAY, date(9999, 12, 31), date(1, 1, 1), None, date(2024, 3, 1), DAY]),
    "p": ("timestamp", [None, AT, AT, FIRST, LAST, AT, AT, AT]),
    "q": ("timestamp", [AT, None, AT, FIRST, LAST, EARLY, AT, AT]),
    "x": ("timestamp_ntz", [None, AT, AT, FIRST, LAST, AT, AT, AT]),
    "y": ("timestamp_ntz", [AT, None, AT, FIRST, LAST, EARLY, AT, AT]),
    "a": ("array<int>", [None, [], [1], [1, 2, None], [None], [1, 2, 1], [3, None, 3], [2, 1]]),
    "o": ("array<int>", [[1], None, [2], [1, 1, 1], [], [None, 2, 1], [1, 2, 3], [5]]),
    "w": ("array<string>", [["a"], None, [None], ["b", "a", "b"], ["é"], ["b", "a", "b"], ["", "x", ""], ["a", "b"]]),
}
PAIRS = ("i, j", "i, l", "l, i", "s, t", "b, c", "d, e", "p, q", "x, y")
TEXTS = [
    *[f"map({one}, 1, {other}, 2)" for one, other in (pair.split(", ") for pair in PAIRS)],
    "map(s, 1)",
    "map(i, s, j, NULL, 2, 't')",
    "map(i, m, j, n)",
    "map('a', i / j, 'b', j / (i - 1), 'c', 1)",
    "map_concat(m, n)",
    "map_concat(m, m)",
    "map_concat(m, map('a', 1))",
    "map_concat(map('a', i, 'b', j), m)",
    "map_concat(map_filter(m, (k, v) -> v > 1), map_filter(n, (k, v) -> v = 1), n)",
    "transform_keys(m, (k, v) -> v)",
    "transform_keys(m, (k, v) -> t)",
    "transform_keys(m, (k, v) -> coalesce(v, 1))",
    "transform_keys(m, (k, v) -> upper(k))",
    "transform_keys(m, (k, v) -> 10 DIV (v - 1))",
    "map_from_arrays(a, o)",
    "map_from_arrays(o, a)",
    "map_from_arrays(a, w)",
    "map_from_arrays(w, a)",
    "map_from_arrays(w, transform(o, z -> z + 1))",
    "map_from_arrays(concat(a, a), concat(o, o))",
    "map_from_arrays(filter(a, z -> z > 0), o)",
    "map_from_arrays(map_values(m), map_keys(m))",
    "map_from_entries(array(named_struct('u', i, 'v', s), named_struct('u', j, 'v', t)))",
    "map_from_entries(array(named_struct('u', i, 'v', s), NULL, named_struct('u', j, 'v', t)))",
    "map_from_entries(array(named_struct('u', s, 'v', m), named_struct('u', t, 'v', n)))",
    "map_from_entries(concat(map_entries(m), map_entries(n)))",
    "map_from_entries(IF(i > 0, array(named_struct('u', i, 'v', 1), NULL), NULL))",
    "map_from_entries(transform(map_entries(m), z -> named_struct('u', z.value, 'v', z.key)))",
    "map_keys(map_concat(m, n))",
    "size(map_from_arrays(a, o))",
    "transform_values(map(i, 1, j, 2), (k, v) -> k * v)",
]


@pytest.fixture(scope="module")
def engines(spark):
    return Engines(spark, COLUMNS, most_said=8)


@pytest.mark.both
def test_differential_keys_of_maps_that_are_made(engines, interpreting):
    rows = range(len(COLUMNS["m"][1]))
    texts = TEXTS[:: either(3, 1)]
    found = [engines.entry(f"CASE WHEN id = {row} THEN {text} END", text) for text in texts for row in rows]
    assert all(entry is not None for entry in found)
    assert not engines.differences(found)
