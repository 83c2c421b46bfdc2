"""The memory of a snapshot as bytes: what is written is read again as it was, and nothing else is."""

from __future__ import annotations

from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiers import examples

import penstock
from penstock.analysis.bounds import Bound
from penstock.backends.rows import canonical_row
from penstock.errors import DataError, UnsupportedError
from penstock.steps.memory_file import MAGIC, dumped, loaded


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a value is when it has been written and read."""
    folder = tmp_path_factory.mktemp("memory")
    with penstock.Pipeline("CREATE TABLE t (a INT)", engine="native") as pipeline:
        state = pipeline._opened().stepper._state
        rows = state.engine.workspace.row_files(folder)

        def written_and_read(value: Any) -> Any:
            return loaded(dumped(value, state, folder, rows), state, folder, rows)

        written_and_read.read = lambda data: loaded(data, state, folder, rows)  # type: ignore[attr-defined]
        written_and_read.folder = folder  # type: ignore[attr-defined]
        yield written_and_read


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters())
    | st.binary(max_size=9)
    | st.datetimes()
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.decimals(allow_nan=False)
)
KEYS = st.integers() | st.text() | st.tuples(st.integers(), st.text())
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(KEYS, inner)
        | st.frozensets(SCALARS)
        | st.sets(st.integers())
    ),
    max_leaves=12,
)


@examples(60, 2000)
@given(value=VALUES)
def test_values_are_read_as_they_were(again: Any, value: Any) -> None:
    assert repr(again(value)) == repr(value) or again(value) == value


@pytest.mark.parametrize(
    "value",
    [
        Counter("aab"),
        OrderedDict(b=1, a=2),
        defaultdict(list, a=[1]),
        deque([1, (2, 3)], maxlen=4),
        range(3, 9, 2),
        slice(1, None, 2),
        complex(1, -2),
        bytearray(b"ab"),
        array("q", [1, -(2**62)]),
        array("d", []),
        UUID(int=7),
        timezone(timedelta(hours=1)),
        datetime(2030, 1, 1, tzinfo=UTC),
        datetime(2030, 10, 27, 2, 30, fold=1),  # noqa: DTZ001 - a local time
        date.max,
        time(1, 2, 3, 4),
        Decimal("-0.00"),
        float("inf"),
        MappingProxyType({"a": (1, [2])}),
        Bound(number=3),
        canonical_row,
        pa.table({"a": [1, None], "b": [["x"], []]}),
        pa.table({"a": pa.chunked_array([[1], [2, 3]])}),
        pa.array([1, 2]),
        pa.chunked_array([["a"], ["b"]]),
        pa.RecordBatch.from_pylist([{"a": 1}]),
        pa.schema([("a", pa.decimal128(9, 2))], metadata={"k": "v"}),
        pa.field("a", pa.list_(pa.int8()), nullable=False),
        pa.timestamp("us", "UTC"),
    ],
    ids=lambda value: f"{type(value).__name__}",
)
def test_a_value_of_each_class_is_read_as_it_was(again: Any, value: Any) -> None:
    found = again([value, value])
    assert type(found[0]) is type(value)
    assert found[0] == value or str(found[0]) == str(value)
    assert found[0] is found[1] or isinstance(value, (datetime, date, time, timedelta, Decimal, float))


def test_a_partial_is_called_as_it_was(again: Any) -> None:
    assert again(partial(canonical_row, [1.5]))() == canonical_row([1.5])


def test_what_is_one_value_stays_one_and_may_contain_itself(again: Any) -> None:
    value: dict[str, Any] = {"list": []}
    value["list"] += [value, value["list"]]
    found = again(value)
    assert found["list"][0] is found
    assert found["list"][1] is found["list"]


def test_values_may_be_deep(again: Any) -> None:
    value: Any = ()
    for _ in range(20_000):
        value = [value]
    found = again(value)
    for _ in range(20_000):
        (found,) = found
    assert found == ()


def test_a_path_stays_in_the_directory(again: Any) -> None:
    inside = again.folder / "a" / "b"
    assert again(inside) == inside
    with pytest.raises(UnsupportedError):
        again(Path("/elsewhere"))


@pytest.mark.parametrize("value", [print, object(), Path.unlink, lambda: 1, ZeroDivisionError()])
def test_what_is_not_known_is_not_written(again: Any, value: Any) -> None:
    with pytest.raises(UnsupportedError, match="cannot hold"):
        again(value)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[",
        b"[]",
        b"[[1]]",
        b'[["list",[[9]]]]',
        b'[["tuple",[[0]]]]',
        b'[["bytes",[0,99]]]',
        b'[["bytes",[-1,1]]]',
        b'[["path","../x"]]',
        b'[["path","/x"]]',
        b'[["here","nobody"]]',
        b'[["instance","builtins","object",[],null,[],[]]]',
        b'[["instance","penstock.backends.rows","canonical_row",[],null,[],[]]]',
        b'[["member","functools","partial","x"]]',
        b'[["value",{"x":1}]]',
    ],
)
def test_damaged_bytes_are_refused(again: Any, text: bytes) -> None:
    with pytest.raises(DataError, match="does not hold"):
        again.read(MAGIC + len(text).to_bytes(8, "little") + text)
