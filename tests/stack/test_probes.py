import http.server
import threading
from collections.abc import Iterator

import pytest

from stack.ports import LOOPBACK, free_port
from stack.probes import http_answers, postgres_answers, redis_answers


class OnlyVersion(http.server.BaseHTTPRequestHandler):
    """Answers /version, and nothing else."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/version" else 500)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def web() -> Iterator[str]:
    with http.server.HTTPServer((LOOPBACK, 0), OnlyVersion) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://{LOOPBACK}:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_200_is_healthy_and_a_500_is_not(web: str) -> None:
    assert http_answers(f"{web}/version")
    assert not http_answers(f"{web}/other")


def test_proxies_of_the_environment_are_not_asked(web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert http_answers(f"{web}/version")


def test_nobody_listening_is_not_healthy() -> None:
    port = free_port()
    assert not http_answers(f"http://{LOOPBACK}:{port}/version")
    assert not redis_answers(f"redis://{LOOPBACK}:{port}/0")
    assert not postgres_answers(f"postgresql://ragq:x@{LOOPBACK}:{port}/ragq")


def test_a_server_of_another_protocol_is_not_healthy(web: str) -> None:
    address = web.removeprefix("http://")
    assert not redis_answers(f"redis://{address}/0")
    assert not postgres_answers(f"postgresql://ragq:x@{address}/ragq")
