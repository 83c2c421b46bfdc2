"""The order of arrival in dialect flink against lists of rows as they came: random inserts, deletions and steps."""

from __future__ import annotations

import os
import random
from collections import Counter
from datetime import datetime, timedelta

import pytest

import penstock
from penstock.steps import log

DAY = datetime(2024, 1, 1)  # noqa: DTZ001 - UTC, as all clocks
PROGRAM = """
CREATE TABLE m (k INT, s STRING);
CREATE TABLE o (k INT, v INT, pt AS PROCTIME());
CREATE VIEW lists AS SELECT k, LISTAGG(s) AS l, FIRST_VALUE(s) AS f, LAST_VALUE(s) AS z FROM m GROUP BY k;
CREATE VIEW last_row AS SELECT k, v FROM
  (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY pt DESC) AS rn FROM o) WHERE rn = 1;
CREATE VIEW sums AS SELECT k, v, COUNT(*) OVER (PARTITION BY k ORDER BY pt) AS n, SUM(v) OVER
  (PARTITION BY k ORDER BY pt RANGE BETWEEN INTERVAL '2' SECOND PRECEDING AND CURRENT ROW) AS s FROM o;
"""
LATER = "CREATE VIEW different AS SELECT k, LISTAGG(DISTINCT s, '-') AS l FROM m GROUP BY k;"


class Arrived:
    """The rows of both tables as they came, and random steps."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.m, self.o = [], []
        self.clock = DAY

    def step(self):
        """The operations of a step, which have happened to the lists."""
        chosen = self.random
        self.clock += timedelta(seconds=chosen.choice([0, 0, 1, 2]))
        texts = []
        for _ in range(chosen.randrange(5)):
            if self.m and chosen.random() < 0.3:
                row = chosen.choice(self.m)
                self.m.remove(row)  # the first of those that are equal
                texts.append(("-", row))
            else:
                row = (chosen.choice([None, 1, 2]), chosen.choice([None, "z", "a", "m"]))
                self.m.append(row)
                texts.append(("+", row))
        numbers = [(chosen.choice([1, 2]), chosen.choice([None, 1, 10, 100])) for _ in range(chosen.randrange(3))]
        self.o += [(*row, self.clock) for row in numbers]
        return {name: rows for name, rows in (("m", texts), ("o", numbers)) if rows}

    def lists(self):
        for k in {k for k, _ in self.m}:
            values = [s for key, s in self.m if key == k and s is not None]
            yield (k, ",".join(values), values[0], values[-1]) if values else (k, None, None, None)

    def different(self):
        for k in {k for k, _ in self.m}:
            values = [s for key, s in self.m if key == k and s is not None]
            yield k, "-".join(dict.fromkeys(values)) if values else None

    def last_row(self):
        return {k: (k, v) for k, v, _ in self.o}.values()

    def sums(self):
        for at, (k, v, time) in enumerate(self.o):
            before = [(w, then) for key, w, then in self.o[: at + 1] if key == k]
            near = [w for w, then in before if then >= time - timedelta(seconds=2) and w is not None]
            yield k, v, len(before), sum(near) if near else None

    def check(self, pipeline, names=("lists", "last_row", "sums")):
        for name in names:
            found = Counter(pipeline.query(f"SELECT * FROM {name}").rows)
            assert found == Counter(getattr(self, name)()), name


@pytest.fixture
def _small_pieces(monkeypatch):
    monkeypatch.setattr(log, "LOG_PIECES", 3)
    monkeypatch.setattr(log, "HELD_ROWS", 8)


def run(engine, seed, directory, steps):
    """Random steps, a view that is made later, and the directory opened again in the middle."""
    arrived = Arrived(seed)
    for part in range(2):
        with penstock.Pipeline(PROGRAM, dialect="flink", engine=engine, directory=directory) as pipeline:
            arrived.check(pipeline)
            if part == 1:
                pipeline.execute(LATER)
            for _ in range(steps):
                pipeline.step(arrived.step(), clock=arrived.clock)
                arrived.check(pipeline, ("lists", "last_row", "sums", *(["different"] if part else [])))
            if engine == "spark" and part:
                assert pipeline.verify("lists").ok
                assert pipeline.verify("last_row").ok


@pytest.mark.usefixtures("_small_pieces")
@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(seed, marks=pytest.mark.extended) for seed in range(3, 12))])
def test_oracle_arrival_in_the_process(seed, tmp_path):
    run("native", seed, tmp_path / "p", 12)


@pytest.mark.spark
@pytest.mark.extended
def test_oracle_arrival_on_spark(tmp_path):
    run("spark", 1, tmp_path / "p", 3)


@pytest.mark.parametrize("cut", [1, 3, 20])
def test_arrival_does_not_depend_on_how_rows_are_cut_into_steps(cut):
    arrived = Arrived(5)
    operations = [item for _ in range(12) for item in arrived.step().get("m", [])]
    with penstock.Pipeline(PROGRAM, dialect="flink", engine="native") as pipeline:
        for at in range(0, len(operations), cut):
            pipeline.step({"m": operations[at : at + cut]})
        arrived.check(pipeline, ["lists"])


def test_the_order_of_files_and_of_rows_in_them(tmp_path):
    feed = tmp_path / "in"
    feed.mkdir()
    for number, name in enumerate("bac"):
        rows = "".join(f'{{"k": 1, "s": "{name}{row}"}}\n' for row in (2, 0, 1))
        (feed / f"{name}.json").write_text(rows, encoding="utf-8")
        os.utime(feed / f"{name}.json", (1000 + number, 1000 + number))
    program = f"""CREATE TABLE m (k INT, s STRING) WITH ('connector' = 'files', 'path' = '{feed}', 'format' = 'json');
    CREATE VIEW l AS SELECT LISTAGG(s) AS l FROM m;"""
    with penstock.Pipeline(program, dialect="flink", engine="native") as pipeline:
        pipeline.run(once=True)
        assert pipeline.query("SELECT l FROM l").rows == [("b2,b0,b1,a2,a0,a1,c2,c0,c1",)]


def test_seq_says_the_order_of_arrival():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"k": [1, 1, 1], "s": ["a", "b", "c"], "__seq": [3, 1, 2]})
    with penstock.Pipeline(PROGRAM, dialect="flink", engine="native") as pipeline:
        pipeline.step({"m": frame})
        assert pipeline.query("SELECT l FROM lists").rows == [("b,c,a",)]
