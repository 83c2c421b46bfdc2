"""Every text of the acceptance cases must at least be read, also of those that wait for a feature."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from penstock.sql.parse import parse

FILES = sorted(Path(__file__).with_name("cases").glob("*.yaml"))


def texts(case):
    yield case.get("sql")
    for step in case.get("steps") or []:
        yield step.get("sql")
        for key in ("start", "query"):
            yield from (step.get(key) or {}).values()


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_every_text_is_read(file):
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    for case in content["cases"]:
        dialect = case.get("dialect", content.get("dialect", "penstock"))
        for text in texts(case):
            if isinstance(text, str):
                parse(text, dialect)
