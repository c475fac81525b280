"""Batches of an OpenAI-compatible server: /v1/files and /v1/batches, as OpenAI documents them and others speak them."""

import json
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from typing import Final

import httpx
from pydantic import AliasPath, BaseModel, Field, ValidationError

from adapters.openai import Completion, chat_request
from schemas.errors import LLMError
from schemas.values.chat import ChatCall

_ENDPOINT: Final = "/v1/chat/completions"
_NAME: Final = "ragq_batch"
#: The only one that OpenAI takes.
_WINDOW: Final = "24h"
_PAGE: Final = 100
#: Clocks differ.
_EARLIER_S: Final = 3600.0
_UNDER_WAY: Final = ("validating", "in_progress", "finalizing", "cancelling")
#: For each part of a request.
_SECONDS: Final = 120.0


class Batch(BaseModel):
    """What the provider says of a batch."""

    id: str
    status: str
    created_at: float = 0.0
    metadata: dict[str, str] | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    input_file_id: str | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether more answers may come."""
        return self.status in _UNDER_WAY

    @property
    def answers(self) -> list[str]:
        """The files with the answers and the errors, as far as there are any."""
        return [file for file in (self.output_file_id, self.error_file_id) if file]

    @property
    def files(self) -> list[str]:
        """These, and the one with the calls."""
        return [*self.answers, *([self.input_file_id] if self.input_file_id else [])]


class _File(BaseModel):
    id: str


class _Page(BaseModel):
    data: list[Batch]
    has_more: bool = False


class BatchLine(BaseModel):
    """What came of one call."""

    custom_id: str
    """The key of the call."""
    status_code: int | None = Field(default=None, validation_alias=AliasPath("response", "status_code"))
    body: object = Field(default=None, validation_alias=AliasPath("response", "body"))

    @property
    def completion(self) -> Completion | None:
        """The answer; None where the call failed, or has none that is usable."""
        if self.status_code != httpx.codes.OK:
            return None
        try:
            return Completion.model_validate(self.body)
        except ValidationError:
            return None


class OpenAIBatches:
    """The batches of one server, whose base URL ends in the version. Raises LLMError with the status of an error, and
    httpx.TransportError unchanged."""

    def __init__(self, base_url: str, *, api_key: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx.AsyncClient(base_url=base_url.rstrip("/") + "/", headers=headers, timeout=_SECONDS)

    async def find(self, name: str, *, since_s: float) -> str | None:
        """The id of the batch that was sent under a name after a moment, in seconds since 1970; None for none."""
        after: dict[str, str] = {}
        while True:
            page = _Page.model_validate_json(await self._get("batches", limit=str(_PAGE), **after))
            for batch in page.data:
                if (batch.metadata or {}).get(_NAME) == name:
                    return batch.id
            if not page.has_more or not page.data or page.data[-1].created_at < since_s - _EARLIER_S:
                return None
            after = {"after": page.data[-1].id}

    async def upload(self, calls: Sequence[tuple[str, ChatCall]]) -> str:
        """Hand the calls over in a file, by their keys. Returns its id; nothing is paid yet."""
        lines = (
            json.dumps({"custom_id": key, "method": "POST", "url": _ENDPOINT, "body": chat_request(call)})
            for key, call in calls
        )
        content = "".join(f"{line}\n" for line in lines).encode()
        sent = await self._client.post(
            "files", data={"purpose": "batch"}, files={"file": ("calls.jsonl", content, "application/jsonl")}
        )
        return _File.model_validate_json(_content(sent)).id

    async def begin(self, file_id: str, name: str) -> str:
        """Let a file of calls be carried out, under a name. Returns the id of the batch."""
        body = {
            "input_file_id": file_id,
            "endpoint": _ENDPOINT,
            "completion_window": _WINDOW,
            "metadata": {_NAME: name},
        }
        begun = await self._client.post("batches", json=body, headers={"Idempotency-Key": name})
        return Batch.model_validate_json(_content(begun)).id

    async def look(self, batch_id: str) -> Batch:
        """How far a batch is."""
        return Batch.model_validate_json(await self._get(f"batches/{batch_id}"))

    async def cancel(self, batch_id: str) -> None:
        """Ask for the end of a batch. What it has answered by then is kept."""
        _content(await self._client.post(f"batches/{batch_id}/cancel"))

    async def lines(self, file_id: str) -> AsyncIterator[BatchLine]:
        """The lines of a file of answers or errors that name a call, in its order, which is not that of the calls."""
        async with self._client.stream("GET", f"files/{file_id}/content") as response:
            if response.is_error:
                await response.aread()
                _content(response)
            async for text in response.aiter_lines():
                with suppress(ValidationError):
                    yield BatchLine.model_validate_json(text)

    async def forget(self, files: Iterable[str]) -> None:
        """Delete files at the provider: they hold prompts and replies. One that is gone is no error."""
        for file in files:
            await self._client.delete(f"files/{file}")

    async def close(self) -> None:
        await self._client.aclose()

    async def _get(self, path: str, **query: str) -> bytes:
        return _content(await self._client.get(path, params=query))


def _content(response: httpx.Response) -> bytes:
    if response.is_error:
        raise LLMError(
            f"{response.request.url.path} answered with status {response.status_code}.",
            status=response.status_code,
            detail=response.text[:1000],
        )
    return response.content
