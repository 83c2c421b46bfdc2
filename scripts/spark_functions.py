"""Writes src/penstock/catalog/functions.json from Spark itself.

Run it with the Spark version that the lock pins: `python scripts/spark_functions.py`. For every built-in function it
records the kind (scalar, aggregate, window, generator, table), how many arguments Spark accepts, and whether Spark
calls it deterministic. Arity is found by asking: Spark analyses `f(NULL, …)` with 0 to 12 arguments and says where the
number is wrong.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

TARGET = Path(__file__).resolve().parent.parent / "src" / "penstock" / "catalog" / "functions.json"
MOST = 12
WRONG_NUMBER = ("WRONG_NUM_ARGS", "_LEGACY_ERROR_TEMP_1042")
# Their value depends on who runs the query or where, though Spark calls them deterministic.
ENVIRONMENT = frozenset(
    {"current_user", "user", "session_user", "current_database", "current_schema", "current_catalog", "version"}
    | {"input_file_name", "input_file_block_start", "input_file_block_length", "spark_partition_id"}
    | {"reflect", "java_method", "try_reflect", "python_worker_logs"}
)
GENERATORS = frozenset({"json_tuple"})
GENERATORS_IN_FROM = frozenset({"variant_explode", "variant_explode_outer"})
AGGREGATES = frozenset({"schema_of_variant_agg"})  # documented among the functions of VARIANT
WINDOWS_OF_TIME = frozenset({"window", "session_window"})


def listed(registry: Any) -> dict[str, str]:
    """Name → documentation group of every function of a registry."""
    found: dict[str, str] = {}
    names = registry.listFunction().iterator()
    while names.hasNext():
        identifier = names.next()
        found[identifier.funcName()] = registry.lookupFunction(identifier).get().getGroup()
    return found


def kind_of(name: str, group: str, tables: dict[str, str]) -> str:
    """Our kind of a function, from Spark's documentation group."""
    if name in GENERATORS or (group == "generator_funcs" and name in tables):
        return "generator"
    if name in AGGREGATES:
        return "aggregate"
    return {"agg_funcs": "aggregate", "window_funcs": "window"}.get(group, "scalar")


def accepted(spark: SparkSession, name: str, kind: str) -> list[int]:
    """The numbers of arguments, up to MOST, that Spark does not refuse as such."""
    return [count for count in range(MOST + 1) if _fits(spark, call(name, kind, count))]


def call(name: str, kind: str, count: int) -> str:
    """A query that calls a function with so many arguments."""
    over = " OVER (ORDER BY 1)" if kind == "window" else ""
    return f"SELECT `{name}`({', '.join(['NULL'] * count)}){over}"


def _fits(spark: SparkSession, query: str) -> bool:
    try:
        spark.sql(query)
    except AnalysisException as error:
        return not (error.getCondition() or "").startswith(WRONG_NUMBER)
    except PySparkException:
        return True
    return True


def deterministic(spark: SparkSession, name: str, arities: list[int]) -> bool:
    """Whether Spark calls the function deterministic, for the first call of it that can be analysed."""
    for count in arities:
        try:
            frame = spark.sql(call(name, "scalar", count))
        except PySparkException:
            continue
        return bool(frame._jdf.queryExecution().analyzed().expressions().apply(0).deterministic())  # noqa: SLF001
    return name not in {"rand", "random", "randn", "randstr", "uniform", "shuffle", "uuid"}


def described(spark: SparkSession) -> dict[str, dict[str, Any]]:
    """Everything that the catalogue of functions holds, by name."""
    state = spark._jsparkSession.sessionState()  # noqa: SLF001
    tables = listed(state.tableFunctionRegistry())
    found: dict[str, dict[str, Any]] = {}
    for name, group in listed(state.functionRegistry()).items():
        if not name.replace("_", "").isalnum():
            continue  # operators
        kind = kind_of(name, group, tables)
        arities = accepted(spark, name, kind)
        flag = name not in ENVIRONMENT and deterministic(spark, name, arities)
        found[name] = {"kind": kind, "min": min(arities, default=0), "max": most(arities), "deterministic": flag}
    for name in GENERATORS_IN_FROM:
        found[name] = {"kind": "generator", "min": 1, "max": 1, "deterministic": True}
    for name in sorted(set(tables) - set(found)):
        found[name] = {"kind": "table", "min": 0, "max": None, "deterministic": name not in ENVIRONMENT}
    return found


def most(arities: list[int]) -> int | None:
    """The largest number of arguments, None where there is no limit."""
    largest = max(arities, default=MOST)
    return None if largest == MOST else largest


def main() -> int:
    """Ask Spark and write the file."""
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    functions = described(spark)
    lines = [f"  {json.dumps(name)}: {json.dumps(functions[name])}" for name in sorted(functions)]
    body = ",\n".join(lines)
    TARGET.write_text(f'{{\n"spark": {json.dumps(spark.version)},\n"functions": {{\n{body}\n}}\n}}\n')
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
