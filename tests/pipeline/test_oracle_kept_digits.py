"""Answers in floating point, once given, are kept: all changes add up to the content to the last bit, whoever goes on.

The sums depend on the order of adding, which is another one in another engine, and after the state has been made again.
"""

from __future__ import annotations

import json
import random
import shutil
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import feather

import penstock
from penstock.analysis.inexact import is_inexact
from penstock.bind.program.compile import compile_program
from penstock.steps.checked_files import digest_of, facts_of, write_facts
from penstock.steps.recorded import recorded_step

SINK = "WITH ('connector' = 'files', 'path' = '{}', 'form' = 'retract')"
PROGRAM = """
CREATE TABLE t (id INT PRIMARY KEY, g INT, x DOUBLE);
CREATE VIEW sums {} AS SELECT g, sum(x) AS s, avg(x) AS a FROM t GROUP BY g;
CREATE VIEW whole AS SELECT sum(x) AS s, stddev_pop(x) AS d FROM t;
CREATE VIEW texts AS SELECT g, CAST(s > 1 AS STRING) AS large, s * 2 AS twice FROM sums;
CREATE VIEW best AS SELECT g, s FROM sums ORDER BY s DESC LIMIT 1;
CREATE VIEW beside AS SELECT id, sum(x) OVER (PARTITION BY g) AS s FROM t;
"""
VIEWS = ("sums", "whole", "texts", "best", "beside")
VALUES = (1e16, -1e16, 0.1, 0.7, -0.3, 1.0, 3e-9, 1e9, None)
MORE = {"t": [(8, 9, 0.25)]}  # of a group of its own
STEPS = 4


def batches(seed: int, count: int) -> Iterator[dict[str, list[Any]]]:
    """Rows that come, change and go."""
    draw = random.Random(seed)
    for _ in range(count):
        keys = draw.sample(range(14), 6)
        yield {"t": [(draw.choice("+++-"), (key, draw.randrange(2), draw.choice(VALUES))) for key in keys]}


