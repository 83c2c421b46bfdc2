"""All that a change of program touches, as it was before: it comes back when the change does not happen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.catalog.model import Catalog
from penstock.engine.held import HeldEngine
from penstock.steps.intake.memory import TableMemory
from penstock.steps.manifest import Declared
from penstock.steps.state import State
from penstock.steps.targets import Target
from penstock.steps.views import HeldViews


@dataclass(frozen=True)
class Held:
    """The state at one moment, but for what follows committed steps alone."""

    state: State
    engine: HeldEngine
    views: HeldViews
    catalog: Catalog
    targets: tuple[Target, ...]
    declared: Declared
    memories: Mapping[str, TableMemory]

    @classmethod
    def of(cls, state: State) -> Held:
        """The state as it is now."""
        declared = replace(state.declared, statements=list(state.declared.statements))
        memories = dict(state.tables)
        return cls(state, state.engine.held(), state.views.held(), state.catalog, state.targets, declared, memories)

    def restore(self) -> None:
        """Have all be as it was."""
        state = self.state
        self.engine.restore()
        state.views.restore(self.views)
        state.tables.take_back(self.memories)
        state.catalog, state.targets, state.declared = self.catalog, self.targets, self.declared

    def let_go(self) -> None:
        """Give back what has gone for good."""
        self.engine.let_go()
        self.state.views.let_go()
        for name, memory in self.memories.items():
            if self.state.tables.known(name) is not memory:
                memory.drop()
