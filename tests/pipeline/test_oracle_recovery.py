"""A pipeline that is closed and opened again anywhere is the one that was never closed: nobody can tell."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from test_collection import VIEWS
from test_collection import steps as random_steps

import penstock

START = datetime(2025, 1, 1)  # noqa: DTZ001 - UTC
TABLES = """
SET state_seconds = '0.01';
CREATE TABLE a (t BIGINT LATENESS 6, k INT, x INT);
CREATE TABLE b (t BIGINT LATENESS 6, k INT, y INT);
"""
NEEDS = {"twice": ("by_ten",), "reached": ("sums", "different")}
ON_SPARK = {
    "listed", "ranged", "around", "timed", "sessions", "hops", "recent", "recent_sums", "counted", "counted_all",
    "chained", "chains",
}  # fmt: skip
NATIVE = [name for name in VIEWS if name not in ON_SPARK]

STREAMS = """
SET state_seconds = '0.01';
CREATE TABLE s (k INT, ts TIMESTAMP LATENESS INTERVAL 4 SECONDS, x INT);
CREATE TABLE held (k INT, ts TIMESTAMP LATENESS INTERVAL 8 SECONDS WATERMARK INTERVAL 3 SECONDS, x INT);
CREATE TABLE keyed (k INT PRIMARY KEY, ts TIMESTAMP LATENESS INTERVAL 4 SECONDS, x INT);
CREATE TABLE sorted (n BIGINT LATENESS 2 ROWS, k INT);
CREATE STREAM gone (k INT, ts TIMESTAMP LATENESS INTERVAL 4 SECONDS, x INT) WITH ('history' = 'none');
CREATE TABLE target (k INT, x INT);
CREATE TABLE folded (k INT PRIMARY KEY, x INT);
CREATE VIEW plain AS SELECT k, SUM(x) AS s, COUNT(*) AS n FROM keyed GROUP BY k;
CREATE VIEW waited AS SELECT k, COUNT(*) AS n, MAX(ts) AS m FROM held GROUP BY k;
CREATE VIEW windows AS SELECT window_start, window_end, COUNT(*) AS n, SUM(x) AS s
    FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL 4 SECONDS)) GROUP BY window_start, window_end;
