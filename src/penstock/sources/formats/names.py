"""The formats by name, and how the names of their files end; what reads them is loaded when it is needed."""

from __future__ import annotations

import re

FORMATS = ("json", "csv", "parquet", "avro")
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_ENDINGS = {
    "json": ("json", "jsonl", "ndjson"),
    "csv": ("csv", "tsv"),
    "parquet": ("parquet", "pq"),
    "avro": ("avro",),
}
_ROTATED = r"(?:[.-]\d[\w.-]*?)?"


def usual_names(style: str) -> re.Pattern[str]:
    """The names that a folder's files of a format have: `a.json`, rotated as `a.json.1`, compressed as `a.json.gz`."""
    endings = "|".join(_ENDINGS[style])
    packed = "" if style == "parquet" else "(?:" + "|".join(map(re.escape, COMPRESSIONS)) + ")?"
    return re.compile(rf".*\.(?:{endings}){_ROTATED}{packed}", re.IGNORECASE | re.DOTALL)
