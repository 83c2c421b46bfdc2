"""The rows that a change takes away and brings, without those that a rewritten file has as before."""

from __future__ import annotations

import duckdb
import pyarrow as pa

_NUMBER, _SIDE = "#", "#side"
# Of equal rows on both sides as many stay as one side has more of them.
_LEFT = """
SELECT "#", "#side" FROM (
    SELECT "#", "#side", row_number() OVER (PARTITION BY {columns}, "#side" ORDER BY "#") AS n,
           count(*) OVER (PARTITION BY {columns}) - count(*) OVER (PARTITION BY {columns}, "#side") AS others
    FROM both_sides
) WHERE n > others ORDER BY "#"
"""


def net(removed: pa.Table, added: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Both without the rows that are in both, each as often as it is; NULL and NaN are equal to themselves."""
    if not removed.num_rows or not added.num_rows:
        return removed, added
    columns = ", ".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in removed.column_names)
    sides = [_numbered(removed, side=False), _numbered(added, side=True)]
    both = pa.concat_tables(sides, promote_options="permissive")  # a column that a file lacks is of another text type
    with duckdb.connect() as process:
        process.register("both_sides", both)
        left = process.execute(_LEFT.format(columns=columns)).fetchall()
    gone, come = ([number for number, side in left if side is wanted] for wanted in (False, True))
    return removed.take(pa.array(gone, pa.int64())), added.take(pa.array(come, pa.int64()))


def _numbered(rows: pa.Table, *, side: bool) -> pa.Table:
    numbered = rows.append_column(_NUMBER, pa.array(range(rows.num_rows), pa.int64()))
    return numbered.append_column(_SIDE, pa.array([side] * rows.num_rows))
