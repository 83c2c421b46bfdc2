"""The Spark session that everything runs on, with the settings that were measured to matter.

open_session()   a new local (or cluster) session with all settings
adopt_session()  the user's own session; what can be set at run time is set
Aside            what a new local session needs, begun on another thread than the one that will open it
"""

from __future__ import annotations

import os
import sys
import threading
from base64 import standard_b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.backends.spark import jvm
from penstock.backends.spark.interrupts import held_until_started, made_aside, obey_interrupts
from penstock.backends.temporary import TemporaryFolder
from penstock.catalog.settings import check_conf

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

RUNTIME_SETTINGS: Mapping[str, str] = {
    # A step is many small queries: re-planning each of them while it runs costs more than it finds.
    "spark.sql.adaptive.enabled": "false",
    # Remembering the Python line of every Column makes building one four times slower.
    "spark.sql.dataFrameQueryContext.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    # The type TIME, which Spark 4.1 has and keeps switched off.
    "spark.sql.timeType.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.localRelationThreshold": "8m",
    # A small input in one partition needs no exchange to be grouped.
    "spark.sql.leafNodeDefaultParallelism": "1",
    # A trace is a union of layers with one partitioning; losing it would shuffle the trace at every step.
    "spark.sql.unionOutputPartitioning": "true",
    # A checkpointed layer keeps constraints over columns that are gone; a UNION of layers then fails, or loses rows.
    "spark.sql.constraintPropagation.enabled": "false",
    # Offsets of a streaming source: the default manager takes 40 ms more for each batch.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    # Known since 4.3, ignored before: no exchange for an input of a single task.
    "spark.sql.optimizer.singleTaskExecution.enabled": "true",
}

STATIC_SETTINGS: Mapping[str, str] = {
    # The default of 100 classes is less than one circuit; what falls out is compiled again at every step.
    "spark.sql.codegen.cache.maxEntries": "5000",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.driver.maxResultSize": "0",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
}

_LOCAL_SETTINGS: Mapping[str, str] = {
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
}

# Java reserves 240 MB for compiled code, and 48 where one of its compilers is switched off. Spark makes classes all the
# time; once the room is full Java compiles nothing more, and whatever comes later runs interpreted.
_CODE_CACHE = "512m"
_FILE_PARTITIONS = "spark.sql.files.minPartitionNum"
_GIBIBYTE = 1 << 30
_LOCAL_PARTITIONS = 4


def open_session(
    *, master: str = "local[*]", conf: Mapping[str, str] | None = None, app_name: str = "penstock"
) -> SparkSession:
    """A session with Penstock's settings; `conf` wins over them.

    A running session of this process is used as it is, with the settings that can still be changed.
    Raises UnsupportedError when no Java is found that can run Spark, and for a `conf` without ANSI mode.
    """
    from pyspark.sql import SparkSession  # noqa: PLC0415 - `check` goes without PySpark

    check_conf(conf or {})
    running = running_session()
    if running is not None:
        return adopt_session(running, conf)
    settings = _settings(master, conf or {}, app_name)
    with _ONE_AT_A_TIME:
        context = _context(master, settings)
    session = SparkSession.builder.config(map={**settings}).getOrCreate()
    _keep_compiled(session)
    context.setLogLevel("ERROR")
    _read_with_all_cores(session)
    _take_bytes_at_once()
    _know_classes(session.sparkContext)
    _silence_python()
    return session


_ONE_AT_A_TIME = threading.RLock()


def _context(master: str, settings: Mapping[str, str], begun: jvm.Begun | None = None) -> SparkContext:
    """The context of this process, made with these settings if there is none; `begun` knows the JVM, and may end it."""
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - `check` goes without PySpark

    jvm.use_this_python()
    attach = _launch_if_needed(master, settings, begun)
    with held_until_started():
        if attach:
            _attach(attach)
        context = SparkContext.getOrCreate(SparkConf().setAll(list(settings.items())))
        obey_interrupts(context)
    return context


def _attach(places: Mapping[str, str]) -> None:
    """Have PySpark speak to the JVM that was started, of which environment variables tell it."""
    from pyspark import SparkContext  # noqa: PLC0415 - `check` goes without PySpark

    os.environ.update(places)
    try:
        SparkContext._ensure_initialized()  # noqa: SLF001
    finally:
        for name in places:  # a child process must start a JVM of its own
            del os.environ[name]


@dataclass
class Aside:
    """A local session in the making (`penstock.backends.spark.starting`): a JVM, and a context in it."""

    master: str
    conf: Mapping[str, str]
    app_name: str = "penstock"
    _jvm: jvm.Begun = field(default_factory=jvm.Begun)
    _context: SparkContext | None = None

    def begin(self) -> None:
        """Start the JVM and make the context, unless there is one; raises what opening a session raises.

        What PySpark has to start is left to whoever opens the session: it has another process begin with Python code
        of this one, which is not safe beside other threads.
        """
        from pyspark import SparkContext  # noqa: PLC0415 - `check` goes without PySpark

        with _ONE_AT_A_TIME:
            if SparkContext._gateway is not None or _is_for_pyspark(self.master):  # noqa: SLF001
                return
            try:
                self._context = _context(self.master, _settings(self.master, self.conf, self.app_name), self._jvm)
            except BaseException:
                if self._jvm.given_up:
                    self._forget(SparkContext._active_spark_context)  # noqa: SLF001 - it is half made
                raise
            made_aside(self._context)

    def give_up(self) -> None:
        """End the JVM that is being started, or in which the context is being made."""
        if self._context is None:
            self._jvm.give_up()

    def undo(self) -> None:
        """End the context and its JVM, unless somebody has a session of it."""
        context, self._context = self._context, None
        if context is None:
            return
        from pyspark.sql import SparkSession  # noqa: PLC0415 - `check` goes without PySpark

        if SparkSession._instantiatedSession is None:  # noqa: SLF001
            self._jvm.give_up()
            self._forget(context)

    def _forget(self, context: SparkContext | None) -> None:
        """Have PySpark forget a JVM that has been told to end."""
        self._jvm.end()
        if context is not None:
            context._jsc = None  # type: ignore[assignment]  # noqa: SLF001 - there is nobody to tell
            context.stop()
        _forget_lost_jvm()


