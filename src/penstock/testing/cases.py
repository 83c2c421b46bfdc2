"""Case files: DESIGN.md's format for testing SQL, read into frozen values.

The reader keeps the place of every node, so a malformed file is answered like wrong SQL: code, line, caret, what would
work. Times stay text, whether quoted or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

from penstock.errors import DataError, Diagnostic, Span, did_you_mean
from penstock.source_text import SourceText, location_of
from penstock.testing import case_keys
from penstock.testing.documents import Node, parse_yaml

Row = tuple[Any, ...]
NONE: Mapping[str, Any] = MappingProxyType({})
OPERATIONS = ("+", "-", "~")


@dataclass(frozen=True)
class Operation:
    """One row that goes in: '+' insert or upsert, '-' delete, '~' partial update by key."""

    table: str
    kind: str
    row: Row


@dataclass(frozen=True)
class Refusal:
    """An error that must come; without a code or text any refusal will do."""

    code: str | None = None
    contains: str | None = None


@dataclass(frozen=True)
class Step:
    """One transaction and what is expected of it; a None expectation is not compared."""

    clock: datetime | None = None
    advance: timedelta | None = None
    start: Mapping[str, str] = field(default_factory=lambda: NONE)
    operations: tuple[Operation, ...] = ()
    sql: str | None = None
    out: Mapping[str, tuple[tuple[int, Row], ...]] = field(default_factory=lambda: NONE)
    emit: Mapping[str, tuple[Row, ...]] = field(default_factory=lambda: NONE)
    rows: Mapping[str, tuple[Row, ...]] = field(default_factory=lambda: NONE)
    query: Mapping[str, str] = field(default_factory=lambda: NONE)
    error: Refusal | None = None


@dataclass(frozen=True)
class Expectation:
    """A condition that must hold by the end of a case."""

    emitted: Mapping[str, tuple[Row, ...]] = field(default_factory=lambda: NONE)
    rows: Mapping[str, tuple[Row, ...]] = field(default_factory=lambda: NONE)
    error: Refusal | None = None


@dataclass(frozen=True)
class Case:
    """One case; `invariant` is False, or the reason as text, where A6 is not checked."""

    name: str
    sql: str
    dialect: str
    about: str = ""
    tags: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=lambda: NONE)
    steps: tuple[Step, ...] = ()
    end_of_input: bool = False
    expect: Expectation = field(default_factory=Expectation)
    ordered: tuple[str, ...] = ()
    invariant: bool | str = True
    monotonic: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: NONE)
    waterline: Mapping[str, Mapping[str, bool]] = field(default_factory=lambda: NONE)
    normal_form: Mapping[str, str] = field(default_factory=lambda: NONE)
    line: int = field(default=1, compare=False)  # of its file, from 1


def read_cases(path: Path, dialect: str | None = None) -> tuple[Case, ...]:
    """All cases of a file; `dialect` is the default where the file names none. Raises DataError with the place."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"{path} is not UTF-8: byte {error.start} is 0x{error.object[error.start]:02x}"
        raise DataError(Diagnostic("CASE_FILE_NOT_UTF8", message, hint="Save the file as UTF-8.")) from None
    return parse_cases(text, str(path), dialect)


def parse_cases(text: str, name: str, dialect: str | None = None) -> tuple[Case, ...]:
    """The cases in the text of a case file called `name`."""
    return _Reader(text, name, dialect or "penstock").cases()


