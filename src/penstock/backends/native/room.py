"""Memory that DuckDB does not count: large values of an expression, and what a statement takes beside its tables.

DuckDB keeps its tables, joins and groups within memory_limit. The elements of a list and the letters of a text that an
expression makes are allocated beside that, for some 2,000 rows at once, and no interrupt is heard meanwhile. So how
large they become is computed first, and `penstock_room(bytes)` refuses what has no room:

    generate_series(1, CASE WHEN penstock_room(n * 8) THEN n END)

Whatever else a statement takes is seen by a thread, which interrupts it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakSet

if TYPE_CHECKING:
    import pyarrow as pa

ROOM = "penstock_room"
BYTES_OF_ELEMENT = 128  # measured: a list of numbers is copied a few times on its way through an expression
BYTES_OF_LETTER = 8
NO_ROOM = "PENSTOCK_NO_ROOM"  # what DuckDB's error says, by which it is known again
_SMALL_BYTES = 1 << 16  # 2,000 of them are no trouble, and the function is not called
_BESIDE_BYTES = 256 << 20  # what a statement may take beside memory_limit before it is stopped
_LOOK_SECONDS = 0.02
_STATM = Path("/proc/self/statm")


def with_room(size: str, argument: str) -> str:
    """SQL of an argument of a call whose value has `size` bytes, SQL that may be NULL; it raises if that is too much.

    The call needs its argument: a guard around the call would not keep DuckDB from computing a constant one.
    """
    return f"CASE WHEN CASE WHEN ({size}) > {_SMALL_BYTES} THEN {ROOM}({size}) ELSE TRUE END THEN {argument} END"


def room_in_arrow(limit: Callable[[], int]) -> Callable[[Any], pa.Array]:
    """The function over the sizes of the values that an expression makes at once."""

    def has_room(sizes: Any) -> pa.Array:
        import pyarrow as pa  # noqa: PLC0415 - 100 ms that `check` need not wait

        wanted = sum(item for item in sizes.to_pylist() if item is not None)
        if wanted > limit():
            raise MemoryError(NO_ROOM)
        return pa.array([True] * len(sizes), pa.bool_())

    return has_room


class Watched(Protocol):
    """Something whose statements take memory."""

    works_for: int | None
    works: int
    memory_limit: int
    resident_before: int  # the memory of the process when the statement under way began
    exceeds: bool

    def interrupt(self) -> None:
        """Have the statement under way fail."""


def resident_bytes() -> int:
    """The memory of this process, 0 where the system does not tell."""
    try:
        return int(_STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


class MemoryWatch:
    """A thread that looks at the memory of the process while a statement is under way."""

    def __init__(self) -> None:
        self._known: WeakSet[Watched] = WeakSet()
        self._lock = threading.Lock()
        self._process = 0

    def watch(self, one: Watched) -> None:
        """Stop its statements from now on when they take too much."""
        with self._lock:
            self._known.add(one)
            if self._process != os.getpid() and resident_bytes():  # a fork has no thread of its parent's
                self._process = os.getpid()
                threading.Thread(target=self._follow, name="penstock-memory", daemon=True).start()

    def _follow(self) -> None:
        while True:
            time.sleep(_LOOK_SECONDS)
            self._look()  # whose variables keep nobody alive between two looks

    def _look(self) -> None:
        with self._lock:
            known = [(one, one.works) for one in self._known if one.works_for is not None]
        resident = resident_bytes() if known else 0
        for one, work in known:
            most = one.resident_before + one.memory_limit + _BESIDE_BYTES
            if resident > most and one.works_for is not None and one.works == work:
                one.exceeds = True
                one.interrupt()


MEMORY = MemoryWatch()
