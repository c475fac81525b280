"""The API and its pages as users run them: a server process over real servers."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any

from stack.parts import api_command
from stack.ports import LOOPBACK, free_port
from stack.probes import http_answers
from tests.acceptance.harness import START_TIMEOUT_S, Installation, StartedProcess


@dataclass(frozen=True)
class Site:
    """An installation whose pages can be visited."""

    installation: Installation
    process: StartedProcess
    url: str

    def start_again(self) -> None:
        """Kill the server, and start another at the same address."""
        self.process.kill()
        start_site(self.installation, port=int(self.url.rpartition(":")[2]))

    async def rows(self, query: str, *arguments: Any) -> list[dict[str, Any]]:
        return await asyncio.to_thread(self.installation.rows, query, *arguments)

    async def value(self, query: str, *arguments: Any) -> Any:
        return await asyncio.to_thread(self.installation.value, query, *arguments)

    async def wait_until(self, query: str, *arguments: Any) -> None:
        await asyncio.to_thread(self.installation.wait_until, query, *arguments)


@dataclass(frozen=True)
class SiteWithWorker(Site):
    """A site with a worker."""

    worker: StartedProcess


def start_site(installation: Installation, *, port: int | None = None) -> Site:
    """The server of `ragq api`, on a free port if none is given."""
    port = free_port() if port is None else port
    _, _, program, *arguments = api_command()
    process = installation.start(program, *arguments, RAGQ_API_PORT=str(port))
    url = f"http://{LOOPBACK}:{port}"
    deadline = time.monotonic() + START_TIMEOUT_S
    while not http_answers(f"{url}/healthz"):
        assert process.is_alive and time.monotonic() < deadline, process.output
        time.sleep(0.05)
    return Site(installation, process, url)
