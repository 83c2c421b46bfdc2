"""Rows that raise, found in the process alone: a few without starting Spark, and all of them where there is no Java."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiers import examples

import penstock
from penstock.errors import Diagnostic, UnsupportedError

VIEWS = """
CREATE VIEW casts AS SELECT id, CAST(x AS SMALLINT) AS x FROM t;
CREATE VIEW shares AS SELECT id, 12 DIV x AS s FROM casts;
"""


@pytest.fixture
def started(monkeypatch):
    """How often Spark was asked for, of a machine that has no Java."""
    asked = []

    def refuse(*_, **__):
        asked.append(1)
        raise UnsupportedError(Diagnostic("JAVA_NOT_FOUND", "Spark needs Java 17 or newer"))

    monkeypatch.setattr("penstock.pipeline.opening.running_session", lambda: None)
    monkeypatch.setattr("penstock.backends.spark.session.running_session", lambda: None)
    monkeypatch.setattr("penstock.pipeline.opening.open_session", refuse)
    return asked


def program(folder, columns="id INT, x STRING", views=VIEWS):
    return f"CREATE TABLE t ({columns}) WITH ('connector' = 'files', 'path' = '{folder}');{views}"


def put(folder, rows, name="1.json"):
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def answers(pipeline):
    rows = sorted(pipeline.query("SELECT * FROM shares").rows)
    return rows, sorted(json.loads(json.loads(text)["row"])["id"] for text in _aside(pipeline))


def _aside(pipeline):
    return [text for (text,) in pipeline.query("SELECT metadata FROM error_view").rows]


def test_a_few_rows_start_nothing(started, tmp_path):
    put(tmp_path, [{"id": at, "x": {7: "0", 800: "no", 801: "40000"}.get(at, "2")} for at in range(1000)])
    with penstock.Pipeline(program(tmp_path), engine="native") as pipeline:
        pipeline.run(once=True)
        rows, aside = answers(pipeline)
        assert pipeline.steps == 1
        assert aside == [7, 800, 801]
        assert rows == [(at, 6) for at in range(1000) if at not in aside]
        found = " ".join(sorted(_aside(pipeline)))
        assert all(said in found for said in ("Division by zero", "'no'", "'40000'"))
    assert started == []


@pytest.mark.parametrize("count", [150, pytest.param(300, marks=pytest.mark.extended)])
def test_many_rows_are_found_without_java_all_the_same(started, tmp_path, count):
    put(tmp_path, [{"id": at, "x": "0" if at % 3 else "3"} for at in range(count)])
    with penstock.Pipeline(program(tmp_path), engine="native") as pipeline:
        pipeline.run(once=True)
        rows, aside = answers(pipeline)
        assert aside == [at for at in range(count) if at % 3]
        assert rows == [(at, 4) for at in range(0, count, 3)]
    assert started


def test_of_a_sum_that_overflows_the_fewest_go_where_keys_cannot_be_told(started, tmp_path):
    views = "CREATE VIEW shares AS SELECT k, SUM(x) AS s FROM t GROUP BY k;"
    put(tmp_path, [{"id": at, "k": at % 2, "x": 2**62 + at if at < 4 else at} for at in range(8)])
    with penstock.Pipeline(program(tmp_path, "id INT, k INT, x BIGINT", views), engine="native") as pipeline:
        pipeline.run(once=True)
        rows, aside = answers(pipeline)
        assert pipeline.steps == 1
        assert aside
        assert set(aside) <= set(range(4))
        kept = {at: 2**62 + at if at < 4 else at for at in range(8) if at not in aside}
        assert rows == [(k, sum(x for at, x in kept.items() if at % 2 == k)) for k in (0, 1)]
    assert started


@examples(6, 15)
@given(st.lists(st.lists(st.sampled_from(["1", "2", "0", "x", "40000", None]), max_size=12), min_size=1, max_size=3))
def test_property_those_that_raise_go_and_no_others(tmp_path_factory, parts):
    folder, expected, bad, number = tmp_path_factory.mktemp("rows"), [], [], 0
    with pytest.MonkeyPatch.context() as patch, penstock.Pipeline(program(folder), engine="native") as pipeline:
        patch.setattr("penstock.pipeline.opening.running_session", lambda: None)
        for at, values in enumerate(parts):
            put(folder, [{"id": number + place, "x": x} for place, x in enumerate(values)], f"{at}.json")
            for place, x in enumerate(values):
                if x in ("1", "2", None):
                    expected.append((number + place, None if x is None else 12 // int(x)))
                else:
                    bad.append(number + place)
            number += len(values)
            pipeline.run(once=True)
        assert answers(pipeline) == (sorted(expected), sorted(bad))
        assert not pipeline.has_spark
