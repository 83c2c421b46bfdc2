"""Above the engine only the public API names a DataFrame or a session, and nothing reaches for the backend's share."""

import ast
from pathlib import Path

import penstock

ROOT = Path(penstock.__file__).parent
ABOVE = ("emit", "steps", "sources", "outputs", "relational", "watching", "pipeline")
# What users give or get: a session to work on, the rows of an answer or of a change.
PUBLIC = {
    "pipeline/answer.py": {"DataFrame"},
    "pipeline/opening.py": {"SparkSession"},
    "pipeline/pipeline.py": {"SparkSession"},
    "relational/relation.py": {"DataFrame"},
    "steps/change.py": {"DataFrame"},
}


def _trees():
    for folder in ABOVE:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text())


def _of_spark(tree):
    """The names that a module has of PySpark, wherever it imports them, for types alone or not."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "pyspark":
            yield from (item.name for item in node.names)
        elif isinstance(node, ast.Import):
            yield from (item.name for item in node.names if item.name.split(".")[0] == "pyspark")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("pyspark"):
            yield node.value


def test_only_the_public_api_names_types_of_spark():
    found = {name: set(_of_spark(tree)) for name, tree in _trees()}
    assert {name: names for name, names in found.items() if names} == PUBLIC


def test_the_engine_is_asked_and_not_its_workspace():
    found = [
        (name, node.lineno)
        for name, tree in _trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "workspace" and _is_engine(node.value)
    ]
    assert found == []


def _is_engine(value):
    name = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
    return name in {"engine", "_engine"}
