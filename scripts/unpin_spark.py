"""Print the lock without hashes and with another Spark: unpin_spark.py LOCK SPARK_VERSION."""

import re
import sys
from pathlib import Path


def unpinned(lock: str, spark: str) -> str:
    """The names and versions of a lock; Spark in the given version, and py4j as that one wants it."""
    pins = re.findall(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s\\]+)", lock, re.MULTILINE)
    kept = [f"{name}=={version}" for name, version in pins if name not in {"pyspark", "py4j"}]
    return "\n".join([*kept, f"pyspark=={spark}"]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(unpinned(Path(sys.argv[1]).read_text(encoding="utf-8"), sys.argv[2]))
