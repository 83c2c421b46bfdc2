"""Connectors of other packages: one is built, installed, and found by its entry point; what may be wrong with them."""

import subprocess
import sys

import pytest
from tests.steps.tables import declared

import penstock
from penstock.errors import SqlError
from penstock.sources import api

MODULE = """
from penstock.sources.flow import Flow
from penstock.sources.formats.choice import format_of
from penstock.sources.formats.declared import FORMAT, PROPERTIES as OF_FORMATS
from penstock.sources.properties import Property
from penstock.sources.reading import RecordSource

PROPERTIES = (Property("up_to", "The last number.", takes="a number", required=True), *OF_FORMATS)


class Numbers(Flow):
    def __init__(self, up_to):
        super().__init__("numbers")
        self.left = [b'{"n": %d}\\n' % number for number in range(1, up_to + 1)]

    def receive(self):
        return self.left.pop(0) if self.left else None


def open_source(table, readers, zone):
    numbers = Numbers(int(table.properties["up_to"]))
    return RecordSource(table, numbers, format_of(FORMAT.value(table), table, readers))
"""
PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "counting"
version = "3.1"
[project.entry-points."penstock.sources"]
Counting = "counting.source"
lame = "counting.lame"
lost = "counting.lost"
[tool.hatch.build.targets.wheel]
packages = ["counting"]
"""
TABLE = "CREATE TABLE t (n INT) WITH ('connector' = '{}', 'up_to' = '3')"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder of installed packages with one that brings connectors."""
    project = tmp_path_factory.mktemp("project")
    (project / "counting").mkdir()
    for name, text in (("__init__", ""), ("source", MODULE), ("lame", "PROPERTIES = ()"), ("lost", "import nowhere")):
        (project / "counting" / f"{name}.py").write_text(text, encoding="utf-8")
    (project / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    found = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", found, project], check=True)
    return found


@pytest.fixture
def installed(site, monkeypatch):
    monkeypatch.syspath_prepend(site)


def refused(text):
    with pytest.raises(SqlError) as caught:
        api.check_source(declared(text))
    return caught.value.diagnostics[0]


def test_rows_come_from_a_connector_that_is_installed(installed):
    view = "CREATE VIEW v AS SELECT SUM(n) AS s FROM t;"
    with penstock.Pipeline(f"{TABLE.format('counting')}; {view}", engine="native") as pipeline:
        pipeline.run(once=True)
        assert pipeline.query("SELECT * FROM v").rows == [(6,)]


def test_properties_of_an_installed_connector_are_checked(installed):
    found = refused("CREATE TABLE t (n INT) WITH ('connector' = 'counting', 'upto' = '3')")
    assert (found.code, found.hint) == ("MISSING_PROPERTY", "'up_to' = 'a number'")
    found = refused("CREATE TABLE t (n INT) WITH ('connector' = 'counting', 'up_to' = '3', 'fromat' = 'csv')")
    assert (found.code, found.candidates[0]) == ("UNKNOWN_PROPERTY", "format")


def test_a_connector_that_nobody_brings_is_refused_with_those_that_there_are(installed):
    found = refused(TABLE.format("conting"))
    assert (found.code, found.candidates[0]) == ("UNKNOWN_CONNECTOR", "counting")
    assert "files" in found.hint


@pytest.mark.parametrize(("name", "why"), [("lame", "has no open_source"), ("lost", "No module named 'nowhere'")])
def test_a_connector_that_cannot_be_loaded_is_refused_by_its_package(installed, name, why):
    found = refused(TABLE.format(name))
    assert found.code == "BROKEN_CONNECTOR"
    assert "counting 3.1" in found.message
    assert why in found.message


def test_two_packages_with_one_connector_are_told_apart_by_nobody(installed, site, tmp_path, monkeypatch):
    other = tmp_path / "tally-2.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: tally\nVersion: 2\n", encoding="utf-8")
    (other / "entry_points.txt").write_text("[penstock.sources]\ncounting = tally\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    found = refused(TABLE.format("counting"))
    assert found.code == "BROKEN_CONNECTOR"
    assert "counting 3.1 and by tally 2" in found.message
