"""Spark's built-in functions: kind, arity and determinism, from a data file that Spark itself was asked for.

`functions.json` is written by `scripts/spark_functions.py`. Window functions of time (`tumble`, `hop` …) are
Penstock's own and stand in `bind/from_/timewindows.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

SCALAR, AGGREGATE, WINDOW, GENERATOR, TABLE = "scalar", "aggregate", "window", "generator", "table"

# The answer depends on the order of the rows unless the binder completes it (SEMANTICS 0).
ORDER_SENSITIVE = frozenset(
    {"first", "first_value", "last", "last_value", "any_value", "collect_list", "array_agg", "collect_set"}
    | {"listagg", "string_agg", "mode", "max_by", "min_by"}
)
# The bytes or the approximation depend on the order of the rows, and no order of theirs can be asked for: what one
# evaluation has shown, another over the same rows cannot take back.
UNREPEATABLE = frozenset(
    {"hll_sketch_agg", "hll_union_agg", "histogram_numeric", "approx_top_k", "approx_top_k_accumulate"}
    | {"approx_top_k_combine"}
    | {f"kll_{work}_agg_{kind}" for work in ("sketch", "merge") for kind in ("bigint", "float", "double")}
)
# The approximation depends on the order of the rows, which can be asked for.
APPROXIMATIONS = frozenset({"percentile_approx", "approx_percentile", "theta_sketch_agg", "theta_union_agg"})
# Generators that Spark takes in FROM alone, not in LATERAL VIEW.
IN_FROM_ONLY = frozenset({"variant_explode", "variant_explode_outer"})
# Syntax that the parser reads with a rule of its own, so that it is no call of a registered function.
SPECIAL_FORMS = frozenset({"descriptor", "table", "grouping", "grouping_id"})


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """One function of Spark; `most` is None where any number of arguments is accepted."""

    name: str
    kind: str
    least: int
    most: int | None
    deterministic: bool

    def accepts(self, count: int) -> bool:
        """True if Spark takes that number of arguments."""
        return self.least <= count and (self.most is None or count <= self.most)


@cache
def built_in_functions() -> Mapping[str, BuiltIn]:
    """Lower-case name → function, for all of Spark's."""
    text = files("penstock.catalog").joinpath("functions.json").read_text(encoding="utf-8")
    return {
        name: BuiltIn(name, item["kind"], item["min"], item["max"], item["deterministic"])
        for name, item in json.loads(text)["functions"].items()
    }


def built_in(name: str) -> BuiltIn | None:
    """The function of that name, without regard to case."""
    return built_in_functions().get(name.lower())


def is_window_function(name: str) -> bool:
    """True if the name is that of a function that needs OVER."""
    found = built_in(name)
    return found is not None and found.kind == WINDOW


def is_aggregate(name: str) -> bool:
    """True if the name is that of an aggregate function."""
    found = built_in(name)
    return found is not None and found.kind == AGGREGATE
