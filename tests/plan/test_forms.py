"""Expressions as forms, and forms as Spark SQL."""

from pathlib import Path

import pytest
from sqlglot import exp

from penstock.plan.forms import (
    Aggregated,
    Branch,
    Call,
    Case,
    Cast,
    Constant,
    Edge,
    FieldOf,
    Frame,
    Keyword,
    Lambda,
    Opaque,
    Ordering,
    Over,
    Parameter,
    Reference,
    Span,
    Star,
    is_constant,
    reads_clock,
    references,
    swapped,
)
from penstock.plan.reading import form_of
from penstock.plan.scalar import scalar_of
from penstock.plan.writing import text_of, tree_of
from penstock.sql.parse import parse_expression, parse_query
from penstock.sql.text import spark_sql

SQL = Path(__file__).parent.parent / "sql"
A, B, N = Reference("a"), Reference("b"), Reference("n")
ONE, TWO, TEXT = Constant("1", "int"), Constant("2", "int"), Constant("x", "string")

READ = {
    "a": A,
    "((a))": A,
    "a + b * 2": Call("+", (A, Call("*", (B, TWO)))),
    "-a": Call("-", (A,)),
    "a IS NOT NULL": Call("not", (Call("is null", (A,)),)),
    "a IS TRUE": Call("is true", (A,)),
    "a IN (1, 2)": Call("in", (A, ONE, TWO)),
    "a NOT BETWEEN 1 AND 2": Call("not", (Call("between", (A, ONE, TWO)),)),
    "a LIKE 'x'": Call("like", (A, TEXT)),
    "a LIKE 'x' ESCAPE 'x'": Call("like", (A, TEXT, TEXT)),
    "a NOT LIKE 'x'": Call("not", (Call("like", (A, TEXT)),)),
    "a NOT ILIKE 'x'": Call("not", (Call("ilike", (A, TEXT)),)),
    "a NOT LIKE 'x' ESCAPE 'x'": Call("not", (Call("like", (A, TEXT, TEXT)),)),
    "a NOT LIKE ALL ('x', 'x')": Call("not like all", (A, TEXT, TEXT)),
    "a <=> b AND NOT (a OR b)": Call("and", (Call("<=>", (A, B)), Call("not", (Call("or", (A, B)),)))),
    "CAST(a AS int)": Cast(A, "int"),
    "TRY_CAST(a AS int)": Cast(A, "int", safe=True),
    "DATE 'x'": Cast(TEXT, "date", literal=True),
    "INTERVAL '1:30' HOUR TO MINUTE": Span("1:30", "HOUR TO MINUTE"),
    "CASE WHEN a THEN 1 ELSE 2 END": Case(None, (Branch(A, ONE),), TWO),
    "CASE a WHEN 1 THEN 2 END": Case(A, (Branch(ONE, TWO),)),
    "a[1].n": FieldOf(Call("[]", (A, ONE)), "n"),
    "NOW()": Call("now"),
    "current_date": Call("current_date"),
    "Count(*)": Call("count", (Star(),)),
    "count(DISTINCT a, b)": Aggregated(Call("count", (A, B)), distinct=True),
    "sum(a) FILTER (WHERE b)": Aggregated(Call("sum", (A,)), condition=B),
    "date_add(DAY, 1, a)": Call("date_add", (Keyword("DAY"), ONE, A)),
    "EXTRACT(YEAR FROM a)": Call("extract", (Keyword("YEAR"), A)),
    "transform(a, x -> x + n)": Call("transform", (A, Lambda(("x",), Call("+", (Parameter("x"), N))))),
    "lag(a) IGNORE NULLS OVER (PARTITION BY b ORDER BY n DESC ROWS 1 PRECEDING)": Over(
        Aggregated(Call("lag", (A,)), nulls="ignore"),
        (B,),
        (Ordering(N, descending=True, nulls_first=False),),
        Frame("rows", Edge("preceding", ONE), Edge("current row")),
    ),
    "sum(a) OVER (ORDER BY n NULLS LAST RANGE BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING)": Over(
        Call("sum", (A,)),
        (),
        (Ordering(N, nulls_first=False),),
        Frame("range", Edge("preceding"), Edge("following", ONE)),
    ),
}


@pytest.mark.parametrize("text", READ)
def test_reads_as(text):
    assert form_of(parse_expression(text)) == READ[text]


