"""The queries of NEXMark: after every step each answer is what Spark's batch gives over all events so far."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bench.nexmark.files import Data, written
from bench.nexmark.generate import Stream
from bench.nexmark.oracle import differences
from bench.nexmark.queries import QUERIES, Query, chosen

import penstock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Data:
    """Two minutes of event time around midnight, 4 s out of order."""
    return written(tmp_path_factory.mktemp("events"), Stream(2400, rate=20, disorder=4), 800)


# Averages of extremes of a join, hops, a join of windows, the best of a key, sessions.
QUICK = {"q4", "q5", "q8", "q9", "q11"}


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.extended) for name in QUERIES]
)
def test_every_query_equals_batch_after_every_step(interpreting: SparkSession, few: Data, name: str) -> None:
    found = list(differences(interpreting, Query(name), few))
    assert len(found) == few.steps
    for step, difference in enumerate(found):
        assert not difference, f"step {step}: {difference.describe()}"


@pytest.mark.extended
def test_one_query_at_the_size_of_a_benchmark(spark: SparkSession, tmp_path: Path) -> None:
    data = written(tmp_path, Stream(200_000, disorder=4), 50_000)
    for step, difference in enumerate(differences(spark, Query("q4"), data)):
        assert not difference, f"step {step}: {difference.describe()}"


@pytest.mark.parametrize("name", QUERIES)
def test_every_query_is_maintained_by_change(name: str) -> None:
    explained = penstock.Pipeline(Query(name).program(history=True)).explain()
    assert re.search(r"^view answer at \d+:\d+: incremental$", explained, re.MULTILINE)


@pytest.mark.parametrize("name", ["q4", pytest.param("q9", marks=pytest.mark.extended)])
def test_what_is_kept_for_an_auction_goes_when_it_has_ended(spark: SparkSession, tmp_path: Path, name: str) -> None:
    data, query = written(tmp_path, Stream(27_000, rate=1000, disorder=4), 3000), Query(name)
    sizes = []
    with penstock.Pipeline(query.program(keyed=True), spark=spark, retain="materialized") as pipeline:
        for step in range(data.steps):
            pipeline.step({table: spark.read.parquet(str(data.file(table, step))) for table in query.tables})
            pipeline.compact()
            sizes.append([item.rows for item in pipeline.state()])
        assert pipeline.rejected() == {}
    # The last step brings what is late of the step before, by which no waterline moves: it ends, and nothing else.
    for kept in zip(*sizes[4:-1], strict=True):
        assert max(kept) < 1.3 * min(kept)


@pytest.mark.extended
@pytest.mark.parametrize("name", ["q4", "q6", "q9"])
def test_a_key_gives_the_same_answers(spark: SparkSession, few: Data, name: str) -> None:
    found = list(differences(spark, Query(name), few, keyed=True))
    assert not [difference.describe() for difference in found if difference]


def test_only_the_key_of_auctions_bounds_what_is_kept_for_one() -> None:
    for name in ("q4", "q9"):
        plain, keyed = (penstock.Pipeline(Query(name).program(keyed=keyed)).explain() for keyed in (False, True))
        closed = "bounded: rows are dropped once a.expires, which a.id determines, is below the waterline"
        assert closed not in plain
        assert closed in keyed
        assert "if auction has a key among a.id" in plain


def test_queries_are_chosen_by_name_and_by_range() -> None:
    assert [query.name for query in chosen("q20-q22,3")] == ["q20", "q21", "q22", "q3"]
    assert len(chosen("all")) == len(QUERIES) == 23
    with pytest.raises(ValueError, match="'q23' is no query"):
        chosen("q23")