def bits(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(struct.pack("<d", item) if isinstance(item, float) else item for item in row)


def written(folder: Path) -> Counter[Any]:
    """The rows that the files of an output add up to."""
    found: Counter[Any] = Counter()
    for path in folder.glob("part-*"):
        for line in path.read_text(encoding="utf-8").splitlines():
            ((does, row),) = json.loads(line).items()
            found[bits(tuple(row.values()))] += 1 if does == "insert" else -1
    return +found


class Reader:
    """A reader that adds up all changes of a pipeline that stops and goes on."""

    def __init__(self, folder: Path) -> None:
        self.sums: dict[str, Counter[Any]] = {name: Counter() for name in VIEWS}
        self.directory, self.out = folder / "pipeline", folder / "out"

    def opened(self, engine: str, **more: Any) -> penstock.Pipeline:
        program = PROGRAM.format(SINK.format(self.out))
        return penstock.Pipeline(program, engine=engine, directory=self.directory, **more)

    def add(self, changes: Mapping[str, Any]) -> None:
        for name in VIEWS:
            for weight, row in changes[name].rows:
                self.sums[name][bits(row)] += weight

    def check(self, pipeline: penstock.Pipeline) -> None:
        for name in VIEWS:
            content = Counter(bits(tuple(row)) for row in pipeline.content(name).rows)
            assert {row: weight for row, weight in self.sums[name].items() if weight} == content, name


def goes_on(reader: Reader, engines: tuple[str, ...], seed: int, *, anew: bool, **more: Any) -> None:
    """Some steps with each engine; what it remembers is lost in between if all is to be made `anew`."""
    changes = batches(seed, STEPS * len(engines))
    for engine in engines:
        with reader.opened(engine, **more) as pipeline:
            for _ in range(STEPS):
                reader.add(pipeline.step(next(changes)))
            reader.check(pipeline)
            pipeline.compact()
        assert written(reader.out) == +reader.sums["sums"]
        if anew:
            shutil.rmtree(reader.directory / "state", ignore_errors=True)


@pytest.mark.parametrize("anew", [False, True])
def test_the_same_engine_goes_on(spark, tmp_path, anew):
    goes_on(Reader(tmp_path), ("native",) * 3, 7, anew=anew, spark=spark)


@pytest.mark.parametrize(
    ("engines", "seed"),
    [
        pytest.param(("native", "spark", "native"), 1, marks=pytest.mark.extended),
        pytest.param(("spark", "native", "spark"), 2, marks=pytest.mark.extended),
        pytest.param(("spark", "spark"), 3, marks=pytest.mark.extended),
        *(pytest.param(("native", "spark"), seed, marks=pytest.mark.extended) for seed in range(4, 8)),
        *(pytest.param(("spark", "native"), seed, marks=pytest.mark.extended) for seed in range(8, 12)),
    ],
)
def test_another_engine_goes_on(interpreting, tmp_path, engines, seed):
    goes_on(Reader(tmp_path), engines, seed, anew=False, spark=interpreting)


def other_digits(path: Path) -> None:
    """Have the log say that a view showed sums with other last digits, as of an engine that adds in another order."""
    table = feather.read_table(path, memory_map=False)
    sums = pa.array([value + 1 / 1024 for value in table["s"].to_pylist()], pa.float64())
    feather.write_feather(table.set_column(table.column_names.index("s"), "s", sums), str(path))
    log = path.parents[2]
    for manifest in (log / "steps").glob(f"{path.name[:12]}.json"):
        facts = facts_of(manifest)
        facts["digests"][path.relative_to(log).as_posix()] = digest_of(path)
        write_facts(manifest, facts)


def test_what_is_answered_otherwise_is_shown_by_the_next_step(tmp_path):
    """Made again, and once more: the difference is shown once, and not before a step has happened."""
    reader = Reader(tmp_path)
    with reader.opened("native") as pipeline:
        reader.add(pipeline.step({"t": [(1, 1, 0.5), (2, 1, 0.25), (3, 2, 4.0)]}))
    for file in (reader.directory / "log" / "data" / "sums").glob("*.told.arrow"):
        other_digits(file)
    for _ in range(2):
        shutil.rmtree(reader.directory / "state", ignore_errors=True)
        with reader.opened("native") as pipeline:
            assert sorted(pipeline.content("sums").rows) == [(1, 0.75, 0.375), (2, 4.0, 4.0)]
    with reader.opened("native") as pipeline:
        changes = pipeline.step(MORE)
        assert sorted(changes["sums"].rows) == [
            (-1, (1, 0.75 + 1 / 1024, 0.375)),
            (-1, (2, 4.0 + 1 / 1024, 4.0)),
            (1, (1, 0.75, 0.375)),
            (1, (2, 4.0, 4.0)),
            (1, (9, 0.25, 0.25)),
        ]
        assert pipeline.step({"t": [("-", (8, 9, 0.25))]})["sums"].rows == [(-1, (9, 0.25, 0.25))]
    shutil.rmtree(reader.directory / "state", ignore_errors=True)
    with reader.opened("native") as pipeline:
        assert pipeline.step({"t": [("-", (3, 2, 4.0))]})["sums"].rows == [(-1, (2, 4.0, 4.0))]


def test_a_step_that_is_refused_has_not_shown_it(tmp_path):
    reader = Reader(tmp_path)
    with reader.opened("native") as pipeline:
        pipeline.step({"t": [(1, 1, 0.5)]})
    for file in (reader.directory / "log" / "data" / "sums").glob("*.told.arrow"):
        other_digits(file)
    shutil.rmtree(reader.directory / "state", ignore_errors=True)
    with reader.opened("native") as pipeline:
        with pytest.raises(penstock.DataError):
            pipeline.step({"t": [("nothing", 1, 1)]})
        assert len(pipeline.step(MORE)["sums"].rows) == 3


def test_the_log_has_what_cannot_be_made_again_alone(tmp_path):
    with penstock.Pipeline(PROGRAM.format(""), engine="native", directory=tmp_path) as pipeline:
        pipeline.step({"t": [(1, 1, 0.5)]})
    found = recorded_step(tmp_path / "log", 1)
    assert found is not None
    assert found.told is not None
    assert set(found.told) == set(VIEWS)
    exact = "CREATE TABLE t (x DOUBLE, n INT); CREATE VIEW v AS SELECT n, max(x) AS m, sum(n) AS s FROM t GROUP BY n;"
    with penstock.Pipeline(exact, engine="native", directory=tmp_path / "exact") as pipeline:
        pipeline.step({"t": [(0.5, 1)]})
    found = recorded_step(tmp_path / "exact" / "log", 1)
    assert found is not None
    assert found.told is None


@pytest.mark.parametrize(
    ("query", "inexact"),
    [
        ("SELECT x FROM t", False),
        ("SELECT g, count(*) AS c, sum(g) AS s, max(x) AS m FROM t GROUP BY g", False),
        ("SELECT g, sum(x) AS s FROM t GROUP BY g", True),
        ("SELECT avg(g) AS a FROM t", True),
        ("SELECT g FROM t GROUP BY g HAVING sum(x) > 1", True),
        ("SELECT x, lag(x) OVER (ORDER BY g) AS p, rank() OVER (ORDER BY g) AS r FROM t", False),
        ("SELECT x, sum(x) OVER (ORDER BY g) AS s FROM t", True),
        ("SELECT c FROM inner_sums WHERE c > 0", True),
    ],
)
def test_answers_that_depend_on_the_order_of_adding(query, inexact):
    tables = "CREATE TABLE t (g INT, x DOUBLE); CREATE VIEW inner_sums AS SELECT count(*) AS c, sum(x) AS s FROM t;"
    catalog = compile_program(f"{tables} CREATE VIEW v AS {query};").catalog
    assert is_inexact(catalog.views["v"], catalog) is inexact
