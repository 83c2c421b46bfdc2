"""The settings of Spark by which the same SQL means something else, and what becomes of a program under each.

They stand in `spark_meanings.txt`, each with the value that Penstock assumes and with what it decides:

refused  Penstock itself reads, binds or checks a program by that value, so that both engines would be wrong
spark    expressions are proven for that value alone: under another one all of a program works on Spark
none     no answer of Penstock depends on it

Nothing is known of a setting of Spark SQL that is not there, which another version or a library has: it is as `spark`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files

from penstock.errors import Diagnostic, Span, UnsupportedError

SPARK_SQL = "spark.sql."
REFUSED, SPARK_ALONE, NONE = "refused", "spark", "none"
_NO_VALUE = ""
_UNKNOWN = "nothing is known of what it decides"
_REFUSED_HINT = "leave it out, or RESET it; of a session, unset it or give another one"


@dataclass(frozen=True, slots=True)
class Meaning:
    """A setting on which answers depend: its name, the value that is assumed, and what it `decides`, in words.

    `assumed` is empty for a setting that has to be left alone.
    """

    name: str
    kind: str
    assumed: str
    decides: str

    def is_assumed(self, value: str) -> bool:
        """True for the value under which Penstock's answers are right."""
        return value.strip().lower() == self.assumed.lower() != _NO_VALUE

    def told(self, value: str) -> str:
        """The setting with a value, as a program would set it."""
        return f"{self.name} = {value.strip()[:60]!r}"


def differing(settings: Mapping[str, str]) -> dict[str, str]:
    """Of settings, in any order, those under which the same SQL may mean something else than is assumed."""
    return {item.name: value for item, value in _differing(settings)}


def check_meaning(name: str, value: str, span: Span | None = None) -> None:
    """UnsupportedError for a value by which Penstock reads a program wrongly."""
    found = meaning_of(name)
    if found is not None and found.kind == REFUSED and not found.is_assumed(value):
        message = f"{found.name} cannot be {value.strip()[:60]!r}: {found.decides}"
        raise UnsupportedError(Diagnostic("SPARK_MEANING", message, span, hint=_REFUSED_HINT))


def check_unchanged(wanted: Mapping[str, str], found: Mapping[str, str]) -> None:
    """UnsupportedError for a session in which somebody has set what SQL means while a pipeline works in it."""
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            now = repr(found[name][:60]) if name in found else "what Spark has"
            message = f"{name} of the SparkSession has been set to {now} while a pipeline works in it"
            raise UnsupportedError(
                Diagnostic("SESSION_DIFFERS", message, hint="set it back, and begin another pipeline")
            )


def why_not_proven(settings: Mapping[str, str]) -> str:
    """The first setting for which nothing is proven, with what it decides; empty if there is none."""
    for item, value in _differing(settings):
        if item.decides == _UNKNOWN:
            return f"{item.told(value)}: {_UNKNOWN}"
        proven = f"{item.assumed!r} alone" if item.assumed else "a session without it"
        return f"{item.told(value)}: {item.decides}; proofs are for {proven}"
    return ""


def meaning_of(name: str) -> Meaning | None:
    """The meaning of a setting; None for one on which no answer depends."""
    lower = name.lower()
    if not lower.startswith(SPARK_SQL):
        return None
    found = meanings().get(lower)
    if found is not None:
        return found
    return None if _is_judged(lower) else Meaning(name, SPARK_ALONE, _NO_VALUE, _UNKNOWN)


def is_judged(name: str) -> bool:
    """True if the list says of a setting of Spark SQL whether answers depend on it."""
    return name.lower() in meanings() or _is_judged(name.lower())


def meanings() -> Mapping[str, Meaning]:
    """Lower-case name → meaning, for all settings on which answers depend, in the order of the list."""
    return _listed()[0]


def without_meaning() -> tuple[tuple[tuple[str, ...], str], ...]:
    """The names, of which a `*` stands for any rest, on which no answer depends, with the reason of each few."""
    return _listed()[1]


def _differing(settings: Mapping[str, str]) -> Iterator[tuple[Meaning, str]]:
    for name, value in sorted(settings.items()):
        found = meaning_of(name)
        if found is not None and not found.is_assumed(value):
            yield found, value


@cache
def _is_judged(lower: str) -> bool:
    return any(fnmatchcase(lower, item.lower()) for names, _ in without_meaning() for item in names)


@cache
def _listed() -> tuple[Mapping[str, Meaning], tuple[tuple[tuple[str, ...], str], ...]]:
    text = files("penstock.catalog").joinpath("spark_meanings.txt").read_text(encoding="utf-8")
    with_meaning: dict[str, Meaning] = {}
    others: list[tuple[tuple[str, ...], str]] = []
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        kind, named, assumed, decides = (part.strip() for part in line.split("|"))
        names = tuple(f"{SPARK_SQL}{name}" for name in named.split())
        if kind == NONE:
            others.append((names, decides))
        else:
            (name,) = names
            with_meaning[name.lower()] = Meaning(name, kind, assumed, decides)
    return with_meaning, tuple(others)
