"""The memory of a pipeline as bytes of a format of its own, which names values and never code.

    magic | length of the text | text: JSON, the nodes of the graph of values | blobs: Arrow streams and other bytes

A node is a list whose first item says its kind; a value inside a node is a scalar as it stands, `[n]` for node n, or an
object with one field for a small value (`{"da": "2030-01-01"}`). Node 0 is the value that was written. The graph is
walked with a list of what is left to do, so that deep values need no deep stack.

What a process makes for itself (the store, the workspace, the log) is named only, and files of the directory are named
relative to it, so that it may be moved. Rows on the executors go to files beside the bytes. All that is written and
read is plain data of this package, or of the classes and functions that are listed here: anything else is refused on
both sides, so bytes of another origin make no other value and call no other function.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.backends.api import Delta, RowFiles
from penstock.backends.rows import canonical_row
from penstock.engine import remembered
from penstock.engine.schemas import schema_of
from penstock.errors import DataError, Diagnostic, PenstockError, UnsupportedError, message_of
from penstock.plan.tree_values import is_tree, tree_of, tree_values
from penstock.steps.intake.gates import view_gate
from penstock.steps.intake.keystore import KeyStore
from penstock.steps.intake.rowcounts import RowCounts
from penstock.steps.origin import APART

if TYPE_CHECKING:
    from penstock.steps.state import State

MAGIC = b"PENSTOCK MEMORY 1\n"
# The classes of this package that remember something, beside its dataclasses and enumerations.
_REMEMBERING = (KeyStore, RowCounts, *remembered.CLASSES)
_METHODS = ("step_clock", "_settle", *remembered.METHODS)
_OTHERS = {
    "builtins": ("complex", "dict", "frozenset", "int", "list", "range", "set", "slice", "str", "tuple"),
    "collections": ("Counter", "OrderedDict", "defaultdict", "deque"),
    "datetime": ("timezone",),
    "functools": ("partial",),
    "uuid": ("UUID",),
}
_OTHER_FORMAT, _BEYOND = "bytes of another format", "bytes beyond its end"
_SCALARS = frozenset([int, float, str, bool, type(None)])


def frozen(values: dict[Any, Any]) -> Mapping[Any, Any]:
    """A mapping that nobody can change."""
    return MappingProxyType(values)


def bound(owner: object, name: str) -> object:
    """A method of a value of this package."""
    if name not in _METHODS:
        raise _refused(type(owner).__qualname__, name)
    return getattr(owner, name)


def change_here(workspace: Any, rows: pa.Table, schema: Any, cancels: bool) -> Delta:  # noqa: FBT001 - as it is written
    """A change that is on the driver."""
    found: Delta = workspace.change(rows, schema, cancels=cancels)
    return found


_FUNCTIONS = (frozen, bound, tree_of, change_here, canonical_row, view_gate, schema_of, *remembered.FUNCTIONS)


@cache
def _is_known(value: object) -> bool:
    """True for a class whose values are written and read, or a function that makes one."""
    module = str(getattr(value, "__module__", None) or "builtins")
    if module.split(".")[:2] in [["penstock", package] for package in APART]:
        return False  # a snapshot is not bound to its code
    if isinstance(value, type) and module.startswith("penstock."):
        return is_dataclass(value) or issubclass(value, (Enum, *_REMEMBERING))
    if any(value is item for item in _FUNCTIONS):
        return True
    return str(getattr(value, "__qualname__", "")) in _OTHERS.get(module, ())


@cache
def _named(module: str, name: str) -> Any:
    """The class or function that a module calls so; DataError for one that is not known here."""
    own = module.startswith("penstock.") or module in _OTHERS
    value = None
    if own and name.isidentifier():
        value = getattr(sys.modules.get(module) or import_module(module), name, None)
    if value is None or not _is_known(value):
        raise _refused(module, name)
    return value


class _Writer:
    """The graph of a value as nodes and blobs."""

    def __init__(self, state: State, directory: Path, rows: RowFiles) -> None:
        self._directory = directory
        self._rows = rows
        self._names = {id(item): name for name, item in _surroundings(state, rows).items() if item is not None}
        self._places: dict[int, int] = {}
        self._left: list[tuple[int, Any]] = []
        self._alive: list[Any] = []  # no two values may have one id
        self._blobs: list[bytes] = []
        self._offset = 0
        self._nodes: list[Any] = []

    def write(self, value: object) -> bytes:
        """All bytes of a value."""
        self._place(value)
        while self._left:
            place, item = self._left.pop()
            self._nodes[place] = self._node(item)
        text = json.dumps(self._nodes, separators=(",", ":")).encode()
        return b"".join((MAGIC, len(text).to_bytes(8, "little"), text, *self._blobs))

    def _place(self, value: object) -> list[int]:
        """The reference to a value's node."""
        place = self._places.get(id(value))
        if place is None:
            place = self._places[id(value)] = len(self._nodes)
            self._nodes.append(None)
            self._alive.append(value)
            self._left.append((place, value))
        return [place]

    def _inside(self, value: Any) -> Any:
        """A value as it stands in a node."""
        kind = type(value)
        if kind in _SCALARS:
            return value
        if kind is tuple and all(type(item) in _SCALARS for item in value):
            return {"t": list(value)}
        small = _SMALL.get(kind)
        return self._place(value) if small is None else small(value)

    def _items(self, values: Any) -> list[Any]:
        return [value if type(value) in _SCALARS else self._inside(value) for value in values]

    def _node(self, value: Any) -> list[Any]:
        kind = type(value)
        if id(value) in self._names:
            return ["here", self._names[id(value)]]
        if kind in (list, tuple, set, frozenset):
            return [kind.__name__, self._items(value)]
        if kind is dict:
            return ["dict", self._items(value), self._items(value.values())]
        if kind in (bytes, bytearray):
            return [kind.__name__, self._blob(bytes(value))]
        if kind in _SCALARS or kind in _SMALL:
            return ["value", self._inside(value)]
        if isinstance(value, array):
            return ["array", value.typecode, self._blob(value.tobytes())]
        return self._arrow(value) or self._object(value)

    def _arrow(self, value: Any) -> list[Any] | None:
        match value:
            case pa.Table():
                return ["table", self._blob(_stream(value))]
            case pa.RecordBatch():
                return ["batch", self._blob(_stream(pa.Table.from_batches([value])))]
            case pa.ChunkedArray():
                return ["chunks", self._blob(_stream(pa.table({"": value})))]
            case pa.Array():
                return ["column", self._blob(_stream(pa.table({"": pa.chunked_array([value])})))]
            case pa.Schema():
                return ["schema", self._blob(value.serialize().to_pybytes())]
            case pa.Field():
                return ["field", self._blob(pa.schema([value]).serialize().to_pybytes())]
            case pa.DataType():
                return ["type", self._blob(pa.schema([pa.field("", value)]).serialize().to_pybytes())]
            case _:
                return None

    def _object(self, value: Any) -> list[Any]:
        match value:
            case Path():
                return ["path", str(value.relative_to(self._directory))]
            case MethodType() if value.__name__ in _METHODS:
                return self._call(bound, (value.__self__, value.__name__))
            case type() | FunctionType() | BuiltinFunctionType():
                return ["name", *_name_of(value)]
            case MappingProxyType():
                return self._call(frozen, (dict(value),))
            case Enum():
                return ["member", *_name_of(type(value)), value.name]
            case _ if is_tree(value):
                return self._call(tree_of, (tree_values(value),))
            case Delta() if value.settled().on_driver:
                return self._call(change_here, (value.workspace, value.arrow(), value.schema, value.cancels))
            case _ if (written := remembered.reduced(value, self._rows)) is not None:
                return self._call(*written)
            case _:
                return self._instance(value)

    def _call(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> list[Any]:
        self._alive.append(arguments)
        return ["call", *_name_of(function), self._items(arguments)]

    def _instance(self, value: Any) -> list[Any]:
        """An instance by its class and its state, as its class gives it for a copy."""
        _name_of(type(value))
        maker, arguments, state, items, pairs = (*value.__reduce_ex__(4), None, None, None)[:5]
        if getattr(maker, "__name__", "") == "__newobj__":
            maker, arguments, kind = arguments[0], arguments[1:], "instance"
        else:
            kind = "made"
        more = [list(items or ()), [list(pair) for pair in pairs or ()]]
        self._alive += [arguments, state, more]
        return [kind, *_name_of(maker), self._items(arguments), self._inside(state), *map(self._items, more)]

    def _blob(self, data: bytes) -> list[int]:
        place = [self._offset, len(data)]
        self._blobs.append(data)
        self._offset += len(data)
        return place


class _Reader:
    """The value again, in another process: each node is made when those that it is made of are there."""

    def __init__(self, data: bytes, state: State, directory: Path, rows: RowFiles) -> None:
        if not data.startswith(MAGIC):
            raise _refused(_OTHER_FORMAT)
        start = len(MAGIC) + 8
        end = start + int.from_bytes(data[len(MAGIC) : start], "little")
        self._nodes: list[Any] = json.loads(data[start:end])
        self._blobs = memoryview(data)[end:]
        self._directory = directory
        self._surroundings = _surroundings(state, rows)
        self._values: dict[int, Any] = {}

    def read(self) -> Any:
        """The value of node 0."""
        waiting: list[tuple[int, Iterator[int] | None]] = [(0, None)]
        stages: dict[int, Iterator[list[Any]]] = {}
        while waiting:
            place, left = waiting.pop()
            if left is None:
                if place in stages:
                    continue  # it is made already, or on its way
                stages[place] = self._stages(place, self._nodes[place])
                left = iter(())
            following = next(left, None)
            if following is not None:
                waiting += [(place, left), (following, None)]
                continue
            needs = next(stages[place], None)
            if needs is not None:
                waiting.append((place, iter(_places(needs))))
        return self._values[0]

    def _stages(self, place: int, node: Any) -> Iterator[list[Any]]:
        """Make a node in stages: each gives the values that the next one needs."""
        kind, *rest = node
        if kind in {"list", "dict"}:
            made: Any = [] if kind == "list" else {}
            self._values[place] = made
            yield [item for values in rest for item in values]
            items = list(map(self._value, rest[0]))
            if kind == "list":
                made += items
            else:
                made.update(zip(items, map(self._value, rest[1]), strict=True))
        elif kind in {"tuple", "set", "frozenset"}:
            yield rest[0]
            self._values[place] = _COLLECTIONS[kind](map(self._value, rest[0]))
        elif kind == "call":
            yield rest[2]
            self._values[place] = _named(*rest[:2])(*map(self._value, rest[2]))
        elif kind in {"instance", "made"}:
            yield from self._instance(place, kind, *rest)
        else:
            self._values[place] = self._leaf(kind, *rest)

    def _instance(self, place: int, kind: str, module: str, name: str, *rest: Any) -> Iterator[list[Any]]:
        arguments, state, items, pairs = rest
        maker = _named(module, name)
        if not isinstance(maker, type):
            raise _refused(module, name)
        yield arguments
        given = list(map(self._value, arguments))
        made = maker.__new__(maker, *given) if kind == "instance" else maker(*given)
        self._values[place] = made
        yield [state, *items, *pairs]
        _set_state(made, self._value(state))
        for item in map(self._value, items):
            made.append(item)
        for key, value in map(self._value, pairs):
            made[key] = value

    def _leaf(self, kind: str, *rest: Any) -> Any:
        match kind, rest:
            case "value", [value]:
                return self._value(value)
            case "here", [str(name)] if name in self._surroundings:
                return self._surroundings[name]
            case "path", [str(name)] if not Path(name).is_absolute() and ".." not in Path(name).parts:
                return self._directory / name
            case "name", [str(module), str(name)]:
                return _named(module, name)
            case "member", [str(module), str(name), str(member)]:
                return _member(_named(module, name), member)
            case "array", [str(code), place]:
                return array(code, bytes(self._data(place)))
            case _ if kind in _BLOBS and len(rest) == 1:
                return _BLOBS[kind](self._data(rest[0]))
            case _:
                raise _refused(kind, *map(str, rest))

    def _value(self, value: Any) -> Any:
        match value:
            case [int(place)]:
                return self._values[place]
            case dict():
                ((kind, text),) = value.items()
                return _READ_SMALL[kind](text)
            case _:
                return value

    def _data(self, place: list[int]) -> memoryview:
        offset, size = place
        if offset < 0 or offset + size > len(self._blobs):
            raise _refused(_BEYOND)
        return self._blobs[offset : offset + size]


def _places(values: list[Any]) -> Iterator[int]:
    """The nodes that values refer to."""
    return (value[0] for value in values if isinstance(value, list))


def _set_state(made: Any, state: Any) -> None:
    """Give a value the state of the one that was written, as a copy of it is given it."""
    if state is None:
        return
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    for name, value in {**(attributes or {}), **(slots or {})}.items():
        object.__setattr__(made, name, value)


def _name_of(value: Any) -> tuple[str, str]:
    """The module and name of a class or function; TypeError for one whose values are not written."""
    if not _is_known(value):
        message = f"{value.__module__}.{value.__qualname__}"
        raise TypeError(message)
    return str(value.__module__ or "builtins"), str(value.__qualname__)


def _member(kind: Any, name: str) -> Any:
    if not (isinstance(kind, type) and issubclass(kind, Enum)):
        raise _refused(str(kind), name)
    return kind[name]


def _stream(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())


def _table(data: memoryview) -> pa.Table:
    return pa.ipc.open_stream(pa.py_buffer(bytes(data))).read_all()


def _batch(data: memoryview) -> pa.RecordBatch:
    rows = _table(data).combine_chunks()
    return (rows.to_batches() or [pa.RecordBatch.from_pylist([], rows.schema)])[0]


def _schema(data: memoryview) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(bytes(data)))


