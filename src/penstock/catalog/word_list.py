"""Lists of names and key words, written as one text."""

from __future__ import annotations


def word_list(text: str) -> tuple[str, ...]:
    """The words of a text, which is shorter to read than so many texts in quotes."""
    return tuple(text.split())
