"""The memory of a pipeline as bytes: Python's pickle, of few classes.

What a process makes for itself (the store, the workspace, the log) is named only, and files of the directory are named
from there, so that it may be moved. Rows on the executors go to files beside the bytes, which have their names. All
that is written and read is plain data of this package, or of the classes and functions that are listed here: anything
else is refused on both sides, and bytes of another origin call nothing else.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, MethodType
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

# The classes of this package that remember something, beside its dataclasses and enumerations.
_REMEMBERING = (KeyStore, RowCounts, *remembered.CLASSES)
_METHODS = ("step_clock", "_settle", *remembered.METHODS)
_OTHERS = {
    "array": ("array", "_array_reconstructor"),
    "builtins": ("bytearray", "complex", "frozenset", "range", "set", "slice"),
    "collections": ("Counter", "OrderedDict", "defaultdict", "deque"),
    "datetime": ("date", "datetime", "time", "timedelta", "timezone"),
    "decimal": ("Decimal",),
    "functools": ("partial",),
    "pyarrow.lib": (
        *("_reconstruct_table", "_restore_array", "chunked_array", "field", "py_buffer", "schema", "type_for_alias"),
        *("timestamp", "decimal128", "list_", "large_list", "map_", "struct", "duration", "time64", "dictionary"),
        *("KeyValueMetadata",),
    ),
    "uuid": ("UUID",),
}


def frozen(values: dict[Any, Any]) -> Mapping[Any, Any]:
    """A mapping that nobody can change."""
    return MappingProxyType(values)


def bound(owner: object, name: str) -> object:
    """A method of a value of this package."""
    if name not in _METHODS:
        raise _refused(type(owner).__qualname__, name)
    return getattr(owner, name)


def change_here(workspace: Any, rows: pa.Table, schema: Any, cancels: bool) -> Delta:  # noqa: FBT001 - pickle gives it
    """A change that is on the driver."""
    found: Delta = workspace.change(rows, schema, cancels=cancels)
    return found


_FUNCTIONS = (frozen, bound, tree_of, change_here, canonical_row, view_gate, schema_of, *remembered.FUNCTIONS)


def _is_known(found: object) -> bool:
    """True for a class whose values are written and read, or a function that makes one."""
    module = str(getattr(found, "__module__", None) or "builtins")
    if module.split(".")[:2] in [["penstock", package] for package in APART]:
        return False  # a snapshot is not bound to its code
    if isinstance(found, type) and module.startswith("penstock."):
        return is_dataclass(found) or issubclass(found, (Enum, *_REMEMBERING))
    if any(found is item for item in _FUNCTIONS):
        return True
    return str(getattr(found, "__qualname__", "")) in _OTHERS.get(module, ())


def _found(module: str, name: str) -> object:
    """The thing that a module calls so; None where there is no such thing."""
    known = sys.modules.get(module) or import_module(module)
    return getattr(known, name, None) if name.isidentifier() else None


class _Pickler(pickle.Pickler):
    """Writes what is remembered."""

    def __init__(self, file: io.BytesIO, state: State, directory: Path, rows: RowFiles) -> None:
        super().__init__(file, protocol=5)
        self._directory = directory
        self._rows = rows
        self._names = {id(item): name for name, item in _surroundings(state, rows).items() if item is not None}

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, Path):
            return ("path", str(obj.relative_to(self._directory)))
        name = self._names.get(id(obj))
        return None if name is None else ("here", name)

    def reducer_override(self, obj: Any) -> Any:
        match obj:
            case MappingProxyType():
                return frozen, (dict(obj),)
            case MethodType() if obj.__name__ in _METHODS:
                return bound, (obj.__self__, obj.__name__)
            case _ if is_tree(obj):
                return tree_of, (tree_values(obj),)
            case Delta() if obj.settled().on_driver:
                return change_here, (obj.workspace, obj.arrow(), obj.schema, obj.cancels)
            case _ if (written := remembered.reduced(obj, self._rows)) is not None:
                return written
            case _:
                what = obj if hasattr(obj, "__qualname__") else type(obj)
                if not _is_known(what) and type(obj).__module__ != "pyarrow.lib":  # these say by what they are made
                    named = f"{what.__module__}.{what.__qualname__}"
                    raise pickle.PicklingError(named)
                return NotImplemented


class _Unpickler(pickle.Unpickler):
    """Reads it again in another process."""

    def __init__(self, file: io.BytesIO, state: State, directory: Path, rows: RowFiles) -> None:
        super().__init__(file)
        self._directory = directory
        self._surroundings = _surroundings(state, rows)

    def persistent_load(self, pid: Any) -> Any:
        kind, name = pid
        if kind == "path" and not Path(name).is_absolute() and ".." not in Path(name).parts:
            return self._directory / name
        if kind == "here" and name in self._surroundings:
            return self._surroundings[name]
        raise _refused(kind, name)

    def find_class(self, module: str, name: str) -> Any:
        own = module.startswith("penstock.") or module in _OTHERS
        found = _found(module, name) if own else None
        if found is None or not _is_known(found):
            raise _refused(module, name)
        return found


def _refused(*what: str) -> DataError:
    hint = "--rebuild makes the state again from the log"
    return DataError(Diagnostic("BAD_SNAPSHOT", f"a snapshot does not hold {' '.join(what)}", hint=hint))


def dumped(value: object, state: State, directory: Path, rows: RowFiles) -> bytes:
    """A value that is remembered, as bytes, and in files what lies on the executors of it.

    UnsupportedError for a value that cannot be kept, DataError or OSError where it could not be written this time.
    """
    file = io.BytesIO()
    try:
        _Pickler(file, state, directory, rows).dump(value)
    except (PenstockError, OSError):
        raise
    except Exception as error:  # a value that nobody has thought of: the log is made again then
        raise UnsupportedError(
            Diagnostic("BAD_SNAPSHOT", f"a snapshot cannot hold this: {message_of(error)}")
        ) from error
    return file.getvalue()


def loaded(data: bytes, state: State, directory: Path, rows: RowFiles) -> Any:
    """The value again; DataError for bytes, or files, that are none of `dumped`."""
    try:
        return _Unpickler(io.BytesIO(data), state, directory, rows).load()
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
