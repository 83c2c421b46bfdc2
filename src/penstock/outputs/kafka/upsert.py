"""The connector upsert-kafka as an output, as Flink has it: the row that a key has now, or that it has none."""

from __future__ import annotations

from penstock.outputs.forms import Form
from penstock.outputs.kafka import PROPERTIES, check_sink, open_receiver, target_of, weakness_of

__all__ = ["CHOSEN", "FORMS", "PROPERTIES", "check_sink", "open_receiver", "target_of", "weakness_of"]

FORMS = (Form.UPSERT,)
CHOSEN = (Form.UPSERT,)
