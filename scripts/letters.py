"""Write `backends/native/letters.txt`: the letters whose case Spark (ICU) and DuckDB know differently, and those of Σ.

    PYTHONPATH=src .venv/bin/python scripts/letters.py

small, capital       a letter and what Spark makes of it, where DuckDB makes another of it
cased, passed_over   ranges of the letters that decide whether a Σ ends its word: a cased one before it and none behind,
                     where the others are passed over

Both are asked; nothing is written by hand. Run it for another Spark or DuckDB.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import duckdb
import pyarrow as pa

from penstock.backends.spark.session import open_session

_FILE = Path(__file__).parents[1] / "src/penstock/backends/native/letters.txt"
_SIGMA, _AT_END = "\u03a3", "\u03c2"
_SURROGATES = range(0xD800, 0xE000)
_ASKED = (
    "letter", "lower(letter) AS small", "upper(letter) AS capital",
    f"lower('A' || letter || '{_SIGMA}') AS before", f"lower('A{_SIGMA}' || letter) AS behind",
)  # fmt: skip


def main() -> None:
    """Ask both, and write what differs."""
    letters = pa.table({"letter": [chr(code) for code in range(1, 0x110000) if code not in _SURROGATES]})
    on_spark = open_session(master="local[2]").createDataFrame(letters).selectExpr(*_ASKED).toArrow()
    told = on_spark.to_pylist()
    in_process = duckdb.connect().sql("SELECT lower(letter) AS small, upper(letter) AS capital FROM on_spark")
    here = in_process.to_arrow_table().to_pylist()
    lines = []
    for case in ("small", "capital"):
        for one, other in zip(told, here, strict=True):
            if one[case] != other[case]:
                lines.append(f"{case} {_codes(one['letter'])} {_codes(one[case])}")
    cased = [ord(one["letter"]) for one in told if one["behind"][1] != _AT_END]
    passed = [ord(one["letter"]) for one in told if one["before"].endswith(_AT_END)]
    lines += [f"cased {found}" for found in _ranges(cased)]
    lines += [f"passed_over {found}" for found in _ranges(sorted(set(passed) - set(cased)))]
    _FILE.write_text("\n".join(lines) + "\n", encoding="ascii")


def _codes(text: str) -> str:
    return " ".join(f"{ord(letter):04X}" for letter in text)


def _ranges(codes: Iterable[int]) -> Iterator[str]:
    begin = end = -1
    for code in codes:
        if code != end + 1:
            if begin >= 0:
                yield f"{begin:04X} {end:04X}"
            begin = code
        end = code
    yield f"{begin:04X} {end:04X}"


if __name__ == "__main__":
    main()
