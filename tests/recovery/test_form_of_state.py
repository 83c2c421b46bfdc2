"""State that other code has written, of the form that this code says: it is gone on from, and gives the right answers.

`earlier/state.tar.gz` is the directory of a pipeline whose log is cut, behind its first steps, as a release has left
it; `earlier/state.json` has the classes of its memory with their fields, and its form.

Where one of these tests fails because state is made otherwise, raise FORM in penstock/steps/origin.py, as otherwise a
directory with `log_retention = 'recovery'` would be read wrongly, and write both files anew:

    PENSTOCK_GOLDENS=write python -m pytest tests/recovery/test_form_of_state.py
"""

from __future__ import annotations

import inspect
import json
import os
import re
import tarfile
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path

import pytest

import penstock
from penstock.steps.memory_file import MAGIC
from penstock.steps.origin import FORM

EARLIER = Path(__file__).with_name("earlier")
PROGRAM = (EARLIER / "state.sql").read_text(encoding="utf-8")
ARCHIVE, SHAPE = EARLIER / "state.tar.gz", EARLIER / "state.json"
START = datetime(2030, 1, 1)  # noqa: DTZ001 - UTC
BEFORE, AFTER = range(1, 9), range(9, 15)
VIEWS = (
    "totals",
    "extremes",
    "minutes",
    "final_minutes",
    "visits",
    "best",
    "ranked",
    "unserved",
    "pages",
    "both",
    "outer_joined",
)


@penstock.LaterSession
def no_spark() -> None:
    pytest.fail("Spark was asked for")


def opened(folder: Path) -> penstock.Pipeline:

    return penstock.Pipeline(PROGRAM, directory=folder, spark=no_spark)


def stepped(pipeline: penstock.Pipeline, numbers: range) -> None:
    """Steps of half a minute each: rows that are new, that change, that go, and that come late."""
    for number in numbers:
        clock = START + timedelta(seconds=30 * number)
        late = clock - timedelta(minutes=5 if number % 5 == 0 else 0)
        item, customer = f"item {number % 3}", number % 4
        pipeline.step(
            {
                "customer": [(customer, f"name {number}", f"area {customer % 2}")],
                "sale": [(clock, customer, item, number, number / 8), (late, (number + 1) % 4, "item 1", 1, 0.25)],
                "click": [(clock, customer, f"page {number % 5}")] * (number % 3),
            },
            clock=clock,
        )
        if number % 4 == 0:
            pipeline.step(sql=f"DELETE FROM customer WHERE id = {customer}", clock=clock)


def answers(pipeline: penstock.Pipeline) -> dict[str, list[object]]:
    return {name: sorted(map(repr, pipeline.query(f"SELECT * FROM {name}").rows)) for name in VIEWS}


def shape(folder: Path) -> dict[str, object]:
    """The classes of the last snapshot's memory, with their fields."""
    (*_, last) = sorted((folder / "state").glob("0*[0-9]"))
    found = {}
    for module, name in sorted(classes((last / "memory.bin").read_bytes())):
        kind = getattr(import_module(module), name)
        if isinstance(kind, type):
            found[f"{module}.{name}"] = [item.name for item in fields(kind)] if is_dataclass(kind) else attributes(kind)
    return {"form": FORM, "classes": found}


def attributes(kind: type) -> list[str]:
    """The attributes that the code of a class and of those above it gives to its instances."""
    code = [inspect.getsource(item) for item in kind.__mro__ if item.__module__.startswith("penstock.")]
    return sorted({name for text in code for name in re.findall(r"self\.(\w+)(?:: [^=\n]+)? = ", text)})


def classes(data: bytes) -> set[tuple[str, str]]:
    """The modules and names of this package's classes and functions in the memory of a snapshot."""
    start = len(MAGIC) + 8
    nodes = json.loads(data[start : start + int.from_bytes(data[len(MAGIC) : start], "little")])
    named = [node for node in nodes if node[0] in {"instance", "made", "member", "name", "call"}]
    return {(module, name) for _, module, name, *_ in named if module.startswith("penstock.")}


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the archive, which is written anew if that is asked for."""
    folder = tmp_path_factory.mktemp("earlier")
    if os.environ.get("PENSTOCK_GOLDENS") == "write":
        with opened(folder / "state") as pipeline:
            stepped(pipeline, BEFORE)
        SHAPE.write_text(json.dumps(shape(folder / "state"), indent=1) + "\n", encoding="utf-8")
        with tarfile.open(ARCHIVE, "w:gz") as archive:
            archive.add(folder / "state", "state")
        return folder / "state"
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder / "state"


def test_what_is_remembered_has_the_form_that_the_code_says(earlier: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "state") as pipeline:
        stepped(pipeline, BEFORE)
    assert shape(tmp_path / "state") == json.loads(SHAPE.read_text(encoding="utf-8")), __doc__


def test_state_of_an_earlier_release_goes_on_with_right_answers(earlier: Path, tmp_path: Path) -> None:
    header = json.loads(max((earlier / "state").glob("*/header.json")).read_text(encoding="utf-8"))
    assert header["origin"]["form"] == FORM, __doc__
    with opened(tmp_path / "whole") as whole, opened(earlier) as pipeline:
        stepped(whole, BEFORE)
        assert answers(pipeline) == answers(whole)
        stepped(whole, AFTER)
        stepped(pipeline, AFTER)
        assert answers(pipeline) == answers(whole)
        assert len(pipeline.query("SELECT * FROM error_view").rows) == len(whole.query("SELECT * FROM error_view").rows)
