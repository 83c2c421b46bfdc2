"""Groups are closed by a column that their key determines (docs/adr/0010), and no answer ever changes by it."""

# ruff: noqa: E501 - one view on one line

import random

import pytest

import penstock
from penstock.backends.native import collecting
from penstock.backends.spark.operators import runner

# Auctions and bids: an offer is open from `t` to `e`, and a bid meets it while it is.
TABLES = """
CREATE TABLE a (id INT PRIMARY KEY, t BIGINT LATENESS 6, e BIGINT, c INT){only};
CREATE TABLE b (id INT, t BIGINT LATENESS 6, x INT){only};
CREATE TABLE n (c INT PRIMARY KEY, name STRING);
"""
OPEN = "FROM a JOIN b ON a.id = b.id AND b.t BETWEEN a.t AND a.e"
VIEWS = {
    "highest": f"SELECT max(b.x) AS g, a.c {OPEN} GROUP BY a.id, a.c",
    "averages": "SELECT c, avg(g) AS v, count(*) AS n FROM highest GROUP BY c",
    "counted": "SELECT a.id, count(*) AS n, sum(b.x) AS s FROM a, b WHERE a.id = b.id AND a.t <= b.t AND b.t <= a.e GROUP BY a.id",
    "by_bids": f"SELECT b.id, min(b.t) AS m, count(a.c) AS n {OPEN} GROUP BY b.id",
    "listed": f"SELECT a.id, array_agg(b.x) AS l {OPEN} WHERE b.x > 0 GROUP BY a.id",
    "winning": f"SELECT a.id, a.t, a.e, a.c, b.t AS u, b.x {OPEN} QUALIFY row_number() OVER (PARTITION BY a.id ORDER BY b.x DESC, b.t) = 1",
    "best_two": f"SELECT a.id, b.x {OPEN} QUALIFY row_number() OVER (PARTITION BY a.id ORDER BY b.x DESC) <= 2",
    "ranked": f"SELECT b.id, b.t, b.x {OPEN} QUALIFY rank() OVER (PARTITION BY b.id ORDER BY b.x) <= 2",
    "summed": f"SELECT a.id, b.x, sum(b.x) OVER (PARTITION BY a.id) AS s {OPEN}",
    "before": f"SELECT a.id, b.t, lag(b.x) OVER (PARTITION BY a.id ORDER BY b.t NULLS LAST) AS p {OPEN}",
    "over_before": "SELECT id, t, sum(p) OVER (PARTITION BY id ORDER BY t NULLS LAST) AS s FROM before",
    "different": f"SELECT DISTINCT a.id, a.c {OPEN}",
    "met": f"SELECT a.id, a.c, b.x, b.t AS u {OPEN}",
    "of_met": "SELECT id, c, sum(x) AS s, max(u) AS m FROM met WHERE x IS NOT NULL GROUP BY id, c",
    "of_winning": "SELECT id + 1 AS next, count(*) AS n, max(x) AS m FROM winning GROUP BY id",
    "named": "SELECT m.id, n.name, count(*) AS k FROM met m JOIN n ON m.c = n.c GROUP BY m.id, n.name",
    "nested": f"SELECT id, max(n) AS m, count(*) AS k FROM (SELECT a.id, b.x, count(*) AS n {OPEN} GROUP BY a.id, b.x) GROUP BY id",
    "distinct_bids": f"SELECT a.id, count(DISTINCT b.x) AS n {OPEN} GROUP BY a.id",
    "outer_counted": "SELECT a.id, count(b.x) AS n FROM a LEFT JOIN b ON a.id = b.id AND b.t BETWEEN a.t AND a.e GROUP BY a.id",
    "there": "SELECT a.id, a.c FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.id = a.id AND b.t BETWEEN a.t AND a.e)",
    "of_there": "SELECT id, count(*) AS n FROM there GROUP BY id",
}
GROUPS = {
    "groups": ("highest", "averages", "counted", "listed"),
    "orders": ("ranked", "summed", "before", "over_before"),
    "views": ("met", "of_met", "winning", "of_winning", "named", "outer_counted", "there", "of_there"),
    "append_only": ("highest", "listed", "winning"),
}
CLOSED = {
    "changing": ("highest", "by_bids", "listed", "winning", "best_two", "before", "different", "nested", "distinct_bids"),
    "append_only": ("highest", "winning", "met", "of_met"),
}  # fmt: skip


