"""New views are filled beside those at work, piece by piece, while steps go on; then they take their places."""

import shutil
import threading
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiers import examples

import penstock
from penstock.errors import DataError, Diagnostic, PenstockError
from penstock.pipeline.run import RunOptions
from penstock.steps import filling as module

TABLES = """
CREATE TABLE o (id INT, who STRING, amount BIGINT);
CREATE TABLE k (who STRING PRIMARY KEY, city STRING);
CREATE TABLE late (at INT LATENESS 2, n INT);
"""
QUERIES = (
    "SELECT who, COUNT(*) AS n FROM o GROUP BY who",
    "SELECT who, MAX(amount) AS n FROM o GROUP BY who",
    "SELECT DISTINCT o.who, CAST(o.id AS BIGINT) AS n FROM o LEFT JOIN k ON o.who = k.who WHERE k.city IS NULL",
    "SELECT o.who, SUM(o.amount) AS n FROM o JOIN k ON o.who = k.who GROUP BY o.who",
    "SELECT a.who, b.amount AS n FROM o a JOIN o b ON a.id = b.id",
    "SELECT who, amount AS n FROM o QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY amount, who) = 1",
    "SELECT who, amount AS n FROM o UNION ALL SELECT who, amount FROM o",
    "SELECT who, amount AS n FROM o EXCEPT SELECT who, CAST(1 AS BIGINT) FROM k",
    "SELECT city AS who, COUNT(*) AS n FROM k GROUP BY city",
    "SELECT CAST(at AS STRING) AS who, SUM(n) AS n FROM late GROUP BY at",
    "SELECT who, amount AS n FROM o ORDER BY amount DESC, who, id LIMIT 2",
    "SELECT who, LAG(amount) OVER (PARTITION BY who ORDER BY id, amount) AS n FROM o",
)
PROGRAM = f"""{TABLES}
CREATE VIEW v AS {{}};
CREATE VIEW w AS SELECT n, COUNT(*) AS c FROM v GROUP BY n;
CREATE MATERIALIZED VIEW u AS SELECT id, COUNT(*) AS c FROM o GROUP BY id;
"""
NAMES = ("v", "w", "u")


def opened(program, **given):
    return penstock.Pipeline(program, engine="native", **given)


def stored(pipeline):
    """The tables of state, and the circuits aside: what a change of program that did not happen must not add to."""
    engine = pipeline._opened().stepper.engine
    (tables,) = engine.store.fetched("SELECT count(*) FROM duckdb_tables() WHERE NOT temporary")
    return tables[0], len(engine.aside), len(engine.installed)


def recomputed(pipeline, name):
    return Counter(pipeline.query(pipeline.catalog.views[name].text).rows)


@dataclass
class Driven:
    """A pipeline, its tables as they should be, and what its views have shown, added up."""

    pipeline: penstock.Pipeline
    rows: list = field(default_factory=list)
    shown: dict = field(default_factory=lambda: {name: Counter() for name in NAMES})

    def add(self, changes):
        for name in NAMES:
            for weight, values in changes[name].rows if name in changes else ():
                self.shown[name][values] += weight

    def step(self, rows, taken, keys, times):
        """Rows come, as many as are `taken` of those that are there go, and one that came goes again at once."""
        gone, self.rows = self.rows[:taken], self.rows[taken:] + rows
        inputs = {"o": [*(("-", row) for row in gone), *rows], "k": keys, "late": times}
        self.add(self.pipeline.step({name: found for name, found in inputs.items() if found}))

    def deploy(self, program, moments):
        """Another program takes its place; between its pieces of some rows come the moments' steps."""
        filling = self.pipeline._filling(program)
        for most, act in moments:
            if filling is not None:
                filling.give(most)
            act(self)
        if filling is not None:
            filling.finish()
        self.add(self.pipeline._deployed(program, None, filling))

    def check(self):
        for name in NAMES:
            expected = recomputed(self.pipeline, name)
            assert +self.shown[name] == expected, name
            assert not -self.shown[name], name
            assert Counter(self.pipeline.query(f"SELECT * FROM {name}").rows) == expected, name
            if self.pipeline._opened().stepper.stored.keeps(self.pipeline.catalog.views[name]):
                assert Counter(self.pipeline.content(name).rows) == expected, name


