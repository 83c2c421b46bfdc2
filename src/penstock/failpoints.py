"""Named places at which a process ends itself, so that a test can see what it leaves behind.

`PENSTOCK_FAILPOINT=log.manifest` ends the process by SIGKILL when it comes there, `log.manifest:3` when it does so for
the third time. `NAMES` has all of them; each stands behind a write, or between two.
"""

from __future__ import annotations

import os
import signal
from collections import Counter

VARIABLE = "PENSTOCK_FAILPOINT"
NAMES = {
    "log.data": "the files of a step are there, its manifest is not",
    "log.manifest": "the step is in the log, and nothing has followed it",
    "log.declarations": "what has been declared is written down, and no step has it",
    "state.rows": "the rows of a snapshot are there, and nothing else of it",
    "state.parquet": "so are those of the executors, and not the memory that names them",
    "state.whole": "a snapshot is whole, and has not got its name",
    "state.named": "it has its name, and the one before it is there as well",
    "state.removed": "it is the only one",
    "log.cut": "it is written down with which step the log begins, and what is before it is still there",
    "deploy.filling": "new views are filled in part, beside those at work",
    "deploy.pending": "it is written down which program is to come with which step",
    "deploy.step": "the step is there, and the program is not yet the one that is at work",
    "file.written": "a small file (the program, a manifest, positions) lies beside its place, and has not got its name",
    "source.before": "the step is in the log, and the source has not been told that it was taken",
    "source.told": "a source has been told",
    "source.slot": "a database keeps its changes for a pipeline that has made no step of them",
    "source.copied": "the copy of a table lies in the directory, and no step has any of it",
    "outbox.kept": "what an output is to be given lies in the directory, and its step is not in the log",
    "receiver.before": "the step is in the log, and the receiver has not been given it",
    "receiver.within": "the receiver has been given the rows, and not yet that they count",
    "receiver.taken": "the receiver has the step, and that is not written down",
    "receiver.noted": "it is written down that the receiver has the step",
    "output.before": "the step has been kept, and an output has not been given it",
    "output.written": "an output has taken the step, and that is not written down",
    "output.position": "it is written down that an output has taken the step",
}
_reached: Counter[str] = Counter()


def end() -> None:
    """End the process; a test that only plays it puts another function here."""
    os.kill(os.getpid(), signal.SIGKILL)


def begin_counting() -> None:
    """Count anew how often places are reached."""
    _reached.clear()


def reach(name: str) -> None:
    """Come to a place; the process ends here if the environment says so."""
    wanted = os.environ.get(VARIABLE)
    if wanted is None:
        return
    chosen, _, times = wanted.partition(":")
    _reached[name] += 1
    if chosen == name and _reached[name] == int(times or 1):
        end()
