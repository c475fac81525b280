"""A way to Postgres that breaks when a run is committed."""

import socket
import threading
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit, urlunsplit

_COMMIT = b"COMMIT;"
_RUN = b"INSERT INTO run "


class CommitProxy:
    """Hands everything on until the COMMIT of a transaction that stores a run.

    With `answers` the COMMIT is answered, and from then on nobody gets through. Without, its connection breaks before
    the answer, and others get through.
    """

    def __init__(self, database_url: str, *, answers: bool) -> None:
        self._target = urlsplit(database_url)
        self._answers = answers
        self._is_shut = False
        self._server = socket.create_server(("127.0.0.1", 0))
        port = self._server.getsockname()[1]
        user, _, _ = self._target.netloc.rpartition("@")
        self.url = urlunsplit(self._target._replace(netloc=f"{user}@127.0.0.1:{port}"))

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                if self._is_shut:
                    client.close()
                    continue
                assert self._target.hostname is not None
                assert self._target.port is not None
                server = socket.create_connection((self._target.hostname, self._target.port))
                threading.Thread(target=self._forward, args=(client, server), daemon=True).start()

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        """What a client sends. Answers are handed back by another thread, until the COMMIT."""
        answers = threading.Thread(target=_copy, args=(server, client), daemon=True)
        answers.start()
        stores_run = False
        with suppress(OSError):
            while not self._is_shut and (data := client.recv(65536)) and not self._is_shut:
                stores_run = stores_run or _RUN in data
                is_commit = stores_run and _COMMIT in data
                if is_commit and not self._answers:
                    client.shutdown(socket.SHUT_RDWR)
                self._is_shut = is_commit and self._answers
                server.sendall(data)
                if is_commit:
                    # Until the answer, and until the next question.
                    client.recv(65536) if self._answers else answers.join(5)
                    break
        client.close()
        server.close()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
