"""A pipeline that is opened with another engine goes on from the state of the one before, and nobody can tell."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from test_collection import VIEWS, also_of_few_rows
from test_collection import steps as random_steps
from test_oracle_recovery import POLICIES, START, STREAMS, leave, observed, play, stream_steps
from tests.tiers import either

import penstock
from penstock.engine import moving
from penstock.engine.owing import OwingRunner
from penstock.errors import DataError
from penstock.steps.checked_files import digest_of, facts_of, write_facts
from penstock.steps.events import Event, StateNotKept
from penstock.steps.intake import keystore, rowcounts
from penstock.steps.stepper import Stepper

KEPT = "SET state_seconds = '0';\nSET log_retention = '{retention}';\n"
TABLES = """
CREATE TABLE a (t BIGINT LATENESS 6, k INT, x INT);
CREATE TABLE b (t BIGINT LATENESS 6, k INT, y INT);
"""
TIMED = ("sessions", "hops", "recent", "recent_sums", "counted", "counted_all")
NEEDS = {"twice": ("by_ten",), "reached": ("sums", "different"), **dict.fromkeys(TIMED, ("timed",))}
GROUPS = {
    "joins": ("joined", "near", "left_near", "full_joined", "near_nobody", "with_fixed"),
    "groups": ("sums", "by_ten", "different", "both", "less", "twice", "reached", "extremes", "highest"),
    "keys": ("not_there", "ranked", "latest", "ranks", "best", "newest", "closest", "just_before"),
    "windows": ("summed", "led", "rowed", "running", "over_lagged"),
    "times": ("sessions", "hops", "recent", "recent_sums", "counted"),
}
BOTH_LOGS = pytest.mark.parametrize("retention", ["recovery", pytest.param("all", marks=pytest.mark.extended)])


class Opened:
    """One directory, opened by one engine after another; `made_again` counts the steps of the log that were."""

    def __init__(self, program: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.program, self.folder = program, folder
        self.told: list[str] = []
        self.made_again = 0
        self.on_executors = False
        again = Stepper.again_of

        def counted(stepper: Stepper, found: Any) -> Any:
            self.made_again += 1
            return again(stepper, found)

        monkeypatch.setattr(Stepper, "again_of", counted)

    def _hear(self, event: Event) -> None:
        if isinstance(event, StateNotKept):
            self.told.append(event.message)

    @contextmanager
    def by(self, engine: str, *, killed: bool = False) -> Iterator[penstock.Pipeline]:
        """The pipeline by an engine; its state is written when it is left, unless it is `killed`."""
        found = penstock.Pipeline(self.program, directory=self.folder, engine=engine, on_event=self._hear)
        if self.on_executors and engine == "spark":
            workspace = found._opening.workspace
            workspace.driver_rows, workspace.memory_rows = -1, 0
        try:
            found._opened()
            yield found
            leave(found, killed=killed)
        finally:
            found.close()

    def went_on(self) -> None:
        """Nothing has been made again, and nothing was told of state that could not be used."""
        assert not self.told, self.told
        assert self.made_again == 0


def compared(opened: Opened, steps: Sequence[Any], engines: Sequence[str], *, calm: str = "auto") -> None:
    """Play the steps undisturbed, and each by another engine than the one before it."""
    with penstock.Pipeline(opened.program, engine=calm) as undisturbed:
        expected = [observed(undisturbed, play(undisturbed, step, at)) for at, step in enumerate(steps)]
    for at, step in enumerate(steps):
        with opened.by(engines[at % len(engines)]) as pipeline:
            found = observed(pipeline, play(pipeline, step, at))
            for what, value in expected[at].items():
                assert found[what] == value, (what, at)
    opened.went_on()


def declared(views: Sequence[str]) -> str:
    wanted = dict.fromkeys(other for name in views for other in (*NEEDS.get(name, ()), name))
    return "\n".join(f"CREATE VIEW {name} AS {VIEWS[name]};" for name in wanted)


@pytest.mark.both
@BOTH_LOGS
@pytest.mark.parametrize(
    "group", ["groups", *(pytest.param(name, marks=pytest.mark.extended) for name in GROUPS if name != "groups")]
)
def test_views_go_on_by_another_engine(
    group: str, retention: str, interpreting: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    also_of_few_rows(monkeypatch)
    program = KEPT.format(retention=retention) + TABLES + declared(GROUPS[group])
    engines = ("auto", "spark") if group == "times" else ("native", "spark")
    compared(Opened(program, tmp_path, monkeypatch), list(random_steps(3, either(3, 5))), engines)


@pytest.mark.extended
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("place", ["driver", "executors"])
def test_views_that_began_on_spark_go_on(
    place: str, seed: int, interpreting: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    also_of_few_rows(monkeypatch)
    chance = random.Random(seed)
    program = KEPT.format(retention="recovery") + TABLES + declared(chance.sample(sorted(VIEWS), 8))
    opened = Opened(program, tmp_path, monkeypatch)
    opened.on_executors = place == "executors"
    compared(opened, list(random_steps(seed, 6)), ("spark", "auto"))


WAITING = ("sessions",)


@pytest.mark.both
@pytest.mark.parametrize(
    "policy", [*WAITING, *(pytest.param(name, marks=pytest.mark.extended) for name in POLICIES if name not in WAITING)]
)
def test_what_waits_goes_on_waiting(
    policy: str, interpreting: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Rows behind waterlines, closed windows, open sessions, rows that are held, streams without history."""
    for module in (keystore, rowcounts):
        monkeypatch.setattr(module, "HELD_ROWS", 2)
    program = KEPT.format(retention="recovery") + STREAMS.replace("SET state_seconds = '0.01';", "") + POLICIES[policy]
    compared(Opened(program, tmp_path, monkeypatch), stream_steps(5, either(4, 6)), ("auto", "spark"))


