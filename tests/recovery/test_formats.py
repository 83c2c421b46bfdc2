"""Directories of other releases: an earlier one's opens and goes on, a later one's is refused and left as it is.

`earlier/format1` was written by a release whose manifests have format 1.
"""

from __future__ import annotations

import shutil
from decimal import Decimal
from pathlib import Path

import pytest

import penstock
from penstock.errors import PenstockError
from penstock.steps.checked_files import facts_of, write_facts

EARLIER = Path(__file__).with_name("earlier")
PROGRAM = (EARLIER / "format1.sql").read_text(encoding="utf-8")


def opened(folder: Path, engine: str = "native") -> penstock.Pipeline:
    return penstock.Pipeline(PROGRAM, directory=folder, engine=engine)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EARLIER / "format1", tmp_path / "state"))


@pytest.mark.parametrize("engine", ["native", pytest.param("spark", marks=[pytest.mark.extended, pytest.mark.spark])])
def test_a_directory_of_an_earlier_release_goes_on(folder: Path, engine: str) -> None:
    with opened(folder, engine) as pipeline:
        assert sorted(pipeline.query("SELECT * FROM totals").rows) == [("ann", 1, Decimal("3.00"))]
        assert sorted(pipeline.query("SELECT * FROM pages").rows) == [("a", 1), ("b", 1)]
        assert pipeline.query("SELECT COUNT(*) FROM error_view").rows == [(1,)]  # the visit that was late
        pipeline.step({"orders": [(1, "ann", Decimal("1.00")), (3, "cy", Decimal("2.00"))]})
    with opened(folder, engine) as pipeline:
        found = sorted(pipeline.query("SELECT * FROM totals").rows)
        assert found == [("ann", 1, Decimal("1.00")), ("cy", 1, Decimal("2.00"))]
        late = [("2025-01-01 12:02:00", "late")]
        pipeline.execute(f"INSERT INTO visits VALUES (TIMESTAMP '{late[0][0]}', 'late')")
        assert pipeline.query("SELECT COUNT(*) FROM error_view").rows == [(2,)]  # the waterline is where it was


@pytest.mark.parametrize("name", ["log/steps/000000000004.json", "program.json"])
def test_a_directory_of_a_later_release_is_refused(folder: Path, name: str) -> None:
    with opened(folder) as pipeline:
        pipeline.step({"orders": []})
    path = folder / name
    facts = facts_of(path)
    write_facts(path, {**facts, "format": facts["format"] + 1000})
    before = files(folder)
    with pytest.raises(PenstockError) as caught, opened(folder) as pipeline:
        pipeline.query("SELECT * FROM totals")
    (found,) = caught.value.diagnostics
    assert (found.code, path.name in found.message) == ("LATER_FORMAT", True)
    after = files(folder)
    assert {name: after.get(name) for name in before} == before


def test_state_of_a_later_release_is_made_again_from_the_log(folder: Path) -> None:
    with opened(folder) as pipeline:
        pipeline.execute("SET state_seconds = '0'")
        pipeline.step({"orders": [(4, "dan", Decimal("1.00"))]})
    headers = list((folder / "state").glob("*/*.json"))
    assert headers, "there is no snapshot"
    for path in headers:
        facts = facts_of(path)
        write_facts(path, {**facts, "format": 1000})
    with opened(folder) as pipeline:
        found = sorted(pipeline.query("SELECT customer FROM totals").rows)
        assert found == [("ann",), ("dan",)]
