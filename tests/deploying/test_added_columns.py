"""Tables that gain columns while rows are there: by ALTER TABLE, and by a program that takes the place of another."""

import json
import time
from collections import Counter
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock
from penstock.errors import PenstockError, SqlError, UnsupportedError

TABLES = """
CREATE TABLE o (id INT, who STRING, amount BIGINT{o});
CREATE TABLE k (who STRING PRIMARY KEY, city STRING{k});
"""
VIEWS = """
CREATE VIEW totals AS SELECT who, COUNT(*) AS n, SUM(amount) AS s FROM o GROUP BY who;
CREATE VIEW cities AS SELECT k.city, SUM(totals.s) AS s FROM k JOIN totals ON k.who = totals.who GROUP BY k.city;
CREATE VIEW inner_star AS SELECT id FROM (SELECT * FROM o) AS a WHERE id > 1;
CREATE VIEW whole AS SELECT COUNT(*) AS n FROM (SELECT DISTINCT * FROM o) AS a;
CREATE MATERIALIZED VIEW star AS SELECT * FROM o;
"""
OLD = TABLES.format(o="", k="") + VIEWS
TAGS = "CREATE VIEW tags AS SELECT tag, COUNT(*) AS n FROM o GROUP BY tag;"
NEW = TABLES.format(o=", tag STRING DEFAULT 'none'", k=", zip INT") + VIEWS + TAGS
ROWS = {"o": [(1, "ann", 1), (2, "ann", 5), (3, "bob", 7)], "k": [("ann", "Rome"), ("cid", "Oslo")]}


def opened(program=OLD, **given):
    return penstock.Pipeline(program, engine="native", **given)


def what(deployment):
    return {item.name: item.what for item in deployment.differences}


def contents(pipeline, names=None):
    names = names or [*pipeline.catalog.tables, *pipeline.catalog.views]
    return {name: Counter(pipeline.content(name).rows) for name in names}


def test_only_what_reads_the_column_is_made_anew(tmp_path):
    with opened(directory=tmp_path) as pipeline:
        pipeline.step(ROWS)
        found = pipeline.deployment(NEW)
        assert what(found) == {
            "o": "changed", "k": "changed", "totals": "unchanged", "cities": "unchanged", "inner_star": "unchanged",
            "whole": "changed", "star": "changed", "tags": "added",
        }  # fmt: skip
        assert found.problems == ()
        assert [item.about for item in found.differences[:2]] == [
            "its rows stay, with tag = 'none'",
            "its rows stay, with zip = NULL",
        ]
        changes = pipeline.deploy(NEW)
        assert changes["totals"].rows == []
        assert Counter(changes["star"].rows) == Counter((1, (*row, "none")) for row in ROWS["o"])
        assert changes["tags"].rows == [(1, ("none", 3))]
        assert pipeline.deployment(NEW).is_empty
        after = pipeline.step({"o": [("-", (2, "ann", 5, "none")), (4, "cid", 2, None)], "k": [("ann", "Bern", 7)]})
        assert Counter(after["tags"].rows) == Counter([(-1, ("none", 3)), (1, ("none", 2)), (1, (None, 1))])
        assert Counter(pipeline.content("k").rows) == Counter([("ann", "Bern", 7), ("cid", "Oslo", None)])
        before = contents(pipeline)
    with opened(NEW, directory=tmp_path) as pipeline:
        assert pipeline.steps == 3
        assert contents(pipeline) == before
        assert pipeline.deployment(NEW).is_empty
        assert pipeline.step({"o": [("-", (1, "ann", 1, "none"))]})["inner_star"].rows == []


def test_a_column_may_stand_anywhere_and_be_added_by_the_text_too():
    first = TABLES.format(o="", k="") + "CREATE VIEW v AS SELECT id FROM o;"
    middle = first.replace("(id INT,", "(kind STRING, id INT, at DATE COMMENT 'when',")
    text = "ALTER TABLE o ADD COLUMN late INT NOT NULL DEFAULT 1 + 1;"
    with opened(first) as pipeline:
        pipeline.step(ROWS)
        found = pipeline.deployment(middle + text)
        added = "kind STRING FIRST, at DATE COMMENT 'when' AFTER `id`, late INT NOT NULL DEFAULT 1 + 1 AFTER `amount`"
        assert found.statements == (f"ALTER TABLE `o` ADD COLUMNS IF NOT EXISTS ({added});",)
        pipeline.deploy(middle + text)
        assert pipeline.query("SELECT * FROM o WHERE id = 1").rows == [(None, 1, None, "ann", 1, 2)]
        assert pipeline.deployment(middle + text).is_empty
        pipeline.step({"o": [("x", 9, None, "z", 0, 0)]})
        assert Counter(pipeline.content("v").rows) == Counter([(1,), (2,), (3,), (9,)])