def program(views, *, only=False):
    tables = TABLES.format(only=" WITH ('append_only' = 'true')" if only else "")
    return "\n".join([tables, *(f"CREATE VIEW {name} AS {VIEWS[name]};" for name in views)])


def steps(seed, count, *, only=False):
    """Offers and bids a few behind the largest so far, some too late, some without times; offers that change and go."""
    chance = random.Random(seed)
    now, offers, bids = 0, {}, []
    for step in range(count):
        now += chance.choice((3, 9, 25))
        changed = {}
        for _ in range(chance.randint(2, 8)):
            newest = max(offers, default=0) + 1
            number = newest if only or chance.random() < 0.6 else chance.randint(max(1, newest - 8), newest)
            time = None if chance.random() < 0.05 else max(0, now - chance.randint(0, 9))
            until = None if chance.random() < 0.05 else (time or now) + chance.choice((-1, 0, 2, 5, 12, 40))
            offers[number] = (number, time, until, chance.randint(0, 2))
            changed[number] = ("-" if not only and chance.random() < 0.2 else "+", offers[number])
        bidding = [("+", bid_for(chance, now, offers)) for _ in range(chance.randint(4, 16))]
        bids += [(now, bid) for _, bid in bidding]
        fresh = [item for item in bids if item[1][1] is None or (item[0] >= now - 4 and item[1][1] >= now - 3)]
        if fresh and not only and chance.random() < 0.7:
            gone = chance.choice(fresh)
            bids.remove(gone)
            bidding.append(("-", gone[1]))
        names = [] if step else [(number, f"name {number}") for number in range(3)]
        yield {"a": list(changed.values()), "b": bidding, "n": names}


def bid_for(chance, now, offers):
    """A bid for one of the latest offers, mostly while it is open."""
    number, begin, until, _ = offers[chance.choice(sorted(offers)[-8:])]
    time = None if chance.random() < 0.05 else max(0, now - chance.randint(0, 9))
    if chance.random() < 0.7:
        time = max(begin or 0, min(now, until or now) - chance.randint(0, 3))
    return number + (chance.random() < 0.1), time, chance.choice((None, 0, 1, 2, 3, 4))


def never_collects(pipeline):
    """The pipeline's state is not even merged."""
    pipeline._opened().stepper.engine.maintain = lambda: None


BOTH = pytest.mark.parametrize("engine", ["auto", pytest.param("spark", marks=pytest.mark.extended)])


@pytest.mark.parametrize(
    ("engine", "group"),
    [
        pytest.param(engine, group, marks=() if (engine, group) == ("auto", "append_only") else pytest.mark.extended)
        for engine in ("auto", "spark")
        for group in GROUPS
    ],
)
def test_answers_are_the_same_with_and_without_collection(interpreting, monkeypatch, engine, group):
    monkeypatch.setattr(runner, "LEAST_COLLECTED_ROWS", 4)
    monkeypatch.setattr(collecting, "LEAST_FORGOTTEN_ROWS", 4)
    answers_are_the_same(interpreting, engine, group, GROUPS[group])


@pytest.mark.extended
def test_one_answers_the_same_on_spark(interpreting, monkeypatch):
    monkeypatch.setattr(runner, "LEAST_COLLECTED_ROWS", 4)
    answers_are_the_same(interpreting, "spark", "append_only", ("highest",))


