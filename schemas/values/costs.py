"""What runs cost and are going to cost: attempts, calls of language models, tokens, time and money."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from schemas.values.base import Value


class StageWork(Value):
    """The attempts of a stage, of one job or of a whole run."""

    job_id: int | None
    stage: str
    attempts: int
    """Those that ended; one that still runs does not count."""
    seconds: float
    started_at: datetime
    """The start of the first attempt."""
    ended_at: datetime | None
    """The end of the last one; None before any has ended."""


class StageCalls(Value):
    """The calls of a stage to one model over all attempts, of one job or of a whole run."""

    job_id: int | None
    stage: str
    model: str
    calls_paid: int
    calls_reused: int
    calls_uncounted: int
    prompt_tokens: int
    reply_tokens: int
    batched_prompt_tokens: int = 0
    """Of the paid ones, those of batches, which have another price."""
    batched_reply_tokens: int = 0
    llm_seconds: float
    """Of the paid calls, as their client measured it."""
    saved_prompt_tokens: int
    saved_reply_tokens: int
    saved_seconds: float


class Spent(Value):
    """What something cost, and what it would have cost without the ledger."""

    attempts: int = Field(examples=[40])
    seconds: float = Field(examples=[95.5])
    """Summed over attempts, also concurrent ones."""
    calls_paid: int = Field(examples=[20])
    calls_reused: int = Field(examples=[4])
    calls_uncounted: int = Field(examples=[0])
    """Paid calls of which the server reported no tokens: they are in no sum of tokens or money."""
    prompt_tokens: int = Field(examples=[24000])
    reply_tokens: int = Field(examples=[3100])
    llm_seconds: float = Field(examples=[80.2])
    """Waited for the paid calls."""
    money: float | None = Field(examples=[0.12])
    """None without a price of each model that was paid."""
    saved_prompt_tokens: int = Field(examples=[4800])
    """Of the calls that the ledger answered."""
    saved_reply_tokens: int = Field(examples=[620])
    saved_seconds: float = Field(examples=[16.0])
    saved_money: float | None = Field(examples=[0.02])


class RunCost(Value):
    """The cost of a run."""

    currency: str | None = Field(examples=["EUR"])
    """None without prices."""
    unpriced: tuple[str, ...] = Field(examples=[[]])
    """Models that were paid and have no price, where there are prices."""
    total: Spent
    stages: dict[str, Spent]
    models: dict[str, Spent]
    """Their attempts and seconds are those of their calls."""
    jobs: dict[str, Spent]
    """Empty where only the sums were asked for."""


Price = Annotated[float, Field(ge=0)]


class ModelPrice(Value):
    """The price of a model, per million tokens."""

    prompt: Price
    reply: Price


class Prices(Value):
    """A price file: what people pay, in their currency."""

    currency: str = Field(min_length=1, max_length=12, pattern=r"^[^\s\x00-\x1f]+$")
    models: dict[str, ModelPrice]
    batch: float = Field(default=0.5, ge=0, le=1)
    """What a call in a batch costs, as a share of the price of one by itself."""


class Effort(Value):
    """Language model calls, their tokens, and time, of so many jobs."""

    jobs: int = 1
    calls_at_most: int | None = 0
    """If every reply has to be asked for again as often as the settings allow; None for works."""
    calls_expected: float | None = None
    """By the median of past jobs in the same mode; None without any. The ledger may hold some of them."""
    prompt_tokens: int | None = None
    """Of the expected calls, likewise; None where no server counted them."""
    reply_tokens: int | None = None
    seconds: float | None = None
    """Of a stage, of all jobs one after the other; of a run, until it finishes, with as many stages at the same time as
    in past runs. None where a stage has no past job."""


class Estimate(Effort):
    """What a submission would do, which was planned and not stored."""

    kind: str
    profile: str
    modes: dict[str, int]
    """Jobs by mode."""
    existing_run: str | None
    """The run of the same work, which the submission would find; None where a new one would be stored."""
    stages: dict[str, Effort]
    basis: tuple[str, ...]
    """The past runs with the same models that calls, tokens and seconds are estimated from."""
    currency: str | None
    """None without prices."""
    money: float | None
    """Of the expected calls; None without prices, or without a price or tokens for one of the models."""
    batch_money: float | None
    """The same as batches; None where the server takes none too."""
    models: dict[str, str]
    """The language models that are asked: `available`, or what is wrong."""
    missing: tuple[str, ...]
    """Why it would be refused now, with the remedy: a server or a model that is missing, or a text that is too long
    for one."""
    notices: tuple[str, ...]
