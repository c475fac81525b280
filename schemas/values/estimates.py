"""What a submission would do, estimated before anything is stored."""

from typing import Any, Final

from pydantic import ConfigDict

from schemas.values.base import Value

_STAGE: Final[dict[str, Any]] = {
    "jobs": 41,
    "calls_at_most": 246,
    "jobs_unbounded": 0,
    "calls_held": 0,
    "calls_to_pay_at_most": 246,
    "calls_expected": 43.0,
    "prompt_tokens": 90300,
    "reply_tokens": 12900,
    "seconds": 615.0,
}
_EXAMPLE: Final[dict[str, Any]] = {
    "kind": "participant",
    "profile": "paper",
    "jobs": 41,
    "modes": {"few_shot": 41},
    "existing_run": "r12",
    "stages": {"score": _STAGE},
    **{name: _STAGE[name] for name in ("calls_at_most", "calls_held", "calls_to_pay_at_most", "calls_expected")},
    **{name: _STAGE[name] for name in ("prompt_tokens", "reply_tokens")},
    "seconds": {"low": 540.0, "value": 700.0, "high": 910.0},
    "basis": ["r3", "r7"],
    "basis_words": "2 past runs with these models, modes and stages (82 jobs); interval: fastest to slowest of them, "
    "with jobs at once or one after the other",
    "currency": "EUR",
    "money": 0.0116,
    "models": {"gemma3:27b": "available"},
    "missing": [],
    "notices": [],
}


class Range(Value):
    """An estimate with the ends of its interval."""

    low: float
    value: float
    high: float


class StageEstimate(Value):
    """One stage of the jobs of a submission."""

    jobs: int
    calls_at_most: int | None
    """Language model calls if every reply has to be asked for again as often as the settings allow; None with jobs of
    which that is not known yet."""
    jobs_unbounded: int
    """Jobs whose calls an earlier stage decides: documents whose headings are known once they are converted."""
    calls_held: int
    """Calls that the ledger holds: equal jobs with equal settings up to this stage made them."""
    calls_to_pay_at_most: int | None
    """`calls_at_most` of the jobs of which the ledger holds none."""
    calls_expected: float | None
    """To pay, by the mean of past runs; None without any."""
    prompt_tokens: int | None
    """Of the expected calls, by the mean of past calls; None without any that counted them."""
    reply_tokens: int | None
    seconds: float | None
    """Of all jobs together, by the mean of past attempts; None without any, or without any that paid where calls are to
    be paid for. Calls that the ledger holds take no time."""


class Estimate(Value):
    """A submission that was planned and not stored."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    kind: str
    profile: str
    jobs: int
    modes: dict[str, int]
    """Jobs by mode."""
    existing_run: str | None
    """The run of the same work, which the submission would find; None where a new one would be stored."""
    stages: dict[str, StageEstimate]
    calls_at_most: int | None
    """None where it is None for a stage."""
    calls_held: int
    calls_to_pay_at_most: int | None
    calls_expected: float | None
    prompt_tokens: int | None
    reply_tokens: int | None
    seconds: Range | None
    """Until the run finishes; None without a past run to compare with."""
    basis: tuple[str, ...]
    """The past runs that seconds and tokens are estimated from."""
    basis_words: str
    currency: str | None
    """None without prices."""
    money: float | None
    """Of the expected calls; None without prices, or without a price or tokens for one of the models."""
    models: dict[str, str]
    """The language models that are asked: `available`, or what is wrong."""
    missing: tuple[str, ...]
    """What has to be there before it can be submitted, each with its remedy."""
    notices: tuple[str, ...]
