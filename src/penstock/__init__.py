"""Penstock: streaming SQL for Spark. Every view stays exactly up to date as its tables change.

The life of a query, stage by stage; each is a function from one frozen value to the next:

    text     "CREATE VIEW totals AS SELECT customer, SUM(amount) …"
      sql.parse.parse(text)                         statements: trees with their place in the text
      bind.program.compile.compile_program(text)    statements + catalog → plans: names, scopes (`plan.nodes`)
      rewrite.rewrite(plan)                         the same answer with less work: one rule per file, each checked
      analysis.*                                    facts about a plan: append-only? which key? what state?
      circuit.build.build_circuit(views)            operators that take changes: linear, bilinear, keyed, recomputed
      engine.engine.Engine.install(…)               the operators at work, on Spark or in the process (`backends`)

Then rows come, from `Pipeline.step`, from INSERT, or from a source (`sources.*`) that `pipeline.run` follows; one step:

    rows     {"orders": [("+", (1, "ann", 5.00))]}
      steps.stepper.Stepper.step(batches)           all of what follows, or nothing of it
      steps.proposing.propose(state, given)         the first half, down to the files; nothing has happened
      steps.intake.fold.fold_keyed(batch, …)        late rows put aside; of the rest, the change of the table
      engine.engine.Engine.step(changes)            every view's change, from the tables' changes and the traces
      emit.api.Emission.after(change, …)            what of it is shown, what waits, and until when
      steps.log.InputLog.stage(…)                   the tables' changes as files that nobody reads yet
      steps.committing.commit(state, proposal)      the second half
      steps.log.InputLog.publish(staged)            the manifest: from here on the step has happened
      engine.result.StepResult.commit()             the new traces count, and the old ones go
      outputs.*                                     each view's change to its receivers, and as the answer

`Pipeline` is all of it. Importing this package, or `penstock.sql` and `penstock.bind`, does not import pyspark, and
nothing starts a JVM before a pipeline has its first row or question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import DataError, Diagnostic, InternalError, PenstockError, SqlError, UnsupportedError

if TYPE_CHECKING:
    from penstock.backends.spark.later import LaterSession
    from penstock.pipeline.pipeline import Pipeline
    from penstock.relational.columns import col, lit
    from penstock.relational.emission import after_delay, after_watermark, changes, on_update, per_event, periodic
    from penstock.relational.functions import F, expr, when
    from penstock.relational.ordering import Window
    from penstock.relational.time_windows import cumulate, hop, session, tumble
    from penstock.steps.change import Change

__version__ = "0.1.0"
__all__ = [
    "Change",
    "DataError",
    "Diagnostic",
    "F",
    "InternalError",
    "LaterSession",
    "PenstockError",
    "Pipeline",
    "SqlError",
    "UnsupportedError",
    "Window",
    "__version__",
    "after_delay",
    "after_watermark",
    "changes",
    "col",
    "cumulate",
    "expr",
    "hop",
    "lit",
    "on_update",
    "per_event",
    "periodic",
    "session",
    "tumble",
    "when",
]

_LAZY = {
    "Change": "penstock.steps.change",
    "F": "penstock.relational.functions",
    "LaterSession": "penstock.backends.spark.later",
    "Pipeline": "penstock.pipeline.pipeline",
    "Window": "penstock.relational.ordering",
    "after_delay": "penstock.relational.emission",
    "after_watermark": "penstock.relational.emission",
    "changes": "penstock.relational.emission",
    "col": "penstock.relational.columns",
    "cumulate": "penstock.relational.time_windows",
    "expr": "penstock.relational.functions",
    "hop": "penstock.relational.time_windows",
    "lit": "penstock.relational.columns",
    "on_update": "penstock.relational.emission",
    "per_event": "penstock.relational.emission",
    "periodic": "penstock.relational.emission",
    "session": "penstock.relational.time_windows",
    "tumble": "penstock.relational.time_windows",
    "when": "penstock.relational.functions",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    import importlib  # noqa: PLC0415 - only for who asks for a name

    return getattr(importlib.import_module(_LAZY[name]), name)
