"""The parts of CREATE TABLE: columns, their constraints, keys and properties."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from penstock.catalog.model import Column, ComputedColumn, ForeignKey, Lateness
from penstock.errors import Diagnostic, Span, UnsupportedError
from penstock.sql.cursor import Cursor, is_name
from penstock.sql.failure import ParseFailure
from penstock.sql.sparktables import compressed, generated, idle
from penstock.sql.text import spark_sql
from penstock.sql.trees import call_name

_NAMED = frozenset({"NOT", "NULL", "PRIMARY", "FOREIGN", "REFERENCES", "UNIQUE", "CHECK", "DEFAULT", "GENERATED"})
_ELEMENTS = frozenset({"PRIMARY", "FOREIGN", "CONSTRAINT", "UNIQUE", "CHECK", "WATERMARK", "PERIOD"})
# What a constraint declares, by its first word: each at most once.
_KINDS_OF_CONSTRAINTS = {
    "NOT": "NULL or NOT NULL",
    "NULL": "NULL or NOT NULL",
    **{word: word for word in ("DEFAULT", "COMMENT", "METADATA", "DOMAIN", "GENERATED", "CODEC")},
}
_CLOCKS = frozenset({"now", "current_timestamp", "localtimestamp"})


@dataclass
class Elements:
    """The content of the parentheses of CREATE TABLE, while it is read."""

    columns: list[Column] = field(default_factory=list)
    computed: list[ComputedColumn] = field(default_factory=list)
    keys: list[tuple[tuple[tuple[str, Span], ...], Span]] = field(default_factory=list)
    foreign_keys: list[ForeignKey] = field(default_factory=list)
    watermarks: list[tuple[str, Lateness, Span]] = field(default_factory=list)
    idle: list[Diagnostic] = field(default_factory=list)  # what is read and does nothing here


def read_elements(cursor: Cursor) -> Elements:
    """`( column | constraint, … )`."""
    elements = Elements()
    cursor.listed(lambda: read_element(cursor, elements), "the columns")
    return elements


# NULL may stand in such a column, and does where a row leaves it out.
_NULLABLE = re.compile(r"\bnullable\b|(?<!not )(?<!default )\bnull\b", re.IGNORECASE)
_VALUES = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"), "0"),
    **dict.fromkeys(("string", "varchar", "char"), "''"),
    **dict.fromkeys(("date", "timestamp", "timestamp_ntz"), "'1970-01-01'"),
    "boolean": "false",
}


def read_element(cursor: Cursor, elements: Elements) -> None:
    """One of them."""
    if cursor.peek() == "CONSTRAINT" and cursor.peek(2) in _ELEMENTS:
        cursor.move(2)
    start = cursor.index
    if cursor.accept("PRIMARY", "KEY"):
        elements.keys.append((read_placed_names(cursor), cursor.since(start)))
        _enforcement(cursor)
    elif cursor.accept("FOREIGN", "KEY"):
        columns = read_placed_names(cursor)
        cursor.expect("REFERENCES")
        elements.foreign_keys.append(_reference(cursor, columns))
    elif cursor.peek() == "WATERMARK" and cursor.peek(1) == "FOR":
        elements.watermarks.append(_flink_watermark(cursor))
    elif cursor.peek() in {"UNIQUE", "CHECK"} and cursor.peek(1) == "(":
        refuse(cursor, f"{cursor.peek()} constraints", "leave the constraint out, or declare a PRIMARY KEY")
    elif cursor.peek(1) == "AS":
        _computed(cursor, *cursor.name("a column"), elements)
    else:
        elements.columns.append(_column(cursor, elements))


def refuse(cursor: Cursor, what: str, hint: str) -> None:
    """Stop at what is SQL, but not built."""
    raise UnsupportedError(Diagnostic("UNSUPPORTED", f"{what} are not supported", cursor.here(), hint=hint))


def read_names(cursor: Cursor) -> tuple[str, ...]:
    """`( name, … )`, or one name alone."""
    return tuple(name for name, _ in read_placed_names(cursor))


def read_placed_names(cursor: Cursor) -> tuple[tuple[str, Span], ...]:
    """The same, each name with its place."""
    if cursor.peek() != "(":
        return (cursor.name("a column"),)
    return tuple(cursor.listed(lambda: cursor.name("a column"), "the columns"))


def _enforcement(cursor: Cursor) -> None:
    if not cursor.accept("NOT", "ENFORCED"):
        cursor.accept("ENFORCED")


def _reference(cursor: Cursor, columns: tuple[tuple[str, Span], ...]) -> ForeignKey:
    start = cursor.index
    table, _ = cursor.qualified_name("a table")
    referenced = read_names(cursor) if cursor.peek() == "(" else ()
    span = cursor.since(start)
    _enforcement(cursor)
    names, places = tuple(name for name, _ in columns), tuple(place for _, place in columns)
    return ForeignKey(names, table, referenced, places, span)


def _column(cursor: Cursor, elements: Elements) -> Column:
    start = cursor.index
    name, span = cursor.name("a column")
    column = Column(name, cursor.type(), span=span)
    written: set[str] = set()
    while True:
        here, kind = cursor.index, _KINDS_OF_CONSTRAINTS.get(cursor.peek(), "")
        changed = _constraint(cursor, column, elements, start)
        if changed is None:
            break
        if kind and kind in written:
            cursor.move(here - cursor.index)
            cursor.fail(f"the column {name} has two declarations of {kind}", code="DUPLICATE_CLAUSE")
        column, written = changed, {*written, kind}
    text = cursor.text_since(start)
    if cursor.rules.event_times and column.default is None and not _NULLABLE.search(text):
        column = replace(column, default=_value_of_type(column.type))
    return replace(column, text=text)


def _value_of_type(kind: str | None) -> str | None:
    """The value that Timeplus puts into a column that a row leaves out; None for a type without such a value here."""
    name = (kind or "").partition("(")[0].partition("<")[0]
    if name in ("array", "map"):
        return f"CAST({name}() AS {kind})"
    value = _VALUES.get(name)
    return None if value is None else f"CAST({value} AS {kind})"


def _computed(cursor: Cursor, name: str, span: Span, elements: Elements) -> None:
    """`c AS e`. What is the time alone is kept: the clock of the step in which a row comes."""
    cursor.expect("AS")
    tree = cursor.expression()
    commented = cursor.index
    comment = cursor.string("the comment") if cursor.accept("COMMENT") else None
    if comment is not None and not _is_clock(tree):
        elements.idle.append(
            idle(cursor, commented, "what is computed has no comment; a view over the table can have one")
        )
    if _is_clock(tree):
        given = Column(name, "timestamp", nullable=False, default="now()", optional=True, comment=comment, span=span)
        elements.columns.append(given)
        return
    place = sum(not item.optional for item in elements.columns)
    elements.computed.append(ComputedColumn(name, spark_sql(tree), place, span=span, tree=tree))


def _is_clock(tree: exp.Expression) -> bool:
    """True for the time alone, whichever kind of timestamp it is said to be."""
    if isinstance(tree, exp.Cast) and str(tree.to.args.get("kind")).startswith("timestamp"):
        tree = tree.this
    return call_name(tree) in _CLOCKS and not tree.expressions


def _constraint(cursor: Cursor, column: Column, elements: Elements, start: int) -> Column | None:
    """The column with the constraint that stands here; None if none does."""
    if cursor.accept("CONSTRAINT"):
        cursor.name("a constraint")
        if cursor.peek() not in _NAMED:
            cursor.fail("expected a constraint behind its name")
    if cursor.accept("NOT", "NULL"):
        return replace(column, nullable=False)
    if cursor.accept("NULL"):
        return replace(column, nullable=True)
    if cursor.accept("DEFAULT"):
        tree = cursor.value()
        return replace(column, default=spark_sql(tree), default_tree=tree)
    if cursor.peek() in ("LATENESS", "WATERMARK"):
        _refuse_second(cursor, column)
    if cursor.accept("LATENESS"):
        return replace(column, lateness=read_lateness(cursor))
    if cursor.accept("WATERMARK"):
        return replace(column, watermark=spark_sql(_bound(cursor)))
    if cursor.accept("COMMENT"):
        return replace(column, comment=cursor.string("the comment"))
    if cursor.accept("METADATA"):
        return _metadata(cursor, column)
    if cursor.accept("DOMAIN", "CONSTANT"):
        return replace(column, domain_constant=True)
    if cursor.peek() == "DOMAIN":
        _refuse_domain(cursor)
    if cursor.accept("PRIMARY", "KEY"):
        place = cursor.since(start)
        elements.keys.append((((column.name, place),), place))
        _enforcement(cursor)
        return column
    return _foreign(cursor, column, elements)


def _refuse_domain(cursor: Cursor) -> None:
    """Stop behind DOMAIN, which one word alone can follow."""
    domain = cursor.token
    cursor.move()
    here = cursor.here() if cursor.token is not None and is_name(cursor.token) else cursor.since(cursor.index - 1)
    message = "DOMAIN is followed by CONSTANT: the values of the column are never more than they are"
    raise ParseFailure(domain, Diagnostic("SYNTAX_ERROR", message, here, candidates=("DOMAIN CONSTANT",)))


def _metadata(cursor: Cursor, column: Column) -> Column:
    """`METADATA [FROM 'name'] [VIRTUAL]`, as Flink has it; without a name it is the column's."""
    name = _metadata_name(cursor) if cursor.accept("FROM") else column.name
    cursor.accept("VIRTUAL")
    return replace(column, metadata=name.lower())


