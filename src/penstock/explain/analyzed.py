"""EXPLAIN ANALYZE: the circuit of a view as a tree, with what was measured of each operator.

#2 Additive: Aggregate by customer: total = sum(amount)
   3 steps, 120 ms (40%); rows 12 in, 8 out; state 5 rows, 310 B; read 15 rows of it; 3 jobs; last step 31 ms, …
  #1 Source: Scan orders
     3 steps, 2 ms (1%); rows 12 in, 12 out; 0 jobs; last step 1 ms, …
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.catalog.model import Catalog
from penstock.circuit.measured import ON, SETTING, Measured, MeasuredCircuit, Profile, Work, is_measured
from penstock.circuit.places import ON_SPARK
from penstock.errors import DataError, Diagnostic
from penstock.explain.text import chain_text, place_text

OPTION = "analyze"
_SET = (
    f"SET {SETTING} = '{ON}' measures each step from then on; so do Pipeline(profile=True) and penstock run --profile"
)
_RUN = f"penstock run --once --profile runs a program and measures it; in a shell, SET {SETTING} = '{ON}' does"
_LARGE = 1000.0


def check_measured(profile: Profile | None, catalog: Catalog, view: str | None) -> Profile:
    """The profile; DataError if it has nothing to show, with what would measure."""
    if profile is None:
        raise DataError(Diagnostic("NOT_MEASURED", "nothing has run here, so nothing is measured", hint=_RUN))
    if not profile.steps and not is_measured(catalog):
        message = f"no step has been measured: {SETTING} is off"
        raise DataError(Diagnostic("NOT_MEASURED", message, hint=_SET))
    if not profile.steps:
        message = "no step has been measured yet"
        raise DataError(Diagnostic("NOT_STEPPED", message, hint="INSERT rows, or step()"))
    if view is not None and not any(item.steps for item in _operators(profile, view)):
        message = f"view {view} has not had a measured step"
        raise DataError(Diagnostic("NOT_STEPPED", message, hint=f"{_SET}; INSERT rows, or step()"))
    return profile


def query_not_measured() -> DataError:
    """The error of EXPLAIN ANALYZE of a query."""
    message = "a query is answered and forgotten; only a view has steps to be measured"
    return DataError(Diagnostic("NOT_MEASURED", message, hint="make it a view, or EXPLAIN it without ANALYZE"))


def _operators(profile: Profile, view: str) -> list[Measured]:
    """The operators that work for a view, each after its inputs."""
    measured = circuit_of_view(profile, view)
    found = [] if measured is None else measured.operators.values()
    return [item for item in found if view.lower() in item.views]


def circuit_of_view(profile: Profile, view: str) -> MeasuredCircuit | None:
    """The circuit that maintains a view, None if none does."""
    found = (item for item in profile.circuits if view.lower() in item.circuit.outputs)
    return next(found, None)


def analyzed_text(profile: Profile, view: str) -> Iterator[str]:
    """The lines about one view: what was measured, then the operators from the result down."""
    measured = circuit_of_view(profile, view)
    if measured is None:
        return
    mine = sum(item.total.seconds for item in _operators(profile, view))
    yield f"profile of {_steps(profile)}: {_time(profile.seconds)}, the last {_time(profile.last_seconds)}"
    yield f"  of it in these operators: {_time(mine)}{_share(mine, profile)}"
    yield from _tree(profile, measured, measured.circuit.outputs[view.lower()])


def _tree(profile: Profile, measured: MeasuredCircuit, result: int) -> Iterator[str]:
    """Each operator with its measurements, its inputs further in; one with several readers below the first of them."""
    views: dict[int, list[str]] = {}
    for view, number in measured.circuit.outputs.items():
        views.setdefault(number, []).append(view)
    seen: set[int] = set()
    waiting = [(result, "  ")]
    while waiting:
        number, indent = waiting.pop()
        found = measured.operators[number]
        name = f" (view {', '.join(views[number])})" if number in views and number != result else ""
        head = f"{indent}#{number} {type(found.operator).__name__}: {chain_text(found.operator)}{name}"
        if number in seen:
            yield f"{head}: see above"
            continue
        seen.add(number)
        yield head
        yield f"{indent}   {_line(found, profile)}"
        waiting += [(item, indent + "  ") for item in reversed(found.operator.inputs)]


def _line(found: Measured, profile: Profile) -> str:
    if not found.steps:
        return "no work yet"
    total = found.total
    parts = [
        *_where(found),
        f"{_many(found.steps, 'step')}, {_time(total.seconds)}{_share(total.seconds, profile)}",
        f"rows {total.rows_in:,} in, {total.rows_out:,} out",
        *_state(found),
        _many(total.jobs, "job"),
    ]
    if found.merging.jobs:
        parts.append(f"merging {_time(found.merging.seconds)}, {_many(found.merging.jobs, 'job')}")
    return "; ".join([*parts, _last(found.last)])


def _where(found: Measured) -> Iterator[str]:
    """Where it works; nothing where nobody has asked for the process."""
    if found.place != ON_SPARK:
        yield place_text(found.place)


def _state(found: Measured) -> Iterator[str]:
    total = found.total
    if found.state_rows or total.scanned_rows:
        layers = f" in {_many(total.scanned_layers, 'layer')}" if total.scanned_layers else ""
        yield f"state {_many(found.state_rows, 'row')}, {_size(found.state_bytes)}"
        yield f"read {_many(total.scanned_rows, 'row')} of it{layers}"


def _last(work: Work | None) -> str:
    if work is None:
        return "last step: idle"
    return f"last step {_time(work.seconds)}, {work.rows_in:,} in, {work.rows_out:,} out, {_many(work.jobs, 'job')}"


def _steps(profile: Profile) -> str:
    place = f" ({profile.first:,} to {profile.last:,})" if profile.steps > 1 else f" ({profile.first})"
    return _many(profile.steps, "step") + place


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _time(seconds: float) -> str:
    return f"{seconds:,.1f} s" if seconds >= 10 else f"{seconds * 1000:,.0f} ms"  # noqa: PLR2004


def _share(seconds: float, profile: Profile) -> str:
    return f" ({seconds / profile.seconds:.0%})" if profile.seconds else ""


def _size(size: float) -> str:
    units = ["kB", "MB", "GB"]
    unit = "B"
    while size >= _LARGE and units:
        size, unit = size / _LARGE, units.pop(0)
    return f"{size:.0f} B" if unit == "B" else f"{size:,.1f} {unit}"


def work_json(work: Work) -> dict[str, Any]:
    """One operator's work, in seconds and counts."""
    return {
        "seconds": round(work.seconds, 6),
        "rows_in": work.rows_in,
        "rows_out": work.rows_out,
        "state_rows_read": work.scanned_rows,
        "state_layers_read": work.scanned_layers,
        "jobs": work.jobs,
    }


