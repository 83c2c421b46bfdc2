"""Another program takes the place of one that runs: what stays, what is made anew, what outputs get, what cannot be."""

import json
import re
import threading
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiers import examples

import penstock
from penstock.cli.attach.server import attachable
from penstock.cli.main import main
from penstock.errors import PenstockError, SqlError, UnsupportedError
from penstock.pipeline.run import RunOptions
from penstock.steps.events import StepDone

TABLES = """
CREATE TABLE o (id INT, who STRING, amount BIGINT);
CREATE TABLE k (who STRING PRIMARY KEY, city STRING);
"""
OLD = f"""{TABLES}
CREATE VIEW totals AS SELECT who, COUNT(*) AS n, SUM(amount) AS s FROM o GROUP BY who;
CREATE VIEW cities AS SELECT k.city, SUM(totals.s) AS s FROM k JOIN totals ON k.who = totals.who GROUP BY k.city;
CREATE MATERIALIZED VIEW largest AS SELECT MAX(amount) AS m FROM o;
CREATE VIEW gone AS SELECT id FROM o;
"""
NEW = f"""{TABLES}
CREATE TABLE later (id INT);
CREATE VIEW totals AS SELECT who, COUNT(*) AS n, SUM(amount) AS s FROM o WHERE amount > 2 GROUP BY who;
CREATE VIEW cities AS
  SELECT k.city, SUM(totals.s) AS s FROM k JOIN totals ON k.who = totals.who GROUP BY k.city;
CREATE MATERIALIZED VIEW largest AS  SELECT max(amount) AS m FROM o -- the same
;
CREATE VIEW names AS SELECT DISTINCT who FROM o;
"""
ROWS = {
    "o": [(1, "ann", 1), (2, "ann", 5), (3, "bob", 7), (4, "cid", 2), (5, None, None)],
    "k": [("ann", "Rome"), ("cid", "Oslo")],
}


def opened(program=OLD, **given):
    return penstock.Pipeline(program, engine="native", **given)


def assert_maintained(pipeline, name):
    """The content that is kept of a view is what its query answers."""
    asked = pipeline.query(pipeline.catalog.views[name].text)
    assert Counter(pipeline.content(name).rows) == Counter(asked.rows)


def what(deployment):
    return {item.name: item.what for item in deployment.differences}


@pytest.mark.parametrize("retain", ["all", "materialized"])
def test_outputs_get_the_difference_and_what_is_the_same_stays(retain):
    with opened(retain=retain) as pipeline:
        pipeline.step(ROWS)
        found = pipeline.deployment(NEW)
        assert what(found) == {
            "o": "unchanged", "k": "unchanged", "later": "added",
            "totals": "changed", "cities": "rebuilt", "largest": "unchanged", "names": "added", "gone": "removed",
        }  # fmt: skip
        assert (found.rows, found.problems) == (7, ())
        changes = pipeline.deploy(NEW)
        expected = [(-1, ("ann", 2, 6)), (-1, ("cid", 1, 2)), (-1, (None, 1, None)), (1, ("ann", 1, 5))]
        assert Counter(changes["totals"].rows) == Counter(expected)
        assert Counter(changes["cities"].rows) == Counter([(-1, ("Rome", 6)), (-1, ("Oslo", 2)), (1, ("Rome", 5))])
        assert changes["largest"].rows == []
        assert {row for _, row in changes["names"].rows} == {("ann",), ("bob",), ("cid",), (None,)}
        assert "gone" not in changes
        assert pipeline.steps == 2
        assert pipeline.deployment(NEW).is_empty
        after = pipeline.step({"o": [(6, "cid", 9)], "later": [(1,)]})
        assert after["totals"].rows == [(1, ("cid", 1, 9))]
        assert after["cities"].rows == [(1, ("Oslo", 9))]
        with pytest.raises(SqlError):
            pipeline.query("SELECT * FROM gone")


