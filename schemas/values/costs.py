"""What runs cost: tokens, seconds and money, as sums over all attempts, so that a retry never lowers them."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from schemas.example import Example
from schemas.values.base import PlainValue, Value


@dataclass(frozen=True, kw_only=True, slots=True)
class StageWork(PlainValue):
    """The attempts of a stage, of one job or of a whole run."""

    job_id: int | None
    stage: str
    attempts: int
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class StageCalls(PlainValue):
    """The calls of a stage to one model over all attempts, of one job or of a whole run."""

    job_id: int | None
    stage: str
    model: str
    paid: int
    reused: int
    uncounted: int
    """Paid calls of which the server reported no tokens."""
    prompt_tokens: int
    reply_tokens: int
    seconds: float
    """Of the paid calls, as their client measured it."""
    saved_prompt_tokens: int
    saved_reply_tokens: int
    saved_seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptStage(PlainValue):
    """A stage that was not computed again, because its output was stored."""

    job_id: int
    stage: str
    seconds: float
    """Of the attempt that stored it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent(PlainValue):
    """What something cost, and what it would have cost without the ledger."""

    attempts: Annotated[int, Example(40)]
    seconds: Annotated[float, Example(95.5)]
    """Summed over attempts, also concurrent ones."""
    calls_paid: Annotated[int, Example(20)]
    calls_reused: Annotated[int, Example(4)]
    calls_uncounted: Annotated[int, Example(0)]
    """Paid calls of which the server reported no tokens: they are in no sum of tokens or money."""
    prompt_tokens: Annotated[int, Example(24000)]
    reply_tokens: Annotated[int, Example(3100)]
    llm_seconds: Annotated[float, Example(80.2)]
    """Waited for the paid calls."""
    money: Annotated[float | None, Example(0.12)]
    """None without a price of each model that was paid."""
    saved_prompt_tokens: Annotated[int, Example(4800)]
    """Of the calls that the ledger answered."""
    saved_reply_tokens: Annotated[int, Example(620)]
    saved_seconds: Annotated[float, Example(16.0)]
    saved_money: Annotated[float | None, Example(0.02)]


@dataclass(frozen=True, kw_only=True, slots=True)
class SavedStages(PlainValue):
    """What was not computed again, because it was stored."""

    stages: Annotated[int, Example(3)]
    seconds: Annotated[float, Example(12.5)]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCost(PlainValue):
    """The cost of a run."""

    currency: Annotated[str | None, Example("EUR")]
    """None without prices."""
    unpriced: Annotated[tuple[str, ...], Example([])]
    """Models that were paid and have no price, where there are prices."""
    total: Spent
    stages: dict[str, Spent]
    models: dict[str, Spent]
    """Their attempts and seconds are those of their calls."""
    jobs: dict[str, Spent]
    """Empty where only the sums were asked for."""
    retries: SavedStages
    """Stages before the one that an attempt after a failure began with."""
    forks: SavedStages
    """Stages that a fork copied from the run that it was forked from. Their calls count as reused."""


Price = Annotated[float, Field(ge=0)]


class ModelPrice(Value):
    """The price of a model, per million tokens."""

    prompt: Price
    reply: Price


class Prices(Value):
    """A price file: what people pay, in their currency."""

    currency: str = Field(min_length=1, max_length=12, pattern=r"^[^\s\x00-\x1f]+$")
    models: dict[str, ModelPrice]