def test_alter_in_a_session_is_in_the_log(tmp_path):
    with opened(directory=tmp_path) as pipeline:
        pipeline.step(ROWS, clock="2024-05-01 09:00:00")
        pipeline.execute(
            "ALTER TABLE o ADD COLUMN at TIMESTAMP DEFAULT current_timestamp()", clock="2024-05-01 10:00:00"
        )
        pipeline.execute("ALTER TABLE k ADD COLUMNS (zip INT DEFAULT 5, more DATE)")
        assert pipeline.steps == 1
        assert set(pipeline.query("SELECT at FROM o").rows) == {(datetime.fromisoformat("2024-05-01 10:00:00"),)}
        assert set(pipeline.query("SELECT zip, more FROM k").rows) == {(5, None)}
        assert "ADD COLUMN" in (tmp_path / "log" / "declarations.json").read_text()
    with opened(directory=tmp_path) as pipeline:
        assert set(pipeline.query("SELECT at FROM o").rows) == {(datetime.fromisoformat("2024-05-01 10:00:00"),)}
        pipeline.execute("CREATE VIEW hours AS SELECT hour(at) AS h, COUNT(*) AS n FROM o GROUP BY hour(at)")
        pipeline.execute("INSERT INTO o (id, who) VALUES (5, 'eve')", clock="2024-05-01 12:00:00")
        assert Counter(pipeline.content("hours").rows) == Counter([(10, 3), (12, 1)])
        assert Counter(row[:3] for row in pipeline.content("o").rows) == pipeline_star(pipeline)
        pipeline.execute("UPDATE k SET zip = zip + 1 WHERE who = 'ann'")
        before = contents(pipeline)
    assert [json.loads(path.read_text())["declarations"] for path in sorted((tmp_path / "log" / "steps").iterdir())][1]
    with opened(directory=tmp_path) as pipeline:
        assert contents(pipeline, before) == before
        assert set(pipeline.query("SELECT who, zip FROM k").rows) == {("ann", 6), ("cid", 5)}


def pipeline_star(pipeline):
    """A view of `*` keeps the columns that there were when it was made."""
    rows = pipeline.content("star").rows
    assert all(len(row) == 3 for row in rows)
    return Counter(rows)


def test_the_past_has_the_column_as_well():
    with opened() as pipeline:
        pipeline.step(ROWS)
        pipeline.step({"o": [("-", ROWS["o"][0])], "k": [("ann", "Bern")]})
        pipeline.execute("ALTER TABLE o ADD COLUMN tag STRING DEFAULT 'q'; ALTER TABLE k ADD COLUMN zip INT")
        assert Counter(pipeline.query("SELECT * FROM o", as_of=1).rows) == Counter((*row, "q") for row in ROWS["o"])
        assert ("ann", "Rome", None) in pipeline.query("SELECT * FROM k", as_of=1).rows


def test_a_deploy_that_fails_leaves_the_table_as_it_was(tmp_path):
    broken = f"{NEW}CREATE VIEW bad AS SELECT 1 / length(tag || '') AS q, 1 / (amount - 5) AS r FROM o;"
    with opened(directory=tmp_path) as pipeline:
        pipeline.step(ROWS)
        pipeline.step({"o": [("-", ROWS["o"][0])]})
        before = contents(pipeline)
        with pytest.raises(PenstockError) as error:
            pipeline.deploy(broken)
        assert error.value.code == "EVALUATION_ERROR"
        assert contents(pipeline) == before
        assert pipeline.deployment(OLD).is_empty
        pipeline.step({"o": [("-", ROWS["o"][1]), ROWS["o"][0]], "k": [("ann", "Bern")]})
        pipeline.deploy(NEW)
        assert Counter(pipeline.content("o").rows) == Counter((*ROWS["o"][at], "none") for at in (0, 2))


