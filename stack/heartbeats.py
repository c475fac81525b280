"""Ends worker processes of this machine or container that have had no heartbeat for RAGQ_HUNG_SECONDS.

A computation that keeps Python's global interpreter lock stops every thread of its process, the heartbeat too. Its
stages go to other workers when their leases end, but the process would hang on. `python -m stack.heartbeats` looks
once and exits with 1 when it found one, as the health check of a container; with `--listen` it looks at each tick of
supervisord, as the listener of `ragq up`.
"""

import asyncio
import os
import socket
import sys
import time
from contextlib import suppress
from typing import Final

import psutil
import structlog

from schemas.settings.base import ENV_FILE, merged
from schemas.settings.process import ProcessSettings
from stack import logs
from stack.connections import connections
from store.database import DATABASE_ERRORS, Database
from store.runs import workers

log = structlog.get_logger(__name__)

#: A worker whose database was away, or that was suspended, has sent a heartbeat by then.
_AGAIN_S: Final = 5.0


def end_hung(database_url: str, hung_s: float) -> list[psutil.Process]:
    """Kill the workers without a heartbeat for so many seconds; none where the database does not answer."""
    found = _silent(database_url, hung_s)
    if found:
        time.sleep(_AGAIN_S)
        found = [process for process in _silent(database_url, hung_s) if process in found]
    for process in found:
        log.error("worker_killed", pid=process.pid, limit="RAGQ_HUNG_SECONDS")
        with suppress(psutil.NoSuchProcess):
            process.kill()
    return found


def _silent(database_url: str, hung_s: float) -> list[psutil.Process]:
    try:
        seen = asyncio.run(_asked(database_url, hung_s))
    except DATABASE_ERRORS as error:
        log.warning("heartbeats_unknown", error_type=type(error).__name__)
        return []
    found = []
    for pid, silent_s in seen:
        with suppress(psutil.Error):
            process = psutil.Process(pid)
            # A younger process has the number of one that died.
            is_it = time.time() - process.create_time() > silent_s and "workers.main" in process.cmdline()
            found += [process] if is_it else []
    return found


async def _asked(database_url: str, hung_s: float) -> list[tuple[int, float]]:
    async with (
        Database(database_url, pool_size=1, application_name="ragq heartbeats") as database,
        asyncio.timeout(_AGAIN_S),
        database.connection() as connection,
    ):
        return await workers.silent(connection, host=socket.gethostname(), for_s=hung_s)


def main() -> int:
    """Look once, or whenever supervisord asks; the exit code."""
    settings = ProcessSettings.from_environment(os.environ, ENV_FILE)
    logs.configure(settings.log_level, settings.log_format)
    url, hung_s = connections(merged(os.environ, ENV_FILE)).database_url, settings.ragq_hung_seconds
    if sys.argv[1:] != ["--listen"]:
        return 1 if end_hung(url, hung_s) else 0
    print("READY", flush=True)
    while header := sys.stdin.readline():
        sys.stdin.read(int(header.rpartition("len:")[2]))
        end_hung(url, hung_s)
        print("RESULT 2\nOKREADY", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
