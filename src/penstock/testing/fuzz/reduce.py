"""Makes a failing program small: fewer views, steps, rows, tables, as long as it fails in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from penstock.testing.cases import Step
from penstock.testing.fuzz.programs import Program, Setting

Fails = Callable[[Program], bool]


def reduced(program: Program, fails: Fails, seconds: float = 60) -> Program:
    """A smaller program that still fails, found by leaving pieces out until nothing helps or the time is up."""
    end = time.monotonic() + seconds
    smaller = True
    while smaller and time.monotonic() < end:
        smaller = False
        for candidate in _candidates(program):
            if time.monotonic() > end:
                break
            if fails(candidate):
                program, smaller = candidate, True
                break
    return program


def _candidates(program: Program) -> Iterator[Program]:
    """Programs with one piece less, the largest pieces first."""
    views, steps = program.views, program.case.steps
    if len(views) > 1:
        yield from (replace(program, views=(view,)) for view in views)
        yield from (replace(program, views=views[:at] + views[at + 1 :]) for at in range(len(views)))
    if program.recursive:
        yield replace(program, recursive=())
        yield replace(program, views=())
    if program.setting != Setting():
        yield replace(program, setting=Setting())
        yield from (replace(program, setting=setting) for setting in _simpler(program.setting))
    yield from (_with_steps(program, steps[:count]) for count in range(1, len(steps)))
    yield from (_with_steps(program, (*steps[:at], *steps[at + 1 :])) for at in range(len(steps) - 1))
    yield from (_with_steps(program, merged) for merged in _merged(steps))
    for at, step in enumerate(steps):
        yield from (_with_steps(program, (*steps[:at], one, *steps[at + 1 :])) for one in _smaller_steps(step))
    for table in program.tables:
        if not any(table.name in text for text in (*(text for _, text in views), *program.recursive)):
            kept = tuple(other for other in program.tables if other is not table)
            without = tuple(_without_table(step, table.name) for step in steps)
            yield replace(_with_steps(program, without), tables=kept)


def _simpler(setting: Setting) -> Iterator[Setting]:
    """Settings with the same places and nothing else, and with one operator less on Spark."""
    if setting != Setting(on_spark=setting.on_spark):
        yield Setting(on_spark=setting.on_spark)
    for at, kept in enumerate(setting.on_spark):
        if kept:
            yield replace(setting, on_spark=(*setting.on_spark[:at], False, *setting.on_spark[at + 1 :]))


def _with_steps(program: Program, steps: tuple[Step, ...]) -> Program:
    return replace(program, case=replace(program.case, steps=steps))


def _merged(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    for at in range(len(steps) - 1):
        one, other = steps[at], steps[at + 1]
        if one.sql is None:
            joined = Step(operations=one.operations + other.operations, sql=other.sql)
            yield (*steps[:at], joined, *steps[at + 2 :])


def _smaller_steps(step: Step) -> Iterator[Step]:
    if step.sql is not None:
        yield replace(step, sql=None)
    rows, half = step.operations, len(step.operations) // 2
    if half > 1:
        yield replace(step, operations=rows[half:])
        yield replace(step, operations=rows[:half])
    yield from (replace(step, operations=rows[:at] + rows[at + 1 :]) for at in range(len(rows)))


def _without_table(step: Step, name: str) -> Step:
    return replace(step, operations=tuple(item for item in step.operations if item.table != name))
