"""An address that is asked: what it answers, that it has nothing new, or that it does not answer now.

Redirections are not followed: headers with secrets are for one address.
"""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException, InvalidURL
from typing import Any
from urllib.parse import urlsplit

from penstock.sources.looks import AwayError, RefusedError
from penstock.sources.secrets import expanded

ASKING, _WHOLE = 10.0, 30.0  # seconds without a word, and for all of an answer
_PART = 1 << 16
_LATER = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
_NOTHING = {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}
_MOST_PAUSE = 60.0
_HEADER = "header."


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirection: it is the answer, and what is sent is for one address alone."""

    def redirect_request(self, *_: Any) -> None:
        """None: nothing is asked instead."""


def is_for_later(status: int) -> bool:
    """True for an answer that wants the same to be tried again."""
    return status in _LATER or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def shown_address(url: str) -> str:
    """An address as people name it, without who asks."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()


def headers_of(properties: Mapping[str, str], what: str) -> dict[str, str]:
    """The headers that properties `'header.…'` say, with their secrets; DataError for one that is not there."""
    return {
        name.removeprefix(_HEADER): expanded(value, f"{what}: {name!r}")
        for name, value in properties.items()
        if name.startswith(_HEADER)
    }


@dataclass(frozen=True, slots=True)
class Answer:
    """A body, and the mark by which its server knows it again."""

    body: bytes
    mark: str | None


def ask(url: str, headers: Mapping[str, str], most: int) -> Answer | None:
    """The answer of an address; None if it has nothing new. AwayError, RefusedError."""
    try:
        request = urllib.request.Request(url, None, dict(headers))  # noqa: S310 - of http or https, as is checked
        with urllib.request.build_opener(NoRedirect).open(request, timeout=ASKING) as answer:
            body = _whole(answer, most)
            return Answer(body, answer.headers.get("ETag")) if answer.status not in _NOTHING else None
    except urllib.error.HTTPError as error:
        error.close()
        if error.code not in _NOTHING:
            raise _without_rows(error) from None
        return None
    except (ValueError, InvalidURL):
        message = "its address, or a header, has something that cannot be sent"  # which may be a secret
        raise RefusedError(message) from None
    except (OSError, HTTPException) as error:
        raise AwayError(str(getattr(error, "reason", None) or error or type(error).__name__)) from None


def _whole(answer: Any, most: int) -> bytes:
    """The body; AwayError if it ends in the middle, or takes too long, RefusedError if it is too large."""
    found, ends = bytearray(), time.monotonic() + _WHOLE
    while part := answer.read1(_PART):
        found += part
        if len(found) > most:
            message = f"its answer has more than {most} bytes ('max_bytes')"
            raise RefusedError(message)
        if time.monotonic() > ends:
            message = f"its answer has not come within {_WHOLE:.0f} seconds"
            raise AwayError(message)
    said = answer.headers.get("Content-Length")
    if said is not None and said.isdigit() and len(found) < int(said):
        message = f"its answer ends after {len(found)} of {said} bytes"
        raise AwayError(message)
    return bytes(found)


def _without_rows(error: urllib.error.HTTPError) -> AwayError | RefusedError:
    why = f"{error.code} {error.reason}"
    if is_for_later(error.code):
        return AwayError(why, _pause(error.headers.get("Retry-After")))
    return RefusedError(why)


def _pause(said: str | None) -> float:
    return min(float(said), _MOST_PAUSE) if said is not None and said.isascii() and said.isdigit() else 1.0
