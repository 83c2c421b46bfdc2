"""Room on the call stack for what is nested deeply."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_CALLS = 20_000


class _Blocks:
    """The blocks under way in all threads, which share one limit, and the limit that was there before them."""

    lock = threading.Lock()
    count = 0
    before = 0


@contextmanager
def room_for_nesting() -> Iterator[None]:
    """Sqlglot goes down some twenty calls for each parenthesis; Python stops at a thousand."""
    with _Blocks.lock:
        if _Blocks.count == 0:
            _Blocks.before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_Blocks.before, _CALLS))
        _Blocks.count += 1
    try:
        yield
    finally:
        with _Blocks.lock:
            _Blocks.count -= 1
            if _Blocks.count == 0:
                sys.setrecursionlimit(_Blocks.before)
