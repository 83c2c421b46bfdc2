"""The cases that want Spark, as `on_spark.yaml` in a folder names them, and a session for those that do not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import yaml

from penstock.testing.cases import Case


@dataclass(frozen=True)
class OnSpark:
    """The names of such cases by the stems of their files."""

    names: dict[str, list[str]]

    @classmethod
    def beside(cls, path: Path) -> OnSpark:
        """Those that the file beside a module of tests names."""
        return cls(yaml.safe_load(path.with_name("on_spark.yaml").read_text(encoding="utf-8")))

    def has(self, path: Path, case: Case) -> bool:
        return case.name in self.names.get(path.stem, ())


class WantedError(BaseException):
    """Spark is asked for; nothing catches this."""


def no_session() -> NoReturn:
    raise WantedError
