"""The actions of one version of a Delta table, from the file of its log.

    _delta_log/00000000000000000007.json    a line each: {"add": …}, {"remove": …}, {"cdc": …}, {"metaData": …}, …

A version with files of changed rows (`cdc`) is those; of another the files that it adds and removes are its change, but
for those that only move rows (`dataChange` is false), as OPTIMIZE does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from penstock.sources.lake.api import UnreadableError

Kind = Literal["add", "remove", "cdc"]


@dataclass(frozen=True, slots=True)
class Action:
    """A file that a version adds or removes, or in which it says what it changes."""

    kind: Kind
    path: str
    partition: Mapping[str, Any]


def log_path(version: int) -> str:
    """The file of a version, within the table's folder."""
    return f"_delta_log/{version:020}.json"


def actions_of(text: bytes, version: int) -> Sequence[Action]:
    """The actions that change rows; UnreadableError for one that cannot be read."""
    found = [_action(json.loads(line), version) for line in text.splitlines() if line.strip()]
    actions = [action for action in found if action is not None]
    feed = [action for action in actions if action.kind == "cdc"]
    return feed or actions


def says_columns(text: bytes) -> bool:
    """True if a version says which columns the table has from then on."""
    return any("metaData" in json.loads(line) for line in text.splitlines() if line.strip())


def _action(line: Mapping[str, Any], version: int) -> Action | None:
    for kind in ("add", "remove", "cdc"):
        said = line.get(kind)
        if said is None:
            continue
        if said.get("deletionVector") is not None:
            message = f"version {version} marks rows of a file as deleted (a deletion vector), which cannot be read"
            raise UnreadableError(message, DELETION_VECTORS)
        if kind != "cdc" and not said.get("dataChange", True):
            return None
        return Action(kind, said["path"], said.get("partitionValues") or {})
    return None


DELETION_VECTORS = "set delta.enableDeletionVectors to false, and REORG TABLE … APPLY (PURGE)"