@pytest.mark.parametrize(
    ("statement", "code", "marked"),
    [
        ("ALTER TABLE o ADD COLUMN c INT NOT NULL", "MISSING_VALUE", "c"),
        ("ALTER TABLE o ADD COLUMN c STRING DEFAULT uuid()", "DEFAULT_NOT_CONSTANT", "c"),
        ("ALTER TABLE o ADD COLUMN ID INT", "DUPLICATE_COLUMN", "ID"),
        ("ALTER TABLE o ADD COLUMN c INT AFTER z", "UNKNOWN_COLUMN", "z"),
        ("ALTER TABLE o ADD COLUMN __weight INT", "RESERVED_NAME", "__weight"),
        ("ALTER TABLE p ADD COLUMN c INT", "UNKNOWN_TABLE", "p"),
        ("ALTER TABLE star ADD COLUMN c INT", "NOT_A_TABLE", "star"),
        ("ALTER TABLE o ADD COLUMN c TIMESTAMP LATENESS INTERVAL 1 HOUR", "UNSUPPORTED", "c"),
        ("ALTER TABLE o ADD COLUMN c INT WATERMARK 5", "UNSUPPORTED", "c"),
        ("ALTER TABLE o ADD COLUMN c INT PRIMARY KEY", "UNSUPPORTED", "c"),
        ("ALTER TABLE o ADD COLUMN c AS id + 1", "UNSUPPORTED", "c"),
        ("ALTER TABLE o ADD PRIMARY KEY (id)", "UNSUPPORTED", "PRIMARY"),
        ("ALTER TABLE o DROP COLUMN id", "UNSUPPORTED", "DROP"),
        ("ALTER TABLE o ALTER COLUMN id TYPE BIGINT", "UNSUPPORTED", "ALTER"),
        ("ALTER TABLE o RENAME TO q", "UNSUPPORTED", "RENAME"),
        ("ALTER VIEW star AS SELECT 1", "UNSUPPORTED", "ALTER"),
    ],
)  # fmt: skip
def test_refused(statement, code, marked):
    with opened() as pipeline:
        pipeline.step(ROWS)
        before = contents(pipeline)
        with pytest.raises((SqlError, UnsupportedError)) as caught:
            pipeline.execute(statement)
        (finding,) = caught.value.diagnostics
        assert finding.code == code
        assert finding.span is not None
        assert statement[finding.span.start : finding.span.end] == marked
        assert contents(pipeline) == before


def test_a_default_that_is_no_value_of_the_type_changes_nothing():
    with opened() as pipeline:
        pipeline.step(ROWS)
        for name, column in (
            ("k", "c INT DEFAULT 1 / 0"),
            ("o", "c INT DEFAULT 1 / 0"),
            ("o", "c INT NOT NULL DEFAULT nullif(1, 1)"),
            ("o", "c VARCHAR(2) DEFAULT 'abc'"),
        ):
            with pytest.raises(PenstockError):
                pipeline.execute(f"ALTER TABLE {name} ADD COLUMN {column}")
        assert pipeline.deployment(OLD).is_empty
        pipeline.execute("BEGIN")
        with pytest.raises(SqlError, match="transaction"):
            pipeline.execute("ALTER TABLE k ADD COLUMN c INT")
        pipeline.execute("COMMIT; ALTER TABLE k ADD COLUMN IF NOT EXISTS city INT, c INT")
        assert [column.name for column in pipeline.catalog.tables["k"].columns] == ["who", "city", "c"]


@pytest.mark.parametrize(
    ("new", "code", "said"),
    [
        (OLD.replace("who STRING, amount", "amount"), "TABLE_CHANGED", "would lose the column who"),
        (OLD.replace("amount BIGINT", "amount DOUBLE"), "TABLE_CHANGED", "is BIGINT in the rows that are there"),
        (OLD.replace("id INT, who STRING", "who STRING, id INT"), "TABLE_CHANGED", "in another way"),
        (OLD.replace("amount BIGINT", "amount BIGINT, c INT NOT NULL"), "MISSING_VALUE", "NOT NULL"),
        (OLD.replace("amount BIGINT", "amount BIGINT, c INT LATENESS 5"), "ADDED_COLUMN", "LATENESS"),
        (OLD.replace("amount BIGINT", "amount BIGINT, c INT PRIMARY KEY"), "TABLE_CHANGED", "in another way"),
    ],
    ids=["lost", "type", "order", "not null", "lateness", "key"],
)  # fmt: skip
def test_what_cannot_be_deployed(new, code, said):
    new = new.split("CREATE VIEW", 1)[0]
    with opened(OLD.split("CREATE VIEW", 1)[0]) as pipeline:
        pipeline.step(ROWS)
        (problem,) = pipeline.deployment(new).problems
        assert problem.code == code
        assert said in problem.message
        with pytest.raises(UnsupportedError):
            pipeline.deploy(new)


