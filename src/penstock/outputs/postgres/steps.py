"""The book of steps: of each output the last step that its table has, raised in the transaction of the step itself.

    penstock_steps    pipeline | output | target | step | taken_at | mark      beside the table, in its schema

While a pipeline writes, its session holds an advisory lock by the table's number in the catalogue: a process that was
killed may have a transaction under way, and who comes next has to wait for what becomes of it.
"""

from __future__ import annotations

import time
from typing import Any

from penstock.outputs.postgres.target import Target
from penstock.outputs.receiver import Owner, in_use, refused, unreachable
from penstock.sources.postgres.connection import TableName

BOOK = "penstock_steps"
_LOCK = 0x70656E73
_TRIES, _PAUSE = 50, 0.1


def lock(connection: Any, target: Target, where: str) -> None:
    """Have the table to ourselves as long as the connection lasts; `Unreachable` if another session has it."""
    wanted = "SELECT pg_try_advisory_lock(%s, (%s::bigint - CASE WHEN %s > 2147483647 THEN 4294967296 ELSE 0 END)::int)"
    for _ in range(_TRIES):
        if connection.execute(wanted, (_LOCK, target.oid, target.oid)).fetchone()[0]:
            return
        time.sleep(_PAUSE)  # the session of a process that was killed ends when its transaction has
    raise unreachable(where, "another pipeline is writing into it now, or another copy of this one's directory")


def claim(connection: Any, target: Target, owner: Owner, output: str, where: str, *, empties: bool) -> int:
    """Make the table an output's, in a transaction; the last step of it that is there."""
    book = target.table.beside(BOOK)
    _make(connection, book)
    named = str(target.oid)
    found = connection.execute(
        f"SELECT pipeline, output, step, mark FROM {book.quoted()} WHERE target = %s FOR UPDATE", (named,)
    ).fetchall()
    own = [(step, mark) for pipeline, name, step, mark in found if (pipeline, name) == (owner.pipeline, output)]
    others = [(pipeline, name) for pipeline, name, _, _ in found if (pipeline, name) != (owner.pipeline, output)]
    if others and not empties:
        raise in_use(where, ", ".join(f"output {name}" for _, name in others))
    if others:
        connection.execute(f"DELETE FROM {target.table.quoted()}")
        connection.execute(f"DELETE FROM {book.quoted()} WHERE target = %s", (named,))
        own = []
    if not own:
        connection.execute(
            f"INSERT INTO {book.quoted()} (pipeline, output, target, step) VALUES (%s, %s, %s, 0) "
            "ON CONFLICT (pipeline, output) DO UPDATE SET target = EXCLUDED.target, step = 0, mark = NULL",
            (owner.pipeline, output, named),
        )
        return 0
    step, mark = own[0]
    owner.check_mark(step, mark, where)
    return int(step)


def note(  # noqa: PLR0917 - what a row of the book has
    connection: Any, table: TableName, owner: Owner, output: str, step: int, where: str
) -> None:
    """Raise the step in the transaction that writes it; DataError if the book has lost the output, or has the step."""
    done = connection.execute(
        f"UPDATE {table.beside(BOOK).quoted()} SET step = %s, taken_at = now(), mark = %s "
        "WHERE pipeline = %s AND output = %s AND step < %s",
        (step, owner.mark(step), owner.pipeline, output, step),
    )
    if done.rowcount != 1:
        raise refused(where, f"{BOOK} does not have this output, or has step {step} of it already")


def _make(connection: Any, book: TableName) -> None:
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
    connection.execute(
        f"CREATE TABLE IF NOT EXISTS {book.quoted()} (pipeline text NOT NULL, output text NOT NULL, "
        "target text NOT NULL, step bigint NOT NULL, taken_at timestamptz, mark text, PRIMARY KEY (pipeline, output))"
    )
    has_marks = "SELECT 1 FROM pg_attribute WHERE attrelid = %s::regclass AND attname = 'mark' AND NOT attisdropped"
    if connection.execute(has_marks, (book.quoted(),)).fetchone() is None:  # made by an earlier release
        connection.execute(f"ALTER TABLE {book.quoted()} ADD COLUMN mark text")
