"""Applies the stages, checks each rule that fires, and writes it down.

A rule must keep the names of the columns, and their types as far as they are known, and a node refuses to be invalid; a
rule that breaks this is a mistake of ours, and is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from penstock.catalog.model import Catalog
from penstock.errors import Diagnostic, InternalError, message_of
from penstock.plan.nodes import Plan
from penstock.rewrite.rule import Fired, Rule, Stage
from penstock.rewrite.stages import STAGES

_LIMIT = 5000  # firings in one stage: rules that undo each other are found, not waited for


def rewrite(plan: Plan, trace: list[Fired] | None = None, stages: Sequence[Stage] = STAGES) -> Plan:
    """The plan that gives the same rows with less state and work; each rule that fired is added to `trace`.

    The result is the same for equal plans. Raises InternalError if a rule breaks a plan or rules never come to an end.
    """
    record = (lambda _: None) if trace is None else trace.append
    for stage in stages:
        run = _Run(stage, record)
        plan = run.whole(plan) if stage.whole else run.everywhere(plan)
    return plan


def rewrite_views(catalog: Catalog, traces: Mapping[str, list[Fired]] | None = None) -> Catalog:
    """The catalog with the plan of each view rewritten; what fired for a view is added to its list in `traces`."""
    found = {} if traces is None else traces
    views = {
        name: view if view.plan is None else replace(view, plan=rewrite(view.plan, found.get(name)))
        for name, view in catalog.views.items()
    }
    return replace(catalog, views=MappingProxyType(views))


class _Run:
    def __init__(self, stage: Stage, record: Callable[[Fired], None]) -> None:
        self._stage = stage
        self._record = record
        self._settled: dict[int, Plan] = {}
        self._fired = 0

    def whole(self, plan: Plan) -> Plan:
        """Each rule once, on the root."""
        for rule in self._stage.rules:
            plan = self._try(rule, plan) or plan
        return plan

    def everywhere(self, plan: Plan) -> Plan:
        """Inputs first, then the node, until no rule fires any more."""
        found: Plan | None = plan
        while found is not None and id(found) not in self._settled:
            plan = self._over_settled(found)
            found = self._first(plan)
        plan = plan if found is None else found
        self._settled[id(plan)] = plan
        return plan

    def _over_settled(self, plan: Plan) -> Plan:
        inputs = plan.inputs
        settled = tuple(self.everywhere(item) for item in inputs)
        same = all(new is old for new, old in zip(settled, inputs, strict=True))
        return plan if same else plan.with_inputs(*settled)

    def _first(self, plan: Plan) -> Plan | None:
        """The plan that the first rule that fires makes of the node; None if none does."""
        return next((found for rule in self._stage.rules if (found := self._try(rule, plan)) is not None), None)

    def _try(self, rule: Rule, plan: Plan) -> Plan | None:
        try:
            found = rule(plan)
        except InternalError as error:
            raise _mistake(rule, message_of(error)) from error
        if found is not None:
            self._check(rule, plan, found)
            self._record(Fired(self._stage.name, rule.__name__, plan, found))
        return found

    def _check(self, rule: Rule, before: Plan, after: Plan) -> None:
        self._fired += 1
        if self._fired > _LIMIT:
            raise _mistake(rule, f"the rules of stage {self._stage.name} do not come to an end")
        if before.names != after.names:
            raise _mistake(rule, f"it turned the columns {_listed(before.names)} into {_listed(after.names)}")
        for old, new in zip(before.fields, after.fields, strict=True):
            if None not in (old.type, new.type) and old.type != new.type:
                raise _mistake(rule, f"it turned column {old.name} from {old.type} into {new.type}")


def _mistake(rule: Rule, what: str) -> InternalError:
    return InternalError(Diagnostic("REWRITE_FAILED", f"rewriting rule {rule.__name__} broke a plan: {what}"))


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names)