row = st.tuples(st.integers(1, 3), st.sampled_from(["a", "b", None]), st.one_of(st.none(), st.integers(0, 3)))
keyed = st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["x", "y", None]))
key = st.one_of(keyed, keyed.map(lambda found: ("~", found)))
brought = st.tuples(
    st.lists(row, max_size=4),
    st.integers(0, 3),
    st.lists(key, max_size=2),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), max_size=3),
)
step = brought.map(lambda found: lambda driven: driven.step(*found))
compacted = st.just(lambda driven: driven.pipeline.compact())
moment = st.tuples(st.integers(1, 5), st.one_of(step, step, compacted))


@given(
    st.lists(st.sampled_from(QUERIES), min_size=3, max_size=3),
    st.lists(brought, min_size=1, max_size=3),
    st.lists(st.lists(moment, max_size=4), min_size=2, max_size=2),
    st.booleans(),
)
@pytest.mark.extended
@examples(6, 25)
def test_oracle_views_that_are_filled_while_steps_go_on_are_recomputed_ones(queries, before, filled, kept):
    """Whatever comes while views are filled: what was shown adds up to the answers, and so does what is kept."""
    with opened(PROGRAM.format(queries[0]), retain="all" if kept else "materialized") as pipeline:
        driven = Driven(pipeline)
        for found in before:
            driven.step(*found)
        for query, moments in zip(queries[1:], filled, strict=True):
            driven.deploy(PROGRAM.format(query), moments)
            driven.check()
            driven.step([(1, "a", 2), (2, None, None)], 1, [("a", "z")], [(9, 1)])
            driven.check()


@pytest.mark.parametrize(
    ("query", "retain"),
    [
        pytest.param(query, retain, marks=pytest.mark.extended if retain == "all" and place % 4 else ())
        for place, query in enumerate(QUERIES)
        for retain in ("all", "materialized")
    ],
)
def test_each_query_is_filled_between_steps(query, retain):
    moments = [
        (1, lambda driven: driven.step([(1, "a", 1), (1, "a", 1)], 1, [("a", "y")], [(3, 1)])),
        (2, lambda driven: driven.pipeline.compact()),
        (2, lambda driven: driven.step([], 2, [], [(0, 1), (4, 4)])),
        (3, lambda driven: driven.step([], 0, [], [])),
    ]
    with opened(PROGRAM.format("SELECT who, CAST(id AS BIGINT) AS n FROM o"), retain=retain) as pipeline:
        driven = Driven(pipeline)
        driven.step([(1, "a", 3), (2, "b", None), (3, None, 0), (1, "a", 3)], 0, [("a", "x"), ("b", None)], [(1, 1)])
        found = pipeline.deployment(PROGRAM.format(query))
        assert found.at_once == {}
        driven.deploy(PROGRAM.format(query), moments)
        driven.check()
        driven.step([(3, "b", 1)], 1, [("b", "y")], [(5, 2)])
        driven.check()
        assert stored(pipeline)[1] == 0


OLD, NEW = PROGRAM.format(QUERIES[0]), PROGRAM.format(QUERIES[3])
ROWS = {"o": [(1, "a", 3), (2, "b", 4), (3, None, 0), (4, "a", 9)], "k": [("a", "x")], "late": [(1, 1)]}


def contents(program, folder):
    with opened(program, directory=folder) as pipeline:
        found = {name: Counter(pipeline.content(name).rows) for name in NAMES}
        assert found == {name: recomputed(pipeline, name) for name in NAMES}
        return found, pipeline.steps


@pytest.mark.parametrize("rebuild", [False, True])
def test_a_process_that_is_killed_at_any_phase_goes_on(tmp_path, rebuild):
    """The directory as it is after each phase is what a kill leaves: another process opens it."""
    left = []

    def leave(pipeline, program):
        folder = tmp_path / f"left{len(left)}"
        shutil.copytree(tmp_path / "state", folder, ignore=shutil.ignore_patterns("lock"))
        left.append((folder, program, {name: Counter(pipeline.query(f"SELECT * FROM {name}").rows) for name in NAMES}))

    with opened(OLD, directory=tmp_path / "state") as pipeline:
        execution = pipeline._opened()
        pipeline.step(ROWS)
        filling = pipeline._filling(NEW)
        leave(pipeline, OLD)
        filling.give(1)
        leave(pipeline, OLD)
        pipeline.step({"o": [(5, "a", 1), ("-", (1, "a", 3))]})
        execution.keep_state()  # which is not what a state is made of
        filling.give(3)
        leave(pipeline, OLD)
        filling.finish()
        leave(pipeline, OLD)
        pipeline._deployed(NEW, None, filling)
        pipeline.step({"k": [("b", "y")]})
        last = {name: Counter(pipeline.content(name).rows) for name in NAMES}
    for folder, program, expected in left:
        with opened(program, directory=folder, rebuild=rebuild) as again:
            assert {name: Counter(again.content(name).rows) for name in NAMES} == expected
            assert stored(again)[1] == 0
            assert again.deploy(NEW)["v"].rows
    assert contents(NEW, tmp_path / "state") == (last, 4)


