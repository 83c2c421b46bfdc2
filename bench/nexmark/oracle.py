"""Is a query's answer right after every step? Its changes added up, beside Spark's batch answer over all events so far.

The batch answer is the project's own oracle's, which works on the query's text and shares nothing with the engine; it
reads the same files, not the pipeline's tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession

import penstock
from bench.nexmark.files import SIDE_INPUT, Data
from bench.nexmark.queries import VIEW, Query
from penstock.backends.spark.fetched import fetched_rows
from penstock.testing.multisets import Content, Difference, consolidate, difference
from penstock.testing.oracle import Oracle

if TYPE_CHECKING:
    from penstock.catalog.model import Catalog


def differences(spark: SparkSession, query: Query, data: Data, *, keyed: bool = False) -> Iterator[Difference]:
    """For each step, how the maintained answer differs from batch: not at all, if it is right."""
    content, oracle = Content(), Oracle(spark, "penstock")
    side = {SIDE_INPUT: spark.read.parquet(str(data.side_input()))} if query.side_input else {}
    tables: dict[str, DataFrame] = {}
    with penstock.Pipeline(query.program(keyed=keyed), spark=spark, retain="materialized") as pipeline:
        for step in range(data.steps):
            inputs = {name: spark.read.parquet(str(data.file(name, step))) for name in query.tables}
            given = inputs if step else inputs | side
            wrong = content.apply(pipeline.step(given)[VIEW].rows)
            if wrong:
                message = f"{query.name}, step {step}: {wrong}"
                raise AssertionError(message)
            tables = {name: spark.read.parquet(*data.files(name, step + 1)) for name in query.tables} | side
            expected = batch(oracle, pipeline.catalog, tables)
            yield difference(consolidate((1, row) for row in fetched_rows(expected)), content.rows)
    oracle.close(tables)


def batch(oracle: Oracle, catalog: Catalog, tables: Mapping[str, DataFrame]) -> DataFrame:
    """The answer over these tables by batch; rows that the query leaves tied are ordered as Penstock orders them."""
    answers = {view.name: frame for view, frame in oracle.recompute(catalog, tables, None)}
    return answers[VIEW]
