"""The settings that SET knows: the program's own by name, and Spark's.

Spark's stand in `spark_settings.txt`, which `scripts/spark_settings.py` writes from Spark itself. A name that begins
with `spark.` and is not among them may be another version's, or a library's; it is refused only where it is nearly one
of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from penstock.catalog.meanings import check_meaning, why_not_proven
from penstock.catalog.memory import MEMORY_SIZES, bytes_allowed
from penstock.errors import Diagnostic, Span, SqlError, UnsupportedError, did_you_mean

SPARK = "spark."
DIALECT, DEFAULT_DIALECT = "dialect", "penstock"
TIME_ZONE, UTC = "time zone", "UTC"
ANSI = "spark.sql.ansi.enabled"
ENGINE = "engine"
AUTO, NATIVE, ON_SPARK = "auto", "native", "spark"
ENGINES = (AUTO, NATIVE, ON_SPARK)
DEFAULT_ENGINE = AUTO
MEMORY_LIMIT, DEFAULT_MEMORY_LIMIT = "memory_limit", "40 %"
MAX_NESTING, DEFAULT_MAX_NESTING = "max_nesting", "250"
ANSWER_FROM_VIEWS, PROFILE = "answer_from_views", "profile"
STATE_SECONDS, DEFAULT_STATE_SECONDS = "state_seconds", "10"
LOG_RETENTION, WHOLE_LOG, LOG_FOR_RECOVERY = "log_retention", "all", "recovery"
# Settings on which no answer and no state depends, with what they are unless they are set: a deploy may change them.
CHANGEABLE = {MAX_NESTING: DEFAULT_MAX_NESTING, STATE_SECONDS: DEFAULT_STATE_SECONDS, LOG_RETENTION: WHOLE_LOG}
RUNTIME_MODE, STREAMING, BATCH = "execution.runtime-mode", "streaming", "batch"
UNBOUNDED_STATE = "unbounded_state"
REJECT, WARN, ALLOW = "reject", "warn", "allow"
_CHOICES = {
    ENGINE: ENGINES,
    LOG_RETENTION: (WHOLE_LOG, LOG_FOR_RECOVERY),
    UNBOUNDED_STATE: (REJECT, WARN, ALLOW),
    PROFILE: ("on", "off"),
    ANSWER_FROM_VIEWS: ("on", "off"),
    RUNTIME_MODE: (STREAMING, BATCH),
}
_NEARLY = 0.85
_SECONDS = re.compile(r"\d{1,9}(\.\d{1,6})?")
_NESTING = re.compile(r"[1-9]\d{0,4}")
_NEARLY_MEANT = 0.95  # the names of one family are much alike
# Spark reads these when it starts, whatever comes behind.
_AT_START = ("spark.app.", "spark.driver.", "spark.executor.", "spark.jars", "spark.submit.")


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of the program and what it is for, in one line."""

    name: str
    meaning: str


SETTINGS: tuple[Setting, ...] = (
    Setting(DIALECT, "the names of types and functions"),
    Setting(TIME_ZONE, "the zone in which timestamps without one are read and days begin"),
    Setting(UNBOUNDED_STATE, "what becomes of a view whose state would grow for ever: 'reject', 'warn', 'allow'"),
    Setting("recursion_limit", "after how many rounds a recursion is taken to be endless"),
    Setting(ENGINE, "where operators work: 'auto', 'native' (in the process) or 'spark'"),
    Setting(MEMORY_LIMIT, "how much memory state in the process takes before it lies on disk: '2GB', '40 %'"),
    Setting(PROFILE, "whether operators are measured: 'on', 'off'"),
    Setting(
        ANSWER_FROM_VIEWS, "whether queries are answered from a MATERIALIZED view that has the answer: 'on', 'off'"
    ),
    Setting(MAX_NESTING, "how many operations may stand within one another in a statement"),
    Setting("error_history", "how many rows error_view keeps"),
    Setting(STATE_SECONDS, "after how many seconds of steps the state is written to the directory; '0': each step"),
    Setting(LOG_RETENTION, "which steps of the log a directory keeps: 'all', or what 'recovery' and histories need"),
    Setting(RUNTIME_MODE, "in dialect flink, whether a query that is typed shows its changes ('streaming') or 'batch'"),
    Setting("table.exec.emit.early-fire.enabled", "in dialect flink, whether windows are shown before they close"),
    Setting("table.exec.emit.early-fire.delay", "how often by the clock: '1 min'; '0 s' is with each change"),
    Setting("table.exec.emit.late-fire.enabled", "whether late rows show a window again; needs the next but one"),
    Setting("table.exec.emit.late-fire.delay", "how often; late rows are shown as they come, whatever it says"),
    Setting("table.exec.emit.allow-lateness", "for how long a window takes late rows"),
)
_OTHER_NAMES = {
    "timezone": TIME_ZONE,
    "spark.sql.session.timezone": TIME_ZONE,
    "table.local-time-zone": TIME_ZONE,
}