def test_what_is_given_up_leaves_nothing():
    with opened(OLD) as pipeline:
        pipeline.step(ROWS)
        shown = Counter(pipeline.step({"o": [(9, "a", 1)]})["v"].rows)
        pipeline.step({"o": [(8, "b", 1), ("-", (8, "b", 1))]})  # makes what deletions are judged by
        before = stored(pipeline)
        filling = pipeline._filling(NEW)
        filling.give(2)
        pipeline.step({"o": [("-", (9, "a", 1))]})
        assert stored(pipeline) != before
        pipeline._stop_filling()
        assert stored(pipeline) == before
        assert pipeline.deployment(OLD).is_empty
        assert Counter(pipeline.step({"o": [(9, "a", 1)]})["v"].rows) == shown


def test_an_expression_that_raises_for_a_row_ends_it_at_once():
    raising = OLD + "CREATE VIEW q AS SELECT 10 DIV (amount - 4) AS q FROM o;"
    with opened(OLD) as pipeline:
        pipeline.step(ROWS)
        filling = pipeline._filling(raising)
        with pytest.raises(PenstockError) as error:
            filling.finish()
        assert error.value.code == "EVALUATION_ERROR"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 10 DIV (amount - 4) AS q FROM o",  # of a row that has gone
        "SELECT who, 10 DIV SUM(amount - 3) AS q FROM o GROUP BY who",  # of a sum that is not yet the whole one
    ],
)
def test_what_raises_for_rows_that_have_gone_is_asked_of_those_that_are_there(query, monkeypatch):
    monkeypatch.setattr(module, "FIRST_FILLED_ROWS", 1)
    with run_of(OLD + SOURCE) as (pipeline, _):
        pipeline.step(ROWS)
        pipeline.step({"o": [("-", (2, "b", 4)), ("-", (3, None, 0)), (7, "b", 9)]})
        changes = pipeline.deploy(OLD + SOURCE + f"CREATE VIEW q AS {query};")
        shown = Counter()
        for weight, row in changes["q"].rows:
            shown[row] += weight
        assert shown == recomputed(pipeline, "q")
        assert stored(pipeline)[1] == 0


def test_what_goes_by_order_or_is_computed_whole_is_made_in_the_step():
    table = "CREATE TABLE t (a INT LATENESS 1, b INT); CREATE TABLE s (a INT, b INT) WITH ('history' = '1 hour');"
    views = {
        "whole": "SELECT COUNT(*) OVER () AS n, a FROM t",
        "now": "SELECT a FROM t WHERE current_timestamp() > TIMESTAMP '2000-01-01'",
        "part": "SELECT b FROM s",
        "errors": "SELECT message FROM error_view",
        "fine": "SELECT b, COUNT(*) AS n FROM t GROUP BY b",
    }
    more = "".join(f"CREATE VIEW {name} AS {query};" for name, query in views.items())
    more += "CREATE VIEW final WITH ('emit_final' = 'a') AS SELECT a FROM t;"
    with opened(table) as pipeline:
        pipeline.step({"t": [(1, 1)]})
        found = pipeline.deployment(table + more)
        assert found.beside == ("fine",)
        assert {name: why.split()[-1] for name, why in found.at_once.items()} == {
            "whole": "key", "now": "clock", "part": "rows", "errors": "comes", "final": "come",
        }  # fmt: skip
        moments = [(1, lambda _: pipeline.step({"t": [(2, 1)]}))]
        Driven(pipeline, shown={}).deploy(table + more, moments)
        assert pipeline.content("fine").rows == [(1, 2)]
        assert Counter(pipeline.content("whole").rows) == Counter([(2, 1), (2, 2)])


