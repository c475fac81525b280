"""The shapes of Ollama's HTTP API: fields and types of its published OpenAPI description and pages, version 0.40.

The description requires no field of a reply; required here are those that a server always sends. `truncate` and `shift`
of a chat are fields that its server reads and the description lacks. Unknown fields are refused.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Nanoseconds = Annotated[int, Field(ge=0)]
Digest = Annotated[str, StringConstraints(min_length=1)]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RequestMessage(_Shape):
    role: Literal["system", "user", "assistant", "tool"]
    content: str
    images: list[str] | None = None
    tool_calls: list[dict[str, Any]] | None = None


class Options(BaseModel):
    """Others are allowed."""

    seed: int | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    stop: str | list[str] | None = None
    num_ctx: int | None = None
    num_predict: int | None = None


class ChatRequest(_Shape):
    model: str
    messages: list[RequestMessage]
    tools: list[dict[str, Any]] | None = None
    format: Literal["json"] | dict[str, Any] | None = None
    options: Options | None = None
    stream: bool = True
    think: bool | Literal["high", "medium", "low"] | None = None
    keep_alive: str | float | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    truncate: bool | None = None
    shift: bool | None = None


class EmbedRequest(_Shape):
    model: str
    input: str | list[str]
    truncate: bool = True
    dimensions: int | None = None
    keep_alive: str | None = None
    options: Options | None = None


class ShowRequest(_Shape):
    model: str
    verbose: bool | None = None


class TokenLogprob(_Shape):
    token: str
    logprob: float
    bytes: list[int] | None = None


class Logprob(TokenLogprob):
    top_logprobs: list[TokenLogprob] | None = None


class ReplyMessage(_Shape):
    role: Literal["assistant"]
    content: str
    thinking: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    images: list[str] | None = None


class ChatEvent(_Shape):
    """A line of a stream but the last: without counts, times and a reason."""

    model: str
    created_at: datetime
    message: ReplyMessage
    done: Literal[False]
    logprobs: list[Logprob] | None = None


class ChatReply(_Shape):
    """A whole reply, and the last line of a stream."""

    model: str
    created_at: datetime
    message: ReplyMessage
    done: Literal[True]
    done_reason: Literal["stop", "length", "load", "unload"]
    total_duration: Nanoseconds
    load_duration: Nanoseconds
    prompt_eval_count: int
    prompt_eval_duration: Nanoseconds
    eval_count: int
    eval_duration: Nanoseconds
    logprobs: list[Logprob] | None = None


class EmbedReply(_Shape):
    model: str
    embeddings: list[list[float]]
    total_duration: Nanoseconds
    load_duration: Nanoseconds
    prompt_eval_count: int


class Details(_Shape):
    parent_model: str
    format: str
    family: str
    families: list[str] | None
    parameter_size: str
    quantization_level: str


class Summary(_Shape):
    name: str
    model: str
    remote_model: str | None = None
    remote_host: str | None = None
    modified_at: datetime
    size: int
    digest: Digest
    details: Details


class TagsReply(_Shape):
    models: list[Summary]
    server: str | None = None
    """Only ragq's own server names itself."""


class ShowReply(_Shape):
    parameters: str | None = None
    license: str | None = None
    modelfile: str | None = None
    modified_at: datetime
    details: Details
    template: str | None = None
    capabilities: list[str]
    model_info: dict[str, Any]


class ErrorReply(_Shape):
    """A reply with status 400, 404, 429 or 5xx, and the last line of a stream that an error ended, with status 200."""

    error: str