def known_setting(name: str, span: Span | None = None, idle: tuple[str, ...] = ()) -> str:
    """The name of a setting as it is kept; SqlError for one that there is not, or that Spark has read already.

    One that begins as `idle` says is another system's, and is kept, unless it is nearly one that has a meaning.
    """
    lower = name.lower()
    if lower in _OTHER_NAMES:
        return _OTHER_NAMES[lower]
    if lower.startswith(SPARK):
        return _of_spark(name, span)
    known = [item.name for item in SETTINGS]
    if lower in known:
        return lower
    if lower.startswith(idle) and not did_you_mean(lower, known, cutoff=_NEARLY_MEANT):
        return lower
    near = did_you_mean(lower, known) or _spark_without_prefix(lower)
    hint = f"the settings are {', '.join(known)}, and those of Spark, which begin with spark."
    raise SqlError(Diagnostic("UNKNOWN_SETTING", f"there is no setting {name[:60]!r}", span, near, hint))


def without_meaning(settings: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """A warning for each setting that is another system's."""
    known = {item.name for item in SETTINGS}
    idle = (name for name in settings if name not in known and not name.lower().startswith(SPARK))
    return tuple(
        Diagnostic("NO_MEANING", f"the setting {name!r} has no meaning here", hint=_IDLE_HINT, severity="warning")
        for name in idle
    )


_IDLE_HINT = "it changes no answer; leave it out"


def check_setting(name: str, value: str, span: Span | None = None) -> None:
    """UnsupportedError for what would switch ANSI mode off, by which types and errors go, or have Penstock misread SQL.

    SqlError for a bad value.
    """
    if name == ANSI and value.strip().lower() != "true":
        raise UnsupportedError(Diagnostic("ANSI_MODE", f"{ANSI} cannot be {value[:60]!r}", span, hint=_ANSI_HINT))
    check_meaning(name, value, span)
    choices = _CHOICES.get(name)
    if choices is not None and value.strip().lower() not in choices:
        near = did_you_mean(value.strip().lower(), choices)
        message = f"{name} cannot be {value[:60]!r}: expected {', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}"
        raise SqlError(Diagnostic("BAD_SETTING", message, span, near))
    if name == MEMORY_LIMIT and bytes_allowed(value) is None:
        message = f"{MEMORY_LIMIT} cannot be {value[:60]!r}: expected {MEMORY_SIZES}"
        raise SqlError(Diagnostic("BAD_SETTING", message, span))
    if name == MAX_NESTING and not _NESTING.fullmatch(value.strip()):
        message = f"{MAX_NESTING} cannot be {value[:60]!r}: expected a number from 1 to 99999"
        raise SqlError(Diagnostic("BAD_SETTING", message, span))
    if name == STATE_SECONDS and not _SECONDS.fullmatch(value.strip()):
        message = f"{STATE_SECONDS} cannot be {value[:60]!r}: expected a number of seconds, such as '10'"
        raise SqlError(Diagnostic("BAD_SETTING", message, span))


def cuts_log(settings: Mapping[str, str]) -> bool:
    """True if the log loses what neither going on nor a history needs."""
    return settings.get(LOG_RETENTION, WHOLE_LOG).strip().lower() == LOG_FOR_RECOVERY


def state_seconds_of(settings: Mapping[str, str]) -> float:
    """The seconds of steps after which a program's state is written."""
    return float(settings.get(STATE_SECONDS, DEFAULT_STATE_SECONDS))


def engine_of(settings: Mapping[str, str]) -> str:
    """The engine that a program asks for: 'auto', 'native' or 'spark'."""
    return settings.get(ENGINE, DEFAULT_ENGINE).lower()


def why_on_spark(settings: Mapping[str, str], *, local: bool) -> str:
    """The reason for which all operators work on Spark; empty if each is judged by what of it is proven.

    `settings` are those in effect, of the session too. `auto` wants the process where Spark is `local` too. Nothing is
    proven of times in another zone than UTC, nor under settings of Spark by which an expression means something else.
    """
    wanted, zone = engine_of(settings), settings.get(TIME_ZONE, UTC)
    if wanted == ON_SPARK:
        return f"{ENGINE} = '{ON_SPARK}'"
    if zone != UTC:
        return f"times in {zone}, which are not proven"
    return why_not_proven(settings) or ("a master that is not this machine" if wanted == AUTO and not local else "")


def memory_limit_of(settings: Mapping[str, str]) -> str:
    """The memory that a program allows its state in the process."""
    return settings.get(MEMORY_LIMIT, DEFAULT_MEMORY_LIMIT)


def check_conf(conf: Mapping[str, str]) -> None:
    """The same for settings that a session is opened with; SqlError for a name that is one of Spark's with a slip."""
    for name, value in conf.items():
        meant = _slipped(name)
        if meant:
            raise SqlError(Diagnostic("UNKNOWN_SETTING", f"Spark has no setting {name[:100]!r}", None, meant))
        check_setting(name, value)


def _slipped(name: str) -> tuple[str, ...]:
    """The settings of Spark that are meant; none for a name that a library, or a part of Spark, may have.

    Spark starts with many that it does not list, of which some are nearly the same as others.
    """
    known = spark_settings()
    if not name.lower().startswith(SPARK) or name.lower() in known:
        return ()
    near = did_you_mean(name, [item.name for item in known.values()], cutoff=_NEARLY)
    return tuple(item for item in near if _is_slip(name.lower().split("."), item.lower().split(".")))


def _is_slip(typed: Sequence[str], meant: Sequence[str]) -> bool:
    """True if each word is the one meant, but for one letter or the order of two."""
    return len(typed) == len(meant) and all(map(_is_nearly, typed, meant))


def _is_nearly(one: str, other: str) -> bool:
    pairs = list(zip(one, other, strict=False))
    at = next((at for at, (left, right) in enumerate(pairs) if left != right), len(pairs))
    rest, others = one[at:], other[at:]
    turned = rest[1::-1] + rest[2:]
    return others in (rest, turned, rest[1:]) or others[1:] in (rest, rest[1:])


_ANSI_HINT = "ANSI mode is always on; try_cast, try_divide, try_add, try_to_timestamp and their like give NULL"


def check_ansi(value: str | None) -> None:
    """UnsupportedError for a session that somebody has taken out of ANSI mode while a pipeline works in it."""
    if value != "true":
        message = f"{ANSI} of the SparkSession has been set to {value!r} while a pipeline works in it"
        raise UnsupportedError(Diagnostic("ANSI_MODE", message, hint=f"set it to true again: {_ANSI_HINT}"))


def _spark_without_prefix(lower: str) -> tuple[str, ...]:
    known = spark_settings()
    return tuple(known[name].name for name in (f"{SPARK}sql.{lower}", SPARK + lower) if name in known)


def _of_spark(name: str, span: Span | None) -> str:
    lower = name.lower()
    found = spark_settings().get(lower)
    if lower.startswith(_AT_START) or (found is not None and found.at_start):
        message = f"{name[:100]} is read when Spark starts; SET comes too late for it"
        hint = "--master at the command line, master= in Python" if lower == "spark.master" else _AT_THE_START
        raise SqlError(Diagnostic("STATIC_SETTING", message, span, hint=hint))
    if found is not None:
        return found.name
    near = did_you_mean(lower, [item.name for item in spark_settings().values()], cutoff=_NEARLY)
    if near:
        raise SqlError(Diagnostic("UNKNOWN_SETTING", f"Spark has no setting {name[:100]!r}", span, near))
    return name


_AT_THE_START = "--conf name=value at the command line, conf={name: value} in Python"


@dataclass(frozen=True, slots=True)
class SparkSetting:
    """A setting of Spark in its own spelling; `at_start` if it cannot be set later."""

    name: str
    at_start: bool


@cache
def spark_settings() -> Mapping[str, SparkSetting]:
    """Lower-case name → setting, for all that Spark lists."""
    text = files("penstock.catalog").joinpath("spark_settings.txt").read_text(encoding="utf-8")
    found = (SparkSetting(line.removeprefix("="), line.startswith("=")) for line in text.split())
    return {item.name.lower(): item for item in found}
