"""The API under uvicorn: `python -m api.server`, with the host, port and log format of the settings."""

import asyncio
import logging
import os
import sys
from typing import Final

import asyncpg
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from schemas.errors import RagqError, Refused, StackError
from schemas.settings.base import ENV_FILE, merged
from schemas.settings.process import ProcessSettings
from stack import logs as logs
from stack.connections import connections
from stack.ports import is_loopback
from store import access
from store.database import Database

#: Open event streams are closed after this at shutdown.
_SHUTDOWN_SECONDS: Final = 5
#: A request whose headers, or whose body after the reply, take longer ends its connection.
UNFINISHED_SECONDS = 20.0


class PatientProtocol(HttpToolsProtocol):
    """Uvicorn's, which ends connections whose request stays unfinished.

    Its headers have `UNFINISHED_SECONDS`, and what is left of a body once the reply is complete a quarter of that. The
    body before that has a limit of its own, in `BodyLimit`.
    """

    _unfinished: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the base class
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_wait()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._wait()

    def on_headers_complete(self) -> None:
        self._end_wait()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._end_wait()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle is not None and self.cycle.more_body:
            self._wait(UNFINISHED_SECONDS / 4)

    def _wait(self, seconds: float | None = None) -> None:
        if self._unfinished is None:
            self._unfinished = self.loop.call_later(seconds or UNFINISHED_SECONDS, self.transport.close)

    def _end_wait(self) -> None:
        if self._unfinished is not None:
            self._unfinished.cancel()
            self._unfinished = None


def main() -> None:
    """Serve until a signal. Exits with 1 where listening is refused or fails."""
    try:
        settings = ProcessSettings.from_environment(os.environ, ENV_FILE)
        if not is_loopback(settings.ragq_api_host):
            asyncio.run(_require_token(settings.ragq_api_host))
        logs.configure(settings.log_level, settings.log_format)
        # Uvicorn would log the message of an exception, which may hold text of a subject.
        logging.getLogger("uvicorn.error").addFilter(_without_message)
        # Before the application loads numpy. The matrix products of reports are many and small: threads of OpenBLAS
        # would take more processor time than they save.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        uvicorn.run(
            "api.app:app",
            factory=True,
            http=PatientProtocol,
            host=settings.ragq_api_host,
            port=settings.ragq_api_port,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )
    except RagqError as error:
        print(f"ragq: {error}", file=sys.stderr)
        sys.exit(1)


async def _require_token(host: str) -> None:
    database = Database(connections(merged(os.environ, ENV_FILE)).database_url, pool_size=1)
    try:
        has_token = await database.with_retry(access.any_live)
    except asyncpg.UndefinedTableError:
        raise StackError("The database lacks tables of this version of ragq. `ragq db migrate` makes them.") from None
    finally:
        await database.close()
    if not has_token:
        raise Refused(
            f"Other machines can reach {host}, and no API token is stored. Make one first, "
            "`ragq token create NAME`, or listen on 127.0.0.1."
        )


def _without_message(record: logging.LogRecord) -> bool:
    if record.exc_info:
        kind = record.exc_info[0]
        record.msg, record.args = f"{record.getMessage().strip()}: {kind and kind.__qualname__}", ()
        record.exc_info = record.exc_text = None
    return True


if __name__ == "__main__":
    main()