QUERIES = (
    "SELECT who, COUNT(*) AS n FROM o GROUP BY who",
    "SELECT who, COUNT(*) AS n FROM o WHERE amount > 1 GROUP BY who",
    "SELECT DISTINCT o.who, CAST(o.id AS BIGINT) AS n FROM o LEFT JOIN k ON o.who = k.who WHERE k.city IS NULL",
    "SELECT who, amount AS n FROM o UNION ALL SELECT who, amount FROM o",
)
PROGRAM = f"""{TABLES}
CREATE VIEW v AS {{}};
CREATE VIEW w AS SELECT n, COUNT(*) AS c FROM v GROUP BY n;
CREATE VIEW u AS SELECT id FROM o;
"""
row = st.tuples(st.integers(1, 3), st.sampled_from(["a", "b", None]), st.one_of(st.none(), st.integers(0, 3)))


def answer(query, rows):
    with opened(PROGRAM.format(query)) as fresh:
        fresh.step(rows)
        return {name: Counter(fresh.query(f"SELECT * FROM {name}").rows) for name in "vwu"}


@given(
    st.lists(st.sampled_from(QUERIES), min_size=2, max_size=3),
    st.lists(st.lists(row, max_size=5), min_size=3, max_size=3),
    st.lists(st.sampled_from("ab"), unique=True),
    st.booleans(),
)
@pytest.mark.extended
@examples(3, 8)
def test_oracle_all_that_was_shown_adds_up_to_the_answers(queries, steps, keys, kept):
    """After each change of program what each view has shown, added up, is what its query answers."""
    shown = {name: Counter() for name in "vwu"}

    def add(changes):
        for name, change in changes.items():
            for weight, values in change.rows if name in shown else ():
                shown[name][values] += weight

    there = {"o": [], "k": [(key, "x") for key in keys]}
    with opened(PROGRAM.format(queries[0]), retain="all" if kept else "materialized") as pipeline:
        add(pipeline.step({"k": there["k"]}))
        for query, rows in zip(queries, steps, strict=False):
            add(pipeline.deploy(PROGRAM.format(query)))
            taken = there["o"][:1]
            add(pipeline.step({"o": [*(("-", item) for item in taken), *rows]}))
            there["o"] = there["o"][1:] + rows
            expected = answer(query, there)
            assert {name: +counts for name, counts in shown.items()} == expected
            assert not any(number < 0 for counts in shown.values() for number in counts.values())
            assert {name: Counter(pipeline.query(f"SELECT * FROM {name}").rows) for name in "vwu"} == expected


def test_a_change_that_fails_leaves_all_as_it_was(tmp_path):
    broken = NEW.replace("SELECT DISTINCT who FROM o", "SELECT DISTINCT 10 / (amount - 5) AS q FROM o")
    with opened(directory=tmp_path) as pipeline:
        pipeline.step(ROWS)
        before = {name: Counter(pipeline.query(f"SELECT * FROM {name}").rows) for name in ("totals", "cities", "gone")}
        with pytest.raises(PenstockError) as error:
            pipeline.deploy(broken)
        assert error.value.code == "EVALUATION_ERROR"
        assert pipeline.steps == 1
        assert before == {name: Counter(pipeline.query(f"SELECT * FROM {name}").rows) for name in before}
        assert pipeline.deployment(OLD).is_empty
        after = pipeline.step({"o": [(6, "ann", 4)]})
        assert Counter(after["totals"].rows) == Counter([(-1, ("ann", 2, 6)), (1, ("ann", 3, 10))])
        assert after["gone"].rows == [(1, (6,))]
        assert_maintained(pipeline, "totals")
        pipeline.deploy(NEW)
        first, _, third = (json.loads(path.read_text()) for path in sorted((tmp_path / "log" / "steps").glob("*.json")))
        assert len(first["declarations"]) == 6
        assert [" ".join(text.split())[:17] for text in third["declarations"]] == [
            "DROP VIEW `gone`;",
            "DROP VIEW `cities",
            "DROP VIEW `totals",
            "CREATE TABLE late",
            "CREATE VIEW total",
            "CREATE VIEW citie",
            "CREATE VIEW names",
        ]
        assert_maintained(pipeline, "totals")


