"""The backends as the engine knows them, and what stands above it: changes, operators at work, contents.

    Workspace    makes changes and contents of what is given to it in Arrow
    Relations    relations made of rows and of one another, and read; rows of a table that are not at hand
    Delta        the change of a relation in one step, wherever its rows lie
    Runner       an operator at work: step, then commit or discard
    Content      the rows of a view as its changes add up
    Following    what the backend reads by a format's name, batch by batch
    Stored       rows of a table, found by some of their columns: append, probe, propose and commit, forget
    GivenRows    rows that the user gives as a relation of the backend, on their way into a table

A `Relation` is rows that only the backend reads: whoever has one hands it on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from penstock.analysis.derived import Derived, SourceColumn
from penstock.backends.judging import Judging
from penstock.catalog.model import Column, Table
from penstock.catalog.types import Type

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from penstock.backends.native.trace import Rows
    from penstock.backends.rows import Row

Relation: TypeAlias = "DataFrame"


def is_relation(found: object) -> bool:
    """True for a relation of the backend that the user has; starts nothing."""
    return type(found).__module__.startswith("pyspark.sql")


# The change of a relation, as a backend has it.
Change = TypeVar("Change")
# The waterline of a derived column as an expression of the backend's SQL: a constant, or, where each substream has its
# own, a query for that of the keys which the row around it has.
LineText = Callable[[Derived], str]


@dataclass(frozen=True)
class KeyedLines:
    """The waterlines of substreams: their keys, each with the value of its column, and the types of all of these."""

    kinds: tuple[Type, ...]
    rows: tuple[tuple[tuple[Any, ...], Any], ...]


class Lines(Protocol):
    """The waterlines of all sources as Spark SQL."""

    def __call__(self, derived: Derived) -> str:
        """A waterline as an expression."""

    def of_keys(self, source: SourceColumn) -> KeyedLines:
        """The waterlines that substreams have of a column."""


class Runner(ABC, Generic[Change]):
    """One operator at work. It takes the changes of its inputs and gives its own.

    What it will remember is only proposed until `commit`; `discard` forgets the proposal, so a step that fails anywhere
    has changed nothing.
    """

    @abstractmethod
    def step(self, inputs: Sequence[Change | None], *, first: bool) -> Change | None:
        """The change of the output; None stands for no change. `first` in the operator's first step."""

    def wants_step(self) -> bool:
        """True if the operator must run although none of its inputs has changed."""
        return False

    @abstractmethod
    def commit(self) -> None:
        """Make what was proposed the state."""

    @abstractmethod
    def discard(self) -> None:
        """Forget what was proposed."""

    @abstractmethod
    def merge(self, lines: Lines | None = None) -> None:
        """Between steps: have the state take less room where that is due, without what has expired by `lines`."""

    @abstractmethod
    def compact(self, lines: Lines | None = None) -> None:
        """The same for all of the state, due or not."""

    @abstractmethod
    def state(self) -> Iterator[tuple[int, int]]:
        """Rows and bytes of each trace."""


@dataclass(frozen=True)
class Judged:
    """A change without the rows that are set aside; of each of these why it is, its JSON, and how often it is there.

    `greatest` has the greatest value of each column by which they are judged, by its place, or None.
    """

    passed: Delta
    late: Sequence[tuple[str, str, int]]
    greatest: Mapping[int, Any]


