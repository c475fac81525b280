"""Calls to language models, and their replies."""

import json
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from schemas.values.base import Value


class Message(Value):
    """One message of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str = Field(repr=False)


class ChatCall(Value):
    """One call to a language model.

    It has everything that can change the reply, so that its hash identifies it. `timeout_s` and `purpose` do not change
    the reply and are not part of the hash.
    """

    model: str
    messages: tuple[Message, ...]
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    json_mode: bool = False
    json_schema: dict[str, Any] | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    sample: int = Field(default=0, ge=0)
    """The number of the sample of a call with temperature above 0: each sample is a separate call."""
    draw: int = Field(default=0, ge=0)
    """The draw of the run: runs of other draws get answers of their own to the same call."""
    top_logprobs: int = Field(default=0, ge=0, le=20)
    """The number of likeliest tokens whose log-probabilities the server reports, at each token; 0 requests none."""
    timeout_s: float = Field(default=600.0, gt=0)
    purpose: str = ""
    """The purpose of the call, safe for operators: `validate PHQ8_Sleep rank 1`. Never text of a subject."""

    @property
    def seed(self) -> int:
        """The seed of the server's generator: the sample number, or a number of its own for each sample of a draw."""
        if not self.draw:
            return self.sample
        return int.from_bytes(sha256(f"{self.draw}:{self.sample}".encode()).digest()[:4], "big") >> 1


class TokenSignals(Value):
    """The model's certainty of its tokens (Spec 051); each a mean over the tokens of the reply."""

    msp: float
    """Probability of the chosen token."""
    pe: float
    """Entropy, in nats, of the likeliest tokens, with their probabilities normalised to sum to 1."""
    energy: float
    """Logarithm of the total probability of the likeliest tokens; at most 0."""


def _possible(count: Any) -> Any:
    return None if isinstance(count, int) and not 0 <= count < 2**31 else count


TokenCount = Annotated[int | None, BeforeValidator(_possible)]
"""What a server reports; None if it reports nothing, or a number that no reply has and no column holds."""


class ChatReply(Value):
    """The reply to one call."""

    text: str = Field(repr=False)
    model: str
    digest: str
    """Identifies the exact weights, as the server reports them; empty if it reports none."""
    stop_reason: str
    prompt_tokens: TokenCount = None
    reply_tokens: TokenCount = None
    seconds: float
    tokens: TokenSignals | None = None
    """None if token probabilities were not requested, or the server reports none."""
    is_rejected: bool = False
    """An earlier attempt of the stage asked the same and rejected this reply: nothing was asked again."""


class ReaskReason(StrEnum):
    """The reason of a re-ask: why a reply could not be used."""

    MISSING_STRUCTURE = "missing_structure"
    """It has no JSON object."""
    JSON_PARSE = "json_parse"
    """Its JSON cannot be parsed, even with repairs."""
    SCHEMA_VALIDATION = "schema_validation"
    """The object lacks items, or has values that are not allowed."""
    CUT_OFF = "cut_off"
    """It was cut off at the token limit."""
    NOT_GROUNDED = "not_grounded"
    """None of its quotes is in the transcript."""


class FromReplies(Value):
    """An output that was read in replies of a language model."""

    reasks: tuple[ReaskReason, ...] = ()
    """The reasons of the re-asks before the used replies, in order."""
    repairs: tuple[str, ...] = ()
    """Repairs that reading those replies needed, in order. A verdict has none: a repaired one would be a guess."""


class ModelIdentity(Value):
    """The model behind a name on a server, as the server reports it."""

    backend: str = Field(examples=["ollama"])
    server: str = Field(examples=["http://127.0.0.1:11434"])
    """The server's URL without secrets, or the name that it gives itself."""
    model: str = Field(examples=["gemma3:27b"])
    digest: str = Field(examples=["a418f5838eaf"])
    """Identifies the exact weights; empty if the server reports none."""
    listed: tuple[dict[str, Any], ...] = Field(default=(), examples=[[]])
    """The entry of the server's own list of models, where it reports no digest: id, created, owned_by, meta.

    All entries when none has the name.
    """
    quantization: str | None = Field(default=None, examples=["Q4_K_M"])
    """The number format of the weights, if the server reports it; part of what the digest identifies."""
    context_tokens: int | None = Field(default=None, examples=[131072])
    """The tokens of prompt and reply together that the server gives the model, as far as it says."""

    @property
    def weights(self) -> dict[str, str]:
        """What of it identifies the weights, whatever the address of the server."""
        return {"digest": self.digest, "listed": json.dumps(self.listed, sort_keys=True)}

    @property
    def key(self) -> dict[str, str]:
        """What of it decides whether two answers may be exchanged."""
        return {"backend": self.backend, "server": self.server, "model": self.model} | self.weights

    @property
    def words(self) -> str:
        """The model for people: its digest, or its entries in the server's list, and the server."""
        if self.digest:
            return f"digest {self.digest} at {self.server}"
        entries = ", ".join(json.dumps(entry, sort_keys=True) for entry in self.listed)
        return f"{entries or 'no entry in the list of models'} at {self.server}"
