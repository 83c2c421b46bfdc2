"""The connector print: the changes of a view or table as lines on stdout.

CREATE VIEW totals WITH ('connector' = 'print') AS SELECT …        step 3  totals  +U  (1, 7)
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from penstock.catalog.reserved import OPERATION, STEP
from penstock.outputs.accepting import key_of, places_of
from penstock.outputs.forms import Form, Row, formed
from penstock.outputs.lines import json_line, named
from penstock.outputs.receiver import Owner
from penstock.outputs.rendered import csv_line, text_value
from penstock.outputs.sink import Sink
from penstock.sources.properties import Property
from penstock.steps.change import Change

FORMAT = Property("format", "How a line is written.", "text", ("text", "json", "csv"))
PROPERTIES = (FORMAT,)
FORMS = (Form.CHANGELOG, Form.RETRACT, Form.UPSERT, Form.APPEND)
CHOSEN = (Form.CHANGELOG,)


def check_sink(_sink: Sink, _form: Form) -> None:
    """Everything can be printed."""


def target_of(_sink: Sink) -> str:
    """The stream."""
    return "stdout"


def weakness_of(_sink: Sink) -> str | None:
    """The reason for which a step may be seen twice."""
    return "stdout keeps no number of a step"


def open_receiver(sink: Sink, form: Form, _owner: Owner) -> Printed:
    """The writer of the lines."""
    key = places_of(sink, key_of(sink)) if sink.keys or form is Form.UPSERT else None
    return Printed(FORMAT.value(sink), form, key)


@dataclass
class Printed:
    """Writes lines; it never knows what came of them."""

    style: str
    form: Form
    key: tuple[int, ...] | None
    _begun: bool = False

    def taken(self) -> int | None:
        """Nothing is known."""
        return None

    def take(self, change: Change) -> None:
        """Write a line for each row."""
        if self.style == "csv" and not self._begun:
            sys.stdout.write(csv_line([STEP, OPERATION, *change.columns]))
        self._begun = True
        sys.stdout.writelines(self._line(change, done, row) for done, row in formed(change.rows, self.form, self.key))
        sys.stdout.flush()

    def _line(self, change: Change, done: str, row: Row) -> str:
        if self.style == "json":
            said = {"view": change.view, STEP: change.step, OPERATION: done, **named(change, row)}
            return f"{json_line(said)}\n"
        if self.style == "csv":
            return csv_line([change.step, done, *row])
        values = ", ".join(map(text_value, row))
        return f"step {change.step}  {change.view}  {done}  ({values})\n"

    def close(self) -> None:
        """The stream is the process's."""
