"""The end of a statement that is typed: a semicolon outside quotes and comments ends it."""

from __future__ import annotations

import re

_SKIPPED = re.compile(r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`(?:[^`]|``)*`|--[^\n]*|/\*.*?\*/""", re.DOTALL)
_OPEN = re.compile(r"""['"`]|/\*""")
_SET = re.compile(r"(?:^|;)\s*(?:EXECUTE\s+STATEMENT\s+SET\s+BEGIN|BEGIN\s+STATEMENT\s+SET)\b", re.IGNORECASE)
_END = re.compile(r";\s*END\s*;", re.IGNORECASE)


def is_complete(text: str) -> bool:
    """True if Enter runs the text: it ends with a semicolon, is empty, or is a dot command."""
    if not text.strip() or text.lstrip().startswith("."):
        return True
    bare = _SKIPPED.sub(lambda found: "" if found[0].startswith(("--", "/*")) else "''", text).replace("''", "")
    return bare.rstrip().endswith(";") and _OPEN.search(bare) is None and not _is_in_set(bare)


def _is_in_set(text: str) -> bool:
    """True inside a set of statements, which is one statement up to its END."""
    last = next(reversed(list(_SET.finditer(text))), None)
    return last is not None and _END.search(text, last.end()) is None
