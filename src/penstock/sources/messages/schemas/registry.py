"""A schema registry: schemas by their numbers, over HTTP as Confluent's has it, or as a folder of files.

A schema never changes, so each is asked for once. A number that the registry does not know is a fault of the message
that has it; a registry that does not answer is waited for, and then ends the run.
"""

from __future__ import annotations

import base64
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

from penstock.errors import DataError, Diagnostic
from penstock.sources.messages.schemas.declared import REGISTRY, USER
from penstock.sources.properties import Declared
from penstock.sources.secrets import expanded, masked, secret_values

_ASKING = 5.0  # seconds for one question
_PAUSE = 0.5
_FORGET = 30.0  # seconds after which an unknown number is asked for again
_LONGEST = 16 << 20
_SEVEN_BITS = 0x7F


class UnknownSchemaError(Exception):
    """There is no schema of that number; the message says where it was looked for."""


@dataclass(frozen=True, slots=True)
class Found:
    """A schema: its text (of Protobuf: the bytes of a FileDescriptorSet), and what it imports."""

    text: str | bytes
    references: Sequence[Mapping[str, Any]] = ()


class Registry(Protocol):
    """Knows schemas by their numbers."""

    def avro(self, number: int) -> Found:
        """A schema of Avro, as JSON; UnknownSchemaError if there is none, DataError if nobody answers."""

    def protobuf(self, number: int) -> Found:
        """A schema of Protobuf, as descriptors. The same errors."""

    def imported(self, reference: Mapping[str, Any]) -> Found:
        """A file that a schema of Protobuf imports. The same errors."""


@dataclass
class HttpRegistry:
    """A registry at an address; `shown` is the address without secrets."""

    url: str
    shown: str
    patience: float
    user: str = ""
    secrets: frozenset[str] = frozenset()
    now: Callable[[], float] = time.monotonic
    _known: dict[str, Found] = field(default_factory=dict)
    _unknown: dict[str, float] = field(default_factory=dict)

    def avro(self, number: int) -> Found:
        """The schema of a number."""
        return self._asked(f"/schemas/ids/{number}", f"schema {number}")

    def protobuf(self, number: int) -> Found:
        """The descriptor of a number."""
        return _descriptor(self._asked(f"/schemas/ids/{number}?format=serialized", f"schema {number}"))

    def imported(self, reference: Mapping[str, Any]) -> Found:
        """The version of a subject."""
        subject, version = quote(str(reference["subject"]), safe=""), int(reference["version"])
        path = f"/subjects/{subject}/versions/{version}?format=serialized"
        return _descriptor(self._asked(path, f"version {version} of {reference['subject']}"))

    def _asked(self, path: str, what: str) -> Found:
        if path in self._known:
            return self._known[path]
        if path not in self._unknown or self.now() - self._unknown[path] >= _FORGET:
            found = self._answered(path)
            if found is not None:
                self._known[path] = found
                self._unknown.pop(path, None)
                return found
            self._unknown[path] = self.now()
        message = f"the registry at {self.shown} knows no {what}"
        raise UnknownSchemaError(message)

    def _answered(self, path: str) -> Found | None:
        """The answer to a question; None for what there is not."""
        until = self.now() + self.patience
        while True:
            try:
                return _found(json.loads(self._fetched(path)))
            except urllib.error.HTTPError as error:
                error.close()
                if error.code == HTTPStatus.NOT_FOUND:
                    return None
                why = f"it answers {error.code} {error.reason}"
                if error.code < HTTPStatus.INTERNAL_SERVER_ERROR and error.code != HTTPStatus.TOO_MANY_REQUESTS:
                    raise self._refused(why) from None
            except (OSError, HTTPException, ValueError, KeyError, TypeError) as error:
                why = str(getattr(error, "reason", None) or error or type(error).__name__)
            if self.now() >= until:
                raise self._away(why) from None
            time.sleep(_PAUSE)

    def _fetched(self, path: str) -> bytes:
        asked = urllib.request.Request(self.url.rstrip("/") + path, headers=self._headers())  # noqa: S310 - checked
        with urllib.request.urlopen(asked, timeout=_ASKING) as answer:  # noqa: S310 - the scheme is http or https
            found: bytes = answer.read(_LONGEST)
            return found

    def _headers(self) -> dict[str, str]:
        accepted = {"Accept": "application/vnd.schemaregistry.v1+json"}
        if not self.user:
            return accepted
        return {**accepted, "Authorization": f"Basic {base64.b64encode(self.user.encode()).decode()}"}

    def _away(self, why: str) -> DataError:
        message = f"the schema registry at {self.shown} does not answer: {masked(why, self.secrets)}"
        hint = "the run goes on where it was once it is started again"
        return DataError(Diagnostic("SOURCE_UNREACHABLE", message, hint=hint))

    def _refused(self, why: str) -> DataError:
        message = f"the schema registry at {self.shown} refuses: {masked(why, self.secrets)}"
        return DataError(Diagnostic("SOURCE_UNREACHABLE", message, hint=f"'{USER.name}' says who asks"))


def _found(answer: Mapping[str, Any]) -> Found:
    return Found(answer["schema"], tuple(answer.get("references") or ()))


def _descriptor(found: Found) -> Found:
    """The one descriptor that a registry gives, as the set that a file is."""
    file = base64.b64decode(found.text)
    size, length = len(file), bytearray()
    while size > _SEVEN_BITS:
        length.append(size & _SEVEN_BITS | 0x80)
        size >>= 7
    return Found(b"\x0a" + bytes(length) + bytes([size]) + file, found.references)


@dataclass
class FolderRegistry:
    """A registry as a folder: `17.avsc` is schema 17 of Avro, `17.desc` of Protobuf with all that it imports."""

    folder: Path

    def avro(self, number: int) -> Found:
        """The schema of a number."""
        return Found(self._file(f"{number}.avsc", number))

    def protobuf(self, number: int) -> Found:
        """The descriptors of a number."""
        return Found(self._file(f"{number}.desc", number))

    def imported(self, reference: Mapping[str, Any]) -> Found:
        """Never asked: what a file imports is in it."""
        message = f"the folder {self.folder} has no {reference}"
        raise UnknownSchemaError(message)

    def _file(self, name: str, number: int) -> bytes:
        try:
            return (self.folder / name).read_bytes()
        except FileNotFoundError:
            message = f"the folder {self.folder} knows no schema {number}: there is no file {name}"
            raise UnknownSchemaError(message) from None
        except OSError as error:
            message = f"the schemas in {self.folder} cannot be read: {error.strerror or error}"
            raise DataError(Diagnostic("SOURCE_UNREACHABLE", message)) from None


def registry_of(declared: Declared, what: str, patience: float) -> Registry:
    """The registry that a table's properties name."""
    given = declared.properties[REGISTRY.name]
    url = expanded(given, f"{what}: '{REGISTRY.name}'")
    if urlsplit(url).scheme.lower() not in ("http", "https"):
        return FolderRegistry(Path(url.removeprefix("file://")))
    user = declared.properties.get(USER.name, "")
    secrets = frozenset(secret_values((given, user)))
    parts = urlsplit(given)
    shown = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    own = urlsplit(url)
    if "@" in own.netloc:
        user = user or own.netloc.rpartition("@")[0]
        url = own._replace(netloc=own.netloc.rpartition("@")[2]).geturl()
    return HttpRegistry(url, shown, patience, expanded(user, f"{what}: '{USER.name}'"), secrets)
