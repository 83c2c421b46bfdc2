"""The table on a dialect's page: words that its system and Spark answer differently, from the data of the tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "dialects" / "words.yaml"
DIALECTS = ("calcite", "feldera", "flink", "timeplus")
_BEGIN = "<!-- written by `make docs`; change tests/dialects/words.yaml instead -->"
_END = "<!-- the end of what is written -->"
_REGION = re.compile(f"{re.escape(_BEGIN)}.*?{re.escape(_END)}", re.DOTALL)
_NULLS = {
    "least": "first when ascending, last when descending, as in Spark",
    "greatest": "last when ascending, first when descending; in Spark first and last",
    "last": "last, also when descending; in Spark first when ascending",
}


def page_with_words(dialect: str) -> str:
    """The page of a dialect with its table as the tests have it."""
    page = (ROOT / "docs" / "reference" / f"{dialect}.md").read_text(encoding="utf-8")
    table = "\n".join((_BEGIN, "", *_table(dialect), "", _END))
    return _REGION.sub(lambda _: table, page)


def _table(dialect: str) -> Iterator[str]:
    data = yaml.safe_load(DATA.read_text(encoding="utf-8"))
    entries = data["dialects"][dialect]
    name = dialect.capitalize()
    yield f"| words | in {name} | in Spark | this dialect |"
    yield "| --- | --- | --- | --- |"
    for entry in entries:
        for item in entry if isinstance(entry, list) else [entry]:
            yield _row(item)
    yield f"| `ORDER BY x`, NULL | {_NULLS[data['nulls'][dialect]]} | | follows |"


def _row(item: dict[str, Any]) -> str:
    spark = f"`{_cell(item['spark'])}`" if item.get("spark") else "an empty text" if "spark" in item else ""
    return f"| `{_cell(item['words'])}` | `{_cell(item['peer'])}` | {spark} | {_does(item)} |"


def _does(item: dict[str, Any]) -> str:
    does, why = item["does"], item.get("why")
    said = {"follows": "follows", "spark": "as Spark"}.get(does)
    if said is None:
        said = f"warns: {does}" if does == "DIALECT_MEANING" else f"refuses: {does}"
    return f"{said}: {why}" if why and ":" not in said else f"{said}; {why}" if why else said


def _cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", "⏎")
