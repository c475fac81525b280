"""A server in between, in threads: what passes through it can be made to hang, or to break when a run is committed."""

import socket
import threading
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit, urlunsplit

_COMMIT = b"COMMIT;"
_RUN = b"INSERT INTO run "


class TcpProxy:
    """Passes bytes on to the server of a URL until it is cut."""

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self._passing = threading.Event()
        self._passing.set()
        self._server = socket.create_server(("127.0.0.1", 0))
        user, _, _ = self._target.netloc.rpartition("@")
        netloc = f"{user}@127.0.0.1:{self._server.getsockname()[1]}"
        self.url = urlunsplit(self._target._replace(netloc=netloc))
        """The URL of the server by way of the proxy."""

    def cut(self) -> None:
        """Let everything hang: connections stay open, and nothing passes."""
        self._passing.clear()

    def mend(self) -> None:
        """Pass on what waits."""
        self._passing.set()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.mend()
        self._server.close()

    def _accept(self) -> None:
        assert self._target.hostname is not None and self._target.port is not None
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                server = socket.create_connection((self._target.hostname, self._target.port))
                threading.Thread(target=self._connect, args=(client, server), daemon=True).start()

    def _connect(self, client: socket.socket, server: socket.socket) -> None:
        """Pass on what a client sends; answers are handed back by another thread."""
        answers = threading.Thread(target=self._answer, args=(server, client), daemon=True)
        answers.start()
        with client, server:
            with suppress(OSError):
                while (data := client.recv(65536)) and self._pass(data, client, server, answers):
                    pass
            with suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            answers.join()

    def _pass(self, data: bytes, client: socket.socket, server: socket.socket, answers: threading.Thread) -> bool:
        """Hand data to the server; whether more may follow."""
        self._passing.wait()
        server.sendall(data)
        return True

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                self._passing.wait()
                client.sendall(data)
            client.shutdown(socket.SHUT_RDWR)


class CommitProxy(TcpProxy):
    """Hands everything on until the COMMIT of a transaction that stores a run.

    With `answers` the COMMIT is answered, and from then on nobody gets through. Without, its connection breaks before
    the answer, and others get through.
    """

    def __init__(self, database_url: str, *, answers: bool) -> None:
        super().__init__(database_url)
        self._answers = answers
        self._is_shut = False
        self._storing: set[socket.socket] = set()

    def _pass(self, data: bytes, client: socket.socket, server: socket.socket, answers: threading.Thread) -> bool:
        if self._is_shut:
            return False
        if _RUN in data:
            self._storing.add(client)
        is_commit = client in self._storing and _COMMIT in data
        if is_commit and not self._answers:
            client.shutdown(socket.SHUT_RDWR)
        self._is_shut = is_commit and self._answers
        server.sendall(data)
        if is_commit:
            # Until the answer, and until the next question.
            client.recv(65536) if self._answers else answers.join(5)
        return not is_commit
