"""Running cases against `penstock.Pipeline`, and judging what comes out.

Three outcomes: passed, failed, and unsupported: a refusal that names the feature, which is never a pass. After every
step the invariant A6 is checked: each view, added up from its changes alone, equals what the oracle recomputes.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from penstock.analysis.monotonic import directions
from penstock.analysis.waterline import waterlines
from penstock.backends.spark.later import LaterSession
from penstock.bind.program.compile import compile_program
from penstock.bind.program.queries import bind_query
from penstock.catalog.model import Catalog
from penstock.catalog.settings import ENGINE
from penstock.errors import PenstockError, UnsupportedError
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.standing import StandingQuery
from penstock.plan.emitclause import read_emit
from penstock.plan.nodes import Field, Scan
from penstock.rewrite import rewrite
from penstock.sql import statements
from penstock.sql.parse import parse, parse_query
from penstock.testing.cases import Case, Refusal, Step
from penstock.testing.content import Observed
from penstock.testing.multisets import Weighted, difference, show
from penstock.testing.recut import can_be_recut, recut
from penstock.testing.values import matches, plain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


PASSED, FAILED, UNSUPPORTED = "passed", "failed", "unsupported"


@dataclass(frozen=True)
class Result:
    """The outcome of one case."""

    file: str
    case: str
    status: str
    detail: str = ""
    seconds: float = 0.0
    line: int = 1

    def to_json(self) -> dict[str, Any]:
        """The object that `--format json` prints."""
        named = {"file": self.file, "line": self.line, "case": self.case}
        return {**named, "status": self.status, "detail": self.detail}


@dataclass(frozen=True)
class Options:
    """`compact` merges all state after each step, `recuts` runs as many other cuts into steps, drawn from `seed`.

    `engine` is where operators work, if the program does not say. Without `oracle` views are compared
    with what the case says alone, so that a case which is proven needs no Spark; `master` says where that would be.
    The oracle recomputes views after every step, or after the last one alone. With `queries` the text of each view is
    asked as a query after every step, and has the rows of the view.
    """

    compact: bool = False
    recuts: int = 0
    seed: int = 0
    engine: str | None = None
    oracle: bool = True
    every_step: bool = True
    queries: bool = False
    master: str = "local[2]"


class Failure(Exception):  # noqa: N818 - an outcome of a test, not an error of the program
    """An expectation that does not hold."""


def run_case(case: Case, file: str, session: Callable[[], SparkSession], options: Options | None = None) -> Result:
    """Run one case, and its other cuts into steps; `session` gives the Spark session when one is needed."""
    began = time.perf_counter()
    options = options or Options()
    status, detail = PASSED, ""
    for label, variant in _variants(case, options):
        status, detail = _judged(_Run(variant, session, options))
        if status != PASSED:
            detail = f"{label}{detail}"
            break
    return Result(file, case.name, status, detail, time.perf_counter() - began, case.line)


def _variants(case: Case, options: Options) -> Iterator[tuple[str, Case]]:
    yield "", case
    if can_be_recut(case):
        for seed in range(options.seed, options.seed + options.recuts):
            yield f"cut into other steps (seed {seed}): ", recut(case, seed)


def _judged(run: _Run) -> tuple[str, str]:
    """Status and detail; an error that the case expects is a pass."""
    expected = run.case.expect.error
    try:
        run.all()
    except Failure as failure:
        return FAILED, str(failure)
    except PenstockError as error:
        return _refused(error, expected, run.place)
    except Exception as error:  # noqa: BLE001 - anything else that escapes is our bug, and this case shows it
        text = str(error).split("\n", 1)[0][:500]
        return FAILED, f"{run.place}internal error: {type(error).__name__}: {text} {_where(error)}"
    if expected is not None:
        return FAILED, f"nothing was refused, but {_wanted(expected)} was expected"
    return PASSED, ""


def _where(error: BaseException) -> str:
    """The line of ours that an unforeseen error comes from."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "penstock" in frame.filename] or frames
    return f"({Path(ours[-1].filename).name}:{ours[-1].lineno})" if ours else ""


def _refused(error: PenstockError, expected: Refusal | None, place: str) -> tuple[str, str]:
    """An UnsupportedError is a pass only where its very code was expected."""
    named = expected is not None and expected.code in {item.code for item in error.diagnostics}
    if isinstance(error, UnsupportedError) and not named:
        return UNSUPPORTED, "; ".join(f"{item.code}: {item.message}" for item in error.diagnostics)
    if expected is None:
        return FAILED, f"{place}refused: {error.render()}"
    if not meets(error, expected):
        return FAILED, f"{place}expected {_wanted(expected)}, found: {error.render()}"
    return PASSED, ""


def meets(error: PenstockError, expected: Refusal) -> bool:
    """True if an error has the expected code and wording (without regard to case)."""
    codes = {item.code.upper() for item in error.diagnostics}
    if expected.code is not None and expected.code.upper() not in codes:
        return False
    return expected.contains is None or expected.contains.lower() in f"{error}\n{error.render()}".lower()


