"""The HTTP server of a pipeline: /metrics for Prometheus, /health and /ready for who starts and stops processes."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prometheus_client.exposition import choose_encoder

from penstock.errors import DataError, Diagnostic
from penstock.steps.events import Event
from penstock.watching.health import Health
from penstock.watching.metrics import Metrics
from penstock.watching.watched import Watched

Page = tuple[HTTPStatus, str, bytes]


class Endpoint:
    """Serves the figures and the health of a pipeline, whose events it is told, until `close`.

    `port` is the one that it listens at; 0 asks for any that is free. DataError if it cannot.
    """

    def __init__(self, watched: Watched, port: int, host: str = "127.0.0.1") -> None:
        self._metrics, self._health = Metrics(watched), Health(watched)
        try:
            self._server = ThreadingHTTPServer((host, port), _handler(self.page))
        except (OSError, OverflowError) as error:
            message = f"nothing can be served at {host}:{port}: {getattr(error, 'strerror', None) or error}"
            hint = "name another --metrics-port, or 0 for any that is free"
            raise DataError(Diagnostic("CANNOT_LISTEN", message, hint=hint)) from None
        self._server.daemon_threads = True
        self.host, self.port = host, int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, name="penstock-metrics", daemon=True)
        self._thread.start()

    def __call__(self, event: Event) -> None:
        """Take note of an event."""
        self._metrics(event)
        self._health(event)

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def page(self, path: str, accept: str) -> Page:
        """The answer to a request."""
        match path.split("?", 1)[0].rstrip("/"):
            case "/metrics":
                encode, kind = choose_encoder(accept)
                return HTTPStatus.OK, kind, encode(self._metrics.registry)
            case "/health":
                return _told(*self._health.live())
            case "/ready":
                return _told(*self._health.ready())
            case _:
                return HTTPStatus.NOT_FOUND, "text/plain", b"there is /metrics, /health and /ready\n"


def _told(fine: bool, facts: dict[str, Any]) -> Page:  # noqa: FBT001 - the first half of an answer
    status = HTTPStatus.OK if fine else HTTPStatus.SERVICE_UNAVAILABLE
    return status, "application/json", json.dumps(facts).encode() + b"\n"


def _handler(page: Callable[[str, str], Page]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, kind, body = page(self.path, self.headers.get("Accept", ""))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing: stderr is the run's."""

    return Handler
