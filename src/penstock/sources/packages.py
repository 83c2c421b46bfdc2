"""Packages that come with an extra: what needs them is known before anything runs, and they are loaded when it does."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol

from penstock.catalog.properties import CONNECTOR, Placed, value_place
from penstock.errors import Diagnostic, UnsupportedError


class Relation(Placed, Protocol):
    """A table, or an output, with its properties."""

    @property
    def properties(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class Extra:
    """The module that something needs, and the extra of Penstock that brings it."""

    module: str
    name: str

    @property
    def is_there(self) -> bool:
        """True if the module can be imported; it is not."""
        try:
            return find_spec(self.module) is not None
        except (ModuleNotFoundError, ValueError):  # the package that it is a part of; or one without a spec
            return False

    @property
    def hint(self) -> str:
        """The command that installs it."""
        return f"pip install 'penstock[{self.name}]'"


_KAFKA, _LAKE = Extra("confluent_kafka", "kafka"), "lake"
_CONNECTORS: Mapping[str, Extra] = {
    "kafka": _KAFKA,
    "upsert-kafka": _KAFKA,
    "delta": Extra("deltalake", _LAKE),
    "iceberg": Extra("pyiceberg", _LAKE),
    "postgres": Extra("psycopg", "postgres"),
}
_FORMATS: Mapping[str, Extra] = {
    "avro": Extra("fastavro", "formats"),
    "protobuf": Extra("google.protobuf", "formats"),
}
_OF_FORMAT = ("format", "key.format", "value.format")


def check_packages(relation: Relation, what: str) -> None:
    """UnsupportedError for a connector or a format whose package is not installed, at the property that names it."""
    for name, extra in _needed(relation.properties):
        check_extra(relation, name, extra, what)


def check_extra(relation: Relation, name: str, extra: Extra, what: str) -> None:
    """The same of one property that has a value which needs an extra."""
    if not extra.is_there:
        value = f"'{name}' = '{relation.properties[name][:60]}'"
        message = f"{what}: {value} needs a package that is not installed: {extra.module}"
        raise UnsupportedError(Diagnostic("MISSING_PACKAGE", message, value_place(relation, name), hint=extra.hint))


def _needed(properties: Mapping[str, str]) -> Iterator[tuple[str, Extra]]:
    connector = properties.get(CONNECTOR, "").lower()
    if connector in _CONNECTORS:
        yield CONNECTOR, _CONNECTORS[connector]
    for name in _OF_FORMAT if connector != "spark" else ():  # Spark has formats of its own
        extra = next((item for word, item in _FORMATS.items() if word in properties.get(name, "").lower()), None)
        if extra is not None:
            yield name, extra


def package(module: str, what: str, extra: str) -> Any:
    """A module; UnsupportedError, which says what needs it and how to have it, if it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        message = f"{what} needs a package that is not installed: {error.name or module}"
        raise UnsupportedError(Diagnostic("MISSING_PACKAGE", message, hint=Extra(module, extra).hint)) from None
