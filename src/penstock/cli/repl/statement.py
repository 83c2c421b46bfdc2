"""The end of a statement that is typed: a semicolon outside quotes and comments ends it."""

from __future__ import annotations

import re

_SKIPPED = re.compile(r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`(?:[^`]|``)*`|--[^\n]*|/\*.*?\*/""", re.DOTALL)
_OPEN = re.compile(r"""['"`]|/\*""")


def is_complete(text: str) -> bool:
    """True if Enter runs the text: it ends with a semicolon, is empty, or is a dot command."""
    if not text.strip() or text.lstrip().startswith("."):
        return True
    bare = _SKIPPED.sub(lambda found: "" if found[0].startswith(("--", "/*")) else "''", text).replace("''", "")
    return bare.rstrip().endswith(";") and _OPEN.search(bare) is None
