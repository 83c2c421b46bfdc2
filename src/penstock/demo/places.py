"""Where the operators of each view work, a line for each view; told before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.circuit.places import SPARK
from penstock.engine.foreseeing import foreseen
from penstock.explain.report import Report, reports
from penstock.explain.text import place_text
from penstock.pipeline.pipeline import Pipeline


@dataclass(frozen=True)
class Places:
    """The places of a program's views."""

    views: Sequence[Report]

    @property
    def on_spark(self) -> str:
        """The reason for which all operators are on Spark; empty if each is judged by itself."""
        return next((view.placed.on_spark for view in self.views if view.placed is not None), "")

    def render(self) -> RenderableType:
        """A line for each view, or one for all of them."""
        if self.on_spark:
            return Text(f"Every view works on Spark, for {self.on_spark}.")
        table = Table.grid(padding=(0, 2))
        for view in self.views:
            table.add_row(Text(f"  {view.name}", style="cyan"), _line(view))
        return Group(Text("Where the views work:"), table)


def places_of(pipeline: Pipeline) -> Places:
    """The places in which the views of a pipeline will work; starts nothing."""
    return Places(tuple(reports(pipeline.catalog, placing=partial(foreseen, local=pipeline.is_local))))


def _line(view: Report) -> str:
    known = {} if view.placed is None else view.placed.places
    mine = [known[item.number] for item in view.verdict.operators if item.number in known]
    elsewhere = [place for place in mine if place.where == SPARK]
    if not elsewhere:
        return "in the process"
    because = place_text(elsewhere[0])  # the first: those that read it may have no other reason
    return because if len(elsewhere) == len(mine) else f"in the process, {len(elsewhere)} of {len(mine)} {because}"