class Delta(ABC):
    """Weighted rows of one relation in one step, wherever they lie; the last column is the weight.

    `rows` counts entries, not weights, and is None while unknown. `cancels` says that entries may cancel one another.
    `native` has the rows where they lie in DuckDB. `schema` is the backend's own.
    """

    workspace: Workspace
    schema: Any
    rows: int | None
    cancels: bool
    native: Rows | None

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The columns without the weight."""

    @property
    @abstractmethod
    def retracts(self) -> bool:
        """True if the change may have a weight below zero."""

    @property
    @abstractmethod
    def on_driver(self) -> bool:
        """True if the rows are here, as an Arrow table or in the process."""

    @abstractmethod
    def is_empty(self) -> bool:
        """True if the change is known to have no rows; a lazy one is not known to."""

    @abstractmethod
    def takes_back(self) -> bool:
        """True if a row is taken back."""

    @abstractmethod
    def count(self) -> int:
        """The number of entries of the change."""

    # The rows

    @abstractmethod
    def arrow(self) -> pa.Table:
        """The rows as Arrow, fetched if they are not here."""

    def declared_rows(self, table: Table) -> pa.Table:
        """The rows in the Arrow types of the declaration of a table that has their columns."""
        return self.workspace.declared_rows(self.frame(), table)

    @abstractmethod
    def frame(self) -> Relation:
        """The rows as the backend's relation, to be read while the change is there."""

    @abstractmethod
    def handed_over(self) -> Relation:
        """The same for the user, who may have it as long as he likes."""

    @abstractmethod
    def fetched(self) -> tuple[list[tuple[Any, ...]], Callable[[tuple[Any, ...]], tuple[Any, ...]]]:
        """The rows as tuples in which a VARIANT is its JSON, and what makes it the value that it stands for."""

    @abstractmethod
    def write(self, path: Path) -> None:
        """Write the rows as a folder of Parquet files."""

    # Other changes made of it

    @abstractmethod
    def settled(self) -> Delta:
        """The change, evaluated: rows known, nothing lazy left."""

    @abstractmethod
    def detached(self) -> Delta:
        """The same, fetched from where it lies only until the step ends."""

    def lasting(self) -> Delta:
        """The change without rows that come and go in it; as it is where none goes."""
        return self.consolidated() if self.retracts else self

    @abstractmethod
    def consolidated(self) -> Delta:
        """Each different row once, with the sum of its weights, none of them zero."""

    @abstractmethod
    def selected(self, names: tuple[str, ...]) -> Delta:
        """The change with some of its columns; what is evaluated stays so."""

    @abstractmethod
    def replaced(self, rows: pa.Table) -> Delta:
        """A change of the same relation with other rows."""

    @abstractmethod
    def parted(self, place: int, limit: Any) -> tuple[Delta, Delta]:
        """The rows whose value in a column is below a waterline, and the others."""

    @abstractmethod
    def judged(self, judging: Judging) -> Judged:
        """The rows without those that are set aside."""

    @abstractmethod
    def followed_by(self, later: Delta) -> Delta:
        """The change and a later one of the same relation as one, evaluated but not added up."""

    @abstractmethod
    def added_up_with(self, other: Delta, *, columns: Sequence[str] = (), estimate: int = 0) -> Delta:
        """The change and another as one, each different row once; `columns` are found by name in both."""


class Content(ABC):
    """The rows of a view as its changes add up; what a step adds is only proposed until `commit`."""

    @abstractmethod
    def propose(self, delta: Delta) -> None:
        """Add the settled change of a step, if it is committed."""

    @abstractmethod
    def commit(self) -> None:
        """The step has happened."""

    @abstractmethod
    def discard(self) -> None:
        """The step has not happened."""

    @abstractmethod
    def maintain(self) -> None:
        """Between steps: have the rows take as little room as they need, where that is due."""

    @abstractmethod
    def drop(self) -> None:
        """Give back the room that they take; it is not used again."""

    @property
    @abstractmethod
    def relation(self) -> str | None:
        """The rows as FROM takes them in the process; None if they are not there."""

    @abstractmethod
    def arrow(self) -> pa.Table:
        """The rows with their weights, not consolidated; NotProvenError if some lie on the executors."""

    @abstractmethod
    def weighted(self) -> Relation | None:
        """The same for the backend; None if there never were any."""


# The waterlines of columns, by their places in a row; None where nothing has been seen yet.
Limits: TypeAlias = Sequence[tuple[int, Any]]


class Earlier(Protocol):
    """The values that rows have in columns which were added to their table after them."""

    def value(self, column: Column) -> pa.Scalar:
        """The value, as Arrow carries it."""

    def text(self, column: Column) -> str:
        """The same as Spark SQL, in the column's type."""


class Stored(ABC):
    """Weighted rows of a table that are not at hand, found by some of their columns."""

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """True if nothing has been added yet."""

    @abstractmethod
    def probe(self, rows: pa.Table) -> list[tuple[Row, int]]:
        """The stored rows, with their counts, that agree with one of `rows` in the columns they are found by."""

    @abstractmethod
    def append(self, rows: pa.Table) -> None:
        """Add a weighted change of the table, between steps."""

    @abstractmethod
    def take_over(self, other: Stored, earlier: Earlier) -> None:
        """Have the rows of another one, which is of the same table before it had all columns, and stays as it is."""

    @abstractmethod
    def propose(self, change: pa.Table | Delta) -> None:
        """Add the weighted change of a step, if it is committed."""

    @abstractmethod
    def commit(self) -> None:
        """The step that was proposed last has happened."""

    @abstractmethod
    def maintain(self) -> None:
        """Between steps: have each different row once, where that is due."""

    @abstractmethod
    def worth_forgetting(self, entries: int, kept: int) -> bool:
        """True if there is twice as much as forgetting has left: here, or `entries` on the driver, then `kept`."""

    @abstractmethod
    def forget(self, limits: Limits) -> None:
        """Drop the rows that are below a waterline."""

    @abstractmethod
    def weighted(self) -> Relation | None:
        """Every stored row with its weight; None if there are none."""


