"""The HTTP server of an address: each table at the path of its name.

It answers a push when its step is durable. 400: the body cannot be cut into rows; 401: no token; 404: no such table;
413: too large; 503: too much waits, or nobody reads; 504: no step within the time.
"""

from __future__ import annotations

import hmac
import json
import threading
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from penstock.errors import DataError, Diagnostic
from penstock.sources.formats.cutting import Cutting
from penstock.sources.http.cut import BadBodyError, cut
from penstock.sources.http.requests import Request, Waiting

_KEY_LENGTH = 200
_SILENCE = 60.0  # seconds after which a connection that says nothing is given up


@dataclass
class Route:
    """One table's path: what is asked of a push, and where it goes."""

    waiting: Waiting
    style: str
    records: Cutting | None
    token: str
    most_bytes: int
    patience: float


class Server:
    """Listens at one address for all its tables."""

    def __init__(self, host: str, port: int) -> None:
        self.routes: dict[str, Route] = {}
        try:
            self._server = ThreadingHTTPServer((host, port), _handler(self))
        except (OSError, OverflowError) as error:
            message = f"nothing can listen at {host}:{port}: {getattr(error, 'strerror', None) or error}"
            raise DataError(Diagnostic("CANNOT_LISTEN", message, hint="'listen' names another address")) from None
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, name="penstock-http", daemon=True)

    def begin(self) -> None:
        """Answer from now on; who has come before has waited."""
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


_LOCK = threading.Lock()
_SERVERS: dict[tuple[str, int], Server] = {}


def listen(host: str, port: int, name: str, route: Route) -> Server:
    """The server of an address, with a path for a table; DataError if it cannot listen, or the path is taken."""
    with _LOCK:
        server = _SERVERS.get((host, port)) if port else None
        begun = server is not None
        if server is None:
            server = Server(host, port)
            _SERVERS[host, server.port] = server
        if name.lower() in server.routes:
            message = f"at {host}:{server.port} another table {name} is pushed to already"
            raise DataError(Diagnostic("CANNOT_LISTEN", message, hint="'listen' names another address"))
        server.routes[name.lower()] = route
        if not begun:
            server.begin()
        return server


def leave(host: str, server: Server, name: str) -> None:
    """Take a table's path away; a server without any stops."""
    with _LOCK:
        server.routes.pop(name.lower(), None)
        if server.routes:
            return
        _SERVERS.pop((host, server.port), None)
    server.close()


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = _SILENCE

        def do_POST(self) -> None:
            status, answer = self._answer()
            body = json.dumps(answer).encode() + b"\n"
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            if status == HTTPStatus.SERVICE_UNAVAILABLE:
                self.send_header("Retry-After", "1")
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body)

        def _answer(self) -> tuple[HTTPStatus, dict[str, Any]]:
            """The answer to a push; a body that was not read ends the connection."""
            self.close_connection = True
            route = server.routes.get(unquote(self.path.split("?", 1)[0]).strip("/").lower())
            if route is None:
                return HTTPStatus.NOT_FOUND, {"error": "no table is pushed to at this path"}
            if route.token and not self._has_token(route.token):
                return HTTPStatus.UNAUTHORIZED, {"error": "the header Authorization has no Bearer that is known"}
            length = self.headers.get("Content-Length", "")
            if not (length.isascii() and length.isdigit()):
                return HTTPStatus.LENGTH_REQUIRED, {"error": "a body needs its Content-Length"}
            if int(length) > route.most_bytes:
                error = f"the body has {length} bytes, and {route.most_bytes} are taken at most"
                return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": error}
            body = self.rfile.read(int(length))
            if len(body) < int(length):
                return HTTPStatus.BAD_REQUEST, {"error": "the body is shorter than its Content-Length"}
            self.close_connection = self.headers.get("Connection", "").lower() == "close"
            return _pushed(route, body, self.headers.get("Idempotency-Key"))

        def _has_token(self, token: str) -> bool:
            given = self.headers.get("Authorization", "").removeprefix("Bearer ")
            return hmac.compare_digest(given.encode(), token.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing: stderr is the run's."""

    return Handler


def _pushed(route: Route, body: bytes, key: str | None) -> tuple[HTTPStatus, dict[str, Any]]:
    if key is not None and not 0 < len(key) <= _KEY_LENGTH:
        return HTTPStatus.BAD_REQUEST, {"error": f"an Idempotency-Key has 1 to {_KEY_LENGTH} characters"}
    try:
        messages = cut(body, route.style, route.records)
    except BadBodyError as error:
        return HTTPStatus.BAD_REQUEST, {"error": str(error)}
    if not messages:
        return HTTPStatus.OK, {"rows": 0}
    request = route.waiting.put(messages, len(body), key)
    if request is None:
        return HTTPStatus.SERVICE_UNAVAILABLE, {"error": "too much waits for a step: come again"}
    repeated = request.repeated
    if not request.done.wait(route.patience):
        return HTTPStatus.GATEWAY_TIMEOUT, {"error": "no step has it yet: send it again with its Idempotency-Key"}
    return _became(request, repeated=repeated)


def _became(request: Request, *, repeated: bool) -> tuple[HTTPStatus, dict[str, Any]]:
    if request.failed:
        return HTTPStatus.SERVICE_UNAVAILABLE, {"error": request.failed}
    said: dict[str, Any] = {"step": request.step}
    if request.messages:
        said |= {"rows": len(request.messages) - request.rejected, "rejected": request.rejected}
    return HTTPStatus.OK, {**said, "repeated": True} if repeated else said
