"""Spark asked what it has against views that do not run, over tables without rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from penstock.backends.api import Relation
from penstock.backends.spark.batch import empty_relation, view_schema_frame
from penstock.backends.spark.session import open_session
from penstock.backends.spark.workspace import Workspace
from penstock.catalog.model import Column, View


class Analysing:
    """The relations of a program as Spark knows them by now."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._relations: dict[str, Relation] = {}

    def know_table(self, name: str, columns: tuple[Column, ...]) -> None:
        """Have a table be there for the views behind it."""
        self._relations[name.lower()] = empty_relation(self._workspace, columns)

    def know_view(self, view: View) -> None:
        """The same of a view; what Spark has against it is raised as Spark says it."""
        self._relations[view.name.lower()] = view_schema_frame(self._workspace, view, self._relations)


@contextmanager
def analysing(zone: str, conf: Mapping[str, str] | None) -> Iterator[Analysing]:
    """A block in which Spark can be asked; starts a JVM where none is running."""
    spark = open_session(master="local[1]", conf=conf)
    spark.conf.set("spark.sql.session.timeZone", zone)
    workspace = Workspace(spark)
    try:
        yield Analysing(workspace)
    finally:
        workspace.close()