PARTIALS = """
CREATE STREAM s (k INT, b BIGINT, i INT, d DECIMAL(18, 2), x DOUBLE, f FLOAT, n STRING, ts TIMESTAMP)
    WITH ('history' = 'none');
CREATE TABLE t (k INT, b BIGINT, d DECIMAL(12, 3), w DECIMAL(38, 6));
CREATE VIEW sums AS SELECT k, SUM(b) AS b, SUM(i) AS i, SUM(d) AS d, SUM(x) AS x, SUM(f) AS f, AVG(b) AS ab,
    AVG(i) AS ai, AVG(x) AS ax, COUNT(*) AS c, COUNT(n) AS cn, SUM(i) FILTER (WHERE i > 0) AS p, COUNT_IF(i > 0) AS ci
    FROM s GROUP BY k;
CREATE VIEW extremes AS SELECT k, MIN(x) AS lx, MAX(f) AS gf, MIN(n) AS ln, MAX(ts) AS gt, MAX(d) AS gd,
    BOOL_OR(i > 3) AS o, BIT_AND(i) AS a FROM s GROUP BY k;
CREATE VIEW whole AS SELECT SUM(b) AS b, AVG(b) AS ab, COUNT(*) AS c FROM s;
CREATE VIEW back AS SELECT k, SUM(b) AS b, SUM(d) AS d, COUNT(*) AS c FROM t GROUP BY k;
CREATE VIEW wide AS SELECT k, SUM(w) AS w, SUM(w) FILTER (WHERE b = 5) AS f,
    SUM(CAST(w / 1000000 AS DECIMAL(28, 2))) AS n FROM t GROUP BY k;
CREATE VIEW nothing AS SELECT COUNT(*) AS c, SUM(b) AS b FROM t WHERE k > 100;
CREATE VIEW by_number AS SELECT x, COUNT(*) AS n FROM s GROUP BY x;
CREATE VIEW numbers AS SELECT DISTINCT f, n FROM s;
"""
WIDE = (None, *map(Decimal, ("0.000001", "-1.5", f"{10**31 - 1}.999999", f"-{10**31 - 1}.5", f"{10**12}", "-0.999999")))