def answers_are_the_same(interpreting, engine, group, views):
    only = group == "append_only"
    text = program(views, only=only)
    with (
        penstock.Pipeline(text, spark=interpreting, engine=engine) as dropping,
        penstock.Pipeline(text, spark=interpreting, engine=engine) as keeping,
    ):
        never_collects(keeping)
        dropping._opened().stepper.engine.workspace.memory_rows = 4
        for number, step in enumerate(steps(group, 5, only=only)):
            expected, found = keeping.step(step), dropping.step(step)
            for name in views:
                assert sorted(found[name].rows, key=repr) == sorted(expected[name].rows, key=repr), (name, number)
            if number % 2:  # between these, layers are merged as they come
                dropping.compact()
        dropping.compact()
        assert all(dropping.verify(name) for name in views)
        assert sum(item.rows for item in dropping.state()) < sum(item.rows for item in keeping.state())


@BOTH
def test_what_was_taken_back_stays_away_while_its_key_is_open(spark, engine):
    """On Spark the layers that are merged before the last step hold what took offer 1 until 5 back; it is in an older one."""
    views = {
        "winning": f"SELECT a.id, a.e, b.x {OPEN} QUALIFY row_number() OVER (PARTITION BY a.id ORDER BY b.x DESC) = 1",
        "summed": f"SELECT a.id, a.e, b.x, sum(b.x) OVER (PARTITION BY a.id) AS s {OPEN}",
    }
    text = TABLES.format(only="").replace("LATENESS 6", "LATENESS 10")
    text += "".join(f"CREATE VIEW {name} AS {view};" for name, view in views.items())
    many = range(100, 140)
    with penstock.Pipeline(text, spark=spark, engine=engine) as pipeline:
        pipeline._opened().stepper.engine.workspace.memory_rows = 0
        pipeline.step(
            {"a": [*((n, 0, 1000, 0) for n in many), (1, 0, 5, 0)], "b": [*((n, 0, 1) for n in many), (1, 0, 7)]}
        )
        pipeline.step({"a": [(1, 0, 50, 0)]})
        pipeline.step({"a": [(200, 20, 1000, 0)], "b": [(200, 20, 1)]})
        assert min(pipeline.waterlines()[name] for name in ("a.t", "b.t")) == 10
        found = pipeline.step({"b": [(1, 21, 9)]})
        assert sorted(found["winning"].rows) == [(-1, (1, 50, 7)), (1, (1, 50, 9))]
        assert sorted(found["summed"].rows) == [(-1, (1, 50, 7, 7)), (1, (1, 50, 7, 16)), (1, (1, 50, 9, 16))]
        pipeline.step({"b": [(1, 30, 8)]})
        assert all(pipeline.verify(name) for name in views)


@BOTH
@pytest.mark.parametrize("kind", [pytest.param("changing", marks=pytest.mark.extended), "append_only"])
def test_state_stays_flat_while_offers_end(spark, kind, engine):
    with penstock.Pipeline(program(CLOSED[kind], only=kind == "append_only"), spark=spark, engine=engine) as pipeline:
        sizes = []
        for begin in (0, 50, 100):
            times = range(begin, begin + 50)
            offers = [(time + 1, time, time + 5, time % 3) for time in times]
            pipeline.step({"a": offers, "b": [(time + 1, time + more, more) for time in times for more in (0, 1, 4)]})
            pipeline.compact()
            sizes.append([item.rows for item in pipeline.state()])
        assert sizes[0] == sizes[1] == sizes[2]
        assert all(pipeline.verify(name) for name in CLOSED[kind])


@BOTH
def test_final_rows_of_what_has_ended(spark, engine):
    """A group's closing column has a waterline behind Top-K, by which rows are final."""
    view = VIEWS["winning"]
    text = f"{program(())} CREATE VIEW won WITH ('emit_final' = 'e') AS {view};"
    with penstock.Pipeline(text, spark=spark, engine=engine) as pipeline:
        shown = []
        for step in steps("final", 9):
            shown += pipeline.step(step)["won"].rows
            pipeline.compact()
        line = min(pipeline.waterlines()[name] for name in ("a.t", "b.t"))
        rows = [tuple(row) for row in pipeline.content("won").rows]
        assert sorted(row for _, row in shown) == sorted(row for row in rows if row[2] is not None and row[2] < line)
        assert {weight for weight, _ in shown} == {1}
        assert len(shown) > 5
