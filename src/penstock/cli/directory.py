"""A pipeline's directory as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.pipeline.inspection import DirectoryFacts, SnapshotFact
from penstock.pipeline.source_facts import taken_text


def told(found: DirectoryFacts) -> str:
    """The things that lie there, in lines."""
    return "\n".join(_lines(found))


def _lines(found: DirectoryFacts) -> Iterator[str]:
    yield f"directory   {found.path}"
    yield f"in use by   {found.in_use_by or 'nobody'}"
    deployed = ", deployed since" if found.deployed else ""
    yield f"program     {len(found.program)} statements, began {found.began}{deployed}"
    yield f"step        {found.step:,}" + (f", clock {found.clock}" if found.clock else "")
    since = f", from step {found.first_step:,}" if found.first_step > 1 else ""
    yield f"log         {_size(found.log_bytes)}{since}"
    for item in found.tables:
        yield f"  {item.name}: {item.rows:,} rows of changes in {item.steps:,} steps, {_size(item.bytes)}"
    yield from _some("state", f"{_size(found.state_bytes)}", map(_snapshot, found.snapshots))
    for output in found.outputs:
        lacks = f", lacks {output.lacks:,}" if output.lacks else ""
        yield f"output      {output.name}: step {output.step:,}{lacks}"
    for table, ranges in found.sources.items():
        yield f"source      {table}: {taken_text(ranges)}"
    for name, step in found.positions.items():
        yield f"position    {name}: step {step:,}"


def _some(what: str, total: str, lines: Iterable[str]) -> Iterator[str]:
    listed = list(lines)
    yield f"{what:<12}{total if listed else 'none: going on makes the steps of the log again'}"
    yield from (f"  {line}" for line in listed)


def _snapshot(item: SnapshotFact) -> str:
    where = "a snapshot" if item.step is None else f"step {item.step:,}, clock {item.clock}"
    release = f", by {item.release}" if item.release else ""
    return f"{where}, {_size(item.bytes)}{release}: {item.state}"


def _size(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count} bytes"
