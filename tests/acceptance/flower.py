"""A real Flower process."""

from contextlib import suppress
from dataclasses import dataclass

import httpx

from stack.parts import flower_command
from stack.ports import LOOPBACK, free_port
from tests.acceptance.harness import Installation, StartedProcess
from tests.eventually import eventually

USER, PASSWORD = "ragq", "password-of-the-tests"


@dataclass(frozen=True)
class StartedFlower:
    process: StartedProcess
    port: int
    password: str = PASSWORD

    def get(self, path: str, **parameters: str) -> httpx.Response:
        """One page, or one answer of the API."""
        with httpx.Client(base_url=f"http://{LOOPBACK}:{self.port}", auth=(USER, self.password), timeout=30) as client:
            return client.get(path, params=parameters)


def start_flower(installation: Installation) -> StartedFlower:
    """The command of `ragq up`, on a free port. It records the tasks that are sent from now on."""
    port = free_port()
    _, _, program, *arguments = flower_command(port)
    process = installation.start(program, *arguments, FLOWER_BASIC_AUTH=f"{USER}:{PASSWORD}")
    flower = StartedFlower(process, port)

    def answers() -> bool:
        assert process.is_alive, process.output
        with suppress(httpx.TransportError):
            return flower.get("/healthcheck").status_code == 200
        return False

    eventually(answers)
    return flower
