"""DELETE and UPDATE that stand: their rows change a table with a key in the step of their cause."""

from __future__ import annotations

import random
from collections import Counter

import pytest

import penstock

TABLES = """
CREATE TABLE t (k INT PRIMARY KEY, v INT, w STRING NOT NULL);
CREATE TABLE pairs (a INT, b STRING, x INT, PRIMARY KEY (a, b));
CREATE TABLE bag (k INT, x INT);
CREATE STREAM gone (id INT, why STRING);
CREATE STREAM came (id INT, x INT, w STRING);
CREATE STREAM log (k INT);
"""
PROGRAM = f"""{TABLES}
CREATE VIEW counted AS SELECT COUNT(*) AS n, COUNT(v) AS filled, SUM(v) AS total FROM t;
"""
DELETE = "DELETE FROM t WHERE k IN (SELECT STREAM id FROM gone WHERE why <> 'no' OR why IS NULL)"
UPDATE = "UPDATE t AS a SET v = s.x * 2, w = s.w FROM (SELECT STREAM id, x, w FROM came) AS s WHERE a.k = s.id"


def rows(pipeline, name="t"):
    return sorted(pipeline.query(f"SELECT * FROM {name}").rows, key=repr)


def test_a_row_of_the_stream_ends_a_key_in_its_step_and_not_those_that_come_later():
    with penstock.Pipeline(f"{PROGRAM}{DELETE};", engine="native") as pipeline:
        pipeline.step({"t": [(1, 5, "a"), (2, None, "b")]})
        out = pipeline.step({"gone": [(1, "yes"), (2, "no"), (7, "yes"), (None, "yes")], "t": [(3, 1, "c")]})
        assert rows(pipeline) == [(2, None, "b"), (3, 1, "c")]
        assert sorted(out["counted"].rows) == [(-1, (2, 1, 5)), (1, (2, 1, 1))]
        assert "error_view" not in out or out["error_view"].rows == []
        pipeline.step({"t": [(1, 6, "again")]})
        assert rows(pipeline)[0] == (1, 6, "again")


def test_an_update_sets_null_keeps_the_other_columns_and_refuses_what_does_not_fit():
    with penstock.Pipeline(f"{PROGRAM}{UPDATE};", engine="native") as pipeline:
        pipeline.step({"t": [(1, 5, "a"), (2, 4, "b")]})
        pipeline.step({"came": [(1, None, "z"), (9, 1, "new"), (2, 3, None)]})
        assert rows(pipeline) == [(1, None, "z"), (2, 4, "b")]
        ((table, error),) = pipeline.query("SELECT table_or_view_name, metadata FROM error_view").rows
        assert (table, "found NULL, expected STRING NOT NULL" in error) == ("t", True)


def test_values_for_keys_of_several_columns_and_constants():
    update = "UPDATE pairs SET x = 0 WHERE (a, b) IN (SELECT STREAM id, w FROM came)"
    delete = "DELETE FROM pairs WHERE (b, a) IN (SELECT STREAM why, id FROM gone)"
    with penstock.Pipeline(f"{TABLES}{update};{delete};", engine="native") as pipeline:
        pipeline.step({"pairs": [(1, "a", 5), (1, "b", 6), (2, "a", 7)]})
        pipeline.step({"came": [(1, 0, "a"), (2, 0, "b")], "gone": [(2, "a"), (2, "b")]})
        assert rows(pipeline, "pairs") == [(1, "a", 0), (1, "b", 6)]


def test_a_row_of_a_key_that_is_there_refuses_the_step():
    insert = "INSERT INTO t SELECT STREAM id, x, w FROM came ON CONFLICT DO ERROR"
    with penstock.Pipeline(f"{PROGRAM}{insert};", engine="native") as pipeline:
        pipeline.step({"came": [(1, 5, "a"), (2, 4, "b")]})
        for given in ([(3, 1, "c"), (1, 6, "a")], [(3, 1, "c"), (3, 2, "c")]):
            with pytest.raises(penstock.DataError, match="t has a row of its key already"):
                pipeline.step({"came": given})
        assert (rows(pipeline), pipeline.steps) == ([(1, 5, "a"), (2, 4, "b")], 1)
        pipeline.step({"came": [(1, 6, "z")], "t": [("-", (1,))]})
        assert rows(pipeline) == [(1, 6, "z"), (2, 4, "b")]


def test_a_result_that_changes_is_in_nobodys_way():
    with penstock.Pipeline(PROGRAM, engine="native") as pipeline:
        pipeline.subscribe(
            "INSERT INTO t SELECT k, CAST(SUM(x) AS INT), 'sum' FROM bag GROUP BY k ON CONFLICT DO ERROR"
        )
        pipeline.step({"bag": [(1, 5)]})
        pipeline.step({"bag": [(1, 6), (2, 7)]})
        assert rows(pipeline) == [(1, 11, "sum"), (2, 7, "sum")]