_COLLECTIONS: dict[str, Callable[..., Any]] = {"tuple": tuple, "set": set, "frozenset": frozenset}
_BLOBS: dict[str, Callable[[memoryview], Any]] = {
    "bytes": bytes,
    "bytearray": bytearray,
    "table": _table,
    "batch": _batch,
    "chunks": lambda data: _table(data).column(0),
    "column": lambda data: _table(data).column(0).combine_chunks(),
    "schema": _schema,
    "field": lambda data: _schema(data).field(0),
    "type": lambda data: _schema(data).field(0).type,
}
_SMALL: dict[type, Callable[[Any], Any]] = {
    datetime: lambda value: (
        {"dt": [value.isoformat(), value.fold]} if value.tzinfo is None else {"dz": value.isoformat()}
    ),
    date: lambda value: {"da": value.isoformat()},
    time: lambda value: {"ti": value.isoformat()},
    timedelta: lambda value: {"td": [value.days, value.seconds, value.microseconds]},
    Decimal: lambda value: {"de": str(value)},
}
_READ_SMALL: dict[str, Callable[[Any], Any]] = {
    "t": tuple,
    "dt": lambda item: datetime.fromisoformat(item[0]).replace(fold=item[1]),
    "dz": datetime.fromisoformat,
    "da": date.fromisoformat,
    "ti": time.fromisoformat,
    "td": lambda item: timedelta(*item),
    "de": Decimal,
}