def test_a_directory_goes_on_with_the_changed_program_when_it_is_opened_again(tmp_path):
    with opened(directory=tmp_path) as pipeline:
        pipeline.step(ROWS)
        pipeline.deploy(NEW)
        pipeline.step({"o": [(6, "cid", 9)]})
        before = {name: Counter(pipeline.content(name).rows) for name in ("totals", "cities", "largest", "names")}
    with opened(NEW, directory=tmp_path) as pipeline:  # the log makes it of the one before
        assert pipeline.steps == 3
        assert {name: Counter(pipeline.content(name).rows) for name in before} == before
        assert pipeline.deployment(NEW).is_empty
        assert pipeline.step({"o": [(7, "cid", 1)]})["totals"].rows == []
        pipeline.deploy(OLD)
        before = {name: Counter(pipeline.content(name).rows) for name in ("totals", "cities", "largest", "gone")}
    with pytest.raises(PenstockError, match="another program"):
        opened(NEW, directory=tmp_path).step({})
    with opened(directory=tmp_path) as pipeline:
        assert {name: Counter(pipeline.content(name).rows) for name in before} == before


def contents(pipeline):
    assert pipeline.steps  # it is opened
    views = [view.name for view in pipeline.catalog.named_views()]
    return {name: Counter(pipeline.content(name).rows) for name in views}


def assert_opened_as(program, folder, expected, **how):
    with opened(program, directory=folder, **how) as pipeline:
        assert contents(pipeline) == expected
        for name in expected:
            assert_maintained(pipeline, name)


def test_a_changed_program_is_rebuilt_by_the_program_that_it_is_now(tmp_path):
    with opened(directory=tmp_path) as pipeline:
        pipeline.step(ROWS)
        pipeline.deploy(NEW)
        pipeline.step({"o": [(6, "cid", 9)], "later": [(1,)]})
        before = contents(pipeline)
    for rebuild in (True, False):
        assert_opened_as(NEW, tmp_path, before, rebuild=rebuild)
    with opened(NEW, directory=tmp_path) as pipeline:
        pipeline.deploy(OLD + "CREATE VIEW names AS SELECT who FROM k;")
        assert pipeline.step({"o": [(7, "cid", 1)]})["gone"].rows == [(1, (7,))]


THIRD = f"""{TABLES.replace("amount BIGINT)", "amount BIGINT, note STRING DEFAULT 'none')")}
CREATE TABLE later (id INT);
CREATE VIEW totals AS SELECT who, COUNT(*) AS n FROM o GROUP BY who;
CREATE VIEW names AS SELECT who, note FROM o;
CREATE VIEW mine AS SELECT city FROM k;
"""


def test_another_program_rebuilds_what_was_changed_before(tmp_path):
    with opened(directory=tmp_path) as pipeline:
        pipeline.step(ROWS)
        pipeline.execute("CREATE VIEW mine AS SELECT city  FROM k")
        pipeline.deploy(NEW + "CREATE VIEW mine AS SELECT city FROM k;")
        pipeline.step({"o": [(6, "cid", 9)], "later": [(1,)]})
        pipeline.execute("CREATE VIEW theirs AS SELECT city FROM k WHERE who = 'cid'")
        rows = Counter(pipeline.query("SELECT *, 'none' FROM o").rows)
    with opened(THIRD, directory=tmp_path, rebuild=True) as pipeline:
        assert Counter(pipeline.query("SELECT * FROM o").rows) == rows
        assert Counter(pipeline.content("names").rows) == Counter((who, "none") for _, who, _, _ in rows.elements())
        before = contents(pipeline)
        assert before.keys() == {"totals", "names", "mine", "theirs"}
    assert_opened_as(THIRD, tmp_path, before)
    more = "CREATE VIEW more AS SELECT COUNT(*) AS n FROM o;"
    with opened(THIRD, directory=tmp_path) as pipeline:
        pipeline.deploy(f"{THIRD}{more}")
        before = contents(pipeline)
        assert before.keys() == {"totals", "names", "mine", "more"}
    for rebuild in (False, True):
        assert_opened_as(f"{THIRD}{more}", tmp_path, before, rebuild=rebuild)


