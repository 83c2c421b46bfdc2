"""The connector files as an output: a folder into which finished files come, each step's rows once.

    <path>/part-000000000040-000000000042.json    the rows of the steps 40 to 42, in the order of the steps
    <path>/_staged/000000000043.json              a step that waits for its file to be full
    <path>/_penstock.json                         the pipeline and the output that write here, and who made the steps

| module | what it does |
| --- | --- |
| `csv_text` | a row as a record of CSV |
| `rendering` | a step's change as the bytes or rows of a file |
| `claims` | whose a folder is, and who has made its steps |
| `folder` | steps staged, files rolled, and what is found of them at opening |
"""

from __future__ import annotations

from pathlib import Path

from penstock.outputs.accepting import key_of, places_of
from penstock.outputs.declared import replaces_others
from penstock.outputs.files.folder import Folder, claimed
from penstock.outputs.files.rendering import rendering_of
from penstock.outputs.forms import Form
from penstock.outputs.receiver import Owner
from penstock.outputs.sink import Sink
from penstock.outputs.zoned import zoned_rows
from penstock.sources.files.declared import refuse_store
from penstock.sources.properties import Property


def _check_count(text: str) -> str | None:
    return None if text.isdecimal() and int(text) > 0 else "it is no whole number above zero"


PATH = Property("path", "The folder; it is made if there is none.", takes="a folder", required=True)
FORMAT = Property("format", "The format of the files.", "json", ("json", "csv", "parquet"))
STEPS = Property(
    "roll_steps",
    "The number of steps with changes after which a file is finished. Without it 1, or any number with `roll_bytes`.",
    takes="a number",
    check=_check_count,
)
BYTES = Property("roll_bytes", "The size from which on a file is finished.", takes="a number", check=_check_count)
ESCAPE = Property(
    "escape",
    "What stands in a quoted field before a quote that is part of it, and before itself. `'\"'` is RFC 4180.",
    "\\",
    ("\\", '"'),
    formats=("csv",),
)
PROPERTIES = (PATH, FORMAT, ESCAPE, STEPS, BYTES)
FORMS = (Form.APPEND, Form.RETRACT, Form.UPSERT, Form.CHANGELOG)
CHOSEN = (Form.APPEND,)


def check_sink(sink: Sink, _form: Form) -> None:
    """Every row can be written; UnsupportedError for a path that is in no folder of this machine."""
    refuse_store(sink, sink.what)


def target_of(sink: Sink) -> str:
    """The folder."""
    return str(Path(PATH.value(sink)))


def weakness_of(_sink: Sink) -> str | None:
    """None: a file has its steps in its name."""
    return None


def open_receiver(sink: Sink, form: Form, owner: Owner) -> Folder:
    """The folder, made this pipeline's."""
    path, style = Path(PATH.value(sink)), FORMAT.value(sink)
    claimed(path, owner, sink.name, empties=replaces_others(sink))
    known = sink.keys or form is Form.UPSERT
    key = places_of(sink, key_of(sink)) if known else None
    steps, size = STEPS.value(sink), BYTES.value(sink)
    found = Folder(
        path,
        rendering_of(style, form, key, ESCAPE.value(sink), zoned_rows(sink)),
        owner,
        sink.name,
        roll_steps=int(steps) if steps else None if size else 1,
        roll_bytes=int(size) if size else None,
    )
    found.catch_up()
    return found
