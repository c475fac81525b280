"""A provider with OpenAI's API for batches, as it is documented, that answers as the test says."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.parser import BytesParser
from typing import Any

from tests.scripted_ollama import ACCEPT
from tests.served import Handler, served

MODEL = "batch-model"


@dataclass
class Sent:
    """A batch as the provider keeps it."""

    id: str
    input_file_id: str
    metadata: dict[str, str]
    created_at: float
    lines: list[dict[str, Any]]
    status: str = "in_progress"
    output_file_id: str | None = None
    error_file_id: str | None = None

    @property
    def shown(self) -> dict[str, Any]:
        """As JSON has it."""
        return {name: value for name, value in vars(self).items() if name != "lines"}


@dataclass
class Provider:
    """What it has, what it was asked, and what the test wants of it."""

    url: str = ""
    answer: Callable[[str], str] = lambda prompt: ACCEPT
    """The reply to the messages of a call, as one text."""
    fails: Callable[[str], bool] = lambda prompt: False
    """Whether the line of a call goes to the file of errors."""
    is_held: bool = False
    """Batches stay in progress."""
    ends_as: str = "completed"
    answers_at_most: int = 10**9
    """Of one batch; the others have no line."""
    refuses: dict[str, int] = field(default_factory=dict)
    """Statuses of requests by `METHOD /path`, each once."""
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, Sent] = field(default_factory=dict)
    singles: list[str] = field(default_factory=list)
    """The prompts of calls that came by themselves."""

    @property
    def paid(self) -> Counter[str]:
        """How often each prompt was answered, in batches or by itself."""
        batched = [prompt(line["body"]) for batch in self.batches.values() for line in batch.lines]
        return Counter(batched) + Counter(self.singles)

    def finish(self, batch: Sent) -> None:
        """Answer the calls of a batch, the last one first."""
        if batch.status not in ("in_progress", "cancelling") or (self.is_held and batch.status == "in_progress"):
            return
        batch.status = "cancelled" if batch.status == "cancelling" else self.ends_as
        if batch.status == "failed":
            return
        answers: list[dict[str, Any]] = []
        errors: list[dict[str, Any]] = []
        for line in list(reversed(batch.lines))[: self.answers_at_most]:
            failed = self.fails(prompt(line["body"]))
            body = {"error": {"message": "failed"}} if failed else self.completion(line["body"])
            response = {"status_code": 500 if failed else 200, "body": body}
            (errors if failed else answers).append({"custom_id": line["custom_id"], "response": response})
        for name, lines in (("output_file_id", answers), ("error_file_id", errors)):
            if lines:
                setattr(batch, name, self.keep("".join(json.dumps(line) + "\n" for line in lines).encode()))

    def completion(self, body: dict[str, Any]) -> dict[str, Any]:
        message = {"role": "assistant", "content": self.answer(prompt(body))}
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}

    def keep(self, content: bytes) -> str:
        name = f"file-{len(self.files) + 1}"
        self.files[name] = content
        return name


def prompt(body: dict[str, Any]) -> str:
    """The messages of a call as one text."""
    return "\n".join(message["content"] for message in body["messages"])


@contextmanager
def provider() -> Iterator[Provider]:
    """A provider on loopback."""
    found = Provider()

    class Api(Handler):
        def do_GET(self) -> None:
            body = self.body()
            path = self.path.partition("?")[0].removeprefix("/v1")
            status = found.refuses.pop(f"{self.command} {path}", 200)
            self.send(status, self._reply(path, body) if status == 200 else {"error": {"message": "refused"}})

        do_POST = do_DELETE = do_GET

        def _reply(self, path: str, body: bytes) -> Any:
            match self.command, path.strip("/").split("/"):
                case "GET", ["models"]:
                    return {"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "tests"}]}
                case "POST", ["files"]:
                    head = f"content-type: {self.headers['content-type']}\r\n\r\n".encode()
                    parts = list(BytesParser().parsebytes(head + body).walk())
                    content = parts[-1].get_payload(decode=True)
                    assert isinstance(content, bytes)
                    return {"id": found.keep(content)}
                case "POST", ["batches"]:
                    asked = json.loads(body)
                    file, name = asked["input_file_id"], f"batch-{len(found.batches) + 1}"
                    lines = [json.loads(line) for line in found.files[file].splitlines()]
                    found.batches[name] = Sent(name, file, asked["metadata"], time.time(), lines)
                    return found.batches[name].shown
                case "GET", ["batches"]:
                    return {"data": [batch.shown for batch in reversed(found.batches.values())], "has_more": False}
                case "GET", ["batches", name]:
                    found.finish(found.batches[name])
                    return found.batches[name].shown
                case "POST", ["batches", name, "cancel"]:
                    found.batches[name].status = "cancelling"
                    return found.batches[name].shown
                case "GET", ["files", name, "content"]:
                    return found.files[name]
                case "DELETE", ["files", name]:
                    del found.files[name]
                    return {"deleted": True}
                case "POST", ["chat", "completions"]:
                    asked = json.loads(body)
                    found.singles.append(prompt(asked))
                    return found.completion(asked)
            raise AssertionError(f"asked for {path}")

    with served(Api) as url:
        found.url = f"{url}/v1"
        yield found