def test_it_stands_until_it_is_closed():
    with penstock.Pipeline(PROGRAM, engine="native") as pipeline:
        pipeline.step({"t": [(1, 5, "a"), (2, 4, "b")]})
        query = pipeline.subscribe(DELETE)
        pipeline.step({"gone": [(1, "yes")]})
        query.close()
        pipeline.step({"gone": [(2, "yes")]})
        assert rows(pipeline) == [(2, 4, "b")]


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("DELETE FROM bag WHERE k IN (SELECT STREAM id FROM gone)", "NO_KEY", "goes by the key"),
        ("DELETE FROM t WHERE v IN (SELECT STREAM id FROM gone)", "STANDING_STATEMENT", "PRIMARY KEY (k)"),
        ("DELETE FROM t WHERE k IN (SELECT STREAM id, id FROM gone)", "WRONG_NUMBER_OF_VALUES", "2 values"),
        ("DELETE FROM t WHERE k = 1 OR k IN (SELECT STREAM id FROM gone)", "STANDING_STATEMENT", "in this form"),
        ("DELETE FROM t WHERE k NOT IN (SELECT STREAM id FROM gone)", "STANDING_STATEMENT", "in this form"),
        ("DELETE FROM log WHERE k IN (SELECT STREAM id FROM gone)", "NO_KEY", "log has none"),
        ("DELETE FROM t WHERE k IN (SELECT STREAM k FROM t)", None, "Cannot convert table 'T' to stream"),
        ("UPDATE t SET v = v + 1 WHERE k IN (SELECT STREAM id FROM gone)", "STANDING_STATEMENT", "not the stream's"),
        ("UPDATE t SET k = 1 WHERE k IN (SELECT STREAM id FROM gone)", "STANDING_STATEMENT", "PRIMARY KEY (k)"),
        ("UPDATE t SET q = 1 WHERE k IN (SELECT STREAM id FROM gone)", "UNKNOWN_COLUMN", "q"),
        (
            "UPDATE t SET v = s.x FROM (SELECT id, x FROM came) AS s WHERE t.k = s.id",
            "STANDING_STATEMENT",
            "another form",
        ),
        (
            "UPDATE t SET v = s.x FROM (SELECT STREAM id, x FROM came) AS s WHERE t.k > s.id",
            "STANDING_STATEMENT",
            "another form",
        ),
    ],
)
def test_what_cannot_stand_is_refused_before_it_starts(text, code, said):
    with penstock.Pipeline(TABLES, engine="native") as pipeline:
        with pytest.raises(penstock.PenstockError) as refused:
            pipeline.execute(text)
        (found,) = refused.value.diagnostics
        assert code in (None, found.code)
        assert said.lower() in found.message.lower()
        assert pipeline.steps == 0


def model(content, own, ended, updates):
    """The table after a step: its own rows, then the statements in their order, rows in the order of their columns."""
    for operation, row in own:
        if operation == "+":
            content[row[0]] = row
        else:
            content.pop(row[0], None)
    for key, why in ended:
        if why != "no":
            content.pop(key, None)
    for key, x, w in sorted(updates, key=lambda row: [(value is not None, value) for value in row]):
        if key in content:
            content[key] = (key, None if x is None else x * 2, w)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.extended)])
def test_oracle_random_rows(seed):
    chosen, content = random.Random(seed), {}
    with penstock.Pipeline(f"{PROGRAM}{DELETE};{UPDATE};", engine="native") as pipeline:
        for _ in range(25):
            own = [
                chosen.choice([("+", (key, chosen.choice([None, 1, 2]), "own")), ("-", (key,))])
                for key in chosen.choices(range(6), k=chosen.randrange(3))
            ]
            ended = [(chosen.randrange(6), chosen.choice(["yes", "no", None])) for _ in range(chosen.randrange(3))]
            # Of several rows of a key the policy's order is that of the columns after they are computed.
            keys = chosen.sample(range(6), chosen.randrange(4))
            updates = [(key, chosen.choice([None, 1, 2]), chosen.choice("ab")) for key in keys]
            pipeline.step({"t": own, "gone": ended, "came": updates})
            model(content, own, ended, updates)
            assert Counter(rows(pipeline)) == Counter(content.values())
            values = [row[1] for row in content.values() if row[1] is not None]
            total = sum(values) if values else None
            assert pipeline.query("SELECT * FROM counted").rows == [(len(content), len(values), total)]