@dataclass(frozen=True)
class Facts:
    """The facts of given rows: how many there are, how many are set aside, and of each operation how many.

    `unknown` counts operations that there are none of, `nulls` the NULLs of each column that may have none, `greatest`
    has the greatest value of each column by which rows are judged, by its place, or None.
    """

    rows: int
    aside: int
    deletions: int
    updates: int
    unknown: int
    nulls: Mapping[str, int]
    greatest: Mapping[int, Any]


@dataclass(frozen=True)
class Arrival:
    """The positions of a step's rows in the order of their arrival: the `first`, and how many there are of them.

    `kept` has what all rows of the step have in some columns, by the names of these, as Spark SQL.
    """

    first: int
    room: int
    kept: Mapping[str, str] = field(default_factory=dict)


class GivenRows(Protocol):
    """Rows that the user gives as a relation of the backend, for a table."""

    @property
    def kinds(self) -> Mapping[str, Type]:
        """Their columns in their order, with their types as Spark writes them."""

    def declared(self, table: Table, default: Callable[[Column], str]) -> GivenRows:
        """The rows in the columns of a table and their types; what is not given is a default, as Spark SQL.

        Columns that say the operation, or the order of arrival, stay.
        """

    def evaluated(self) -> GivenRows:
        """The same, evaluated where they lie."""

    def fetched(self, table: Table) -> pa.Table:
        """The rows in the Arrow types of the table's declaration."""

    def pieces(self, table: Table) -> Iterator[pa.Table]:
        """The same in their order, piece by piece as they are evaluated: at least one, perhaps without rows."""

    def twice(self, table: Table) -> Sequence[Any] | None:
        """A key of the table that several rows have; None if there is none."""

    def measured(
        self, table: Table, judging: Judging, arrival: Arrival, read: ColumnsRead | None = None
    ) -> MeasuredRows:
        """The declared rows evaluated, in one pass that tells the facts about them: all of them, or what is read."""


@dataclass(frozen=True)
class ColumnsRead:
    """The columns of a table that somebody reads, in lower case, where no other is wanted.

    Of those that are `cast` and nobody reads, the values are looked at all the same: one may not fit.
    """

    names: frozenset[str]
    cast: Sequence[str]


class MeasuredRows(Protocol):
    """Given rows once they are evaluated."""

    @property
    def facts(self) -> Facts:
        """The facts about them."""

    @property
    def rows(self) -> GivenRows:
        """The rows themselves."""

    def aside(self) -> pa.Table:
        """The rows that are set aside, in the Arrow types of the declaration, each with the reason behind it."""

    def change(self) -> Delta:
        """The change of a table without a key that the others are, each operation by itself."""

    def replacing(self, before: Relation | None) -> Delta:
        """The change that the last operation of each key makes of the weighted rows that there were before."""


class FormatError(Exception):
    """A source that the backend reads by a format's name cannot be read; one that `passes` may be later.

    The `hint` says what would work, where that is known.
    """

    def __init__(self, why: str, *, passes: bool, hint: str | None = None) -> None:
        super().__init__(why)
        self.passes = passes
        self.hint = hint


class Following(Protocol):
    """A source that the backend reads by a format's name, in numbered batches."""

    def batch(self, done: int) -> tuple[int, pa.Table] | None:
        """The first batch behind that of a number (-1: the first of all), with its own number; None if there is none.

        It is the same each time until a later one is asked for. FormatError if it cannot be read.
        """

    def stop(self) -> None:
        """End a reading that is under way: nobody waits for it any more."""


class RowFiles(Protocol):
    """The files in a folder that hold what lies on the executors of what is remembered."""

    @property
    def paths(self) -> Sequence[Path]:
        """Those that have been written."""


