"""A PostgreSQL database as properties name it: how it is reached, its tables, its errors without any secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import DataError, Diagnostic
from penstock.sources.packages import package
from penstock.sources.properties import Property
from penstock.sources.secrets import expanded, masked, secret_values, secrets_in

CONNECTION = Property(
    "connection",
    "The database, as libpq takes it: `postgresql://user@host:5432/shop`, or `host=… dbname=…`. `${env:NAME}` in it is "
    "a variable of the environment, `${file:PATH}` what a file holds.",
    takes="postgresql://user@host/database",
    required=True,
)
PASSWORD = Property("password", "The password, where `connection` has none.", takes="'${env:NAME}' or '${file:PATH}'")
_MOST_NAMES = 2
_SETTINGS = {
    "application_name": "penstock",
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "options": "-c TimeZone=UTC -c DateStyle=ISO -c IntervalStyle=postgres -c extra_float_digits=3",
}


def driver() -> Any:
    """The package psycopg; UnsupportedError if it is not installed."""
    return package("psycopg", "the connector postgres", "postgres")


@dataclass(frozen=True)
class TableName:
    """A table of a database; without a schema the database looks for it."""

    name: str
    schema: str | None = None

    def quoted(self) -> str:
        """The name as SQL has it, whatever it contains."""
        return ".".join(quoted(part) for part in (self.schema, self.name) if part is not None)

    def beside(self, name: str) -> TableName:
        """Another table in its schema."""
        return TableName(name, self.schema)

    def __str__(self) -> str:
        return self.name if self.schema is None else f"{self.schema}.{self.name}"


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def table_named(text: str) -> TableName | None:
    """The table that `schema.table` names, with `"` around what holds dots; None if that is no name."""
    parts: list[str] = [""]
    inside = False
    for at, character in enumerate(text):
        if character == '"':
            inside = not inside
            parts[-1] += '"' if inside and at and text[at - 1] == '"' else ""
        elif character == "." and not inside:
            parts.append("")
        else:
            parts[-1] += character
    if inside or len(parts) > _MOST_NAMES or not all(parts) or "\0" in text:
        return None
    return TableName(parts[-1], parts[0] if len(parts) > 1 else None)


def check_table(text: str) -> str | None:
    """The fault in a table's name; None if there is none."""
    return None if table_named(text) else "it is no name of a table"


@dataclass(frozen=True)
class Database:
    """A database; `where` is how it is named to people, `secrets` is never said."""

    where: str
    parameters: Mapping[str, Any] = field(repr=False)
    secrets: frozenset[str] = field(default=frozenset(), repr=False)

    def connect(self, **more: Any) -> Any:
        """A connection, not in a transaction; psycopg's OperationalError if there is none to be had."""
        return driver().connect(**{**_SETTINGS, **self.parameters, **more})

    def said(self, error: BaseException) -> str:
        """The text of a database's error on one line, without secrets."""
        primary = getattr(getattr(error, "diag", None), "message_primary", None)
        detail = getattr(getattr(error, "diag", None), "message_detail", None)
        text = f"{primary}: {detail}" if primary and detail else primary or str(error) or type(error).__name__
        return masked(" ".join(text.split()), self.secrets)


def database_of(
    properties: Mapping[str, str], what: str, *, opens: bool = True, named: str = CONNECTION.name
) -> Database:
    """The database that properties name; DataError if they name none, or a secret is missing.

    `named` is the property that has the address. Without `opens` secrets stay as they are written: it is named only,
    by them where they are all that is known.
    """
    psycopg = driver()
    text, password = properties.get(named, ""), properties.get(PASSWORD.name, "")
    given = expanded(text, f"{what}: '{named}'") if opens else text
    try:
        found: dict[str, Any] = psycopg.conninfo.conninfo_to_dict(given)
    except psycopg.Error:
        if not opens and (hidden := secrets_in(text)):
            return Database(", ".join(hidden), {})
        message = f"{what}: '{named}' is not what libpq takes"
        hint = "postgresql://user@host:5432/database"
        hint += ", or host=… dbname=… user=…" if named == CONNECTION.name else ""
        raise DataError(Diagnostic("BAD_CONNECTION", message, hint=hint)) from None
    if password:
        found["password"] = expanded(password, f"{what}: '{PASSWORD.name}'") if opens else password
    secrets = {str(found["password"])} if found.get("password") else set[str]()
    if opens:
        secrets |= secret_values((text, password))
    host, port = found.get("host") or "localhost", found.get("port") or "5432"
    where = f"{host}:{port}/{found.get('dbname') or found.get('user') or ''}"
    return Database(masked(where, secrets), found, frozenset(secrets))
