"""`SET unbounded_state = 'reject'`: a view whose state would grow as long as rows come is refused (D7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from penstock.analysis.growth import Growth
from penstock.catalog.model import Catalog, View
from penstock.circuit.boundedness import state_of
from penstock.errors import Diagnostic, SqlError
from penstock.rewrite import rewrite

SETTING = "unbounded_state"
REJECT, WARN, ALLOW = "reject", "warn", "allow"


def demand_checks(catalog: Catalog) -> Iterator[Callable[[], object]]:
    """One check for the setting, and one for what it asks of each view."""
    yield partial(check_setting, catalog)
    for view in catalog.views.values():
        yield partial(refuse_unbounded, view, catalog)


def check_setting(catalog: Catalog) -> None:
    """SqlError if the setting has none of its values."""
    value = catalog.settings.get(SETTING, WARN)
    if value.lower() not in (REJECT, WARN, ALLOW):
        message = f"{SETTING} = {value[:100]!r}: expected '{REJECT}', '{WARN}' or '{ALLOW}'"
        raise SqlError(Diagnostic("BAD_SETTING", message))


def refuse_unbounded(view: View, catalog: Catalog) -> None:
    """SqlError for each operator of a view whose state no waterline bounds, where the setting says so."""
    if catalog.settings.get(SETTING, WARN).lower() != REJECT or view.plan is None:
        return
    facts = [fact for fact in state_of(rewrite(view.plan), catalog) if fact.growth is Growth.UNBOUNDED]
    found = [
        Diagnostic(
            "UNBOUNDED_STATE",
            f"the state of view {view.name} is not bounded: {fact.operator} keeps {fact.keeps}; {fact.because}",
            fact.span or view.span,
            hint=fact.fix or f"SET {SETTING} = '{WARN}', or a predicate on time",
        )
        for fact in facts
    ]
    if found:
        raise SqlError(found)
