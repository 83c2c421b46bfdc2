"""Room on the call stack for what is nested deeply."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_CALLS = 20_000


@contextmanager
def room_for_nesting() -> Iterator[None]:
    """Sqlglot goes down some twenty calls for each parenthesis; Python stops at a thousand."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _CALLS))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