class _Reader:
    """Walks the node tree; every complaint names a node."""

    def __init__(self, text: str, name: str, dialect: str) -> None:
        self.text, self.name, self.dialect = SourceText.joined([(text, name)]), name, dialect
        self.settings: Mapping[str, str] = NONE

    def fail(self, node: Node, message: str, *, hint: str | None = None, near: tuple[str, ...] = ()) -> DataError:
        found = Diagnostic("CASE_FILE", f"{self.name}: {message}", Span(node.start, node.end), near, hint)
        return DataError(found, self.text)

    def cases(self) -> tuple[Case, ...]:
        root = parse_yaml(str(self.text), self.name)
        fields = self.mapping(root, case_keys.FILE, "a case file")
        if "cases" not in fields:
            raise self.fail(
                root, "there is no list `cases`", hint="A case file is a mapping with `cases: [{name, sql, steps}]`."
            )
        if "dialect" in fields:
            self.dialect = self.string(fields["dialect"], "dialect")
        if "settings" in fields:
            self.settings = self.texts(fields["settings"], "settings")
        found = [self.case(node) for node in self.items(fields["cases"], "cases")]
        self._refuse_twice(found, fields["cases"])
        return tuple(found)

    def _refuse_twice(self, cases: list[Case], node: Node) -> None:
        seen: set[str] = set()
        for case, place in zip(cases, self.items(node, "cases"), strict=True):
            if case.name in seen:
                raise self.fail(place, f"there are two cases named {case.name!r}")
            seen.add(case.name)

    def case(self, node: Node) -> Case:
        fields = self.mapping(node, case_keys.CASE, "a case")
        if "name" not in fields:
            raise self.fail(node, "a case has no `name`")
        if not fields.keys() & {"sql", "steps", "normal_form"}:
            raise self.fail(
                node, "a case has no `sql`", hint="`sql` holds the program that runs before the first step."
            )
        return Case(
            line=location_of(self.text, node.start).line,
            name=self.string(fields["name"], "name"),
            sql=self._text(fields, "sql") or "",
            dialect=self._text(fields, "dialect") or self.dialect,
            about=self._text(fields, "about") or "",
            tags=self.strings(fields.get("tags"), "tags"),
            settings={**self.settings, **self._texts(fields, "settings")},
            steps=tuple(self.step(item) for item in self.items(fields.get("steps"), "steps")),
            end_of_input=self.boolean(fields.get("end_of_input"), "end_of_input"),
            expect=self.expectation(fields.get("expect")),
            ordered=self.strings(fields.get("ordered"), "ordered"),
            invariant=self._invariant(fields.get("invariant")),
            monotonic=self._nested(fields, "monotonic"),
            waterline=self._nested(fields, "waterline"),
            normal_form=self._normal_form(fields.get("normal_form")),
        )

    def _invariant(self, node: Node | None) -> bool | str:
        value = True if node is None else node.value()
        if not isinstance(value, bool | str):
            raise self.fail(node or Node(0, 0, ""), "`invariant` is false, or the reason why it is not checked")
        return value

    def _normal_form(self, node: Node | None) -> Mapping[str, str]:
        if node is None:
            return NONE
        clauses = self.mapping(node, case_keys.NORMAL_FORM, "`normal_form`")
        if len(clauses) < len(case_keys.NORMAL_FORM):
            raise self.fail(node, "`normal_form` has a `clause`, and what it `equals`")
        return self.texts(node, "`normal_form`")

    def step(self, node: Node) -> Step:
        fields = self.mapping(node, case_keys.STEP, "a step")
        return Step(
            clock=self._clock(fields.get("clock")),
            advance=self._interval(fields.get("advance")),
            start=self._texts(fields, "start"),
            operations=tuple(self.operation(item) for item in self.items(fields.get("in"), "in")),
            sql=self._text(fields, "sql"),
            out={key: tuple(map(self.weighted, self.items(item, key))) for key, item in self._pairs(fields, "out")},
            emit=self._rows(fields, "emit"),
            rows=self._rows(fields, "rows"),
            query=self._texts(fields, "query"),
            error=self.refusal(fields.get("error")),
        )

    def operation(self, node: Node) -> Operation:
        parts = self.items(node, "in")
        if len(parts) != 3:  # noqa: PLR2004 - table, kind, row
            raise self.fail(
                node, "an input is [table, '+' or '-' or '~', row]", hint="For example [orders, '+', [1, 'a']]."
            )
        kind = self.string(parts[1], "the kind of change")
        if kind not in OPERATIONS:
            raise self.fail(
                parts[1], f"{kind!r} is no kind of change", hint="'+' inserts, '-' deletes, '~' updates by key."
            )
        return Operation(self.string(parts[0], "the table"), kind, self.row(parts[2]))

    def weighted(self, node: Node) -> tuple[int, Row]:
        parts = self.items(node, "out")
        weight = parts[0].value() if parts else None
        if len(parts) != 2 or not isinstance(weight, int) or isinstance(weight, bool):  # noqa: PLR2004 - weight, row
            raise self.fail(node, "a changed row is [weight, row]", hint="For example [-1, [1, 'a']].")
        return weight, self.row(parts[1])

    def row(self, node: Node) -> Row:
        return tuple(item.value() for item in self.items(node, "a row"))

    def expectation(self, node: Node | None) -> Expectation:
        fields = {} if node is None else self.mapping(node, case_keys.EXPECT, "`expect`")
        return Expectation(self._rows(fields, "emitted"), self._rows(fields, "rows"), self.refusal(fields.get("error")))

    def refusal(self, node: Node | None) -> Refusal | None:
        if node is None:
            return None
        fields = self.mapping(node, case_keys.ERROR, "`error`")
        return Refusal(self._text(fields, "code"), self._text(fields, "contains"))

    def mapping(self, node: Node, keys: case_keys.Keys, what: str) -> dict[str, Node]:
        """The fields of a mapping whose keys must be among the known ones."""
        found, known = self.pairs(node, what), tuple(keys)
        for key, place, _ in found:
            if key not in known:
                message = f"{what} has no key {key!r}"
                raise self.fail(place, message, near=did_you_mean(key, known), hint="Keys: " + ", ".join(known) + ".")
        return {key: value for key, _, value in found}

    def pairs(self, node: Node, what: str) -> list[tuple[str, Node, Node]]:
        if not isinstance(node.content, dict):
            raise self.fail(node, f"{what} is a mapping, not {node.kind}")
        return [(str(key.value()), key, value) for key, value in node.content.items()]

    def items(self, node: Node | None, what: str) -> list[Node]:
        if node is None or node.content is None:
            return []
        if not isinstance(node.content, list):
            raise self.fail(node, f"{what} is a list, not {node.kind}")
        return node.content

    def string(self, node: Node, what: str) -> str:
        if isinstance(node.content, list | dict) or node.content is None:
            raise self.fail(node, f"{what} is text, not {node.kind}")
        return str(node.content)

    def strings(self, node: Node | None, what: str) -> tuple[str, ...]:
        return tuple(self.string(item, what) for item in self.items(node, what))

    def boolean(self, node: Node | None, what: str) -> bool:
        if node is None:
            return False
        if not isinstance(node.content, bool):
            raise self.fail(node, f"{what} is true or false")
        return node.content

    def texts(self, node: Node, what: str) -> dict[str, str]:
        return {key: self.string(value, f"{what}.{key}") for key, _, value in self.pairs(node, what)}

    def _text(self, fields: Mapping[str, Node], key: str) -> str | None:
        return self.string(fields[key], f"`{key}`") if key in fields else None

    def _texts(self, fields: Mapping[str, Node], key: str) -> dict[str, str]:
        return self.texts(fields[key], f"`{key}`") if key in fields else {}

    def _pairs(self, fields: Mapping[str, Node], key: str) -> list[tuple[str, Node]]:
        found = self.pairs(fields[key], f"`{key}`") if key in fields else []
        return [(name, value) for name, _, value in found]

    def _rows(self, fields: Mapping[str, Node], key: str) -> dict[str, tuple[Row, ...]]:
        return {name: tuple(map(self.row, self.items(node, name))) for name, node in self._pairs(fields, key)}

    def _nested(self, fields: Mapping[str, Node], key: str) -> dict[str, dict[str, Any]]:
        return {
            name: {str(inner): value.value() for inner, _, value in self.pairs(node, f"{key}.{name}")}
            for name, node in self._pairs(fields, key)
        }

    def _clock(self, node: Node | None) -> datetime | None:
        if node is None:
            return None
        try:
            moment = datetime.fromisoformat(self.string(node, "`clock`"))
        except ValueError:
            raise self.fail(node, "`clock` is a time such as '2024-01-31 08:00:00'") from None
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)

    def _interval(self, node: Node | None) -> timedelta | None:
        if node is None:
            return None
        text = self.string(node, "`advance`").strip()
        for suffix, unit in _UNITS:
            number = text.removesuffix(suffix).strip()
            if number != text and number.replace(".", "", 1).isdigit():
                return float(number) * unit
        raise self.fail(node, "`advance` is a span such as 3s, 100ms, 5m, 2h or 1d")


_UNITS = (
    ("ms", timedelta(milliseconds=1)),
    ("s", timedelta(seconds=1)),
    ("m", timedelta(minutes=1)),
    ("h", timedelta(hours=1)),
    ("d", timedelta(days=1)),
)
