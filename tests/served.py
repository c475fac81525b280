"""An HTTP server of the standard library in a thread."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Handler(BaseHTTPRequestHandler):
    """Reads and sends whole bodies, and logs nothing."""

    def body(self) -> bytes:
        """What was sent with the request."""
        return self.rfile.read(int(self.headers["content-length"] or 0))

    def send(self, status: int, content: Any = b"", **headers: str) -> None:
        """Answer with bytes, or anything else as JSON; `Retry-After` is written `retry_after`."""
        encoded = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Some tests disconnect their client on purpose."""


@contextmanager
def served(handler: Callable[..., BaseHTTPRequestHandler], host: str = "127.0.0.1") -> Iterator[str]:
    """The URL, without a path, at which a handler answers until the end of the block."""
    with _Server((host, 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
