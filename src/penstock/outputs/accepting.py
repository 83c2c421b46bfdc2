"""Can an output take what its query produces (D5): in which form, by which key, and if not, because of what.

A form is chosen, or said by `'form'`, before anything starts. One that cannot take rows back is refused with the
operator that takes them back and its place in the SQL.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.catalog.properties import value_place
from penstock.errors import Diagnostic, SqlError, did_you_mean
from penstock.outputs.declared import FORM, KEY, named_key
from penstock.outputs.forms import Form
from penstock.outputs.sink import Sink


def form_of(sink: Sink, forms: Sequence[Form], chosen: Sequence[Form]) -> Form:
    """The form in which a sink is given its changes; SqlError if the connector, which has `forms`, has none for it.

    Without `'form'` it is the first of those `chosen` that fits.
    """
    said = FORM.value(sink)
    if said:
        form = Form(said)
        if form not in forms:
            message = f"{sink.what}: the connector {sink.connector} has no form {said!r}"
            raise _wrong(sink, "BAD_PROPERTY", message, f"it has {' and '.join(forms)}")
        check_form(sink, form, forms)
        return form
    found = next((form for form in chosen if _fits(sink, form)), None)
    if found is None:
        check_form(sink, chosen[-1], forms)
    return found or chosen[-1]


def check_form(sink: Sink, form: Form, forms: Sequence[Form]) -> None:
    """SqlError for a form that cannot say what the sink's query does."""
    if form is Form.APPEND and sink.taken_back is not None:
        raise _takes_back(sink, forms)
    if form is Form.UPSERT:
        key_of(sink)


def key_of(sink: Sink) -> tuple[str, ...]:
    """The columns by which rows take each other's place, as few as are known; SqlError if there are none."""
    named = named_key(sink)
    if named:
        return _checked(sink, named)
    if sink.key:
        return sink.key
    if not sink.keys:
        raise _keyless(sink)
    columns = [item.name for item in sink.columns]
    found = [tuple(sorted(key, key=columns.index)) for key in sink.keys if key <= set(columns)]
    return min(found, key=lambda key: (len(key), [columns.index(name) for name in key]))


def places_of(sink: Sink, names: Sequence[str]) -> tuple[int, ...]:
    """The places of columns in a row of the sink."""
    columns = [item.name for item in sink.columns]
    return tuple(columns.index(name) for name in names)


def _fits(sink: Sink, form: Form) -> bool:
    if form is Form.APPEND:
        return sink.taken_back is None and not sink.key and not named_key(sink)
    return form is not Form.UPSERT or bool(named_key(sink) or sink.key or sink.keys)


def _checked(sink: Sink, named: Sequence[str]) -> tuple[str, ...]:
    """The columns that 'key' names: there, and known to tell rows apart."""
    columns = {item.name.lower(): item.name for item in sink.columns}
    missing = next((name for name in named if name.lower() not in columns), None)
    if missing is not None:
        message = f"{sink.what}: 'key' names {missing[:60]!r}, which is no column of it"
        near = did_you_mean(missing, list(columns.values()))
        raise SqlError(Diagnostic("UNKNOWN_COLUMN", message, value_place(sink, KEY.name), near), sink.source)
    key = tuple(columns[name.lower()] for name in named)
    if not any({name.lower() for name in item} <= {name.lower() for name in key} for item in sink.keys):
        message = f"{sink.what} may give several rows for one value of its 'key' ({', '.join(key)})"
        known = [", ".join(sorted(item)) for item in sink.keys]
        hint = (
            f"its rows have the key ({min(known, key=len)})"
            if known
            else f"GROUP BY {', '.join(key)} would make it one"
        )
        raise _wrong(sink, "KEY_DIFFERS", message, hint)
    return key


def _takes_back(sink: Sink, forms: Sequence[Form]) -> SqlError:
    found = sink.taken_back
    assert found is not None  # noqa: S101 - the caller asked
    message = f"{sink.what}: rows that are appended stay, but this one takes rows back: {found.operator}"
    others = [f"'form' = '{form}'" for form in forms if form is not Form.APPEND]
    fixes = ["EMIT AFTER WATERMARK, which gives rows once they are final", *others]
    if found.operator == "Scan":
        fixes = ["'append_only' = 'true' on the table that is read, or CREATE STREAM", *others]
    place = found.span or sink.span
    diagnostic = Diagnostic("TAKES_ROWS_BACK", f"{message}, since {found.reason}", place, hint="; or ".join(fixes))
    return SqlError(diagnostic, found.source or sink.source)


def _keyless(sink: Sink) -> SqlError:
    message = f"{sink.what} has no key, by which a row could take the place of another"
    hint = "GROUP BY or DISTINCT gives a view a key, PRIMARY KEY a table"
    if sink.shows_only:
        message = f"{sink.what}: its EMIT shows rows, but does not say which have gone, so no key can follow it"
        hint = "leave EMIT out, or EMIT AFTER WATERMARK; or 'form' = 'append', which adds what is shown"
    return _wrong(sink, "VIEW_WITHOUT_KEY", message, hint)


def _wrong(sink: Sink, code: str, message: str, hint: str) -> SqlError:
    return SqlError(Diagnostic(code, message, sink.span, hint=hint), sink.source)
