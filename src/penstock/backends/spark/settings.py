"""The settings of a session: those that it has, and the program's, which are its own while the program runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from penstock.catalog.meanings import differing
from penstock.catalog.settings import SPARK
from penstock.errors import Diagnostic, SqlError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BETWEEN = "\x1e"


def settings_of(spark: SparkSession) -> dict[str, str]:
    """All that is set in a session, by its own name, in one call."""
    conf: Any = spark._jsparkSession.sessionState().conf()  # noqa: SLF001
    told = str(conf.getAllConfs().mkString(_BETWEEN))
    pairs = (item.partition(" -> ") for item in told.split(_BETWEEN) if item)
    return {name: value for name, _, value in pairs}


class WatchedSettings:
    """The settings of a session on which answers depend, read again once anything has been set in it."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        state: Any = spark._jsparkSession.sessionState()  # noqa: SLF001
        self._all: Any = state.conf().settings()
        self._digest: int | None = None
        self._found: dict[str, str] = {}

    def differing(self) -> dict[str, str]:
        """Those under which the same SQL may mean something else than Penstock assumes."""
        digest = self._all.hashCode()
        if digest != self._digest:
            self._found, self._digest = differing(settings_of(self._spark)), digest
        return self._found


class FollowedSettings:
    """The settings that `SET spark.…` has changed in a session, and what stood there before."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._before: dict[str, str | None] = {}

    def follow(self, settings: Mapping[str, str]) -> None:
        """Have the session follow the settings; those that are no longer among them are as they were."""
        wanted = {name: value for name, value in settings.items() if name.startswith(SPARK)}
        for name in [name for name in self._before if name not in wanted]:
            self._set(name, self._before.pop(name))
        for name, value in wanted.items():
            self._before.setdefault(name, self._spark.conf.get(name, None))
            self._set(name, value)

    def release(self) -> None:
        """Leave the session as it was."""
        self.follow({})

    def _set(self, name: str, value: str | None) -> None:
        from pyspark.errors import PySparkException  # noqa: PLC0415 - `check` imports no pyspark

        try:
            if value is None:
                self._spark.conf.unset(name)
            else:
                self._spark.conf.set(name, value)
        except PySparkException as error:
            message = f"Spark does not take {name} = {str(value)[:100]!r}: {str(error).splitlines()[0][:200]}"
            raise SqlError(Diagnostic("BAD_SETTING", message)) from error
