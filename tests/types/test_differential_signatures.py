"""What `check` says of types, beside Spark's analyser: over Spark's own examples, each argument exchanged for others.

Nothing that Spark takes may be refused. Of what Spark refuses because of types, most is refused without it; the rest
is not known, and how much is known is counted.
"""

from collections import Counter

import pytest
from sqlglot import exp
from tests.tiers import either

from penstock.catalog.signatures import class_of
from penstock.errors import PenstockError, SqlError
from penstock.plan.nodes import Field
from penstock.sql.parse import parse_query
from penstock.sql.text import spark_sql
from penstock.testing.analyser import REFUSED, UNKNOWN, Analyser
from penstock.testing.fuzz.reference import examples, function_names
from penstock.types.check import check_types
from penstock.types.infer import infer

KINDS = (
    *("tinyint", "smallint", "int", "bigint", "float", "double", "decimal(12,3)", "string", "boolean", "date"),
    *("timestamp", "timestamp_ntz", "time(6)", "binary", "interval month", "interval day", "interval", "variant"),
    *("array<int>", "array<date>", "map<string,int>", "map<int,string>", "struct<a:int,b:string>", "void"),
)
COLUMNS = {f"k{number}": kind for number, kind in enumerate(KINDS)}
FIELDS = {name: Field(name, kind) for name, kind in COLUMNS.items()}
QUICK = KINDS[2], KINDS[4], KINDS[7], KINDS[9], KINDS[13], KINDS[18], KINDS[20]
PLACES = 3
KNOWN = 0.8  # how much of what Spark refuses is refused without it, at least


def exchanged(text, kinds):
    """The expressions of an example with a column of each type in the place of each of its first literals."""
    tree = parse_query(text)
    if not isinstance(tree, exp.Select) or tree.args.get("from_") is not None or len(tree.expressions) != 1:
        return
    (item,) = tree.expressions
    literals = [node for node in item.find_all(exp.Literal, exp.Boolean, exp.Null) if is_value(node)]
    for place, name in ((place, name) for place in literals[:PLACES] for name in COLUMNS if COLUMNS[name] in kinds):
        column = exp.column(name)
        place.replace(column)
        yield item.unalias().copy()
        column.replace(place)


def is_value(node):
    """Whether a literal is a value of its own: not the text of a DATE, not the number of a LIMIT or an INTERVAL."""
    call = exp.Anonymous | exp.Binary | exp.In | exp.Between | exp.Case | exp.If | exp.Neg | exp.Not
    return isinstance(node.parent, call) and node.find_ancestor(exp.Interval) is None


def refusal(tree):
    """What `check` has against an expression, None for nothing."""
    try:
        check_types(tree, FIELDS)
    except SqlError as error:
        return error.diagnostics[0]
    return None


def compared(spark, texts, kinds):
    """The verdicts on all exchanged expressions, those refused though Spark takes them, and those of another type."""
    trees = []
    for text in texts:
        try:
            trees += exchanged(text, kinds)
        except PenstockError:
            continue  # what our parser cannot read is Spark's alone
    written = [spark_sql(tree) for tree in trees]
    analyser = Analyser(spark, "kinds_of_columns", COLUMNS)
    found = analyser.types(written)
    tally, wrong, mistyped = Counter(), [], []
    for tree, text, said in zip(trees, written, found, strict=True):
        ours = refusal(tree)
        refused = said == REFUSED or (ours is not None and analyser.refuses(text))
        tally["spark refuses" if refused else "spark takes", "refused" if ours else "taken"] += 1
        if ours is not None and not refused:
            wrong.append((text, said, ours.message))
        kind = infer(tree, FIELDS)[0]
        if said not in (REFUSED, UNKNOWN) and class_of(kind) not in (None, class_of(said)):
            mistyped.append((text, said, kind))
    return tally, wrong, mistyped


def listed(wrong):
    """Where Spark says something else, a line each."""
    return "\n".join(f"{text} is {said} for Spark; here: {message}" for text, said, message in wrong)


def known(tally):
    """How much of what Spark refuses is refused without it."""
    refused = tally["spark refuses", "refused"]
    return refused / (refused + tally["spark refuses", "taken"])


@pytest.fixture(scope="module")
def reference(spark):
    return [(item.function, item.text) for item in examples(spark, function_names(spark))]


@pytest.mark.both
@pytest.mark.spark
def test_what_spark_takes_is_taken_and_most_of_what_it_refuses_is_refused(spark, reference):
    first = dict(reversed(reference))
    tally, wrong, mistyped = compared(spark, list(first.values())[:: either(3, 1)], QUICK)
    assert not wrong, listed(wrong)
    assert not mistyped, listed(mistyped)
    assert known(tally) > KNOWN, tally


@pytest.mark.spark
@pytest.mark.extended
def test_the_same_over_every_example_and_type(spark, reference):
    tally, wrong, mistyped = compared(spark, [text for _, text in reference], KINDS)
    assert not wrong, listed(wrong)
    assert not mistyped, listed(mistyped)
    assert known(tally) > KNOWN, tally


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_has_a_class(kind):
    assert class_of(kind) is not None
