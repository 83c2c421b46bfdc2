"""The start of a command: the first half second is loading modules, and some of it can be left out."""

from __future__ import annotations

import gc
import sys
from importlib.abc import MetaPathFinder

_YOUNG, _OLDER = 50_000, 20


def collect_seldom() -> None:
    """Have Python look for garbage after 50,000 new objects, not after 700.

    Loading modules makes objects that all stay: looking through them again and again took a seventh of the time of
    `run --once` over a small file.
    """
    gc.set_threshold(_YOUNG, _OLDER, _OLDER)


def leave_pandas() -> None:
    """Have PyArrow, if it is loaded, make its arrays without loading pandas.

    It looks for pandas when it makes its first array, and to load that takes another seventh. It looks again once it
    is given a DataFrame; nothing at the command line gives it one before.
    """
    if "pyarrow" not in sys.modules or "pandas" in sys.modules:
        return
    import pyarrow as pa  # noqa: PLC0415 - it is loaded already, or not wanted

    sys.meta_path.insert(0, _NoPandas)
    try:
        pa.array([], pa.null())
    finally:
        sys.meta_path.remove(_NoPandas)


class _NoPandas(MetaPathFinder):
    """Finds no pandas."""

    @classmethod
    def find_spec(cls, fullname: str, path: object, target: object = None) -> None:  # noqa: ARG003 - importlib's
        """None, with which others look for it; ModuleNotFoundError for pandas."""
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)