def test_what_a_deployed_program_does_beside_its_declarations_is_never_run(tmp_path):
    inserts = "INSERT INTO o VALUES (9, 'eve', 9);"
    with opened(f"{OLD}{inserts}", directory=tmp_path) as pipeline:
        assert pipeline.query("SELECT COUNT(*) FROM o").rows == [(1,)]
        pipeline.deploy(f"{NEW}{inserts}{inserts}")
    for _ in range(2):
        with opened(f"{NEW}{inserts}{inserts}", directory=tmp_path) as pipeline:
            assert pipeline.query("SELECT COUNT(*) FROM o").rows == [(1,)]


def problems(old, new, rows=None):
    with opened(old) as pipeline:
        pipeline.step(rows or {})
        found = pipeline.deployment(new)
        with pytest.raises(UnsupportedError):
            pipeline.deploy(new)
        assert pipeline.deployment(old).is_empty
        return [item.code for item in found.problems], found.problems[0].message


def test_what_cannot_be_done_is_said_and_names_the_history_that_is_missing():
    silent = "CREATE TABLE o (id INT) WITH ('history' = 'none'); CREATE VIEW n AS SELECT COUNT(*) AS n FROM o;"
    more = silent + "CREATE VIEW ids AS SELECT id FROM o;"
    codes, message = problems(silent, more, {"o": [(1,)]})
    assert (codes, message) == (["NO_HISTORY"], "Cannot convert table 'o' to relation: it keeps no history")
    with opened(silent) as pipeline:
        pipeline.deploy(more)  # nothing has come that it would miss
        assert pipeline.step({"o": [(1,)]})["ids"].rows == [(1, (1,))]
    codes, message = problems(OLD, OLD.replace("id INT, who", "id BIGINT, who"))
    assert (codes, message) == (
        ["TABLE_CHANGED"],
        "column id of table o is INT in the rows that are there, and would be BIGINT",
    )
    codes, _ = problems(OLD, OLD.replace("CREATE VIEW gone AS SELECT id FROM o", "CREATE TABLE gone (id INT)"))
    assert codes == ["TABLE_CHANGED"]
    codes, _ = problems(OLD, "SET TIME ZONE 'Europe/Rome';" + OLD)
    assert codes == ["TIME_ZONE_FIXED"]
    final = "CREATE TABLE t (a INT LATENESS 1); CREATE VIEW v WITH ('emit_final' = 'a') AS SELECT a FROM t{};"
    codes, _ = problems(final.format(""), final.format(" WHERE a > 1"))
    assert codes == ["SHOWN_ALREADY"]


def test_before_the_first_step_a_program_may_change_as_a_whole():
    with opened() as pipeline:
        pipeline.deploy(NEW)
        assert sorted(pipeline.step(ROWS)["totals"].rows) == [(1, ("ann", 1, 5)), (1, ("bob", 1, 7))]


