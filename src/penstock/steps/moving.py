"""The state of a snapshot that another engine, or another master, has left: all of it has to lie where this one works.

operators             each where it works now, with what it remembered (`engine.moving`)
contents of views     in the process where all operators are there, else where Spark has them
rows of tables        in the process if it is used at all, and can hold them
"""

from __future__ import annotations

from typing import Any

from penstock.backends.native.stored import lies_in_process
from penstock.catalog.model import Catalog
from penstock.catalog.settings import ENGINE, engine_of
from penstock.engine.moving import move_contents, move_operators
from penstock.steps.state import State


def move(state: State, wanted: Catalog, found: dict[str, Any], engine_before: str) -> None:
    """Move what was found in a snapshot, which nobody works with yet, to where the `wanted` catalog has it.

    A session that has set another engine than its pipeline was opened with keeps that. UnsupportedError if all has to
    lie in the process, and cannot.
    """
    engine, own, parts = state.engine, found["state"], found["engine"]
    if engine_of(own["catalog"].settings) == engine_before:
        own["catalog"] = own["catalog"].with_setting(ENGINE, wanted.settings.get(ENGINE))
    catalog = own["catalog"]
    engine.set_clock(parts["clock"])
    if engine.store is not None and parts["names"] is not None:
        engine.store.next_name = parts["names"]
    move_operators(engine, catalog, parts["installed"])
    process = engine.process(catalog)
    contents, *_ = found["views"]
    move_contents(engine, catalog, contents, parts["installed"])
    for memory in found["tables"].values():
        memory.move(process if lies_in_process(memory.table) else None)
    if process is None:
        engine.close_store()
    parts["grown"] = []
    parts["names"] = None if engine.store is None else engine.store.next_name