def test_what_waits_what_is_late_and_versions_gain_the_column():
    program = """
    CREATE TABLE e (id INT, x INT WATERMARK 5);
    CREATE TABLE v (k INT PRIMARY KEY, at TIMESTAMP LATENESS INTERVAL 1 HOUR, price INT);
    CREATE TABLE s (k INT, at TIMESTAMP LATENESS INTERVAL 1 HOUR);
    CREATE VIEW priced AS SELECT s.k, s.at, v.price FROM s JOIN v FOR SYSTEM_TIME AS OF s.at ON s.k = v.k;
    CREATE VIEW waited AS SELECT id FROM e;
    """
    with opened(program) as pipeline:
        pipeline.step({"e": [(1, 1)], "v": [(1, "2024-01-01 10:00:00", 5)], "s": [(1, "2024-01-01 10:30:00")]})
        pipeline.execute("ALTER TABLE e ADD COLUMN tag STRING FIRST; ALTER TABLE v ADD COLUMN note STRING DEFAULT 'n'")
        pipeline.execute("ALTER TABLE s ADD COLUMN z INT FIRST")
        assert pipeline.waterlines()["s.at"] == datetime.fromisoformat("2024-01-01 09:30:00")
        pipeline.step({"e": [("t", 2, 9)], "v": [(1, "2024-01-01 11:00:00", 6, "m")]})
        pipeline.step({"s": [(0, 1, "2024-01-01 08:00:00"), (0, 1, "2024-01-01 11:10:00")]})
        assert pipeline.content("waited").rows == [(1,)]
        assert pipeline.query("SELECT * FROM e").rows == [(None, 1, 1)]
        assert Counter(row[2] for row in pipeline.content("priced").rows) == Counter([5, 6])
        assert len(pipeline.rejected()) == 1
        pipeline.execute(
            "CREATE VIEW noted AS SELECT s.at, v.note FROM s JOIN v FOR SYSTEM_TIME AS OF s.at ON s.k = v.k"
        )
        pipeline.step({})
        assert Counter(row[1] for row in pipeline.content("noted").rows) == Counter(["n", "m"])


def test_statements_that_stand_and_subscriptions_go_on():
    program = """
    CREATE TABLE a (id INT); CREATE TABLE b (id INT PRIMARY KEY, n BIGINT);
    INSERT INTO b (id, n) SELECT id, COUNT(*) FROM a GROUP BY id EMIT CHANGES;
    CREATE VIEW w AS SELECT SUM(n) AS s FROM b;
    """
    with opened(program) as pipeline:
        pipeline.step({"a": [(1,), (1,), (2,)]})
        query = pipeline.subscribe("SELECT id FROM a WHERE id > 1 EMIT CHANGES")
        wider = program.replace("n BIGINT", "n BIGINT, tag STRING DEFAULT 'd'").replace("a (id INT", "a (id INT, x INT")
        assert what(pipeline.deployment(wider))["w"] == "unchanged"
        assert pipeline.deployment(wider).problems == ()
        pipeline.deploy(wider)
        pipeline.step({"a": [(2, 5), (3, 6)]})
        assert Counter(pipeline.content("b").rows) == Counter([(1, 2, "d"), (2, 2, "d"), (3, 1, "d")])
        assert pipeline.content("w").rows == [(5,)]
        query.close()


def test_a_table_that_is_an_output_keeps_its_columns(tmp_path):
    program = f"""
    CREATE TABLE a (id INT) WITH ('append_only' = 'true');
    CREATE TABLE b (id INT{{}}) WITH ('connector' = 'files', 'path' = '{tmp_path}/out', 'format' = 'json');
    INSERT INTO b (id) SELECT id FROM a EMIT CHANGES;
    """
    with opened(program.format("")) as pipeline:
        pipeline.step({"a": [(1,)]})
        (problem,) = pipeline.deployment(program.format(", c INT")).problems
        assert problem.code == "REPLACED_OUTPUT"
        with pytest.raises(UnsupportedError, match="is an output"):
            pipeline.execute("ALTER TABLE b ADD COLUMN c INT")


