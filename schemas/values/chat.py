"""What is asked of a language model and what it answers."""

from typing import Any, Literal

from pydantic import Field

from schemas.values.base import Value


class Message(Value):
    """One message of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str = Field(repr=False)


class ChatCall(Value):
    """One question to a language model.

    Everything that can change the answer stands here, so that a call can be recognised by its hash.
    `timeout_s` and `purpose` do not change the answer and stay out of the hash.
    """

    model: str
    messages: tuple[Message, ...]
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    json_mode: bool = False
    json_schema: dict[str, Any] | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    sample: int = Field(default=0, ge=0)
    """Which sample of a call with temperature above 0: each sample is a call of its own."""
    top_logprobs: int = Field(default=0, ge=0, le=20)
    """Of how many likeliest tokens the server is to report the log-probabilities, at each token; 0 asks for none."""
    timeout_s: float = Field(default=600.0, gt=0)
    purpose: str = ""
    """What the call is for, in words an operator may see: `validate PHQ8_Sleep rank 1`. Never text of a subject."""


class TokenSignals(Value):
    """How sure the model was of its tokens (Spec 051); each a mean over the tokens of the reply."""

    msp: float
    """Probability of the chosen token."""
    pe: float
    """Entropy, in nats, of the likeliest tokens, their probabilities scaled to add up to 1."""
    energy: float
    """Logarithm of the probability that the likeliest tokens have together; 0 at most."""


class ChatReply(Value):
    """The answer to one call."""

    text: str = Field(repr=False)
    model: str
    digest: str
    """Identifies the exact weights; the server's word for it, or empty where the server has none."""
    stop_reason: str
    prompt_tokens: int | None = None
    reply_tokens: int | None = None
    seconds: float
    tokens: TokenSignals | None = None
    """None where the server was not asked for token probabilities, or gives none."""
