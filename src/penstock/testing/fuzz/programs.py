"""A whole program with its steps, as a case: from dice, or as a Hypothesis strategy."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from penstock.circuit.operators import Operator
from penstock.testing.cases import Case
from penstock.testing.fuzz.changes import Changes
from penstock.testing.fuzz.dice import Dice
from penstock.testing.fuzz.queries import Queries
from penstock.testing.fuzz.recursion import mutual_views
from penstock.testing.fuzz.tables import Relation, random_table

_PLACES = 13  # a number that no circuit's pattern divides


@dataclass(frozen=True)
class Size:
    """The most that a program holds."""

    tables: int = 3
    views: int = 5
    steps: int = 4
    depth: int = 2


@dataclass(frozen=True)
class Setting:
    """The way of driving a running engine: what the driver keeps, and whether every trace is merged each step.

    `on_spark` says of each operator whether it stays on Spark, over and over; without it each is where it is proven.
    """

    driver_rows: int = 50_000
    memory_rows: int = 20_000
    compact: bool = False
    on_spark: tuple[bool, ...] = ()

    def keeps(self, operator: Operator) -> bool:
        """True if an operator is to stay on Spark."""
        return bool(self.on_spark) and self.on_spark[operator.number % len(self.on_spark)]

    @property
    def opposite(self) -> Setting:
        """The same with each operator in the other place."""
        return replace(self, on_spark=tuple(not kept for kept in self.on_spark))


@dataclass(frozen=True)
class Program:
    """A program in pieces, so that a piece can be left out. A `shared` one is in SQL that DuckDB reads alike.

    `views` are names and queries; `recursive` are statements of views that read each other.
    """

    tables: tuple[Relation, ...]
    views: tuple[tuple[str, str], ...]
    case: Case
    setting: Setting = field(default_factory=Setting)
    used: frozenset[str] = frozenset()
    shared: bool = False
    recursive: tuple[str, ...] = ()

    @property
    def sql(self) -> str:
        """The program's text."""
        lines = [table.ddl for table in self.tables]
        lines += [
            f"CREATE {('', 'MATERIALIZED ', '', 'LOCAL ')[number % 4]}VIEW {name} AS {text};"
            for number, (name, text) in enumerate(self.views)
        ]
        return "\n".join([*lines, *self.recursive]) + "\n"


def random_program(random: Random, size: Size, name: str = "fuzz", *, shared: bool = False) -> Program:
    """A program and its steps; the same random state makes the same program."""
    dice = Dice(random, shared=shared)
    tables = [random_table(dice, f"t{number}") for number in range(1, dice.number(1, size.tables) + 1)]
    relations, views = list(tables), []
    for number in range(1, dice.number(1, size.views) + 1):
        text, columns = Queries(dice, relations).query(size.depth)
        views.append((f"v{number}", text))
        if dice.often(0.3):
            dice.use("view over view")
            relations.append(Relation(f"v{number}", columns))
    recursive = mutual_views(dice, tables) if not shared and dice.often(0.08) else ()
    changes = Changes(dice, tables)
    steps = (changes.first(), *(changes.next() for _ in range(dice.number(1, size.steps))))
    setting = Setting(dice.pick((50_000, 0, 2)), dice.pick((20_000, 0, 3)), dice.often(0.25), _places(dice))
    case = Case(name=name, sql="", dialect="penstock", steps=steps)
    return Program(tuple(tables), tuple(views), case, setting, frozenset(dice.used), shared, recursive)


def _places(dice: Dice) -> tuple[bool, ...]:
    """Operators that stay on Spark, in two of three programs."""
    return tuple(dice.often(0.5) for _ in range(_PLACES)) if dice.often(2 / 3) else ()


def programs(size: Size | None = None) -> Any:
    """Hypothesis strategy of programs."""
    from hypothesis import strategies  # noqa: PLC0415 - developers have it

    wanted = size or Size()
    return strategies.randoms(use_true_random=False).map(lambda random: random_program(random, wanted))