def put(folder, name, rows):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_a_source_that_is_followed_goes_on_with_the_column(tmp_path):
    program = f"""
    CREATE TABLE t (id INT{{}}) WITH ('connector' = 'files', 'path' = '{tmp_path}/in', 'format' = 'json');
    CREATE VIEW n AS SELECT COUNT(*) AS n FROM t;
    """
    put(tmp_path / "in", "a.json", [{"id": 1, "tag": "x"}])
    with opened(program.format(""), directory=tmp_path / "state") as pipeline:
        pipeline.start()
        wait_for(lambda: pipeline.steps >= 1)
        pipeline.deploy(program.format(", tag STRING"))
        put(tmp_path / "in", "b.json", [{"id": 2, "tag": "y"}])
        wait_for(lambda: len(pipeline.query("SELECT * FROM t").rows) == 2)
        pipeline.execute("ALTER TABLE t ADD COLUMN more INT DEFAULT 3")
        put(tmp_path / "in", "c.json", [{"id": 3, "tag": "z", "more": 4}])
        wait_for(lambda: len(pipeline.query("SELECT * FROM t").rows) == 3)
        pipeline.stop()
        expected = [(1, None, 3), (2, "y", 3), (3, "z", 4)]
        assert sorted(pipeline.query("SELECT * FROM t").rows) == expected
        assert pipeline.content("n").rows == [(3,)]
    with opened(program.format(", tag STRING"), directory=tmp_path / "state") as pipeline:
        assert sorted(pipeline.query("SELECT * FROM t").rows) == expected
        put(tmp_path / "in", "d.json", [{"id": 4, "more": 5}])
        pipeline.run(once=True)
        assert sorted(pipeline.query("SELECT * FROM t").rows) == [*expected, (4, None, 5)]


COLUMNS = {"o": ("c INT DEFAULT 7", "d STRING"), "k": ("z BIGINT NOT NULL DEFAULT 2", "y DATE FIRST")}
VALUES = {"o": (7, None), "k": (2, None)}


class Model:
    """The tables as they should be, and which columns have been added to each."""

    def __init__(self):
        self.rows, self.keys = [], {}
        self.added = {"o": 0, "k": 0}

    def wide(self, name, row, given):
        """A row in all columns that the table has: those added take what is given."""
        more = given[: self.added[name]]
        return (*more[1:2], *row, *more[:1]) if name == "k" else (*row, *more)

    def add(self, name):
        value = VALUES[name][self.added[name]]
        self.added[name] += 1
        first = name == "k" and self.added[name] == 2
        grown = (lambda row: (value, *row)) if first else (lambda row: (*row, value))
        if name == "o":
            self.rows = list(map(grown, self.rows))
        else:
            self.keys = {key: grown(row) for key, row in self.keys.items()}

    def columns(self, name):
        return COLUMNS[name][: self.added[name]]

    def program(self):
        """A program that declares all columns that there are, and views of them."""
        more = {name: "".join(f", {text}" for text in self.columns(name)) for name in COLUMNS}
        first = "y DATE, " if self.added["k"] == 2 else ""
        tables = TABLES.format(o=more["o"], k=more["k"].replace(", y DATE FIRST", ""))
        return tables.replace("k (who", f"k ({first}who") + PLAIN + (WIDE if all(self.added.values()) else "")


PLAIN = """
CREATE VIEW totals AS SELECT who, COUNT(*) AS n, SUM(amount) AS s FROM o GROUP BY who;
CREATE VIEW cities AS SELECT k.city, COUNT(o.id) AS n FROM k LEFT JOIN o ON k.who = o.who GROUP BY k.city;
"""
WIDE = """
CREATE VIEW wide AS SELECT o.c, SUM(k.z) AS z, COUNT(DISTINCT o.id) AS n FROM o JOIN k ON o.who = k.who GROUP BY o.c;
"""
names = st.sampled_from(["a", "b", "c"])
operations = st.one_of(
    st.tuples(st.just("insert"), st.integers(0, 3), names, st.integers(0, 2), st.sampled_from([7, 8, None])),
    st.tuples(st.just("upsert"), names, st.sampled_from(["Rome", "Oslo"]), st.integers(1, 3)),
    st.tuples(st.just("delete"), st.integers(0, 5)),
    st.tuples(st.just("remove"), names),
    st.tuples(st.just("add"), st.sampled_from("ok")),
    st.sampled_from([("restart",), ("compact",), ("step",)]),
)


