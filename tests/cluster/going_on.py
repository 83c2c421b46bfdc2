"""One step of a pipeline that goes on from its directory on a master; run as a program: folder, master, engine, step.

It prints the step of the snapshot that it went on from, and what each view then holds, as JSON.
"""

from __future__ import annotations

import json
import sys

import executors

import penstock


def main(folder: str, master: str, engine: str, step: int) -> None:
    """Make the step."""
    with penstock.Pipeline(
        executors.PROGRAM, master=master, conf=executors.CONF, engine=engine, directory=folder
    ) as pipeline:
        snapshots = pipeline._opened().snapshots
        assert snapshots is not None
        last = snapshots.last
        pipeline.step(executors.STEPS[step])
        views = {view: [list(row) for row in pipeline.query(f"SELECT * FROM {view}").rows] for view in executors.VIEWS}
    sys.stdout.write(json.dumps({"last": last, "views": views}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
