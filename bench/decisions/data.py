"""Rows of TPC-H's generator (`tpchgen-cli`, which `make tpch` installs), and those that a step replaces.

A replaced order or line keeps its key and gets all else from another one, so that parts are still bought of those who
sell them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.nexmark.files import default_folder
from bench.nexmark.task import UnavailableError

FACTS: Mapping[str, tuple[str, ...]] = {"orders": ("o_orderkey",), "lineitem": ("l_orderkey", "l_linenumber")}
Tables = Mapping[str, pa.Table]
_ROOT = Path(__file__).resolve().parents[2]
_TOOL = "tpchgen-cli"


def generated(scale: float, columns: Mapping[str, list[str]]) -> Tables:
    """The tables at a scale factor, from files of an earlier run where they are there."""
    folder = default_folder().parent / "decisions" / f"{scale:g}"
    if not (folder / "done").exists():
        _generate(folder, scale)
    return {name: _plain(pq.read_table(folder / f"{name}.parquet", columns=named)) for name, named in columns.items()}


def _generate(folder: Path, scale: float) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    said = ["parquet", "--scale-factor", f"{scale:g}", "--output-dir", str(folder)]
    subprocess.run([str(tool()), *said], check=True, capture_output=True)  # noqa: S603 - our own call
    (folder / "done").touch()


def tool() -> Path:
    """The generator: of its own environment, of this one, or of the machine. UnavailableError if there is none."""
    places = (_ROOT / ".venv-tpch" / "bin", Path(sys.executable).parent)
    found = next((place / _TOOL for place in places if (place / _TOOL).exists()), None) or shutil.which(_TOOL)
    if found is None:
        message = f"there is no {_TOOL}: make tpch puts it there"
        raise UnavailableError(message)
    return Path(found)


def _plain(table: pa.Table) -> pa.Table:
    """Texts as Arrow's usual ones."""
    kinds = [pa.string() if pa.types.is_string_view(field.type) else field.type for field in table.schema]
    return table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))


def replaced(tables: Tables, share: float, turn: int) -> Tables:
    """New rows for a share of the facts, others in each turn."""
    numbers = np.random.default_rng(turn)
    return {name: _replaced(tables[name], keys, share, numbers) for name, keys in FACTS.items()}


def _replaced(table: pa.Table, keys: tuple[str, ...], share: float, numbers: np.random.Generator) -> pa.Table:
    count = max(round(table.num_rows * share), 1)
    chosen = table.take(pa.array(numbers.choice(table.num_rows, count, replace=False)))
    others = table.take(pa.array(numbers.choice(table.num_rows, count, replace=False)))
    return pa.table({name: (chosen if name in keys else others)[name] for name in table.column_names})
