"""The API behind uvicorn: `python -m api.server`, where and how its settings say."""

import asyncio
import logging
import os
import sys
from typing import Final

import asyncpg
import uvicorn

from api.main import app
from schemas.errors import RagqError, Refused, StackError
from schemas.settings.layers import ENV_FILE, merged
from schemas.settings.process import ProcessSettings
from stack import log_config as logs
from stack.addresses import is_loopback
from stack.connections import connections
from store.access import api_tokens
from store.database import Database

#: Pages that listen for changes are let go of after this; everything else has long been answered.
_LEAVE_SECONDS: Final = 5
_REFUSED: Final = 1


def main() -> None:
    """Serve until a signal comes. Exits with 1 when it may not, or cannot, listen."""
    try:
        settings = ProcessSettings.from_environment(os.environ, ENV_FILE)
        if not is_loopback(settings.ragq_api_host):
            asyncio.run(_need_a_token(settings.ragq_api_host))
        logs.configure(settings.log_level, settings.log_format)
        # Uvicorn would write an exception's own words, which may be those of a subject.
        logging.getLogger("uvicorn.error").addFilter(_without_words)
        uvicorn.run(
            app,
            factory=True,
            host=settings.ragq_api_host,
            port=settings.ragq_api_port,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_LEAVE_SECONDS,
        )
    except RagqError as error:
        print(f"ragq: {error}", file=sys.stderr)
        sys.exit(_REFUSED)


async def _need_a_token(host: str) -> None:
    database = Database(connections(merged(os.environ, ENV_FILE)).database_url, pool_size=1)
    try:
        has_token = await database.with_retry(api_tokens.any_live)
    except asyncpg.UndefinedTableError:
        raise StackError("The database has no tables of ragq yet. `ragq migrate` makes them.") from None
    finally:
        await database.close()
    if not has_token:
        raise Refused(
            f"Others can reach {host}, and no token is stored that opens the API. Make one first, "
            "`ragq token create NAME`, or listen on 127.0.0.1."
        )


def _without_words(record: logging.LogRecord) -> bool:
    if record.exc_info:
        kind = record.exc_info[0]
        record.msg, record.args = f"{record.getMessage().strip()}: {kind and kind.__qualname__}", ()
        record.exc_info = record.exc_text = None
    return True


if __name__ == "__main__":
    main()
