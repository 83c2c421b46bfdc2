"""Random queries over the whole grammar of what is maintained; each gives its text and its columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.testing.fuzz.aggregates import aggregate, derived, group_key
from penstock.testing.fuzz.dice import Dice
from penstock.testing.fuzz.expressions import Scope, cast, comparable, expression, predicate
from penstock.testing.fuzz.over import numbering, over_groups, sort_key, tells_rows_apart, window_calls
from penstock.testing.fuzz.relations import Columns, From, random_from
from penstock.testing.fuzz.subqueries import subquery_condition, subquery_value
from penstock.testing.fuzz.tables import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    NESTED,
    SCALARS,
    SHARED,
    STRING,
    Relation,
    literal,
)

Query = tuple[str, Columns]
Items = list[tuple[str, str]]


class Queries:
    """Makes up queries over some relations."""

    def __init__(self, dice: Dice, relations: Sequence[Relation]) -> None:
        self.dice = dice
        self.relations = tuple(relations)

    def query(self, depth: int = 2) -> Query:
        """Any query."""
        shapes: list[tuple[int, Callable[[int], Query]]] = [
            (4, self.plain),
            (6, self.grouped),
            (3, self.windowed),
            (2, self.limited),
            (2, self.grouping_sets),
            (1, self.pivoted),
            (1, self.unpivoted),
        ]
        if self.dice.shared:
            shapes = shapes[:5]
        if depth > 0:
            shapes += [(3, self.set_operation), (2, self.with_cte), (1, self.recursive)]
        return self.dice.weighted(shapes)(depth)

    def _from(self, depth: int) -> tuple[From, str]:
        """FROM and WHERE."""
        found = random_from(self.dice, self.relations, self.query, depth)
        where = ""
        if self.dice.often(0.45):
            where = f" WHERE {self._condition(found.scope, depth)}"
        return found, f" FROM {found.text}{where}"

    def _condition(self, scope: Scope, depth: int) -> str:
        if depth > 0 and self.dice.often(0.4):
            return subquery_condition(self.dice, self.relations, scope)
        return predicate(self.dice, scope)

    def plain(self, depth: int) -> Query:
        """Projection, perhaps DISTINCT."""
        found, rest = self._from(depth)
        items = self._items(found.scope)
        if depth > 0 and self.dice.often(0.15):
            items.append(subquery_value(self.dice, self.relations, found.scope))
        head = "SELECT DISTINCT" if self.dice.often(0.25) else "SELECT"
        return self._select(head, items, rest)

    def _items(self, scope: Scope) -> Items:
        items = [(column.text, column.type) for column in self.dice.some(scope, 1, 3)]
        while self.dice.often(0.3):
            kind = self.dice.pick(SHARED if self.dice.shared else (*SCALARS, *NESTED))
            items.append((expression(self.dice, kind, scope), kind))
        return items

    @staticmethod
    def _select(head: str, items: Items, rest: str, tail: str = "") -> Query:
        names = [f"c{number}" for number in range(1, len(items) + 1)]
        listed = ", ".join(f"{text} AS {name}" for (text, _), name in zip(items, names, strict=True))
        columns = tuple((name, kind) for (_, kind), name in zip(items, names, strict=True))
        return f"{head} {listed}{rest}{tail}", columns

    def grouped(self, depth: int) -> Query:
        """GROUP BY or a global aggregate, perhaps HAVING."""
        found, rest = self._from(depth)
        keys = [group_key(self.dice, found.scope) for _ in range(self.dice.weighted(((2, 0), (6, 1), (3, 2))))]
        values = [derived(self.dice, found.scope) for _ in range(self.dice.number(1, 4))]
        if self.dice.often(0.2):
            values.append(over_groups(self.dice, keys, found.scope))
        tail = f" GROUP BY {self._named_keys(keys, found.scope)}" if keys else ""
        if self.dice.often(0.2):
            tail += f" HAVING {self._having(found.scope)}"
            self.dice.use("HAVING")
        return self._select("SELECT", [*keys, *values], rest, tail)

    def _named_keys(self, keys: Items, scope: Scope) -> str:
        """The keys of GROUP BY: as they are, by their places, or by their names if no column of FROM has those."""
        places = [str(number) for number in range(1, len(keys) + 1)]
        names = [f"c{place}" for place in places]
        forms = [(7, [text for text, _ in keys]), (2, places)]
        if not {column.name for column in scope} & set(names):
            forms.append((2, names))
        return ", ".join(self.dice.weighted(forms))

    def _having(self, scope: Scope) -> str:
        text, kind = aggregate(self.dice, scope, plain=True)
        return f"{text} {self.dice.pick(('>', '<=', '<>', '='))} {literal(self.dice, kind)}"

    def grouping_sets(self, depth: int) -> Query:
        """GROUPING SETS, CUBE, ROLLUP with GROUPING()."""
        found, rest = self._from(depth - 1)
        keys = [(column.text, column.type) for column in self.dice.some(comparable(found.scope), 1, 3)]
        if not keys:
            return self.grouped(depth)
        # The whole as one group is no row over nothing in Spark, and one in DuckDB.
        form = "GROUPING SETS" if self.dice.shared else self.dice.pick(("ROLLUP", "CUBE", "GROUPING SETS"))
        self.dice.use(form)
        texts = [text for text, _ in keys]
        whole = "" if self.dice.shared else ", ()"
        sets = f"({texts[0]}), ({', '.join(texts)}){whole}" if form == "GROUPING SETS" else ", ".join(texts)
        items = [*keys, *(derived(self.dice, found.scope) for _ in range(self.dice.number(1, 2)))]
        if self.dice.often(0.5):
            items.append((f"CAST(grouping({texts[0]}) AS INT)", INT))
        if self.dice.often(0.2) and not self.dice.shared:
            items.append(over_groups(self.dice, keys, found.scope))
        return self._select("SELECT", items, rest, f" GROUP BY {form} ({sets})")

    def windowed(self, depth: int) -> Query:
        """OVER, perhaps QUALIFY."""
        found, rest = self._from(depth - 1)
        items = [(column.text, column.type) for column in self.dice.some(found.scope, 1, 2)]
        items += window_calls(self.dice, found.scope)
        by_rank = tells_rows_apart(items)
        tail = ""
        if self.dice.often(0.3):
            items, tail = self._named_windows(items)
        if self.dice.often(0.3) and comparable(found.scope):
            self.dice.use("QUALIFY")
            tail += f" QUALIFY {numbering(self.dice, found.scope, by_rank=by_rank)} <= {self.dice.number(1, 2)}"
        return self._select("SELECT", items, rest, tail)

    def _named_windows(self, items: Items) -> tuple[Items, str]:
        """The items with their OVER clauses under names, and the WINDOW clause that has them."""
        self.dice.use("WINDOW")
        named: list[tuple[str, str]] = []
        windows: list[str] = []
        for text, kind in items:
            call, over, definition = text.partition(" OVER ")
            named.append((f"{call} OVER w{len(windows)}" if over else text, kind))
            windows += [f"w{len(windows)} AS {definition}"] if over else []
        return named, f" WINDOW {', '.join(windows)}" if windows else ""

    def limited(self, depth: int) -> Query:
        """Top-K: ORDER BY … LIMIT and OFFSET."""
        text, columns = self.dice.pick((self.plain, self.grouped))(depth)
        keys = self.dice.some([name for name, kind in columns if kind in SCALARS], 0, 2)
        listed = [sort_key(self.dice, name) for name in keys]
        if self.dice.shared:  # rows that are equal here go by the whole row: what we do unasked, DuckDB is told
            listed += [f"{name} NULLS FIRST" for name, _ in columns]
        order = f" ORDER BY {', '.join(listed)}" if listed else ""
        offset = f" OFFSET {self.dice.number(1, 2)}" if self.dice.often(0.3) else ""
        self.dice.use("LIMIT OFFSET" if offset else "LIMIT")
        return f"{text}{order} LIMIT {self.dice.number(1, 3)}{offset}", columns

    def set_operation(self, depth: int) -> Query:
        """UNION, INTERSECT, EXCEPT, with and without ALL, over branches cast to common types."""
        kinds = [self.dice.pick((INT, STRING, DOUBLE, BOOLEAN, BIGINT)) for _ in range(self.dice.number(1, 2))]
        text = self._branch(kinds, depth)
        for _ in range(self.dice.weighted(((4, 1), (1, 2)))):
            operator = self.dice.pick(("UNION ALL", "UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL"))
            self.dice.use(operator)
            text = f"{text} {operator} {self._branch(kinds, depth)}"
        return text, tuple((f"c{number}", kind) for number, kind in enumerate(kinds, 1))

    def _branch(self, kinds: list[str], depth: int) -> str:
        found, rest = self._from(depth - 1)
        return self._select("SELECT", [(expression(self.dice, kind, found.scope, 1), kind) for kind in kinds], rest)[0]

    def with_cte(self, depth: int) -> Query:
        """A CTE that is read once or twice."""
        self.dice.use("CTE")
        name = self.dice.name("cte")
        inner, columns = self.query(depth - 1)
        local = Relation(name, columns)
        others = (local, local) if self.dice.often(0.4) else (local, *self.relations)
        text, found = Queries(self.dice, others).query(depth - 1)
        if text.startswith("WITH "):
            text = f"SELECT * FROM ({text}) AS {self.dice.name('r')}"
        return f"WITH {name} AS ({inner}) {text}", found

    def recursive(self, depth: int) -> Query:
        """A recursion of a bounded depth, over a table's column of whole numbers."""
        usable = [(one, name) for one in self.relations for name, kind in one.columns if kind == INT]
        if not usable:
            return self.plain(depth)
        self.dice.use("WITH RECURSIVE")
        (first, start), (second, key) = self.dice.pick(usable), self.dice.pick(usable)
        name = self.dice.name("walk")
        step = (
            f"SELECT {cast(f'z.{key} + 1', INT)}, w.far + 1 FROM {name} AS w JOIN {second.name} AS z ON w.n = z.{key}"
        )
        seed = f"SELECT {start}, 0 FROM {first.name}"
        body = f"{seed} UNION ALL {step} WHERE w.far < {self.dice.number(1, 3)}"
        return f"WITH RECURSIVE {name}(n, far) AS ({body}) SELECT n AS c1, far AS c2 FROM {name}", (
            ("c1", INT),
            ("c2", INT),
        )

    def pivoted(self, depth: int) -> Query:
        """PIVOT of a sum by a few values of a text."""
        usable = [one for one in self.relations if {STRING, INT} <= {kind for _, kind in one.columns}]
        if not usable:
            return self.grouped(depth)
        self.dice.use("PIVOT")
        relation = self.dice.pick(usable)
        kinds = {kind: name for name, kind in reversed(relation.columns)}
        rest = [(name, kind) for name, kind in relation.columns if name not in (kinds[INT], kinds[STRING])][:1]
        read = ", ".join(["inner_.*"] if not rest else [*(name for name, _ in rest), kinds[INT], kinds[STRING]])
        if not rest:
            read = f"{kinds[INT]}, {kinds[STRING]}"
        call, kind = self.dice.pick((("sum", BIGINT), ("max", INT), ("count", BIGINT)))
        values = f"{kinds[STRING]} IN ('a' AS pa, 'b' AS pb)"
        text = f"SELECT * FROM (SELECT {read} FROM {relation.name}) PIVOT ({call}({kinds[INT]}) FOR {values})"
        return text, (*rest, ("pa", kind), ("pb", kind))

    def unpivoted(self, depth: int) -> Query:
        """UNPIVOT of columns of whole numbers."""
        usable = [one for one in self.relations if sum(kind == INT for _, kind in one.columns) > 1]
        if not usable:
            return self.plain(depth)
        self.dice.use("UNPIVOT")
        relation = self.dice.pick(usable)
        turned = [name for name, kind in relation.columns if kind == INT]
        rest = [(name, kind) for name, kind in relation.columns if kind != INT]
        nulls = self.dice.pick(("", "INCLUDE NULLS "))
        text = f"SELECT * FROM {relation.name} UNPIVOT {nulls}(val FOR col IN ({', '.join(turned)}))"
        return text, (*rest, ("col", STRING), ("val", INT))
