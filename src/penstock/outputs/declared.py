"""The properties that every output has, and what they say of one."""

from __future__ import annotations

from penstock.outputs.forms import Form
from penstock.outputs.sink import Sink
from penstock.sources.properties import Property, check_duration, duration

TAKES_FORMS = tuple(str(form) for form in Form)
FORM = Property(
    "form",
    "What is given of a change. `'append'`: the rows, of a query that takes none back. `'upsert'`: the row that a key "
    "has now, or that it has none. `'changelog'`: `+I`, `-U`, `+U`, `-D` with each row. `'retract'`: each row that "
    "comes or goes. Without it: `'append'` where nothing is taken back, else what the connector does best.",
    values=TAKES_FORMS,
)
KEY = Property(
    "key",
    "The columns by which rows take each other's place, where the query has several such keys, or a wider one is "
    "wanted. They have to tell all rows apart, and be known to. A table has its PRIMARY KEY.",
    takes="names, as in 'a, b'",
)
OTHER = Property(
    "on_other_pipeline",
    "A target that holds what another pipeline has written is refused, or emptied first. Without a directory each run "
    "is another pipeline.",
    "fail",
    ("fail", "replace"),
)
ON_ERROR = Property(
    "on_output_error",
    "When the output has failed for longer than `timeout`, or has refused a step: the run stops, or goes on with "
    "the others while what this one is given is kept.",
    "stop",
    ("stop", "continue"),
)
TIMEOUT = Property(
    "timeout",
    "How long a receiver that does not answer is tried again, at growing intervals.",
    "1 minute",
    takes="an interval as in '10 seconds'",
    check=check_duration,
)
COMMON = (FORM, KEY, OTHER, ON_ERROR, TIMEOUT)


def named_key(sink: Sink) -> tuple[str, ...]:
    """The columns that `'key'` names, as they are written there; none without it."""
    return tuple(name.strip() for name in sink.properties.get(KEY.name, "").split(",") if name.strip())


def replaces_others(sink: Sink) -> bool:
    """True if a target with what another pipeline has written is to be emptied."""
    return OTHER.value(sink) == "replace"


def timeout_of(sink: Sink) -> float:
    """The seconds for which a receiver that does not answer is tried again."""
    return duration(TIMEOUT.value(sink)).total_seconds()