class Relations(Protocol):
    """The relations of the backend: made of rows and of one another, and read."""

    def given_rows(self, relation: Relation) -> GivenRows:
        """The rows of a relation that the user has given."""

    def sql(self, text: str) -> Relation:
        """The answer, not evaluated, of a query over named relations."""

    def given(self, rows: pa.Table) -> Relation:
        """Rows as a relation in the types that Arrow says."""

    def names_of(self, relation: Relation) -> tuple[str, ...]:
        """The columns of a relation."""

    def arrow(self, relation: Relation) -> pa.Table:
        """The rows of a relation in the Arrow types that the backend gives them."""

    def first(self, relation: Relation, count: int) -> Relation:
        """No more than so many rows of a relation, the first if it has an order."""

    def renamed(self, relation: Relation, names: Sequence[str]) -> Relation:
        """A relation with other names for its columns."""

    def evaluated(self, relation: Relation) -> tuple[Relation, int]:
        """The rows of a relation, evaluated where they lie, and how many they are."""

    def selected(self, relation: Relation, terms: Sequence[str]) -> Relation:
        """Terms of Spark SQL over the rows of a relation."""

    def rows(self, relation: Relation) -> list[tuple[Any, ...]]:
        """The rows of a relation as tuples of Python values."""

    def count(self, relation: Relation) -> int:
        """The number of rows of a relation."""

    def empty_of(self, table: Table) -> Relation:
        """A relation of a table's columns without rows."""

    def empty_like(self, relation: Relation) -> Relation:
        """A relation of another's columns without rows."""

    def differences(self, one: Relation, other: Relation, most: int) -> list[tuple[Any, ...]]:
        """The rows that stand more often in one than in the other, with the weight; no more than so many."""

    def relation_of(self, table: Table, rows: pa.Table) -> Relation:
        """Rows of a table as a relation, in the types of its declaration; other columns stay as they are."""

    def declared_rows(self, relation: Relation, table: Table) -> pa.Table:
        """The rows of a relation of a table's columns, in the Arrow types of the declaration."""

    def read(
        self, table: Table, here: Sequence[pa.Table], files: Sequence[str], earlier: Earlier | None = None
    ) -> Relation:
        """The weighted rows of a table that are here, and those in files, which may be from before some columns."""

    def unweighted(self, weighted: Relation) -> Relation:
        """The rows of a weighted relation in which each stands once, without the weights."""

    def weighted(self, relation: Relation) -> Relation:
        """Rows with the weight of one that is there once."""

    def together(self, one: Relation, other: Relation) -> Relation:
        """The rows of two relations that have the same columns, in any order."""

    def repeated(self, *weighted: Relation) -> Relation:
        """Weighted rows that may cancel as plain ones, each as often as its weight says."""

    def negative(self, *weighted: Relation) -> dict[str, Any] | None:
        """A row that is taken back more often than it is there, with its weight; None if there is none."""

    def change_from(self, weighted: Relation) -> Delta:
        """Weighted rows that may cancel as a change, added up and evaluated."""

    def stored(self, table: Table, by: Sequence[str]) -> Stored:
        """The rows of a table, which are found by some of its columns, before there are any."""


class Workspace(Relations, Protocol):
    """The share of the backend that stands above its operators: changes and contents are made here."""

    def change(self, rows: pa.Table, schema: Any = None, *, cancels: bool = False) -> Delta:
        """Weighted rows as a change; `schema` is the backend's, where Arrow cannot tell the types."""

    def change_of(self, table: Table, rows: pa.Table) -> Delta:
        """The weighted rows of a table as a change, in the types of its declaration."""

    def content(self) -> Content:
        """The content of a view before its first change."""

    def row_files(self, folder: Path) -> RowFiles:
        """The files of a snapshot in a folder."""

    @property
    def is_local(self) -> bool:
        """True if the backend works, or would work, on this machine alone."""

    def follow(self, settings: Mapping[str, str]) -> None:
        """Have the backend follow a program's settings; SqlError for what it refuses."""

    def check_session(self) -> None:
        """UnsupportedError if the session, which may be the user's, means something else by a query than Penstock."""

    def release(self) -> None:
        """Give back what only the step needed."""

    def left(self) -> None:
        """Leave all rows where they are: the user has got a relation that may read any of them."""

    def following(
        self, kind: str, options: Mapping[str, str], path: str | None, columns: str, checkpoint: str | None
    ) -> Following:
        """A source by its format's name; `columns` are those of its table, `checkpoint` the folder for its place."""
