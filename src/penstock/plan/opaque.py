"""The text of a recomputed query, with places for its relations.

`{0}`, `{1}` … stand for the relations; a brace of the query itself is doubled, as a regular expression may have `{2}`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_PLACE = re.compile(r"\{\{|\{(\d+)\}")


def escaped(text: str) -> str:
    """A query's text before places are put into it."""
    return text.replace("{", "{{")


def filled(text: str, relations: Sequence[str]) -> str:
    """The query with its relations in their places."""
    return _PLACE.sub(lambda found: "{" if found[1] is None else relations[int(found[1])], text)
