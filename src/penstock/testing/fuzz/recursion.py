"""Random views that read each other: mutual recursion, with a bound that lets it end."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.testing.fuzz.dice import Dice
from penstock.testing.fuzz.tables import INT, Relation


def mutual_views(dice: Dice, tables: Sequence[Relation]) -> tuple[str, ...]:
    """The statements of two views that read each other; () where no table has whole numbers."""
    usable = [(table.name, name) for table in tables for name, kind in table.columns if kind == INT]
    if not usable:
        return ()
    dice.use("mutual recursion")
    (start, first), (step, key) = dice.pick(usable), dice.pick(usable)
    bound, stride = dice.number(3, 5), dice.number(1, 2)
    join = dice.pick(("LEFT SEMI JOIN", "JOIN"))
    hither = f"SELECT {first} AS n FROM {start} WHERE {first} < {bound}"
    back = f"SELECT o.n + 1 AS n FROM thither AS o WHERE o.n < {bound}"
    thither = f"SELECT DISTINCT e.n + {stride} AS n FROM hither AS e {join} {step} AS z ON e.n = z.{key}"
    return (
        "DECLARE RECURSIVE VIEW hither (n INT);",
        "DECLARE RECURSIVE VIEW thither (n INT);",
        f"CREATE VIEW hither AS {hither} UNION {back};",
        f"CREATE VIEW thither AS {thither} WHERE e.n < {bound};",
    )