def stepped(pipeline, model, operation):
    """Make a step of one operation, in the pipeline and in the model."""
    match operation:
        case ("insert", number, who, amount, value):
            row = model.wide("o", (number, who, amount), (value, "d"))
            model.rows.append(row)
            pipeline.step({"o": [row]})
        case ("upsert", who, city, value):
            model.keys[who] = model.wide("k", (who, city), (value, None))
            pipeline.step({"k": [model.keys[who]]})
        case ("delete", place) if place < len(model.rows):
            pipeline.step({"o": [("-", model.rows.pop(place))]})
        case ("remove", who) if who in model.keys:
            pipeline.step({"k": [("-", model.keys.pop(who))]})
        case ("compact",):
            pipeline.compact()
        case _:
            pipeline.step({})


def added(pipeline, model, name, *, deploys):
    if model.added[name] == 2:
        return
    model.add(name)
    if deploys:
        pipeline.deploy(model.program())
    else:
        pipeline.execute(f"ALTER TABLE {name} ADD COLUMN {model.columns(name)[-1]}")
        if all(model.added.values()) and "wide" not in pipeline.catalog.views:
            pipeline.execute(WIDE)


def check(pipeline, model):
    """Tables hold what they should, and views what a pipeline answers that begins with these rows."""
    tables = {"o": model.rows, "k": list(model.keys.values())}
    with opened(model.program()) as fresh:
        fresh.step(tables)
        expected = contents(fresh)
    assert {name: +rows for name, rows in expected.items() if name in tables} == {
        name: Counter(rows) for name, rows in tables.items()
    }
    pipeline.step({})
    assert contents(pipeline, expected) == expected


@given(st.lists(operations, min_size=4, max_size=14), st.booleans(), st.sampled_from([1, 100]))
@pytest.mark.extended
@settings(max_examples=10)
def test_oracle_tables_that_gain_columns(tmp_path_factory, steps, deploys, held):
    """Whatever happens before and after a column is added, views are what a new pipeline answers over the rows."""
    model, place = Model(), tmp_path_factory.mktemp("state")
    begun = model.program()
    with pytest.MonkeyPatch.context() as patch:
        for module in ("steps.intake.keystore", "steps.intake.rowcounts", "backends.native.stored", "steps.log"):
            patch.setattr(f"penstock.{module}.HELD_ROWS", held)
        pipeline = opened(begun, directory=place)
        try:
            for operation in steps:
                if operation[0] == "add":
                    added(pipeline, model, operation[1], deploys=deploys)
                elif operation[0] == "restart":
                    pipeline.close()
                    pipeline = opened(model.program() if deploys else begun, directory=place)
                else:
                    stepped(pipeline, model, operation)
            check(pipeline, model)
            pipeline.close()
            pipeline = opened(model.program() if deploys else begun, directory=place)
            check(pipeline, model)
        finally:
            pipeline.close()


@pytest.mark.extended
def test_rows_on_spark_gain_columns(spark, tmp_path, monkeypatch):
    for module in ("steps.intake.keystore", "steps.intake.rowcounts", "steps.log"):
        monkeypatch.setattr(f"penstock.{module}.HELD_ROWS", 1)
    program = TABLES.format(o="", k="") + "CREATE VIEW ids AS SELECT id FROM o;"
    with penstock.Pipeline(program, spark=spark, directory=tmp_path, engine="spark") as pipeline:
        pipeline.step(ROWS)
        pipeline.step({"o": [("-", ROWS["o"][1])], "k": [("bob", "Bern")]})
        pipeline.execute("ALTER TABLE o ADD COLUMN tag STRING DEFAULT 'none' FIRST, more STRUCT<a: INT>")
        pipeline.execute("ALTER TABLE k ADD COLUMN zip INT DEFAULT 1 + 1; CREATE VIEW tags AS SELECT tag, who FROM o")
        pipeline.step(
            {"o": [("-", ("none", 1, "ann", 1, None)), ("x", 4, "cid", 2, {"a": 1})], "k": [("ann", "Bonn", 3)]}
        )
        expected = [("ann", "Bonn", 3), ("cid", "Oslo", 2), ("bob", "Bern", 2)]
        assert Counter(pipeline.content("tags").rows) == Counter([("none", "bob"), ("x", "cid")])
        assert Counter(pipeline.content("k").rows) == Counter(expected)
        assert Counter(pipeline.content("ids").rows) == Counter([(3,), (4,)])


def wait_for(condition, seconds=20.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)
