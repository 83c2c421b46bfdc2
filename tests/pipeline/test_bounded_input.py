"""The same program over input that ends: it runs to completion, and the end is the last waterline."""

from __future__ import annotations

import json

import penstock

PROGRAM = """
CREATE STREAM orders (id INT, at TIMESTAMP NOT NULL LATENESS INTERVAL 10 MINUTES, amount INT){source};
CREATE TABLE hourly (h TIMESTAMP PRIMARY KEY, n BIGINT, total BIGINT);
CREATE VIEW grand AS SELECT COUNT(*) AS hours, SUM(total) AS total FROM hourly;
INSERT INTO hourly SELECT STREAM FLOOR(at TO HOUR) AS h, COUNT(*) AS n, SUM(amount) AS total
FROM orders GROUP BY FLOOR(at TO HOUR);
"""
ROWS = [(1, "10:05", 3), (2, "10:59", 4), (3, "11:20", 5), (4, "10:58", 100), (5, "12:01", 6)]
STREAMED = "SELECT STREAM id, at FROM orders ORDER BY at"


def named(row):
    return {"id": row[0], "at": f"2024-01-01 {row[1]}:00", "amount": row[2]}


def answers(pipeline, query):
    found = []
    while (emission := query.get(0)) is not None:
        found += [row[0] for row in emission.rows]
    return (
        pipeline.query("SELECT n, total FROM hourly ORDER BY h").rows,
        pipeline.query("SELECT * FROM grand").rows,
        found,
    )


def test_what_waits_for_more_is_given_when_there_is_no_more():
    with penstock.Pipeline(PROGRAM.format(source=""), engine="native") as pipeline:
        query = pipeline.subscribe(STREAMED)
        for row in ROWS:
            pipeline.step({"orders": [named(row)]})
        assert answers(pipeline, query) == ([(2, 7)], [(1, 7)], [1, 2, 3])
        pipeline.end_of_input()
        assert answers(pipeline, query) == ([(2, 7), (1, 5), (1, 6)], [(3, 18)], [5])


def test_files_that_are_used_up_give_what_a_step_and_its_end_give(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    lines = "".join(f"{json.dumps(named(row))}\n" for row in ROWS)
    (folder / "orders.json").write_text(lines, encoding="utf-8")
    source = f" WITH ('connector' = 'files', 'path' = '{folder}', 'format' = 'json')"
    with penstock.Pipeline(PROGRAM.format(source=""), engine="native") as pipeline:
        query = pipeline.subscribe(STREAMED)
        pipeline.step({"orders": [named(row) for row in ROWS]})
        pipeline.end_of_input()
        expected = answers(pipeline, query)
    # In one step no row is late: 10:58 counts, though it stands behind 11:20.
    assert expected == ([(3, 107), (1, 5), (1, 6)], [(3, 118)], [1, 4, 2, 3, 5])
    with penstock.Pipeline(PROGRAM.format(source=source), engine="native") as pipeline:
        query = pipeline.subscribe(STREAMED)
        pipeline.run(once=True)
        assert answers(pipeline, query) == expected
