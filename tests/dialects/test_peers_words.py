"""Words that a dialect's peer and Spark answer differently: each does what the dialect's page says of it."""

from __future__ import annotations

import json
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

import penstock
from penstock.bind.program.compile import compile_program

DATA = yaml.safe_load((Path(__file__).parent / "words.yaml").read_text(encoding="utf-8"))
DIALECTS = sorted(DATA["dialects"])


def words_of(dialect: str) -> list[dict[str, Any]]:
    """The entries of a dialect, those of standard SQL among them."""
    entries = DATA["dialects"][dialect]
    return [item for entry in entries for item in (entry if isinstance(entry, list) else [entry])]


def shown(value: Any) -> str:
    """A value as the data write it."""
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, datetime):
        return str(value.replace(tzinfo=None))
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return str(value) if not isinstance(value, date) else value.isoformat()


def answers(spark: Any, dialect: str, entries: list[dict[str, Any]], engine: str) -> dict[str, str]:
    """What a view of all words says, in a dialect and on an engine."""
    with penstock.Pipeline(spark=spark) as pipeline:
        pipeline.execute(f"SET engine = '{engine}'")
        pipeline.execute(DATA["tables"])
        pipeline.execute(f"SET dialect = '{dialect}'")
        for over in ("one", "many"):
            items = [f"{item['words']} AS c{at}" for at, item in enumerate(entries) if item.get("over", "one") == over]
            if items:
                pipeline.execute(f"CREATE VIEW of_{over} AS SELECT {', '.join(items)} FROM {over}")
        pipeline.step()
        found: dict[str, Any] = {}
        for over in ("one", "many"):
            if f"of_{over}" in pipeline.catalog.views:
                found |= pipeline.content(f"of_{over}").df().collect()[0].asDict()
        return {item["words"]: shown(found[f"c{at}"]) for at, item in enumerate(entries)}


def answered(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries that have an answer in a row of aggregates or of expressions."""
    return [item for item in entries if item["does"] in ("follows", "spark") and not item.get("rows")]


def expected(item: dict[str, Any]) -> str:
    """What the dialect answers."""
    return item["peer"] if item["does"] == "follows" else item.get("answer", item.get("spark"))


@pytest.mark.parametrize("engine", ["auto", "spark"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_dialect_answers_as_its_page_says(spark, dialect, engine):
    entries = answered(words_of(dialect))
    assert answers(spark, dialect, entries, engine) == {item["words"]: expected(item) for item in entries}


def test_spark_answers_as_the_pages_say(spark):
    entries = {item["words"]: item for dialect in DIALECTS for item in words_of(dialect) if "spark" in item}
    listed = [item for item in entries.values() if not item.get("rows")]
    assert answers(spark, "penstock", listed, "spark") == {item["words"]: item["spark"] for item in listed}


CODES = [(dialect, item) for dialect in DIALECTS for item in words_of(dialect) if item["does"].isupper()]


@pytest.mark.parametrize(
    ("dialect", "item"), CODES, ids=lambda value: value if isinstance(value, str) else value["words"]
)
def test_a_dialect_refuses_or_warns_by_its_code(dialect, item):
    tables = ";".join(text for text in DATA["tables"].split(";") if "INSERT" not in text)
    view = f"CREATE VIEW v AS SELECT {item['words']} AS c FROM {item.get('over', 'one')};"
    text = f"{tables}; SET dialect = '{dialect}'; {view}"
    try:
        found = compile_program(text).catalog.warnings
    except penstock.PenstockError as error:
        found = error.diagnostics
    assert item["does"] in {diagnostic.code for diagnostic in found}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_null_stands_where_the_peer_puts_it(dialect):
    with penstock.Pipeline(dialect=dialect) as pipeline:
        pipeline.execute("CREATE TABLE t (a INT NULL)")
        pipeline.execute("INSERT INTO t VALUES (1), (NULL), (2)")
        orders = [list(pipeline.query(f"SELECT a FROM t ORDER BY a {way}").rows) for way in ("ASC", "DESC")]
    places = {"least": (0, 2), "greatest": (2, 0), "last": (2, 2)}[DATA["nulls"][dialect]]
    assert tuple(rows.index((None,)) for rows in orders) == places