def _refused(*what: str) -> DataError:
    hint = "--rebuild makes the state again from the log"
    return DataError(Diagnostic("BAD_SNAPSHOT", f"a snapshot does not hold {' '.join(what)}", hint=hint))


def dumped(value: object, state: State, directory: Path, rows: RowFiles) -> bytes:
    """A value that is remembered, as bytes, and in files what lies on the executors of it.

    UnsupportedError for a value that cannot be kept, DataError or OSError where it could not be written this time.
    """
    try:
        return _Writer(state, directory, rows).write(value)
    except (PenstockError, OSError):
        raise
    except Exception as error:  # a value that nobody has thought of: the log is made again then
        message = f"a snapshot cannot hold this: {message_of(error)}"
        raise UnsupportedError(Diagnostic("BAD_SNAPSHOT", message)) from error


def loaded(data: bytes, state: State, directory: Path, rows: RowFiles) -> Any:
    """The value again; DataError for bytes, or files, that are none of `dumped`."""
    try:
        return _Reader(data, state, directory, rows).read()
    except DataError:
        raise
    except Exception as error:  # whatever such bytes do to the reader
        raise _refused(message_of(error)) from error


def _surroundings(state: State, rows: RowFiles) -> dict[str, Any]:
    return {
        "rows": rows,
        **state.engine.surroundings(),
        "log": state.log,
        "line reader": state.line_reader,
        "state": state,
        "tables": state.tables,
        "views": state.views,
    }
