"""The connector blackhole: changes are made and go nowhere, as Flink has it to see how quick a program is without one.

CREATE TABLE nowhere (k INT) WITH ('connector' = 'blackhole'); INSERT INTO nowhere SELECT …
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.outputs.forms import Form
from penstock.outputs.receiver import Owner
from penstock.outputs.sink import Sink
from penstock.sources.properties import Property
from penstock.steps.change import Change

PROPERTIES: tuple[Property, ...] = ()
FORMS = (Form.CHANGELOG, Form.RETRACT, Form.UPSERT, Form.APPEND)
CHOSEN = (Form.CHANGELOG,)


def check_sink(_sink: Sink, _form: Form) -> None:
    """Everything can be let go."""


def target_of(_sink: Sink) -> str:
    """There is none."""
    return "nowhere"


def weakness_of(_sink: Sink) -> str | None:
    """The reason for which a step may be let go twice."""
    return "nothing is kept of a step"


def open_receiver(_sink: Sink, _form: Form, _owner: Owner) -> Hole:
    """The receiver of nothing."""
    return Hole()


@dataclass
class Hole:
    """Takes steps and keeps nothing of them."""

    def taken(self) -> int | None:
        """Nothing is known."""
        return None

    def take(self, change: Change) -> None:
        """Let it go."""

    def close(self) -> None:
        """There is nothing to close."""
