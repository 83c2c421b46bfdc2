"""The join of two relations: its kind, and ON or USING."""

from __future__ import annotations

from typing import Any

from penstock.errors import Diagnostic, SqlError, did_you_mean
from penstock.relational.columns import AND, Column
from penstock.relational.writing import named

_KINDS = {
    "inner": "JOIN",
    "left": "LEFT JOIN",
    "right": "RIGHT JOIN",
    "full": "FULL JOIN",
    "cross": "CROSS JOIN",
    "semi": "LEFT SEMI JOIN",
    "anti": "LEFT ANTI JOIN",
}
_OTHER_NAMES = {
    "left_outer": "left",
    "leftouter": "left",
    "right_outer": "right",
    "rightouter": "right",
    "full_outer": "full",
    "fullouter": "full",
    "outer": "full",
    "left_semi": "semi",
    "leftsemi": "semi",
    "left_anti": "anti",
    "leftanti": "anti",
}


def kind_of(how: str) -> str:
    """The kind of a join by its name in PySpark: 'inner', 'left', 'right', 'full', 'cross', 'semi' or 'anti'."""
    lower = how.lower()
    kind = _OTHER_NAMES.get(lower, lower)
    if kind not in _KINDS:
        close = did_you_mean(how, [*_KINDS, *_OTHER_NAMES])
        hint = f"one of {', '.join(_KINDS)}"
        raise SqlError(Diagnostic("PYTHON_CALL", f"{how!r} is no kind of join", candidates=close, hint=hint))
    return kind


def keeps_filter(kind: str) -> bool:
    """True for a kind of join before which a condition on the left side says the same as behind it."""
    return kind not in {"right", "full"}


def join_clause(relation: str, on: Any, kind: str) -> str:
    """The text of a join; `on` is a condition, or names of columns that both sides have."""
    head = f"{_KINDS[kind]} {relation}"
    if on is None:
        if kind != "cross":
            hint = "on='k', on=['a', 'b'] or on=col('l.a') == col('r.b'); how='cross' takes all pairs"
            raise SqlError(Diagnostic("PYTHON_CALL", "nothing says which rows belong together", hint=hint))
        return head
    if kind == "cross":
        hint = "leave `on` out, or how='inner'"
        raise SqlError(Diagnostic("PYTHON_CALL", "a cross join takes all pairs and no condition", hint=hint))
    if isinstance(on, Column):
        return f"{head} ON {on.text}"
    names = [on] if isinstance(on, str) else list(on)
    conditions = [item.within(AND) for item in names if isinstance(item, Column)]
    if conditions and len(conditions) == len(names):
        return f"{head} ON {' AND '.join(conditions)}"
    return f"{head} USING ({', '.join(map(named, names))})"