def operator_json(found: Measured) -> dict[str, Any]:
    """The class of an operator, its nodes, its inputs, and what it keeps now."""
    operator = found.operator
    return {
        "operator": operator.number,
        "class": type(operator).__name__,
        "node": chain_text(operator),
        "inputs": list(operator.inputs),
        "where": found.place.where,
        "not_proven": found.place.not_proven or None,
        "views": list(found.views),
        "state_rows": found.state_rows,
        "state_bytes": found.state_bytes,
    }


def measured_json(found: Measured) -> dict[str, Any]:
    """The whole measurement of one operator; `last` is null if it was idle in the last measured step."""
    return operator_json(found) | {
        "steps": found.steps,
        "total": work_json(found.total),
        "last": None if found.last is None else work_json(found.last),
        "merging_seconds": round(found.merging.seconds, 6),
        "merging_jobs": found.merging.jobs,
    }


def analyzed_json(profile: Profile, view: str) -> dict[str, Any]:
    """The measurements of one view: the steps, and its operators, each after its inputs."""
    return {
        "view": view,
        "steps": profile.steps,
        "first_step": profile.first,
        "last_step": profile.last,
        "seconds": round(profile.seconds, 6),
        "last_seconds": round(profile.last_seconds, 6),
        "operators": [measured_json(item) for item in _operators(profile, view)],
    }
