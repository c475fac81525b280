"""What a submission would do, estimated before anything is stored."""

from schemas.values.base import Value


class Effort(Value):
    """Language model calls, their tokens, and time."""

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


class StageEstimate(Effort):
    """One stage of the jobs of a submission."""

    jobs: int


class Estimate(Effort):
    """A submission that was planned and not stored."""

    kind: str
    profile: str
    jobs: int
    modes: dict[str, int]
    """Jobs by mode."""
    existing_run: str | None
    """The run of the same work, which the submission would find; None where a new one would be stored."""
    stages: dict[str, StageEstimate]
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
