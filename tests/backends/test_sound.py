"""Values that can be held, and that cannot: MAPs in which a key stands twice, and text that is not UTF-8."""

import math
from datetime import date

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@given(
    st.lists(
        st.binary(max_size=20).map(lambda letters: bytes(letter & 0x7F for letter in letters)) | st.binary(max_size=4)
    ),
    st.integers(0, 3),
)
def test_text_is_utf_8(texts, first):
    letters, ends = b"".join(texts), [0]
    for text in texts:
        ends.append(ends[-1] + len(text))
    buffers = pa.py_buffer(b"".join(end.to_bytes(4, "little") for end in ends)), pa.py_buffer(letters)
    array = pa.StringArray.from_buffers(len(texts), *buffers).slice(min(first, len(texts)))
    assert is_sound(pa.chunked_array([array])) == all(map(_is_utf_8, texts[first:]))


def test_a_text_that_ends_before_it_begins_is_none():
    ends = pa.py_buffer(b"".join(end.to_bytes(4, "little") for end in (0, 3, 1)))
    assert not is_sound(pa.chunked_array([pa.StringArray.from_buffers(2, ends, pa.py_buffer(b"abc"))]))


def _is_utf_8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