def _metadata_name(cursor: Cursor) -> str:
    """A name in quotes of either kind."""
    quoted = cursor.token is not None and cursor.token.token_type is TokenType.IDENTIFIER
    return cursor.name("the metadata")[0] if quoted else cursor.string("the metadata")


def _refuse_second(cursor: Cursor, column: Column) -> None:
    word = cursor.peek()
    if (column.lateness if word == "LATENESS" else column.watermark) is not None:
        message = f"column {column.name} has two declarations of {word}"
        diagnostic = Diagnostic(f"INVALID_{word}", message, cursor.since(cursor.index), hint="leave one of them out")
        raise ParseFailure(cursor.tokens[cursor.index], diagnostic)


def _foreign(cursor: Cursor, column: Column, elements: Elements) -> Column | None:
    if cursor.accept("FOREIGN", "KEY") and cursor.peek() != "REFERENCES":
        cursor.fail("expected REFERENCES after FOREIGN KEY")
    if cursor.accept("REFERENCES"):
        elements.foreign_keys.append(_reference(cursor, ((column.name, column.span or cursor.here()),)))
        return column
    if cursor.peek() in {"UNIQUE", "CHECK"}:
        refuse(cursor, f"{cursor.peek()} constraints", "leave the constraint out, or declare a PRIMARY KEY")
    if cursor.peek() == "GENERATED":
        elements.idle.append(generated(cursor))
        return column
    if cursor.peek() == "CODEC" and cursor.peek(1) == "(":
        elements.idle.append(compressed(cursor))
        return column
    if cursor.peek() in {"ALIAS", "MATERIALIZED"}:
        hint = f"{column.name} AS … is a column that is computed where it is read; SELECT * has it"
        refuse(cursor, f"{cursor.peek()} columns", hint)
    if cursor.peek() == "AS":
        hint = f"leave the type out: {column.name} AS …; CAST(… AS {column.type.upper()}) there gives it one"
        refuse(cursor, "computed columns with a type", hint)
    return None


