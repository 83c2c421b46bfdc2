"""`python -m penstock.testing.fuzz --minutes 10`: new programs until the time is up; what fails becomes a case file."""

from __future__ import annotations

import argparse
import random
import sys
import time
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from penstock.backends.spark.session import open_session
from penstock.testing.fuzz.answers import judged, without_examples
from penstock.testing.fuzz.check import Checker, Finding
from penstock.testing.fuzz.plans import Contents
from penstock.testing.fuzz.programs import Program, Size, random_program
from penstock.testing.fuzz.raising import RaisingChecker, raising_program
from penstock.testing.fuzz.reading import Reading
from penstock.testing.fuzz.reduce import reduced
from penstock.testing.fuzz.reference import examples, function_names
from penstock.testing.fuzz.report import summary, write_case
from penstock.testing.spark_settings import INTERPRETED, SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_READ = 8  # programs whose plans are read by DuckDB alone, for each that runs
_RAISING = 2  # one program that may raise after each so many
_QUERIES = 6  # single queries after each so many programs


def main(arguments: list[str] | None = None) -> int:
    """Fuzz; 1 if anything was found."""
    options = _options(arguments)
    spark = open_spark(options.master, compiled=options.compiled)
    try:
        found = _functions(spark) if options.functions else _rounds(Checker(spark), options)
    finally:
        spark.stop()
    return 1 if found else 0


def open_spark(master: str, *, compiled: bool = False) -> SparkSession:
    """A session for many small queries that each run a few times; `compiled` as Spark runs them otherwise."""
    settings = SETTINGS if compiled else {**SETTINGS, **INTERPRETED}
    return open_session(master=master, conf=settings, app_name="penstock-fuzz")


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m penstock.testing.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, help="the first program's seed; each further program adds one")
    parser.add_argument("--programs", type=int, help="stop after so many programs")
    parser.add_argument("--views", type=int, default=5, help="at most so many views in a program")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--compiled", action="store_true", help="let Spark compile its queries, which is slower")
    parser.add_argument("--out", type=Path, default=Path("fuzz-findings"), help="where findings are written")
    parser.add_argument("--functions", action="store_true", help="judge every example of Spark's function reference")
    parser.add_argument("--reduce", type=float, default=60, metavar="SECONDS", help="time to make a finding small")
    return parser.parse_args(arguments)


def _rounds(checker: Checker, options: argparse.Namespace) -> int:
    end = time.monotonic() + options.minutes * 60
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**31)
    first, found = seed, 0
    size = Size(views=options.views, steps=options.steps)
    try:
        while time.monotonic() < end and (options.programs is None or seed - first < options.programs):
            found += _round(checker, seed, size, options)
            seed += 1
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
    sys.stderr.write(f"seeds {first} to {seed - 1}: {summary(checker.tally, found)}\n")
    return found


def _round(checker: Checker, seed: int, size: Size, options: argparse.Namespace) -> int:
    """One program, and what belongs to its seed beside it; how much was found."""
    found = 0
    random_state = Random(seed)  # noqa: S311 - reproducible, not secret
    program, finding = checker.check(random_program(random_state, size, shared=seed % 3 == 0))
    if finding is not None:
        found += 1
        _record(checker, program, finding, seed, options)
    if seed % _QUERIES == 0:
        found += _single(checker, seed, options)
    if seed % _RAISING == 0:
        found += _raising(checker, seed, options)
    return found + _read(checker, seed)


def _raising(checker: Checker, seed: int, options: argparse.Namespace) -> int:
    """One program that may raise."""
    given = raising_program(Random(seed))  # noqa: S311 - reproducible, not secret
    finding = RaisingChecker(checker.spark, checker.tally).check(given)
    if finding is None:
        return 0
    judge = RaisingChecker(checker.spark)

    def fails(candidate: Program) -> bool:
        other = judge.check(replace(given, program=candidate))
        return other is not None and other.signature == finding.signature

    small = reduced(given.program, fails, options.reduce)
    final = judge.check(replace(given, program=small)) or finding
    path = write_case(options.out, small, final, f"seed_{seed}_raising")
    what = f"rows {'from files' if given.spares else 'from Python'}, {final.kind}: {final.detail}"
    sys.stderr.write(f"seed {seed}, a program that may raise, {what}\n{small.sql}-> {path}\n\n")
    return 1


def _read(checker: Checker, seed: int) -> int:
    """Plans read by DuckDB alone, of some further programs."""
    reading, found = Reading(), 0
    for number in range(_READ):
        random_state = Random(seed * _READ + number)  # noqa: S311 - reproducible, not secret
        program = random_program(random_state, Size(), shared=True)
        finding = reading.judge(program, random_state)
        if finding is not None:
            found += 1
            sys.stderr.write(f"seed {seed}: {finding.kind} {finding.detail}\n{program.sql}\n")
    checker.tally.plans += reading.compared
    return found


def _single(checker: Checker, seed: int, options: argparse.Namespace) -> int:
    """Single queries in batch, over one content; those that fail, as programs of one step."""
    contents = Contents(checker.spark, Random(seed), shared=seed % (2 * _QUERIES) == 0)  # noqa: S311 - reproducible
    found = 0
    for number in range(2 * _QUERIES):
        text = contents.query(2)
        finding = contents.judge(text)
        checker.tally.queries += 1
        if finding is not None and finding.kind != "unsupported":
            found += 1
            _record(checker, contents.program(text), finding, seed, options, f"_{number}")
    checker.tally.compared += contents.compared
    return found


def _functions(spark: SparkSession) -> int:
    chosen = list(examples(spark, function_names(spark)))
    wrong = judged(spark, chosen) + without_examples(chosen)
    sys.stderr.write("".join(f"{line}\n" for line in wrong) + f"{len(chosen)} examples, {len(wrong)} not as listed\n")
    return len(wrong)


def _record(  # noqa: PLR0917 - what there is to say about a finding
    checker: Checker, program: Program, finding: Finding, seed: int, options: argparse.Namespace, part: str = ""
) -> None:
    judge = Checker(checker.spark)

    def fails(candidate: Program) -> bool:
        other = judge.check(candidate)[1]
        return other is not None and other.signature == finding.signature

    small = reduced(replace(program, used=frozenset()), fails, options.reduce)
    final = judge.check(small)[1] or finding
    path = write_case(options.out, small, final, f"seed_{seed}{part}")
    again = f"--seed {seed} --programs 1 --views {options.views} --steps {options.steps}"
    sys.stderr.write(
        f"seed {seed}{part}: {final.kind} {final.view or ''}: {final.detail}\n{small.sql}-> {path}, again: {again}\n\n"
    )
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
