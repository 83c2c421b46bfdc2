"""Passwords that somebody has written into a program, which no message and no shown line of its text may have.

`'${env:NAME}'` and `'${file:PATH}'` keep them out of a program. Where one stands in it all the same, stars take the
place of its letters, as many as it has, so that what stands behind it stays where it is:

    'connection' = 'postgresql://shop:*****@db/shop'    in an address, between the name and the @
    'connection' = 'host=db password=*****'             in the words of a connection, or in the query of an address
    'properties.sasl.password' = '*****'                the value of a property whose name says that it is one
"""

from __future__ import annotations

import re

_IN_ADDRESS = re.compile(r"(://[^\s/:@'\"]*:)([^\s'\"]+)(?=@)")
_LITERAL = r"'(?:[^']|'')*'"
_IN_LITERALS = re.compile(_LITERAL)
_WORDS = r"pass?word|passwd|passphrase|pwd|secret"
_IN_WORDS = re.compile(rf"((?:{_WORDS})\s*=\s*)(''[^']*''|[^\s'&;]+)", re.IGNORECASE)
_NAMES = rf"{_WORDS}|token|credential|user-info|authorization|jaas|api.?key|access.?key"
_NAME = rf"'[^'\s]*(?:{_NAMES})[^'\s]*'|(?<![\w.'-])[\w.-]*(?:{_WORDS})[\w.-]*"
_VALUE_OF = re.compile(rf"((?:{_NAME})\s*=?\s*)({_LITERAL})", re.IGNORECASE)
_REFERENCE = re.compile(r"(\$\{[^}]*\})")


def concealed(text: str) -> str:
    """The text, as of a message or a line of a program, without passwords."""
    if "'" in text:
        text = _VALUE_OF.sub(lambda found: f"{found[1]}'{_stars(found[2][1:-1])}'", text)
        text = _IN_LITERALS.sub(lambda found: _IN_WORDS.sub(_second, found[0]), text)
    return _IN_ADDRESS.sub(_second, text) if "://" in text else text


def _second(found: re.Match[str]) -> str:
    return found[1] + _stars(found[2])


def _stars(text: str) -> str:
    """Stars for all letters but those of `${env:NAME}` and `${file:PATH}`, which are no secrets."""
    parts = _REFERENCE.split(text)
    return "".join(part if at % 2 else "*" * len(part) for at, part in enumerate(parts))
