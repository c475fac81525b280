"""What clients of Ollama's HTTP API send. Unknown fields are ignored, as Ollama does."""

from typing import Any, Literal

from pydantic import AliasChoices, BaseModel, Field

DEFAULT_REPLY_TOKENS = 1024
"""Where Ollama would go on for ever. A small model that has lost its thread does not stop by itself."""


class Options(BaseModel):
    """How to generate. The defaults are Ollama's, but for the penalty on repetition; see `penalty`."""

    num_predict: int | None = None
    num_ctx: int | None = Field(default=None, gt=0)
    temperature: float = Field(default=0.8, ge=0)
    seed: int | None = None
    stop: list[str] = []
    top_k: int = 40
    top_p: float = 0.9
    min_p: float = 0.0
    repeat_penalty: float | None = None
    repeat_last_n: int = 64
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0

    def penalty(self, schema: Any) -> float:
        """The penalty on repetition: 1.1 unless the request says otherwise, which also makes constrained JSON end.

        There is none where a schema leaves nothing to the model but choices: it would be a penalty on the choice that
        was made last, or that the prompt named last.
        """
        if self.repeat_penalty is not None:
            return self.repeat_penalty
        return 1.0 if _has_choices_alone(schema) else 1.1

    @property
    def reply_tokens(self) -> int:
        """The limit of the reply; none given, or a negative one, means 1,024."""
        return self.num_predict if self.num_predict is not None and self.num_predict > 0 else DEFAULT_REPLY_TOKENS


class Generation(BaseModel):
    """What a chat and a generate request have in common."""

    model: str
    stream: bool = True
    format: Literal["", "json"] | dict[str, Any] | None = None
    options: Options = Options()
    tools: list[Any] = []
    think: bool | str | None = None
    images: list[str] = []
    logprobs: bool = False
    top_logprobs: int = Field(default=0, ge=0, le=20)

    @property
    def conversation(self) -> list[dict[str, str]]:
        """The messages that the model sees; none at all asks for nothing but the model to be loaded."""
        raise NotImplementedError

    def unsupported(self) -> str | None:
        """The first thing asked for that the embedded model cannot do."""
        asked = {"tools": self.tools, "thinking": self.think, "images": self.images}
        return next((name for name, value in asked.items() if value), None)

    def for_llama_cpp(self) -> dict[str, Any]:
        """The request in llama.cpp's terms."""
        options = self.options
        request = options.model_dump(exclude={"num_predict", "num_ctx", "seed"})
        request["repeat_penalty"] = options.penalty(self.format)
        request |= {"messages": self.conversation, "max_tokens": options.reply_tokens}
        if options.seed is not None:
            request["seed"] = options.seed
        if self.logprobs or self.top_logprobs:
            request |= {"logprobs": True, "top_logprobs": self.top_logprobs}
        if self.format:
            request["json_schema"] = {"type": "object"} if self.format == "json" else self.format
        return request


def _has_choices_alone(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return False
    if "enum" in schema or "const" in schema:
        return True
    is_closed = schema.get("additionalProperties") is False and isinstance(schema.get("properties"), dict)
    return is_closed and all(map(_has_choices_alone, schema["properties"].values()))


class ChatMessage(BaseModel):
    """One message; without content it is empty."""

    role: Literal["system", "user", "assistant"]
    content: str = ""
    images: list[str] = []


class ChatRequest(Generation):
    """POST /api/chat."""

    messages: list[ChatMessage] = []

    @property
    def conversation(self) -> list[dict[str, str]]:
        """See Generation."""
        return [{"role": message.role, "content": message.content} for message in self.messages]

    def unsupported(self) -> str | None:
        """See Generation."""
        return "images" if any(message.images for message in self.messages) else super().unsupported()


class GenerateRequest(Generation):
    """POST /api/generate."""

    prompt: str = ""
    system: str = ""
    suffix: str = ""
    template: str = ""
    raw: bool = False
    context: list[int] = []

    @property
    def conversation(self) -> list[dict[str, str]]:
        """See Generation."""
        if not self.prompt:
            return []
        system = [{"role": "system", "content": self.system}] if self.system else []
        return [*system, {"role": "user", "content": self.prompt}]

    def unsupported(self) -> str | None:
        """See Generation."""
        asked = {"insert": self.suffix, "template": self.template, "raw": self.raw, "context": self.context}
        return next((name for name, value in asked.items() if value), super().unsupported())


class EmbedRequest(BaseModel):
    """POST /api/embed."""

    model: str
    input: str | list[str]
    truncate: bool = True
    dimensions: int | None = Field(default=None, gt=0)

    @property
    def texts(self) -> list[str]:
        """The input as a list."""
        return [self.input] if isinstance(self.input, str) else self.input


class EmbeddingsRequest(BaseModel):
    """POST /api/embeddings, the older way: one text."""

    model: str
    prompt: str


class ShowRequest(BaseModel):
    """POST /api/show; older clients call the model `name`."""

    model: str = Field(validation_alias=AliasChoices("model", "name"))