@pytest.mark.parametrize("text", READ)
def test_what_is_made_of_parts_reads_as_them(text):
    made = READ[text]
    assert form_of(parse_expression(text_of(made))) == made


WRITTEN = {
    Call("*", (Call("+", (A, B)), TWO)): "(`a` + `b`) * 2",
    Call("-", (A, Call("-", (B, TWO)))): "`a` - (`b` - 2)",
    Call("-", (Call("-", (A, B)), TWO)): "`a` - `b` - 2",
    Call("not", (Call("and", (A, B)),)): "NOT (`a` AND `b`)",
    Call("=", (Call("=", (A, B)), Call("<", (A, B)))): "(`a` = `b`) = (`a` < `b`)",
    Call("is null", (Call("or", (A, B)),)): "(`a` OR `b`) IS NULL",
    Call("-", (Call("-", (A,)),)): "-(-`a`)",
    Call("[]", (Call("||", (A, B)), ONE)): "(`a` || `b`)[1]",
}


@pytest.mark.parametrize("form", WRITTEN, ids=WRITTEN.values())
def test_parentheses_stand_where_they_are_needed(form):
    assert text_of(form) == WRITTEN[form]
    assert form_of(parse_expression(WRITTEN[form])) == form


def _expressions():
    """Every expression of the corpus of Spark text, queries taken apart."""
    for text in (SQL / "untouched.txt").read_text().splitlines():
        yield parse_expression(text)
    for example in (SQL / "spark_text.txt").read_text().split("\n\n")[1:]:
        query = parse_query(example.strip("\n").split("\n")[1])
        for select in query.find_all(exp.Select):
            conditions = (select.args.get(name) for name in ("where", "having"))
            yield from (item.unalias() for item in select.expressions if not item.is_star)
            yield from (item.this for item in conditions if item is not None)


# What is written as another expression of the same meaning reads as that; queries and generators are not scalar.
REWRITTEN = (exp.Floor, exp.Ceil, exp.Query, exp.Aliases)


def _alone(form):
    """The form without what it was read from, in all its parts that have a form."""

    def anew(item):
        if isinstance(item, Opaque):
            return item
        return None if item.parts else type(item)(*map(item.__getattribute__, item.__match_args__))

    return swapped(form, anew)


def test_every_expression_of_the_corpus_has_a_form_that_says_the_same():
    trees = [tree for tree in _expressions() if tree.find(*REWRITTEN) is None]
    assert len(trees) > 300
    opaque = []
    for tree in trees:
        form = form_of(tree)
        assert text_of(form) == spark_sql(tree.unnest())
        opaque += [item for item in form.walk() if isinstance(item, Opaque)]
        assert form_of(parse_expression(spark_sql(tree_of(_alone(form))))) == form
    assert len(opaque) < len(trees) / 10


def test_a_form_of_other_parts_is_written_anew():
    form = form_of(parse_expression("(a) + Coalesce(b, 1)"))
    assert text_of(form) == "(a) + Coalesce(b, 1)"
    other = swapped(form, lambda item: Call("*", (N, TWO)) if item == B else None)
    assert text_of(other) == "a + coalesce(`n` * 2, 1)"


def test_nothing_is_replaced_in_what_has_no_form():
    opaque = form_of(parse_expression("a:b"))
    with pytest.raises(ValueError, match="a:b"):
        swapped(opaque, lambda item: B if item == A else None)


def test_questions():
    clock = form_of(parse_expression("a > now() - INTERVAL '1' HOUR"))
    assert (reads_clock(clock), is_constant(clock), references(clock)) == (True, False, {"a"})
    fixed = form_of(parse_expression("1 + length('x')"))
    assert (reads_clock(fixed), is_constant(fixed), references(fixed)) == (False, True, frozenset())
    assert not reads_clock(form_of(parse_expression("unix_timestamp(a)")))


def test_scalars_answer_for_themselves():
    counted = scalar_of(Call("+", (Call("count", (A,)), ONE)), "bigint")
    assert (counted.text, counted.aggregates, counted.windowed) == ("count(`a`) + 1", True, False)
    ranked = scalar_of(Over(Call("count", (A,)), (B,)))
    assert (ranked.aggregates, ranked.windowed, ranked.columns) == (False, True, {"a", "b"})
    assert scalar_of(Call("now")).reads_clock
    assert scalar_of(ONE).is_constant
