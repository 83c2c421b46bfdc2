"""Values that can be held, and that cannot: here MAPs, in which no key stands twice."""

import math
from datetime import date

import pyarrow as pa
import pytest

from penstock.backends.sound import is_sound

OF_TEXTS, OF_DOUBLES = pa.map_(pa.string(), pa.int32()), pa.map_(pa.float64(), pa.int32())
TWICE, ONCE = [("a", 1), ("b", 2), ("a", None)], [("a", 1), ("b", None)]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([None, [], ONCE, ONCE, [("b", 1), ("a", 1)]], OF_TEXTS),
        ([[(0.0, 1), (math.nan, 2), (math.inf, 3)], [(-0.0, 1)]], OF_DOUBLES),
        ([[([1, None], 1), ([None, 1], 2), ([], 3)]], pa.map_(pa.list_(pa.int32()), pa.int32())),
        ([[ONCE, ONCE], None], pa.list_(OF_TEXTS)),
        ([[(1, ONCE), (2, ONCE)]], pa.map_(pa.int32(), OF_TEXTS)),
    ],
)
def test_maps_of_different_keys(values, kind):
    assert is_sound(pa.chunked_array([pa.array(values, kind), pa.array(values, kind)]))


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (TWICE, OF_TEXTS),
        ([(0.0, 1), (-0.0, 2)], OF_DOUBLES),
        ([(math.nan, 1), (-math.nan, 2)], OF_DOUBLES),
        ([(-0.0, 1), (0.0, 2)], pa.map_(pa.float32(), pa.int32())),
        ([([0.0], 1), ([-0.0], 2)], pa.map_(pa.list_(pa.float64()), pa.int32())),
        ([(date(2024, 1, 1), 1)] * 2, pa.map_(pa.date32(), pa.int32())),
        ([ONCE, TWICE], pa.list_(OF_TEXTS)),
        ({"x": TWICE}, pa.struct({"x": OF_TEXTS})),
        ([(1, ONCE), (2, TWICE)], pa.map_(pa.int32(), OF_TEXTS)),
    ],
)
def test_maps_with_a_key_that_is_there_twice(value, kind):
    array = pa.array([None, value, None], kind)
    assert not is_sound(pa.chunked_array([array]))
    assert not is_sound(pa.chunked_array([array.slice(1)]))
    assert is_sound(pa.chunked_array([array.slice(2)]))
