"""A receiver of webhooks that answers as the test says."""

import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.served import Handler, served

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


class Message(NamedTuple):
    headers: dict[str, str]
    body: bytes

    @property
    def is_signed(self) -> bool:
        """Whether the signature is that of SECRET."""
        content = f"{self.headers['webhook-id']}.{self.headers['webhook-timestamp']}.".encode() + self.body
        digest = hmac.new(b64decode(SECRET.removeprefix("whsec_")), content, hashlib.sha256).digest()
        return self.headers["webhook-signature"] == "v1," + b64encode(digest).decode()


@dataclass
class Receiver:
    """Where it listens, what came, and the status of its answers."""

    url: str = ""
    messages: list[Message] = field(default_factory=list)
    answer: Callable[[], int] = lambda: 204


@contextmanager
def receiver() -> Iterator[Receiver]:
    found = Receiver()

    class Hook(Handler):
        def do_POST(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            found.messages.append(Message(headers, self.body()))
            self.send(found.answer(), location=found.url)

    with served(Hook) as url:
        found.url = f"{url}/hook"
        yield found
