"""Every program of the acceptance cases must at least be read; skipped where they are not at hand."""

from pathlib import Path

import pytest
import yaml

from penstock.sql.parse import parse

CASES = Path(__file__).parents[3] / "shared" / "cases"
FILES = sorted(CASES.glob("*.yaml"))

pytestmark = pytest.mark.skipif(not FILES, reason="no acceptance cases beside the repository")


def texts(case):
    yield case.get("sql")
    for step in case.get("steps") or []:
        yield step.get("sql")
        for key in ("start", "query"):
            yield from (step.get(key) or {}).values()


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_every_text_is_read(file):
    content = yaml.safe_load(file.read_text())
    for case in content["cases"]:
        dialect = case.get("dialect", content.get("dialect", "penstock"))
        for text in texts(case):
            if isinstance(text, str):
                parse(text, dialect)
