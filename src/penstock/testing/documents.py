"""YAML as a tree of nodes that know their place, under the rules of YAML 1.2 for scalars.

YAML 1.1, which PyYAML speaks, reads `10:17:00` as 37020, `on` as true, `1e16` as text and a date as a date; a case
file means none of that. Aliases are followed; a tag is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

from penstock.errors import DataError, Diagnostic, Span

_INT = re.compile(r"[-+]?[0-9]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False, ".nan": float("nan")}
_INFINITE = {".inf": float("inf"), "+.inf": float("inf"), "-.inf": float("-inf")}


@dataclass(frozen=True, eq=False)
class Node:
    """One node: `content` is a scalar, a list of nodes, or a dict from key node to node."""

    start: int
    end: int
    content: Any

    @property
    def kind(self) -> str:
        """The kind of the node, for messages."""
        names = {dict: "a mapping", list: "a list", str: "text", type(None): "nothing"}
        return names.get(type(self.content), f"the value {self.content!r}")

    def value(self) -> Any:
        """The plain Python value, without places."""
        if isinstance(self.content, list):
            return [item.value() for item in self.content]
        if isinstance(self.content, dict):
            return {key.value(): item.value() for key, item in self.content.items()}
        return self.content


def parse_yaml(text: str, name: str) -> Node:
    """The only document in the text; `name` stands in the messages. Raises DataError with the place."""
    try:
        root = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        raise _broken(error, text, name) from None
    except yaml.YAMLError as error:
        raise DataError(Diagnostic("CASE_FILE_YAML", f"{name}: {error}")) from None
    if root is None:
        raise DataError(Diagnostic("CASE_FILE", f"{name}: the file is empty"))
    return _node(root, text, name)


def _broken(error: yaml.MarkedYAMLError, text: str, name: str) -> DataError:
    mark = error.problem_mark or error.context_mark
    message = f"{name}: this is not YAML: {error.problem or error.context}"
    span = None if mark is None else Span(mark.index, mark.index + 1)
    return DataError(
        Diagnostic("CASE_FILE_YAML", message, span, hint="Quote text that holds ': ' or starts with a bracket."), text
    )


def _node(node: yaml.Node, text: str, name: str) -> Node:
    start, end = node.start_mark.index, node.end_mark.index
    if isinstance(node, yaml.SequenceNode):
        return Node(start, end, [_node(item, text, name) for item in node.value])
    if isinstance(node, yaml.MappingNode):
        return Node(start, end, _mapping(node, text, name))
    return Node(start, end, _scalar(node))


def _mapping(node: yaml.MappingNode, text: str, name: str) -> dict[Node, Node]:
    seen: set[str] = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode) and key.value in seen:
            place = Span(key.start_mark.index, key.end_mark.index)
            raise DataError(
                Diagnostic("CASE_FILE_YAML", f"{name}: the key {key.value!r} stands here twice", place), text
            )
        seen.add(str(key.value))
    return {_node(key, text, name): _node(value, text, name) for key, value in node.value}


def _scalar(node: yaml.Node) -> Any:
    """The value of a scalar under YAML 1.2's core schema; quoted and block scalars are text."""
    written: str = node.value
    if getattr(node, "style", None):
        return written
    lower = written.lower()
    if lower in _WORDS:
        return _WORDS[lower]
    if lower in _INFINITE:
        return _INFINITE[lower]
    if _INT.fullmatch(written):
        return int(written)
    if _HEX.fullmatch(written):
        return int(written, 16)
    return float(written) if _FLOAT.fullmatch(written) else written