CREATE VIEW narrow AS SELECT k, ts, x FROM gone;
LATENESS narrow.ts INTERVAL 2 SECONDS;
CREATE VIEW counted AS SELECT ts, COUNT(*) AS n FROM narrow GROUP BY ts;
CREATE VIEW errors AS SELECT table_or_view_name AS t, message, COUNT(*) AS n FROM error_view GROUP BY 1, 2;
CREATE VIEW copied AS SELECT k, SUM(x) AS s FROM target GROUP BY k;
CREATE VIEW last_n AS SELECT k, COUNT(*) AS n, MAX(n) AS m FROM sorted GROUP BY k;
"""
# Each one beside all of the above.
POLICIES = {
    "final": "CREATE VIEW e WITH ('emit_final' = 'window_end') AS SELECT * FROM windows;",
    "closed": "CREATE VIEW e AS SELECT window_end, SUM(x) AS s FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL 4 "
    "SECONDS)) GROUP BY window_end EMIT AFTER WATERMARK AND TIMEOUT 5s;",
    "ticks": "CREATE VIEW e AS SELECT k, SUM(x) AS s FROM s GROUP BY k EMIT CHANGES PERIODIC 3s;",
    "repeated": "CREATE VIEW e AS SELECT k, SUM(x) AS s FROM keyed GROUP BY k EMIT PERIODIC 3s REPEAT;",
    "delayed": "CREATE VIEW e AS SELECT k, SUM(x) AS s FROM s GROUP BY k EMIT STREAM AFTER DELAY INTERVAL '3' SECONDS;",
    "changes": "CREATE VIEW e AS SELECT k, SUM(x) AS s FROM keyed GROUP BY k EMIT CHANGES;",
    "limited": "CREATE VIEW e AS SELECT k, x FROM s ORDER BY k, x LIMIT 5 EMIT ON UPDATE;",
    "sessions": "CREATE VIEW e AS SELECT k, COUNT(*) AS n, SUM(x) AS s FROM s GROUP BY k EMIT AFTER SESSION CLOSE "
    "IDENTIFIED BY ts WITH MAXSPAN 3s AND TIMEOUT 10s;",
    "streamed": "INSERT INTO target SELECT STREAM k, x FROM gone; INSERT INTO folded SELECT k, SUM(x) AS x FROM keyed "
    "GROUP BY k EMIT ON UPDATE; CREATE VIEW e AS SELECT k, x FROM folded;",
    "versions": "CREATE VIEW e AS SELECT s.k, s.x, c.x AS then FROM s JOIN keyed FOR SYSTEM_TIME AS OF s.ts AS c "
    "ON s.k = c.k;",
    "matches": "CREATE VIEW e AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(a.x) AS f, "
    "LAST(b.x) AS l ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (a b+) DEFINE b AS b.x > a.x) AS m;",
    "into": "CREATE MATERIALIZED VIEW e INTO target AS SELECT k, x FROM keyed;",
}


def observed(pipeline: penstock.Pipeline, changes: dict[str, Any]) -> dict[str, Any]:
    """All that anybody can see of a pipeline after a step; maintained content, where any is kept."""
    views = [view.name for view in pipeline.catalog.views.values()]
    return {
        "changes": {name: sorted(change.rows, key=repr) for name, change in changes.items()},
        "content": {name: sorted(pipeline.content(name).rows, key=repr) for name in views},
        "waterlines": pipeline.waterlines(),
        "rejected": pipeline.rejected(),
        "steps": pipeline.steps,
        "clock": pipeline.clock,
        "timer": pipeline._opened().stepper.next_timer,
    }


def leave(pipeline: penstock.Pipeline, *, killed: bool) -> None:
    """End a pipeline: in order, with a snapshot of its state; or as one that is killed, without."""
    if killed:
        pipeline._opened().snapshots = None
    else:
        pipeline._opened().keep_state()  # steps as quick as these are not worth it
    pipeline.close()


Opening = Callable[..., penstock.Pipeline]


def native(program: str, **more: Any) -> penstock.Pipeline:
    return penstock.Pipeline(program, engine="native", **more)


def compared(
    program: str,
    steps: list[Any],
    places: list[int],
    folder: Any,
    *,
    disturbed: Opening = native,
    calm: Opening = native,
) -> None:
    """Play the steps undisturbed, and with a directory that is left before some steps, in one way and the other."""
    with calm(program) as undisturbed:
        expected = [observed(undisturbed, play(undisturbed, step, at)) for at, step in enumerate(steps)]
    pipeline = disturbed(program, directory=folder)
    for at, step in enumerate(steps):
        if at in places:
            killed = bool(places.index(at) % 2)
            leave(pipeline, killed=killed)
            pipeline = disturbed(program, directory=folder)
            opened = pipeline._opened()
            assert killed or opened.snapshots.last == opened.stepper.number, opened.snapshots.refused
        found = observed(pipeline, play(pipeline, step, at))
        for what, value in expected[at].items():
            assert found[what] == value, (what, at)
    pipeline.close()


def play(pipeline: penstock.Pipeline, step: Any, at: int) -> dict[str, Any]:
    clock = START + timedelta(seconds=2 * at)
    if isinstance(step, str):
        return pipeline.execute(step, clock=clock)
    return pipeline.step(step, clock=clock)


@pytest.mark.parametrize("views", [NATIVE[::6], pytest.param(NATIVE, marks=pytest.mark.extended)], ids=("some", "all"))
@pytest.mark.parametrize("seed", [1])
def test_views_go_on_where_they_were(views: list[str], seed: int, tmp_path: Any) -> None:
    wanted = dict.fromkeys(other for name in views for other in (*NEEDS.get(name, ()), name))
    program = TABLES + "\n".join(f"CREATE VIEW {name} AS {VIEWS[name]};" for name in wanted)
    steps = list(random_steps(seed, 7))
    compared(program, steps, [2, 3, 5], tmp_path)


def stream_steps(seed: int, count: int = 9) -> list[Any]:
    chance = random.Random(seed)
    found: list[Any] = []
    live: list[Any] = []
    for number in range(count):

        def row(number: int = number) -> tuple[int, datetime | None, int]:
            seconds = 2 * number + chance.randint(-6, 3)
            return chance.randint(1, 3), START + timedelta(seconds=seconds), chance.randint(0, 9)

        step: dict[str, Any] = {}
        for name in chance.sample(("s", "held", "keyed", "gone"), chance.randint(0, 4)):
            step[name] = [("+", row()) for _ in range(chance.randint(1, 5))]
        if chance.random() < 0.5:
            step["sorted"] = [("+", (chance.randint(0, 20) + number, chance.randint(1, 2))) for _ in range(3)]
        if "keyed" in step and chance.random() < 0.5:
            step["keyed"].append(("-", row()))
        if chance.random() < 0.4:
            live.append((number, 1))
            step["target"] = [("+", live[-1])]
        elif live and chance.random() < 0.5:
            step["target"] = [("-", live.pop())]
        found.append(step)
    found.insert(count // 2, "ADVANCE s.ts TO TIMESTAMP '2025-01-01 00:00:09'")
    found.insert(count // 3, "CREATE VIEW later AS SELECT COUNT(*) AS n FROM s")
    return found


QUICK = ("closed",)


@pytest.mark.parametrize(
    "policy", [*QUICK, *(pytest.param(name, marks=pytest.mark.extended) for name in POLICIES if name not in QUICK)]
)
@pytest.mark.parametrize("seed", [1])
def test_what_waits_goes_on_waiting(policy: str, seed: int, tmp_path: Any) -> None:
    steps = stream_steps(f"{policy}{seed}")  # type: ignore[arg-type]
    compared(STREAMS + POLICIES[policy], steps, [3, 4, 5, 8], tmp_path)
