"""The connector http as an output: each step is a POST to an address, with a key by which a repetition is known.

    CREATE VIEW alerts WITH ('connector' = 'http', 'url' = 'https://pager.example/hook') AS SELECT …
    Idempotency-Key: 8f3a…/c07b…/alerts/12  {"output": "alerts", "step": 12, "rows": [{"customer": "ann", "n": 7}]}

The key is the pipeline, the mark of the opening that has made the step, the output and the step: the same whenever the
step is sent again, and another for that of a copy of the directory. A receiver that honours it has each step once;
whether it does is not known here. What is 2xx has been taken; no answer, 408, 425, 429 and 5xx are tried again;
anything else refuses the step. Redirections are not followed.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException, InvalidURL
from typing import Any
from urllib.parse import urlsplit

from penstock.outputs.accepting import key_of, places_of
from penstock.outputs.forms import Form, formed
from penstock.outputs.lines import json_line, named
from penstock.outputs.receiver import Owner, refused, unreachable
from penstock.outputs.sink import Sink
from penstock.outputs.zoned import Zoned, as_it_is, zoned_rows
from penstock.sources.http.address import ASKING, NoRedirect, headers_of, is_for_later, shown_address
from penstock.sources.properties import Property
from penstock.sources.secrets import expanded, masked, secret_values
from penstock.steps.change import Change

_HEADER = "header."


def _check_url(text: str) -> str | None:
    scheme = urlsplit(text).scheme.lower()
    return None if scheme in ("http", "https") or text.startswith("${") else "it is no address of http or https"


URL = Property("url", "Where each step is sent.", takes="as in 'https://host/path'", check=_check_url, required=True)
HEADER = Property(
    f"{_HEADER}*", "A header of each request, as in `'header.Authorization' = 'Bearer ${env:HOOK_TOKEN}'`."
)
PROPERTIES = (URL, HEADER)
FORMS = (Form.APPEND, Form.UPSERT, Form.CHANGELOG, Form.RETRACT)
CHOSEN = (Form.APPEND, Form.UPSERT, Form.CHANGELOG)


def check_sink(_sink: Sink, _form: Form) -> None:
    """Everything can be sent."""


def target_of(sink: Sink) -> str:
    """The address, without who asks."""
    return shown_address(URL.value(sink))


def weakness_of(_sink: Sink) -> str | None:
    """The reason for which a step may be taken twice."""
    return "a step is sent again if its answer is lost, unless the receiver honours the header Idempotency-Key"


def open_receiver(sink: Sink, form: Form, owner: Owner) -> Webhook:
    """The sender of the steps."""
    url = expanded(URL.value(sink), f"{sink.what}: '{URL.name}'")
    headers = headers_of(sink.properties, sink.what)
    key = places_of(sink, key_of(sink)) if sink.keys or form is Form.UPSERT else None
    secrets = frozenset(secret_values(sink.properties.values()))
    return Webhook(url, target_of(sink), headers, form, key, owner, secrets, zoned_rows(sink))


@dataclass
class Webhook:
    """Sends steps; the pipeline keeps which of them were taken."""

    url: str
    where: str
    headers: dict[str, str]
    form: Form
    key: tuple[int, ...] | None
    owner: Owner
    secrets: frozenset[str]
    zoned: Zoned = as_it_is

    def taken(self) -> int | None:
        """Nobody is asked."""
        return None

    def take(self, change: Change) -> None:
        """Send a step; `Unreachable` if it is to be sent again."""
        body = self._body(change).encode("utf-8")
        own = {"Content-Type": "application/json", "Idempotency-Key": self._once(change)}
        opener = urllib.request.build_opener(NoRedirect)
        try:
            request = urllib.request.Request(self.url, body, {**self.headers, **own}, method="POST")  # noqa: S310
            with opener.open(request, timeout=ASKING) as answer:
                answer.read(1)
        except urllib.error.HTTPError as error:
            error.close()
            why = f"{error.code} {error.reason}"
            if is_for_later(error.code):
                raise unreachable(self.where, why) from None
            raise refused(self.where, why, "a receiver that takes a step answers 2xx") from None
        except (ValueError, InvalidURL):
            why = "the address, or a header, has something that cannot be sent"  # which may be a secret
            raise refused(self.where, why) from None
        except (OSError, HTTPException) as error:
            why = str(getattr(error, "reason", None) or error or type(error).__name__)
            raise unreachable(self.where, masked(why, self.secrets)) from None

    def _once(self, change: Change) -> str:
        """The key of a step; one from before there were marks has that which it had then."""
        mark = self.owner.mark(change.step)
        return "/".join([self.owner.pipeline, *([mark] if mark else []), change.view, str(change.step)])

    def _body(self, change: Change) -> str:
        rows = [self._row(change, done, row) for done, row in formed(change.rows, self.form, self.key)]
        return json_line({"output": change.view, "step": change.step, "rows": rows})

    def _row(self, change: Change, done: str, row: tuple[Any, ...]) -> dict[str, Any]:
        values = named(change, self.zoned(row))
        if self.form is Form.APPEND:
            return values
        if self.form is Form.UPSERT and done == "delete":
            values = {change.columns[at]: values[change.columns[at]] for at in self.key or ()}
        return {"op": done, "row": values}

    def close(self) -> None:
        """Nothing is held."""
