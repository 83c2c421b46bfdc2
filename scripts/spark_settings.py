"""Writes src/penstock/catalog/spark_settings.txt from Spark itself.

Run it with the Spark version that the lock pins: `python scripts/spark_settings.py`. One setting a line; `=` stands
before those that are read when Spark starts and cannot be set later.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

# Spark reads these by name, without an entry of their own among its settings.
UNLISTED = frozenset({"spark.master", "spark.app.name"})
TARGET = Path(__file__).resolve().parent.parent / "src" / "penstock" / "catalog" / "spark_settings.txt"


def module(view: Any, name: str) -> Any:
    """A Scala object of Spark, and its class."""
    found = view.java.lang.Class.forName(f"{name}$")
    return found, found.getField("MODULE$").get(None)


def of_sql(spark: SparkSession) -> Iterator[str]:
    """The settings of Spark SQL."""
    _, conf = module(spark._jvm, "org.apache.spark.sql.internal.SQLConf")  # noqa: SLF001
    entries = conf.getConfigEntries().iterator()
    while entries.hasNext():
        yield str(entries.next().key())


def of_core(spark: SparkSession) -> Iterator[str]:
    """The settings of Spark itself."""
    kind, conf = module(spark._jvm, "org.apache.spark.internal.config.package")  # noqa: SLF001
    for method in kind.getMethods():
        if method.getParameterCount() == 0 and "ConfigEntry" in method.getReturnType().getName():
            yield str(method.invoke(conf, None).key())


def _can_be_set(spark: SparkSession, name: str) -> bool:
    return name not in UNLISTED and spark.conf.isModifiable(name)


def main() -> int:
    """Ask Spark and write the file."""
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    names = sorted({*of_sql(spark), *of_core(spark), *UNLISTED})
    kept = (name for name in names if name.startswith("spark."))
    TARGET.write_text("".join(f"{name}\n" if _can_be_set(spark, name) else f"={name}\n" for name in kept))
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