@pytest.mark.both
def test_partial_results_are_the_same_to_the_last_bit(
    interpreting: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    chance = random.Random(7)
    numbers = (None, 0.1, -0.0, 0.0, 1e16, -1e16, 3.3, math.nan)
    live: list[Any] = []

    def row(k: int) -> tuple[Any, ...]:
        large = chance.choice((None, -1, 1, 3, 1 << 40, -(1 << 40), (1 << 58) + 1, -(1 << 58)))
        decimal = chance.choice((None, Decimal("0.01"), Decimal("-9999999999999999.99"), Decimal("12.30")))
        text = chance.choice((None, "", "ä", "z"))
        x, f = chance.choice(numbers), chance.choice((None, 0.5, -0.0, 1.25))
        return k, large, chance.randint(-5, 9), decimal, x, f, text, START

    steps: list[Any] = []
    for _ in range(either(5, 8)):
        step = {"s": [("+", row(k)) for k in range(3)]}  # one for each group: the order of adding is that of steps
        changes: list[Any] = [
            ("+", (chance.randint(1, 2), chance.choice((5, -(1 << 50))), Decimal("1.005"), chance.choice(WIDE)))
        ]
        if live and chance.random() < 0.6:
            changes.append(("-", live.pop()))
        live.append(changes[0][1])
        step["t"] = changes
        steps.append(step)
    program = KEPT.format(retention="recovery") + PARTIALS

    def plain(value: Any) -> Any:
        return repr(value)  # NaN equals nothing

    with penstock.Pipeline(program, engine="native") as undisturbed:
        expected = [plain(observed(undisturbed, play(undisturbed, step, at))) for at, step in enumerate(steps)]
    opened = Opened(program, tmp_path, monkeypatch)
    for at, step in enumerate(steps):
        with opened.by(("native", "spark")[at % 2]) as pipeline:
            assert plain(observed(pipeline, play(pipeline, step, at))) == expected[at], at
    opened.went_on()


FLOATS = """
CREATE TABLE t (id INT PRIMARY KEY, k INT, x DOUBLE, f FLOAT);
CREATE VIEW sums AS SELECT k, SUM(x) AS s, AVG(f) AS a, STDDEV(x) AS d, COUNT(*) AS n FROM t GROUP BY k;
CREATE VIEW whole AS SELECT SUM(x) AS s FROM t;
CREATE VIEW shares AS SELECT id, x, SUM(x) OVER (PARTITION BY k) AS s FROM t;
CREATE VIEW ranked AS SELECT k, s FROM sums ORDER BY s DESC LIMIT 2;
"""


@BOTH_LOGS
def test_changes_of_sums_add_up_to_the_last_bit(
    retention: str, interpreting: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What was shown of a sum is taken back as it was, whoever added it up; a step without rows shows what differs."""
    owed: list[object] = []
    made = OwingRunner.__init__

    def noted(runner: OwingRunner, *given: Any) -> None:
        owed.append(given)
        made(runner, *given)

    monkeypatch.setattr(moving.OwingRunner, "__init__", noted)
    chance = random.Random(1)
    opened = Opened(KEPT.format(retention=retention) + FLOATS, tmp_path, monkeypatch)
    shown = {name: Counter[str]() for name in ("sums", "whole", "shares", "ranked")}
    rows: dict[int, tuple[Any, ...]] = {}
    for at in range(8):
        new = [
            (chance.randint(0, 60), chance.randint(1, 2), chance.random() * 10 ** chance.randint(-8, 8))
            for _ in range(12)
        ]
        step = {} if at in (2, 5) else {"t": [(*row, float(at)) for row in new]}
        rows |= {row[0]: row for row in step.get("t", ())}
        with opened.by(("native", "spark")[at // 2 % 2]) as pipeline:
            for name, change in pipeline.step(step).items():
                for weight, row in change.rows:
                    shown[name][repr(row)] += weight
            for name, counted in shown.items():
                assert +counted == Counter(map(repr, pipeline.content(name).rows)), (name, at)
            found = {row[0]: row[1] for row in pipeline.content("sums").rows}
        for k, total in found.items():
            assert math.isclose(total, math.fsum(row[2] for row in rows.values() if row[1] == k), rel_tol=1e-9)
    opened.went_on()
    assert owed


def test_only_the_steps_behind_the_state_are_made_again(
    interpreting: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = "SET state_seconds = '1000'; CREATE TABLE t (k INT, x INT);"
    opened = Opened(program + "CREATE VIEW v AS SELECT k, SUM(x) AS s FROM t GROUP BY k;", tmp_path, monkeypatch)
    with opened.by("native") as pipeline:
        for at in range(20):
            pipeline.step({"t": [(at % 2, at)]})
    with opened.by("native", killed=True) as pipeline:
        pipeline.step({"t": [(0, 100)]})
        pipeline.step({"t": [(1, 100)]})
    with opened.by("spark") as pipeline:
        assert sorted(pipeline.content("v").rows) == [(0, 190), (1, 200)]
    assert (opened.made_again, opened.told) == (2, [])


def test_a_circuit_that_spark_alone_had_goes_on_where_it_can(
    interpreting: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What no process can do stays on Spark; `native` refuses that, says why, and nothing is lost."""
    program = KEPT.format(retention="recovery") + (
        "CREATE TABLE t (k INT, x STRING); CREATE VIEW v AS SELECT k, COUNT(*) AS n FROM t GROUP BY k;"
        "CREATE VIEW w AS SELECT soundex(x) AS c, COUNT(*) AS n FROM t GROUP BY soundex(x);"
    )
    opened = Opened(program, tmp_path, monkeypatch)
    with opened.by("spark") as pipeline:
        for at in range(3):
            pipeline.step({"t": [(at, "a")]})
    with opened.by("auto") as pipeline:
        pipeline.step({"t": [(0, "b")]})
        assert sorted(pipeline.content("v").rows) == [(0, 2), (1, 1), (2, 1)]
        assert sorted(pipeline.content("w").rows) == [("A000", 3), ("B000", 1)]
    opened.went_on()


OTHERS = {"libraries": "Python 3.9.0, duckdb 0.1, pyarrow 9, pyspark 4.0.0", "release": "0.0.1"}


def test_state_of_other_libraries_and_of_an_older_format_of_files_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """DuckDB reads what its earlier versions have written; here as the first did that promised it."""
    program = KEPT.format(retention="recovery") + TABLES + declared(GROUPS["groups"])
    opened = Opened(program, tmp_path / "dir", monkeypatch)
    steps = list(random_steps(3, either(3, 5)))
    with penstock.Pipeline(program, engine="native") as undisturbed:
        expected = [observed(undisturbed, play(undisturbed, step, at)) for at, step in enumerate(steps)]
    for at, step in enumerate(steps):
        with opened.by("native") as pipeline:
            assert observed(pipeline, play(pipeline, step, at)) == expected[at]
        for header in (tmp_path / "dir" / "state").glob("*/header.json"):
            _of_other_libraries(header)
    opened.went_on()


def _of_other_libraries(header: Path) -> None:
    facts = facts_of(header)
    facts["origin"] |= OTHERS
    path = header.with_name("rows.duckdb")
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS present (READ_ONLY)")
        connection.execute(f"ATTACH '{path}.old' AS old (STORAGE_VERSION 'v0.10.2')")
        connection.execute("COPY FROM DATABASE present TO old")
    path.with_name("rows.duckdb.old").replace(path)
    facts["files"]["rows.duckdb"] = {"bytes": path.stat().st_size, "digest": digest_of(path)}
    write_facts(header, facts)


def test_what_cannot_be_gone_on_from_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened = Opened(KEPT.format(retention="recovery") + "CREATE TABLE t (k INT);", tmp_path, monkeypatch)
    with opened.by("native") as pipeline:
        for at in range(4):
            pipeline.step({"t": [(at,)]})
    for header in (tmp_path / "state").glob("*/header.json"):
        facts = facts_of(header)
        facts["origin"] |= {"code": "0" * 24, "release": "0.0.1", "form": 0}
        write_facts(header, facts)
    with (
        pytest.raises(
            DataError,
            match=r"it was written by release '0\.0\.1', here \S+; its state has form 0, here \d+",
        ) as refused,
        opened.by("native"),
    ):
        pass
    assert refused.value.code == "LOG_GONE"