def test_a_run_goes_on_with_the_other_program_and_its_sources(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.json").write_text('{"id": 1}\n{"id": 2}\n')
    table = (
        "CREATE TABLE {0} (id INT) WITH ('connector' = 'files', 'path' = '"
        + str(tmp_path)
        + "/{0}', 'format' = 'json');"
    )
    old = table.format("a") + "CREATE VIEW n AS SELECT COUNT(*) AS n FROM a;"
    new = old.replace("COUNT(*)", "SUM(id)") + table.format("b") + "CREATE VIEW ids AS SELECT id FROM b;"
    given, stepped, seen = [], threading.Event(), threading.Event()

    class Taken:
        def write(self, changes):
            given.append({name: Counter(change.rows) for name, change in changes.items() if change.rows})
            stepped.set()
            if any("ids" in item for item in given):
                seen.set()

        def close(self): ...

        def describe(self):
            return "taken"

    events = []
    with penstock.Pipeline(old, engine="native", on_event=events.append) as pipeline:
        pipeline.start(outputs=[Taken()], options=RunOptions(poll_seconds=0.01))
        assert stepped.wait(60)
        changes = pipeline.deploy(new)
        assert Counter(changes["n"].rows) == Counter([(-1, (2,)), (1, (3,))])
        assert seen.wait(60)
        pipeline.stop()
    assert given[0] == {"n": Counter([(1, (2,))])}
    assert given[1] == {"n": Counter([(-1, (2,)), (1, (3,))])}
    assert given[2] == {"ids": Counter([(1, (1,)), (1, (2,))])}
    assert [event.step for event in events if isinstance(event, StepDone)] == [1, 2, 3]


def test_the_command_asks_the_run_shows_the_difference_and_does_it(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr("penstock.pipeline.opening.running_session", lambda: None)  # that of other tests
    new = tmp_path / "new.sql"
    new.write_text(NEW)
    state = tmp_path / "state"

    def asked(*more):
        with pytest.raises(SystemExit) as ended:
            main(["deploy", str(new), "--dir", str(state), *more])
        out, err = capfd.readouterr()
        return ended.value.code, out, err

    with opened(directory=state) as pipeline:
        pipeline.step(ROWS)
        code, _, err = asked("--dry-run")
        assert (code, "NOT_RUNNING" in err) == (1, True)
        with attachable(pipeline, str(state)):
            code, out, _ = asked("--dry-run")
            assert code == 0
            assert "~ view totals changed: made anew from the history of o\n" in out
            assert "~ view cities rebuilt: reads totals; made anew from the content of k and the history of o\n" in out
            assert "  view largest unchanged: its answer and state stay\n" in out
            assert re.search(r"7 rows are read again, about \d+\.\d s at the rate of the steps so far", out), out
            assert re.search(r"7 rows are read again, about \d+\.\d s at the rate of the steps so far", out), out
            code, _, err = asked()
            assert (code, "--yes" in err) == (2, True)  # nobody is there to be asked
            assert pipeline.steps == 1
            code, out, _ = asked("--yes", "--format", "json")
            plan, done = map(json.loads, out.splitlines())
            assert (code, plan["rows"], done["step"]) == (0, 7, 2)
            assert done["changed"] == {"totals": 4, "cities": 3, "names": 4}
            assert asked("--yes")[:2] == (
                0,
                "".join(
                    f"  {kind} {name} unchanged: {said}\n"
                    for kind, name, said in (
                        *(("table", name, "its rows stay") for name in ("o", "k", "later")),
                        *(
                            ("view", name, "its answer and state stay")
                            for name in ("totals", "cities", "largest", "names")
                        ),
                    )
                )
                + "nothing is different\n",
            )
            new.write_text(NEW.replace("id INT, who", "id BIGINT, who"))
            code, out, err = asked("--yes")
            assert code == 1
            said = "column id of table o is INT in the rows that are there, and would be BIGINT"
            assert f"error[TABLE_CHANGED]: {said}" in err
            assert out.splitlines() == [
                f"! table o refused: {said}",
                "  table k unchanged: its rows stay",
                "  table later unchanged: its rows stay",
                *(
                    f"! view {name} refused: reads o, whose change is refused"
                    for name in ("totals", "cities", "largest", "names")
                ),
            ]
            new.write_text("CREATE VIEW v AS SELECT x FROM nowhere;")
            code, _, err = asked("--yes")
            assert (code, "UNKNOWN_RELATION" in err) == (1, True)
            assert not pipeline.has_spark
        assert pipeline.steps == 2
