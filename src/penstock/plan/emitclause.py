"""The text of EMIT to its value: both grammars of Timeplus, and that of "One SQL to Rule Them All".

    EMIT [STREAM | CHANGES | CHANGELOG | DELTA] part [AND] part …

A part says when rows are shown (a trigger), or bounds that: WITH DELAY, TIMEOUT, LAST. Parts stand in any order, each
once; docs/reference/emit.md has the list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType

from penstock.errors import Diagnostic, Span, SqlError, did_you_mean
from penstock.plan.emission import (
    Batch,
    Bound,
    EmitClause,
    GroupDelay,
    Last,
    Row,
    SessionClose,
    Tick,
    Trigger,
    WindowClose,
)
from penstock.sql.clausewords import ClauseWords, read_length

_CLAUSE = "EMIT_CLAUSE"
_TOGETHER = "EMIT_NOT_TOGETHER"
_FORMS = (
    "AFTER WATERMARK, PERIODIC 5s, ON UPDATE, PER EVENT, AFTER DELAY 5s, AFTER SESSION CLOSE, TIMEOUT 5s or LAST 1h"
)
_KEEP_ONE = "keep one of them"
_FIRST_WORDS: Mapping[str, str] = MappingProxyType(
    {"STREAM": "STREAM", "CHANGES": "CHANGES", "CHANGELOG": "CHANGES", "DELTA": "DELTA"}
)
_BEFORE_EMIT = (
    "WHERE", "GROUP BY", "HAVING", "QUALIFY", "PARTITION BY", "ORDER BY", "LIMIT", "OFFSET",
    "UNION", "INTERSECT", "EXCEPT",
)  # fmt: skip
_MISPLACED: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(_FIRST_WORDS, "one of STREAM, CHANGELOG and DELTA can stand, directly behind EMIT"),
        "EMIT": "a query has one EMIT: say both in it, or write two queries",
        "AND": "AND stands between two parts",
        "BATCH": "WITH BATCH stands directly behind ON UPDATE",
        "MAXSPAN": "WITH MAXSPAN stands directly behind AFTER SESSION CLOSE [IDENTIFIED BY …]",
        "ONLY": "WITH ONLY MAXSPAN stands directly behind AFTER SESSION CLOSE [IDENTIFIED BY …]",
        "IDENTIFIED": "IDENTIFIED BY stands directly behind AFTER SESSION CLOSE",
        "REPEAT": "REPEAT stands directly behind PERIODIC and its interval",
        "PROCTIME": "ON PROCTIME stands directly behind LAST and its interval",
        "FINAL": "AFTER WATERMARK shows rows that are final",
        **{clause: f"{clause} stands before EMIT" for clause in _BEFORE_EMIT},
    }
)


@dataclass(frozen=True, slots=True)
class _Delay:
    length: timedelta


@dataclass(frozen=True, slots=True)
class _Timeout:
    length: timedelta


_Part = Trigger | Last | _Delay | _Timeout


@dataclass(frozen=True, slots=True)
class _Read:
    """A part and its place."""

    part: _Part
    span: Span


def read_emit(text: str, span: Span | None = None) -> EmitClause:
    """The clause that a text is, from the word EMIT on; `span` is its place in the program.

    Raises SqlError at the place of what does not fit: EMIT_CLAUSE, EMIT_LENGTH or EMIT_NOT_TOGETHER.
    """
    words = ClauseWords(text, span)
    if not words.accept("EMIT"):
        raise words.error(_CLAUSE, f"expected EMIT, {words.found}")
    if words.next is None:
        raise words.error(_CLAUSE, "EMIT says nothing", hint=f"write behind it {_FORMS}, or leave it out")
    word = _FIRST_WORDS.get(words.peek())
    words.place += word is not None
    read: list[_Read] = []
    while words.next is not None:
        read.append(_part(words, first=not read))
    return _composed(word, read, words)


def emit_in_subquery(text: str, span: Span) -> SqlError:
    """The error for an EMIT that does not stand at the end of the whole query."""
    hint = "EMIT stands at the end of the whole query: it says when the answer is shown"
    return SqlError(Diagnostic("EMIT_IN_SUBQUERY", f"{text} in a sub-query", span, hint=hint))


# One part


def _part(words: ClauseWords, *, first: bool) -> _Read:
    if not first and words.accept("AND") and words.next is None:
        raise words.error(_CLAUSE, "AND is followed by nothing", hint=f"EMIT has the parts {_FORMS}")
    began = words.place
    for phrase, read in _PARTS.items():
        if words.accept(*phrase):
            return _Read(read(words), words.since(began))
    raise _unknown(words)


def _unknown(words: ClauseWords) -> SqlError:
    """The error for words that begin no part, or begin one and do not go on as it does."""
    word, phrases = words.peek(), [phrase for phrase in _PARTS if phrase[0] == words.peek()]
    if not phrases:
        message = "EMIT stands twice in one query" if word == "EMIT" else f"EMIT has no such part, {words.found}"
        close = () if word in _MISPLACED else did_you_mean(word, _BEGINNINGS)
        return words.error(_CLAUSE, message, candidates=close, hint=_MISPLACED.get(word, f"it has {_FORMS}"))
    depth = 1
    while deeper := [phrase for phrase in phrases if words.peek(depth) in phrase[depth : depth + 1]]:
        phrases, depth = deeper, depth + 1
    written = words.written(words.ahead(depth))
    words.place += depth
    expected = ", ".join(" ".join(phrase[depth:]) for phrase in phrases)
    message = f"{written} is followed by {expected}; {words.found}"
    return words.error(_CLAUSE, message, hint=_MISPLACED.get(words.peek()))


def _window_close(_words: ClauseWords) -> WindowClose:
    return WindowClose()


def _row(_words: ClauseWords) -> Row:
    return Row()


def _group_delay(words: ClauseWords) -> GroupDelay:
    return GroupDelay(read_length(words, "AFTER DELAY"))


def _tick(words: ClauseWords) -> Tick:
    return Tick(read_length(words, "PERIODIC"), repeat=words.accept("REPEAT"))


def _batch(words: ClauseWords) -> Batch:
    return Batch(read_length(words, "WITH BATCH") if words.accept("WITH", "BATCH") else None)


def _delay(words: ClauseWords) -> _Delay:
    return _Delay(read_length(words, "WITH DELAY"))


def _timeout(words: ClauseWords) -> _Timeout:
    return _Timeout(read_length(words, "TIMEOUT"))


def _last(words: ClauseWords) -> Last:
    interval = read_length(words, "LAST")
    if not words.accept("ON"):
        return Last(interval)
    if words.accept("PROCTIME"):
        return Last(interval, on_proctime=True)
    hint = "write ON UPDATE before LAST" if words.peek() == "UPDATE" else "without ON the time of the row itself counts"
    raise words.error(_CLAUSE, f"LAST … ON is followed by PROCTIME, {words.found}", hint=hint)


def _session_close(words: ClauseWords) -> SessionClose:
    time, start, end = _identified(words) if words.accept("IDENTIFIED", "BY") else (None, None, None)
    only = words.accept("WITH", "ONLY", "MAXSPAN")
    if not only and not words.accept("WITH", "MAXSPAN"):
        hint = "as in AFTER SESSION CLOSE WITH MAXSPAN 10m"
        raise words.error(_CLAUSE, f"AFTER SESSION CLOSE needs WITH [ONLY] MAXSPAN, {words.found}", hint=hint)
    return SessionClose(read_length(words, "MAXSPAN", ("ms", "s", "m")), only, time, start, end)


_Identified = tuple[str, Bound | None, Bound | None]


def _identified(words: ClauseWords) -> _Identified:
    """`time`, or `(time, start, end)`; in parentheses `time` may stand alone too."""
    began = words.place
    if not words.accept("("):
        column = _column(words)
        if words.next is not None and words.next.column is None:  # a qualifier, an operator, another column
            raise _not_identified(words)
        return column, None, None
    time, bounds = _column(words), []
    while words.accept(","):
        bounds.append(_bound(words))
    if not words.accept(")"):
        raise _not_identified(words)
    match bounds:
        case []:
            return time, None, None
        case [start, end]:
            return time, start, end
    raise _not_identified(words, words.since(began))


def _bound(words: ClauseWords) -> Bound:
    for constant in (True, False):
        if words.accept(str(constant).upper()):
            return constant
    return _column(words)


def _column(words: ClauseWords) -> str:
    found = words.next
    if found is None or found.column is None or found.word in {"TRUE", "FALSE", "WITH", "AND"}:
        raise _not_identified(words)
    words.place += 1
    return found.column


def _not_identified(words: ClauseWords, span: Span | None = None) -> SqlError:
    found = words.found if span is None else f"found {words.written(span)}"
    message = f"IDENTIFIED BY takes one column, or (time, start, end) of columns, true and false; {found}"
    return words.error(_CLAUSE, message, span, hint="compute a condition as a column, in a query in FROM")


_PARTS: Mapping[tuple[str, ...], Callable[[ClauseWords], _Part]] = MappingProxyType(
    {
        ("AFTER", "WATERMARK"): _window_close,
        ("AFTER", "WINDOW", "CLOSE"): _window_close,
        ("AFTER", "DELAY"): _group_delay,
        ("AFTER", "SESSION", "CLOSE"): _session_close,
        ("AFTER", "KEY", "EXPIRE"): _session_close,
        ("PERIODIC",): _tick,
        ("ON", "WINDOW", "CLOSE"): _window_close,
        ("ON", "UPDATE"): _batch,
        ("PER", "EVENT"): _row,
        ("WITH", "DELAY"): _delay,
        ("TIMEOUT",): _timeout,
        ("LAST",): _last,
    }
)
_BEGINNINGS = (*_FIRST_WORDS, *dict.fromkeys(phrase[0] for phrase in _PARTS))


# All parts together


def _composed(word: str | None, read: list[_Read], words: ClauseWords) -> EmitClause:
    by_kind: dict[type, _Read] = {}
    for item in read:
        if by_kind.setdefault(type(item.part), item) is not item:
            one, other = (words.written(part.span) for part in (by_kind[type(item.part)], item))
            raise words.error(_TOGETHER, f"{one} and {other} say the same thing twice", item.span, hint=_KEEP_ONE)
    trigger = _trigger(read, words)
    _refuse_beside(trigger, by_kind, words)
    delay, timeout, last = (by_kind[kind].part if kind in by_kind else None for kind in (_Delay, _Timeout, Last))
    return EmitClause(
        word,
        trigger,
        delay.length if isinstance(delay, _Delay) else None,
        timeout.length if isinstance(timeout, _Timeout) else None,
        last if isinstance(last, Last) else None,
        words.span,
    )


def _trigger(read: list[_Read], words: ClauseWords) -> Trigger | None:
    """The trigger that all triggers say together."""
    found: Trigger | None = None
    before: Span | None = None
    for item in read:
        if isinstance(item.part, _Delay | _Timeout | Last):
            continue
        both = item.part if found is None else _both(found, item.part)
        if both is None:
            message = f"{words.written(before or item.span)} and {words.written(item.span)} do not go together"
            raise words.error(_TOGETHER, message, item.span, hint=_remedy(found, item.part))
        found, before = both, item.span
    return found


def _both(one: Trigger | None, other: Trigger) -> Trigger | None:
    """The trigger that two of them are, in either order; None where each says by itself when rows are shown."""
    match one, other:
        case (GroupDelay(length, False), WindowClose()) | (WindowClose(), GroupDelay(length, False)):
            return GroupDelay(length, and_watermark=True)
        case (Tick(every, False), Batch(None)) | (Batch(None), Tick(every, False)):
            return Batch(every)
    return None


def _remedy(one: Trigger | None, other: Trigger) -> str:
    match one, other:
        case (Tick(_, True), Batch()) | (Batch(), Tick(_, True)):
            return "leave REPEAT out: ON UPDATE shows only what has changed"
        case (Tick(), Batch()) | (Batch(), Tick()):
            return "say the interval once: ON UPDATE WITH BATCH 5s is PERIODIC 5s ON UPDATE"
    return "each says when rows are shown: keep one"


def _refuse_beside(trigger: Trigger | None, read: Mapping[type, _Read], words: ClauseWords) -> None:
    """Raise SqlError for what cannot stand beside the trigger."""
    if _Delay in read and trigger is None:
        message = "WITH DELAY says for how long late rows are waited for, and needs to be told when rows are shown"
        raise words.error(_CLAUSE, message, read[_Delay].span, hint="as in AFTER WATERMARK WITH DELAY 5s")
    if _Delay in read and isinstance(trigger, SessionClose):
        hint = "MAXSPAN bounds a session, and TIMEOUT closes it"
        message = "AFTER SESSION CLOSE and WITH DELAY do not go together"
        raise words.error(_TOGETHER, message, read[_Delay].span, hint=hint)
    if Last in read and isinstance(trigger, Row | GroupDelay | SessionClose):
        message = f"{trigger} and LAST do not go together"
        raise words.error(_TOGETHER, message, read[Last].span, hint="LAST goes with PERIODIC, or stands alone")
    if _Timeout in read and isinstance(trigger, SessionClose):
        _refuse_short(trigger, read[_Timeout], words)


def _refuse_short(trigger: SessionClose, timeout: _Read, words: ClauseWords) -> None:
    if isinstance(timeout.part, _Timeout) and timeout.part.length < trigger.maxspan:
        message = f"TIMEOUT is shorter than MAXSPAN, found {words.written(timeout.span)}"
        raise words.error(_TOGETHER, message, timeout.span, hint="a session may last as long as MAXSPAN says")
