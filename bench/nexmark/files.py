"""The events in files, one for each table and step: `<folder>/<format>/<table>/<step>.<format>`, read by every system.

A folder holds one stream of events; it is written once and found again by its name. Each format has the same rows.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from bench.nexmark.generate import EDITION, TABLES, Stream

FORMATS = ("parquet", "json", "csv")
SIDE_INPUT = "side_input"
_SIDE_KEYS = 10_000
_STAMP = "%Y-%m-%dT%H:%M:%S"
_GROUP_ROWS = 1 << 16


@dataclass(frozen=True)
class Data:
    """Events in files, cut into steps."""

    folder: Path
    stream: Stream
    step: int

    @property
    def steps(self) -> int:
        """How many steps there are."""
        return -(-self.stream.events // self.step)

    def file(self, table: str, step: int, kind: str = "parquet") -> Path:
        """The file of one table in one step, counted from 0."""
        return self.folder / kind / table / f"{step:05d}.{kind}"

    def table(self, table: str, kind: str = "parquet") -> Path:
        """The folder with a table's files."""
        return self.folder / kind / table

    def files(self, table: str, steps: int | None = None, kind: str = "parquet") -> list[str]:
        """A table's files of the first steps (all of them), in order."""
        return [str(self.file(table, step, kind)) for step in range(self.steps if steps is None else steps)]

    def side_input(self, kind: str = "parquet") -> Path:
        """The file of the side input of q13."""
        return self.folder / kind / SIDE_INPUT / f"00000.{kind}"


def written(folder: Path, stream: Stream, step: int, formats: Sequence[str] = ("parquet",)) -> Data:
    """The events as files below the folder, from an earlier run where they are there."""
    data = Data(folder / events_name(stream, step), stream, step)
    missing = [kind for kind in formats if not (data.folder / kind / "done.json").exists()]
    if missing:
        _write(data, missing)
    return data


def events_name(stream: Stream, step: int) -> str:
    """A name for these events in these steps, and for no others."""
    return f"{EDITION}-{stream.events}x{step}-rate{stream.rate:g}-seed{stream.seed}-disorder{stream.disorder:g}"


def _write(data: Data, formats: Sequence[str]) -> None:
    for kind in formats:
        shutil.rmtree(data.folder / kind, ignore_errors=True)
        for table in (*TABLES, SIDE_INPUT):
            data.table(table, kind).mkdir(parents=True)
        _WRITERS[kind](_side_input(), data.side_input(kind))
    for number, step in enumerate(data.stream.steps(data.step)):
        for kind in formats:
            for table in TABLES:
                _WRITERS[kind](step[table], data.file(table, number, kind))
    for kind in formats:
        (data.folder / kind / "done.json").write_text(json.dumps(asdict(data.stream)))


def _side_input() -> pa.Table:
    """What q13 looks up for each bid: a value for each remainder of an auction's number."""
    return pa.table({"key": list(range(_SIDE_KEYS)), "value": [f"value-{key:05d}" for key in range(_SIDE_KEYS)]})


def _write_parquet(table: pa.Table, path: Path) -> None:
    # In groups of rows as writers make them, so that each system may read a file with all cores.
    pq.write_table(table, path, compression="snappy", row_group_size=_GROUP_ROWS)


def _write_csv(table: pa.Table, path: Path) -> None:
    csv.write_csv(_stamped(table), path, csv.WriteOptions(quoting_style="needed"))


def _write_json(table: pa.Table, path: Path) -> None:
    """One object a line. No text of the events needs escaping."""
    plain = _stamped(table)
    parts: list[pa.Array | str] = []
    for place, (name, column) in enumerate(zip(plain.column_names, plain.columns, strict=True)):
        mark = '"' if pa.types.is_string(column.type) else ""
        parts += [f'{"," if place else "{"}"{name}":{mark}', pc.cast(column.combine_chunks(), pa.string()), mark]
    lines = pc.binary_join_element_wise(*parts, "}\n", "") if table.num_rows else pa.array([], pa.string())
    path.write_text("".join(lines.to_pylist()))


def _stamped(table: pa.Table) -> pa.Table:
    """Times as text in UTC, as JSON and CSV have them."""
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            text = pc.binary_join_element_wise(pc.strftime(table[field.name], format=_STAMP), "Z", "")
            table = table.set_column(place, field.name, text)
    return table


_WRITERS: dict[str, Callable[[pa.Table, Path], None]] = {
    "parquet": _write_parquet,
    "json": _write_json,
    "csv": _write_csv,
}


def default_folder() -> Path:
    """Where events are kept between runs: PENSTOCK_BENCH_DATA, or a folder in the user's cache."""
    given = os.environ.get("PENSTOCK_BENCH_DATA")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(given) if given else cache / "penstock" / "nexmark"
