"""A change for the user of Spark where nothing of the step lies there."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.backends.api import Relation
from penstock.backends.spark.session import running_session
from penstock.catalog.reserved import WEIGHT
from penstock.plan.scalar import quoted


def nothing_changed(names: Sequence[str]) -> Relation:
    """The change of a view of those columns in which nothing has changed, on the session that is running."""
    session = running_session()
    assert session is not None  # noqa: S101 - a step has run on it
    return session.createDataFrame([], ", ".join([*(f"{quoted(name)} void" for name in names), f"{WEIGHT} bigint"]))