def _wanted(expected: Refusal) -> str:
    parts = [f"code {expected.code}"] if expected.code else []
    parts += [f"a message with {expected.contains!r}"] if expected.contains else []
    return "an error with " + " and ".join(parts) if parts else "an error"


class _Run:
    """One pipeline living through one case."""

    def __init__(self, case: Case, session: Callable[[], SparkSession], options: Options) -> None:
        self.case = case
        self.place = ""
        self._session = session if isinstance(session, LaterSession) else LaterSession(session)
        self._options = options
        self._clock: datetime | None = None
        self._standing: dict[str, StandingQuery] = {}
        self._shown: dict[str, list[tuple[Any, ...]]] = {}

    def all(self) -> None:
        """Every step, then what is expected by the end."""
        self._compare_forms()
        if self.case.normal_form and not (self.case.sql or self.case.steps or self.case.expect.rows):
            return  # nothing that a pipeline is needed for
        settings = "".join(f"SET {name} = '{value}';\n" for name, value in self.case.settings.items())
        text = settings + self.case.sql
        program = compile_program(text, self.case.dialect)  # one that is wrong is refused before a JVM has to start
        engine = None if ENGINE in program.catalog.settings else self._options.engine
        spark, master = self._session() if self._options.oracle else self._session, self._options.master
        with Pipeline(
            text, spark=spark, master=master, dialect=self.case.dialect, engine=engine, writes=False
        ) as pipeline:
            self._compare_waterlines(pipeline)
            self._compare_directions(pipeline)
            observed = Observed(pipeline, self.case)
            try:
                for number, step in enumerate(self.case.steps, 1):
                    self.place = f"step {number}: "
                    self._step(pipeline, observed, step)
                self.place = ""
                if self.case.end_of_input:
                    self._end(pipeline, observed)
                self._rows(observed, self.case.expect.rows, {})
                self._compare_shown(self.case.expect.emitted, self._shown)
            finally:
                observed.close()

    def _compare_forms(self) -> None:
        """The two EMIT clauses of which the case says that they are the same."""
        if self.case.normal_form:
            one, other = (read_emit(self.case.normal_form[key]) for key in ("clause", "equals"))
            if one != other:
                self._fail(f"expected {other.text()}, found {one.text()}")

    def _compare_waterlines(self, pipeline: Pipeline) -> None:
        """The columns of which the case says whether a waterline is inferred (B8)."""
        for name, columns in self.case.waterline.items():
            found = waterlines(_scan_of(pipeline.catalog, name), pipeline.catalog)
            for column, expected in columns.items():
                if (column in found) is not expected:
                    what = "a waterline" if expected else "no waterline"
                    self._fail(f"{what} was expected for {name}.{column}")

    def _compare_directions(self, pipeline: Pipeline) -> None:
        """The directions that the case says expressions over a relation have (C4)."""
        for name, expressions in self.case.monotonic.items():
            for text, expected in expressions.items():
                query = f"SELECT {text} AS value FROM {name}"
                plan = rewrite(bind_query(parse_query(query, self.case.dialect), pipeline.catalog, query))
                found = directions(plan, pipeline.catalog)["value"]
                if found != expected:
                    self._fail(f"{text} over {name}: {expected} was expected, found {found}")

    def _step(self, pipeline: Pipeline, observed: Observed, step: Step) -> None:
        self._move_clock(pipeline, step)
        inputs: dict[str, list[Any]] = {}
        for operation in step.operations:
            inputs.setdefault(operation.table, []).append((operation.kind, operation.row))
        if step.error is not None:
            self._must_refuse(pipeline, observed, step, inputs)
            return
        for name, sql in step.start.items():
            self._standing[name] = pipeline.subscribe(sql, name=name, clock=self._clock)
        declares = step.sql is not None and not inputs and _declares(step.sql, pipeline.dialect)
        # Declarations are no part of a transaction, so they run as a user would run them.
        changes = (
            pipeline.execute(step.sql or "") if declares else pipeline.step(inputs, clock=self._clock, sql=step.sql)
        )
        rows = observed.take(changes)
        if isinstance(rows, str):
            self._fail(rows)
        self._compare_out(step, rows)
        self._compare_shown(step.emit, self._taken())
        answers = {name: observed.query(sql) for name, sql in step.query.items()}
        self._rows(observed, step.rows, answers)
        if self._options.compact:
            pipeline.compact()
        # The first change of a view created now comes with the next step.
        if not declares and (self._options.every_step or step is self.case.steps[-1]):
            self._check_invariant(observed)
        if self._options.queries and not declares and (wrong := observed.other_answer()):
            self._fail(f"a query answers otherwise than the view of its text: {wrong}")

    def _end(self, pipeline: Pipeline, observed: Observed) -> None:
        """The inputs end: what WATERMARK holds back is released."""
        rows = observed.take(pipeline.end_of_input())
        if isinstance(rows, str):
            self._fail(rows)
        self._taken()
        self._check_invariant(observed)

    def _fail(self, what: str) -> NoReturn:
        raise Failure(self.place + what)

    def _move_clock(self, pipeline: Pipeline, step: Step) -> None:
        if step.clock is not None:
            self._clock = step.clock
        if step.advance is not None:
            self._clock = (self._clock or pipeline.clock or datetime(1970, 1, 1)) + (step.advance or timedelta(0))  # noqa: DTZ001 - UTC

    def _must_refuse(self, pipeline: Pipeline, observed: Observed, step: Step, inputs: Mapping[str, Any]) -> None:
        """The step must raise what was expected, and every table must be as it was before."""
        assert step.error is not None  # noqa: S101 - the caller asked
        before = observed.tables()
        try:
            pipeline.step(inputs, clock=self._clock, sql=step.sql)
        except UnsupportedError as error:
            if step.error.code not in {item.code for item in error.diagnostics}:
                raise
        except PenstockError as error:
            if not meets(error, step.error):
                self._fail(f"expected {_wanted(step.error)}, found: {error.render()}")
        else:
            self._fail(f"nothing was refused, but {_wanted(step.error)} was expected")
        for name, rows in observed.tables().items():
            if found := difference(before[name], rows):
                self._fail(f"the refused step left a trace in table {name}: {found.describe()}")
        if self._options.every_step:
            self._check_invariant(observed)

    def _compare_out(self, step: Step, rows: Mapping[str, list[Weighted]]) -> None:
        for name, expected in step.out.items():
            found = difference(_plain(expected), rows.get(name.lower(), []))
            if found:
                self._fail(f"change of {name}: {found.describe()}")

    def _taken(self) -> dict[str, list[tuple[Any, ...]]]:
        """The rows that each standing query has shown in the step."""
        found: dict[str, list[tuple[Any, ...]]] = {}
        for name, query in self._standing.items():
            found[name] = []
            while (emission := query.get(0)) is not None:
                found[name] += emission
            self._shown.setdefault(name, []).extend(found[name])
        return found

    def _compare_shown(
        self, expectations: Mapping[str, tuple[tuple[Any, ...], ...]], shown: Mapping[str, list[tuple[Any, ...]]]
    ) -> None:
        for name, expected in expectations.items():
            if name in self.case.ordered:
                self._compare_ordered(name, expected, shown.get(name, []))
            elif found := difference(
                _plain((1, row) for row in expected), _plain((1, row) for row in shown.get(name, []))
            ):
                self._fail(f"shown by {name}: {found.describe()}")

    def _rows(
        self,
        observed: Observed,
        expectations: Mapping[str, tuple[tuple[Any, ...], ...]],
        answers: Mapping[str, list[tuple[Any, ...]]],
    ) -> None:
        for name, expected in expectations.items():
            actual = answers[name] if name in answers else observed.content(name)
            if name in self.case.ordered:
                self._compare_ordered(name, expected, actual)
            elif found := difference(_plain((1, row) for row in expected), _plain((1, row) for row in actual)):
                self._fail(f"content of {name}: {found.describe()}")

    def _compare_ordered(self, name: str, expected: tuple[tuple[Any, ...], ...], actual: list[tuple[Any, ...]]) -> None:
        wanted, found = [plain(row) for row in expected], [plain(row) for row in actual]
        if len(wanted) == len(found) and all(map(matches, wanted, found)):
            return
        at = next(
            (i for i, pair in enumerate(zip(wanted, found, strict=False)) if not matches(*pair)),
            min(len(wanted), len(found)),
        )
        one, other = (show(rows[at]) if at < len(rows) else "nothing" for rows in (wanted, found))
        self._fail(f"{name}, row {at + 1}: expected {one}, found {other}")

    def _check_invariant(self, observed: Observed) -> None:
        if self.case.invariant is not True or not self._options.oracle:
            return
        wrong = observed.violation()
        if wrong is not None:
            self._fail(f"the view differs from batch (A6): {wrong}")


def _declares(text: str, dialect: str) -> bool:
    """True if a text holds more than changes of tables."""
    changes = (statements.Insert, statements.Update, statements.Delete, statements.Advance)
    return any(not isinstance(statement, changes) for statement in parse(text, dialect))


def _plain(rows: Any) -> list[Weighted]:
    return [(weight, tuple(plain(value) for value in row)) for weight, row in rows]


def _scan_of(catalog: Catalog, name: str) -> Scan:
    relation = catalog.relation(name)
    if relation is None:
        what = f"there is no {name}"
        raise Failure(what)
    return Scan(relation.name, tuple(Field(item.name, item.type, item.nullable) for item in relation.columns))