SOURCE = """
CREATE TABLE ticks (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '200',
  'fields.id.kind' = 'sequence', 'fields.id.start' = '1');
CREATE VIEW seen AS SELECT COUNT(*) AS n FROM ticks;
"""


class run_of:  # noqa: N801 - a block
    """A pipeline whose run follows a source that always has rows; and the numbers of its steps."""

    def __init__(self, program):
        self.steps = []
        self.pipeline = opened(program, on_event=lambda event: self.steps.append(getattr(event, "step", None)))

    def __enter__(self):
        self.pipeline.start(options=RunOptions(poll_seconds=0.01))
        return self.pipeline, self.steps

    def __exit__(self, *_):
        self.pipeline.close()


def small_pieces(monkeypatch):
    monkeypatch.setattr(module, "FIRST_FILLED_ROWS", 6)
    monkeypatch.setattr(module.Filling, "_adapt", lambda *_: None)


def test_a_run_goes_on_while_views_are_filled_and_says_how_far_they_are(monkeypatch):
    small_pieces(monkeypatch)
    with run_of(OLD + SOURCE) as (pipeline, steps):
        pipeline.step({**ROWS, "o": [(n, "a", n) for n in range(30)]})
        told, meanwhile, first = [], [], len(steps)

        def follow(facts):
            told.append(facts)
            meanwhile.append(pipeline.facts().deploying)

        changes = pipeline.deploy(NEW + SOURCE, told=follow)
        assert told[0].views == ("v", "w")
        assert all(facts.rows <= facts.of for facts in told)
        assert any("filling v, w: " in text for text in meanwhile)
        assert len(steps) > first + 2
        assert pipeline.facts().deploying == ""
        assert Counter(changes["v"].rows) == Counter({(-1, ("a", 30)): 1, (1, ("a", 435)): 1})
        pipeline.stop()
        for name in ("v", "w", "u", "seen"):
            assert Counter(pipeline.content(name).rows) == recomputed(pipeline, name)


def test_who_waits_no_more_and_a_run_that_ends_give_the_change_up(monkeypatch):
    small_pieces(monkeypatch)
    with run_of(OLD + SOURCE) as (pipeline, _):
        pipeline.step({**ROWS, "o": [(n, "a", n) for n in range(2000)]})
        before = stored(pipeline)

        def leave(_):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            pipeline.deploy(NEW + SOURCE, told=leave)
        with pytest.raises(DataError, match="the run has ended") as error:
            pipeline.deploy(NEW + SOURCE, told=lambda _: threading.Thread(target=pipeline.stop).start())
        assert error.value.code == "DEPLOY_GIVEN_UP"
        assert pipeline.deployment(OLD + SOURCE).is_empty
        assert stored(pipeline) == before
        pipeline.step({"o": [(1, "a", 1)]})
        assert Counter(pipeline.content("v").rows) == recomputed(pipeline, "v") == Counter([("a", 2001)])


def test_what_is_declared_meanwhile_has_all_be_made_in_the_step(monkeypatch):
    small_pieces(monkeypatch)
    with run_of(OLD + SOURCE) as (pipeline, _):
        pipeline.step({**ROWS, "o": [(n, "a", n) for n in range(30)]})
        declared = []

        def declare(_):
            if not declared:
                declared.append(pipeline.execute("CREATE VIEW mine AS SELECT id FROM o"))

        changes = pipeline.deploy(NEW + SOURCE, told=declare)
        assert declared
        assert Counter(changes["v"].rows) == Counter({(-1, ("a", 30)): 1, (1, ("a", 435)): 1})
        assert "mine" not in pipeline.catalog.views
        assert stored(pipeline)[1] == 0


def test_an_answer_that_cannot_be_kept_leaves_the_old_program(monkeypatch):
    with opened(OLD) as pipeline:
        pipeline.step(ROWS)
        before, filling = stored(pipeline), pipeline._filling(NEW)
        filling.finish()

        def full(*_):
            raise DataError(Diagnostic("CANNOT_WRITE", "the disk is full"))

        monkeypatch.setattr(pipeline._opened().stepper.log, "publish", full)
        with pytest.raises(DataError, match="full"):
            pipeline._deployed(NEW, None, filling)
        monkeypatch.undo()
        assert stored(pipeline) == before
        after = pipeline.step({"o": [(5, "b", 1)]})
        assert Counter(after["v"].rows) == Counter([(-1, ("b", 1)), (1, ("b", 2))])
