"""The documentation says what is so: links lead somewhere, codes and commands are the real ones, SQL compiles."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import penstock
from penstock.bind.program.compile import compile_program
from penstock.cli.repl.commands import COMMANDS
from penstock.testing.case_run import PASSED, run_case
from penstock.testing.cases import parse_cases

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])


def _load(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


codes = _load(Path(__file__).with_name("codes.py"))
reference = _load(ROOT / "scripts" / "reference.py")


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path) if path else page
        assert found.exists(), f"{target} in {named(page)}"
        if anchor and found.suffix == ".md":
            assert anchor in _anchors(found), f"{target} in {named(page)}"


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ +(.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_error_code_is_documented():
    page = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `([A-Z_]+)`", page, re.MULTILINE))
    real = codes.codes_of(ROOT / "src" / "penstock")
    assert sorted(real - documented) == [], "not documented"
    assert sorted(documented - real) == [], "documented, but no code gives it"


def test_every_command_of_the_shell_is_documented():
    page = (ROOT / "docs" / "reference" / "shell.md").read_text(encoding="utf-8")
    documented = {
        name for row in re.findall(r"^\| (`\..*?) \|", page, re.MULTILINE) for name in re.findall(r"\.\w+", row)
    }
    assert documented == set(COMMANDS)


@pytest.mark.parametrize("page", sorted(reference.PAGES))
def test_generated_pages_are_current(page):
    written = (ROOT / page).read_text(encoding="utf-8")
    assert written == reference.PAGES[page](), f"{page} is not what `make docs` writes"


def test_every_name_of_the_package_is_in_the_reference():
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    assert [name for name in penstock.__all__ if f"`{name}`" not in page and f"### {name}\n" not in page] == []


def test_the_program_in_the_reference_of_python_runs(spark, capsys):
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    program = re.search(r"^```python\n(import penstock\n.*?)^```", page, re.MULTILINE | re.DOTALL)[1]
    names = {}
    exec(compile(program, "python.md", "exec"), names)  # noqa: S102 - it is ours
    assert set(names["changes"]) == {"v", "error_view"}
    assert sorted(names["changes"]["v"].rows) == [(1, ("a", 1)), (1, ("b", 2))]
    assert "a | 1" in capsys.readouterr().out


def test_the_cases_in_the_reference_pass(spark):
    page = (ROOT / "docs" / "reference" / "cases.md").read_text(encoding="utf-8")
    text = re.search(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1]
    (case,) = parse_cases(text, "cases.md")
    result = run_case(case, "cases.md", lambda: spark)
    assert (result.status, result.detail) == (PASSED, "")


def test_the_sql_in_the_reference_compiles():
    page = (ROOT / "docs" / "reference" / "sql.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sql\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    # The page shows `readings` twice: as a stream, and as a table with LATENESS.
    compile_program("\n".join(block for block in blocks if "TABLE readings" not in block))
    compile_program("\n".join(block for block in blocks if "TABLE readings" in block))


DIALECTS = ("calcite", "feldera", "flink", "timeplus")


def _of_dialect(dialect: str) -> tuple[str, str]:
    """The page of a dialect, and the programs in it as one."""
    page = (ROOT / "docs" / "reference" / f"{dialect}.md").read_text(encoding="utf-8")
    return page, "\n".join(f"{program};" for program in re.findall(r"```sql\n(.*?);?\s*```", page, re.DOTALL))


REFUSED = [
    (dialect, *(cell.strip() for cell in row))
    for dialect in DIALECTS
    for row in re.findall(r"^\| `(.+)` \| `([A-Z][A-Z_]{4,})` \|(.*)\|$", _of_dialect(dialect)[0], re.MULTILINE)
]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_programs_of_a_dialect_compile(dialect):
    compile_program(_of_dialect(dialect)[1], dialect)


@pytest.mark.parametrize(("dialect", "text", "code", "hint"), REFUSED)
def test_what_a_dialect_refuses_is_refused_as_the_page_says(dialect, text, code, hint):
    with pytest.raises(penstock.PenstockError) as caught:
        compile_program(f"{_of_dialect(dialect)[1]}\n{text};", dialect)
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert hint in (found.hint or "")


def test_each_dialect_refuses_something_on_its_page():
    assert {dialect for dialect, *_ in REFUSED} == set(DIALECTS)


@pytest.mark.parametrize("program", sorted((ROOT / "examples").glob("*.sql")), ids=named)
def test_the_examples_compile(program):
    compile_program(program.read_text(encoding="utf-8"))


def test_make_help_names_every_target_that_the_pages_use():
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    used = {name for page in PAGES for name in re.findall(r"`?make ([a-z-]+)", _code_of(page))}
    for name in used:
        assert f"make {name}" in shown, f"make {name}"


def _code_of(page: Path) -> str:
    text = page.read_text(encoding="utf-8")
    return "\n".join(re.findall(r"```sh\n.*?```|`make [^`]*`", text, re.DOTALL))


def test_checking_a_program_imports_no_spark():
    program = "import sys, penstock.bind.program.compile; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_codes_are_found_however_they_reach_a_diagnostic(tmp_path):
    (tmp_path / "one.py").write_text(
        """
NAMED = "NAMED_ONE"
def fail(message, *, code="SYNTAX", hint=None):
    raise ParseFailure(Diagnostic(code, message))
class Cursor:
    def stop(self, code):
        self.fail("no", code=code)
    def refuse(self):
        self.stop("HANDED_ON")
        fail("no", code="BY_KEYWORD")
        Diagnostic(NAMED, "x"); Diagnostic("THIS" if True else "THAT", "x"); note("error[WRITTEN]: no")
def os_code(error):
    return "GIVEN_BACK" if error else "OTHERWISE"
"""
    )
    found = {"NAMED_ONE", "HANDED_ON", "BY_KEYWORD", "THIS", "THAT", "WRITTEN", "GIVEN_BACK", "OTHERWISE"}
    assert codes.codes_of(tmp_path) == found
