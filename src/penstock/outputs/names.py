"""The name of a view as that of a file or folder.

Letters, digits, `_`, `-`, and a dot that is not the first character are themselves; anything else is `%` and two
hexadecimal digits for each byte of UTF-8, as in addresses: `../x` is `%2E.%2Fx`. So no name leads out of its folder,
and `view_name` has it back.
"""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

_PLAIN = frozenset("_-")


def file_name(view: str) -> str:
    """The name of a file or folder for a view."""
    return "".join(_safe(character, first=not at) for at, character in enumerate(view))


def view_name(file: str) -> str:
    """The view that a file or folder is named for."""
    return unquote_to_bytes(file).decode("utf-8", "surrogatepass")


def _safe(character: str, *, first: bool) -> str:
    if character.isalnum() or character in _PLAIN or (character == "." and not first):
        return character
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))
