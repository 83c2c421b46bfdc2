"""The files that a run's output has been given, read again."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any


def shown(folder: Path) -> dict[str, Counter[Any]]:
    """All that a run's output has been given, added up by view; every step once."""
    found: dict[str, Counter[Any]] = {}
    for path in sorted((folder / "out").glob("*/step-*.json")):
        rows = found.setdefault(path.parent.name, Counter())
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            weight = row.pop("__weight")
            assert row.pop("__step") == int(path.stem.removeprefix("step-"))
            rows[json.dumps(row, sort_keys=True)] += weight
    return {view: Counter({row: weight for row, weight in rows.items() if weight}) for view, rows in found.items()}
