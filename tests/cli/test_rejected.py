"""What `run` says of rejected rows."""

from __future__ import annotations

import json

from penstock.cli.rejected import RejectionReport


class Told:
    """A change of error_view."""

    def __init__(self, *rows):
        self.delta, self.rows = object(), [(1, row) for row in rows]


def bad(line):
    return json.dumps({"place": f"a.json:{line}", "error": "no", "row": "x"})


def test_the_first_reasons_of_each_table_and_kind_and_then_how_many():
    said = []
    report = RejectionReport(said.append)
    report.write({"error_view": Told(*(("t", "Bad row", bad(line)) for line in range(1, 6)))})
    report.write({"error_view": Told(("u", "Late value", '{"a": 1}'), ("t", "Late value", "x" * 1000))})
    report.write({})
    assert said[:4] == [
        "rejected from t: Bad row: a.json:1: no",
        "rejected from t: Bad row: a.json:2: no",
        "rejected from t: Bad row: a.json:3: no",
        'rejected from u: Late value: {"a": 1}',
    ]
    assert len(said[4]) < 500
    del said[:]
    report.close()
    report.close()
    assert said == [
        "t: 6 rows rejected (5 Bad row, 1 Late value); error_view has them",
        "u: 1 row rejected (1 Late value); error_view has them",
    ]


def test_an_error_of_a_view_is_said_once_for_all_rows_of_a_step():
    said = []
    report = RejectionReport(said.append)
    report.write({"error_view": Told(*(("v", "Evaluation error", bad(line)) for line in range(1, 1201)))})
    report.write({"error_view": Told(("v", "Evaluation error", json.dumps({"error": "held", "row": "x"})))})
    for _ in range(3):
        report.write({"error_view": Told(("v", "Evaluation error", bad(7)))})
    assert said == [
        "rejected for view v: Evaluation error: 1,200 rows (a.json:1, a.json:2, a.json:3, …): no",
        "rejected for view v: Evaluation error: 1 row: held",
        "rejected for view v: Evaluation error: 1 row (a.json:7): no",
    ]
    report.close()
    assert said[3:] == ["v: 1,204 rows rejected (1,204 Evaluation error); error_view has them"]


def test_nothing_rejected_is_nothing_said():
    said = []
    RejectionReport(said.append).close()
    assert said == []
