"""Changes as changelogs, retractions and upserts: what is applied line by line is the view's content."""

from collections import Counter

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from tests.tiers import examples

import penstock
from penstock.bind.program.compile import compile_program
from penstock.cli.main import main
from penstock.outputs.forms import Form, formed, key_of

PROGRAM = """CREATE TABLE t (k INT, x INT);
CREATE VIEW totals AS SELECT k, SUM(x) AS total FROM t GROUP BY k;
CREATE VIEW big AS SELECT k, x FROM t WHERE x > 2;
CREATE VIEW one AS SELECT COUNT(*) AS n FROM t;"""
steps = st.lists(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 4)), max_size=4), min_size=1, max_size=5)


@penstock.LaterSession
def no_spark():
    pytest.fail("Spark was asked for")


def applied(content, lines, key):
    """A receiver that goes line by line, and knows nothing but the form."""
    for done, row in lines:
        name = tuple(row[at] for at in key)
        if done in ("insert", "+I", "+U"):
            content[row] += 1
        elif done in ("delete", "-D", "-U") and row in content:
            content[row] -= 1
        else:
            for there in [item for item in content if tuple(item[at] for at in key) == name]:
                del content[there]
            if done == "upsert":
                content[row] = 1
    return +content


@pytest.mark.parametrize(("view", "form"), [(view, form) for view in ("totals", "big", "one") for form in Form])
@examples(4, 15)
@given(steps=steps)
def test_oracle_lines_add_up_to_the_content(view, form, steps):
    key = key_of(compile_program(PROGRAM).catalog.views[view], compile_program(PROGRAM).catalog)
    if key is None and form is Form.UPSERT:
        return
    with penstock.Pipeline(PROGRAM, spark=no_spark) as pipeline:
        content, there = Counter(), Counter()
        for step in steps:
            gone = [row for row in step if there[row]]
            there.subtract(set(gone))
            there.update(step)
            changes = pipeline.step({"t": [*(("-", row) for row in set(gone)), *step]})
            lines = list(formed(changes[view].rows, form, key)) if view in changes else []
            names = [tuple(row[at] for at in key or ()) for _, row in lines]
            assert form is not Form.UPSERT or len(set(names)) == len(names)
            content = applied(content, lines, key or ())
            assert content == Counter(pipeline.content(view).rows)


def test_keys():
    catalog = compile_program(PROGRAM).catalog
    assert [key_of(catalog.views[name], catalog) for name in ("totals", "big", "one")] == [(0,), None, ()]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("changelog", ["+I  (1, 5)", "+I  (2, 1)", "-U  (1, 5)", "+U  (1, 12)", "-D  (2, 1)"]),
        ("retract", ["insert  (1, 5)", "insert  (2, 1)", "delete  (1, 5)", "delete  (2, 1)", "insert  (1, 12)"]),
        ("upsert", ["upsert  (1, 5)", "upsert  (2, 1)", "upsert  (1, 12)", "delete  (2, NULL)"]),
    ],
)
def test_the_command_writes_them(tmp_path, form, expected):
    program = tmp_path / "p.sql"
    second = "BEGIN; INSERT INTO t VALUES (1, 7); DELETE FROM t WHERE k = 2; COMMIT;"
    program.write_text(f"{PROGRAM} INSERT INTO t VALUES (1, 5), (2, 1); {second}")
    done = CliRunner().invoke(main, ["changes", str(program), "totals", "--form", form, "--once"])
    assert [line.split("totals  ")[1] for line in done.stdout.splitlines()] == expected
    for style in ("json", "csv"):
        done = CliRunner().invoke(
            main, ["changes", str(program), "totals", "--form", form, "--once", "--format", style]
        )
        assert len(done.stdout.splitlines()) == len(expected) + (style == "csv")


def test_what_a_view_cannot_be_is_said(tmp_path):
    program = tmp_path / "p.sql"
    program.write_text(PROGRAM + "INSERT INTO t VALUES (1, 5);")
    done = CliRunner().invoke(main, ["changes", str(program), "big", "--form", "upsert", "--once"])
    assert (done.exit_code, "view big has no key" in done.stderr) == (1, True)
    done = CliRunner().invoke(
        main, ["changes", str(program), "big", "--form", "retract", "--once", "--format", "arrow"]
    )
    assert "--form is written as text, json or csv" in done.stderr
