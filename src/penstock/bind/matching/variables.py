"""The pattern of MATCH_RECOGNIZE, its variables and subsets, and where the search goes on behind a match."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from penstock.errors import SqlError, did_you_mean
from penstock.plan.matching import Skip
from penstock.sql.complaints import wrong
from penstock.sql.nodes import RowMatches
from penstock.sql.rowpattern import Excluded, Part, has, read_pattern, variables
from penstock.sql.text import span_of


@dataclass(frozen=True)
class Variables:
    """The names in a pattern: `of` gives for each name, lower-case, the variables that it stands for."""

    pattern: Part
    of: Mapping[str, tuple[str, ...]]
    subsets: tuple[tuple[str, tuple[str, ...]], ...]

    def known(self, name: str) -> tuple[str, ...] | None:
        """The variables of a name; None if it is none of the pattern's."""
        return self.of.get(name.lower())

    def one(self, name: exp.Expression) -> str:
        """The variable or subset, as it is written first, that a name means; SqlError if there is none."""
        found = self.named(name.name)
        if found is None:
            raise unknown_variable(name.name, self, name)
        return found

    def named(self, name: str) -> str | None:
        """The variable or subset of a name, as it is written first."""
        names = [*dict.fromkeys(variables(self.pattern)), *(subset for subset, _ in self.subsets)]
        return next((item for item in names if item.lower() == name.lower()), None)


def variables_of(tree: RowMatches) -> Variables:
    """The variables of a clause, checked."""
    place = span_of(tree.args["pattern"])
    pattern = read_pattern(tree.args["pattern"].name, 0 if place is None else place.start)
    if not any(True for _ in variables(pattern)):
        hint = "as in PATTERN (A B+)"
        raise wrong(code="MATCH_PATTERN", message="a pattern needs a variable", place=tree.args["pattern"], hint=hint)
    if tree.args["rows"].name == "unmatched" and has(pattern, Excluded):
        message = (
            "rows that {- -} leaves out cannot be told from unmatched rows in ALL ROWS PER MATCH WITH UNMATCHED ROWS"
        )
        hint = "leave one of both out"
        raise wrong(code="MATCH_PATTERN", message=message, place=tree.args["pattern"], hint=hint)
    found: dict[str, tuple[str, ...]] = {name.lower(): (name,) for name in variables(pattern)}
    plain = Variables(pattern, found, ())
    subsets = []
    for item in tree.args.get("subsets") or []:
        if item.alias.lower() in found:
            message = f"{item.alias} names two things in this MATCH_RECOGNIZE"
            raise wrong(
                code="MATCH_VARIABLE", message=message, place=item.args["alias"], hint="give the subset another name"
            )
        parts = tuple(plain.one(part) for part in item.this.expressions)
        found[item.alias.lower()] = parts
        subsets.append((item.alias, parts))
    return Variables(pattern, found, tuple(subsets))


def definitions(tree: RowMatches, known: Variables) -> dict[str, exp.Expression]:
    """The condition of each variable that has one."""
    found: dict[str, exp.Expression] = {}
    for item in tree.args.get("define") or []:
        name = known.one(item.args["alias"])
        if known.of[name.lower()] != (name,):
            message = f"{name} is a subset: a condition belongs to one variable"
            raise wrong(code="MATCH_VARIABLE", message=message, place=item.args["alias"])
        if name in found:
            message = f"{name} is defined twice"
            raise wrong(
                code="MATCH_VARIABLE",
                message=message,
                place=item.args["alias"],
                hint="put the conditions together with AND",
            )
        found[name] = item.this
    return found


def skip_of(tree: RowMatches, known: Variables) -> Skip:
    """Where the search goes on; past the last row if it is not said."""
    written = tree.args.get("skip")
    if written is None:
        return Skip()
    variable = written.meta.get("variable")
    return Skip(written.name, "" if variable is None else known.one(variable))


def unknown_variable(name: str, known: Variables, place: exp.Expression) -> SqlError:
    """No variable of that name."""
    names = tuple(dict.fromkeys([*variables(known.pattern), *(subset for subset, _ in known.subsets)]))
    message = f"the pattern has no variable {name}"
    hint = f"its variables are: {', '.join(names)}"
    return wrong(code="MATCH_VARIABLE", message=message, place=place, candidates=did_you_mean(name, names), hint=hint)