def read_lateness(cursor: Cursor) -> Lateness:
    """`e [AHEAD e2]` or `n ROWS`."""
    start = cursor.index
    bound = _bound(cursor)
    if cursor.accept("ROWS"):
        if not (isinstance(bound, exp.Literal) and bound.is_int):
            raise ParseFailure(
                cursor.tokens[start],
                Diagnostic("INVALID_LATENESS", "LATENESS … ROWS takes a whole number", cursor.since(start)),
            )
        return Lateness(bound.name, rows=int(bound.name), span=cursor.since(start))
    ahead = spark_sql(_bound(cursor)) if cursor.accept("AHEAD") else None
    return Lateness(spark_sql(bound), ahead=ahead, span=cursor.since(start))


def _bound(cursor: Cursor) -> exp.Expression:
    """A constant that can be subtracted; refused if it is certainly negative."""
    start = cursor.index
    bound = cursor.value()
    value = bound.this if isinstance(bound, exp.Interval) else bound
    negative = isinstance(value, exp.Neg) or (isinstance(value, exp.Literal) and value.name.strip().startswith("-"))
    if negative or bound.find(exp.Column) is not None:
        wrong = "negative" if negative else "not a constant"
        raise ParseFailure(
            cursor.tokens[start],
            Diagnostic(
                "INVALID_LATENESS",
                f"the bound is {wrong}",
                cursor.since(start),
                hint="give a constant that is zero or more, such as INTERVAL 1 HOUR, or 10",
            ),
        )
    return bound


def _flink_watermark(cursor: Cursor) -> tuple[str, Lateness, Span]:
    """`WATERMARK FOR c AS c - e` says what `LATENESS e` says; `AS c` is zero."""
    cursor.expect("WATERMARK", "FOR")
    name, span = cursor.name("a column")
    cursor.expect("AS")
    start, drops = cursor.index, cursor.rules.watermarks_drop
    tree = cursor.expression()
    if isinstance(tree, exp.Column) and tree.name.lower() == name.lower():
        return name, Lateness("INTERVAL '0' SECOND", span=cursor.since(start), drops=drops), span
    delayed = isinstance(tree, exp.Sub) and isinstance(tree.this, exp.Column)
    if not delayed or tree.this.name.lower() != name.lower():
        raise ParseFailure(
            cursor.tokens[start],
            Diagnostic(
                "INVALID_WATERMARK",
                f"the watermark of {name} must be {name} itself or {name} minus a constant",
                cursor.since(start),
                hint=f"write WATERMARK FOR {name} AS {name} - INTERVAL '5' SECOND",
            ),
        )
    return name, Lateness(spark_sql(tree.expression), span=cursor.since(start), drops=drops), span