def running_session() -> SparkSession | None:
    """The session that this process has open; a JVM that is gone has none."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark.sql import SparkSession  # noqa: PLC0415 - `check` goes without PySpark

    _forget_lost_jvm()
    return SparkSession.getActiveSession()


def _forget_lost_jvm() -> None:
    """Have PySpark forget a JVM that is gone, so that it starts another."""
    from pyspark import SparkContext  # noqa: PLC0415 - check starts without pyspark
    from pyspark.sql import SparkSession  # noqa: PLC0415 - check starts without pyspark

    if jvm.has_ended() and SparkContext._gateway is not None:  # noqa: SLF001
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None  # noqa: SLF001
        SparkSession._instantiatedSession = None  # noqa: SLF001


def adopt_session(spark: SparkSession, conf: Mapping[str, str] | None = None) -> SparkSession:
    """The user's session with the settings that can be set at run time; its partition count stays."""
    for key, value in {**RUNTIME_SETTINGS, **(conf or {})}.items():
        if key in RUNTIME_SETTINGS or spark.conf.isModifiable(key):
            spark.conf.set(key, value)
    _keep_compiled(spark)
    _read_with_all_cores(spark)
    obey_interrupts(spark.sparkContext)
    _take_bytes_at_once()
    _know_classes(spark.sparkContext)
    _silence_python()
    return spark


def _read_with_all_cores(spark: SparkSession) -> None:
    """Large files are cut so that every core has a part; without it one task reads 128 MiB, since small inputs do."""
    if spark.conf.get(_FILE_PARTITIONS, None) is None:
        spark.conf.set(_FILE_PARTITIONS, str(spark.sparkContext.defaultParallelism))


def _keep_compiled(spark: SparkSession) -> None:
    """Have Spark make room for compiled classes now, while this thread's settings say how much.

    It does so when it first compiles anything, in whichever thread that is: one without a session takes the default.
    """
    view: Any = spark.sparkContext._jvm  # noqa: SLF001
    view.org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator.compileTime()


def is_local(master: str) -> bool:
    """True if the master runs inside the driver's JVM: `local`, `local[n]` or `local[*]`."""
    return master == "local" or master.startswith("local[")


def _settings(master: str, conf: Mapping[str, str], app_name: str) -> dict[str, str]:
    settings = {**RUNTIME_SETTINGS, **STATIC_SETTINGS}
    settings["spark.sql.warehouse.dir"] = (scratch_folder() / "warehouse").as_uri()
    if is_local(master):
        settings |= _LOCAL_SETTINGS
        settings["spark.driver.memory"] = _default_memory()
        settings["spark.sql.shuffle.partitions"] = str(min(_LOCAL_PARTITIONS, os.cpu_count() or 1))
    settings |= conf
    ours = f"-Dderby.system.home={scratch_folder()} -Duser.timezone=UTC -XX:ReservedCodeCacheSize={_CODE_CACHE}"
    given = settings.get("spark.driver.extraJavaOptions", "")
    settings["spark.driver.extraJavaOptions"] = f"{ours} {given}".strip()
    return settings | {"spark.master": master, "spark.app.name": app_name}


def _default_memory() -> str:
    """A quarter of the machine's memory, as Java itself would take, between 1 and 4 GiB."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{max(1, min(4, machine // 4 // _GIBIBYTE))}g"


def _launch_if_needed(master: str, settings: Mapping[str, str], begun: jvm.Begun | None = None) -> dict[str, str]:
    """Start the JVM ourselves where we may; {} where PySpark starts it or has already done so."""
    from pyspark import SparkContext  # noqa: PLC0415 - `check` goes without PySpark

    if SparkContext._gateway is not None:  # noqa: SLF001
        return {}
    java = jvm.find_java()
    if not java.bundled and _is_for_pyspark(master):
        return {}
    return jvm.launch(java, settings, begun)


def _is_for_pyspark(master: str) -> bool:
    """True if PySpark starts the JVM where it can, by a script of Spark's."""
    return not is_local(master) or jvm.spark_is_configured_elsewhere()


def scratch_folder() -> Path:
    """A folder for what Spark insists on writing, removed at exit; the user's folder stays clean."""
    return _scratch().path


@cache
def _scratch() -> TemporaryFolder:
    return TemporaryFolder("spark")


def _take_bytes_at_once() -> None:
    """Bytes of the JVM, decoded in one go; py4j looks at each by itself, which takes 60 ns a byte."""
    from py4j.protocol import BYTES_TYPE, register_output_converter  # noqa: PLC0415 - `check` goes without PySpark

    register: Any = register_output_converter
    register(BYTES_TYPE, lambda encoded, _client: bytearray(standard_b64decode(encoded)))


def _know_classes(context: SparkContext) -> None:
    """Classes that every `spark.sql` asks for by name; Java looks through all jars for one, which takes 0.4 ms."""
    view: Any = context._jvm  # noqa: SLF001
    for name in ("PythonUtils", "PythonSQLUtils"):
        setattr(view, name, getattr(view, name))


def _silence_python() -> None:
    """PySpark logs each refused query as JSON on stderr before it raises it; raising it is enough."""
    from pyspark.logger import PySparkLogger  # noqa: PLC0415 - `check` goes without PySpark

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True
