"""Whether every worker process of this machine or container answers: `python -m workers.health`, for health checks.

A worker that hangs does not answer, nor does one that is suspended, whose parent could not start it again either.
"""

import os
import re
import socket
import sys
from contextlib import suppress
from typing import Final

import psutil

from schemas.settings.layers import ENV_FILE, merged
from stack.connections import connections
from workers.app import make_app

ANSWER_SECONDS: Final = 5.0
_NAME: Final = re.compile(r"--hostname=([\w.-]+)@%h")


def silent() -> list[str]:
    """The names of the workers here on this broker that do not answer, and of what is suspended; or that none runs."""
    redis_url = connections(merged(os.environ, ENV_FILE)).redis_url
    names: set[str] = set()
    suspended = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            command = process.cmdline()
            found = {match[1] for word in command if (match := _NAME.fullmatch(word))}
            is_worker = found or "worker" in command
            if is_worker and process.environ().get("REDIS_URL") == redis_url:
                names |= found
                suspended += [f"process {process.pid}"] if process.status() == psutil.STATUS_STOPPED else []
    if not names:
        return ["no worker runs here"]
    nodes = [f"{name}@{socket.gethostname()}" for name in sorted(names)]
    with make_app(redis_url) as app:
        replies = app.control.ping(nodes, timeout=ANSWER_SECONDS, limit=len(nodes)) or []
    answered = {node for reply in replies for node in reply}
    return [*(node for node in nodes if node not in answered), *suspended]


if __name__ == "__main__":
    sys.exit("; ".join(silent()) or 0)
