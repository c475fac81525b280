"""What a submission would do, estimated before anything is stored."""

from typing import Any, Final

from pydantic import ConfigDict

from schemas.values.base import Value

_STAGE: Final[dict[str, Any]] = {
    "jobs": 41,
    "calls_at_most": 246,
    "jobs_unbounded": 0,
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
    **{name: _STAGE[name] for name in ("calls_at_most", "calls_expected", "prompt_tokens", "reply_tokens")},
    "seconds": 310.0,
    "basis": ["r3", "r7"],
    "currency": "EUR",
    "money": 0.0116,
    "models": {"gemma3:27b": "available"},
    "missing": [],
    "notices": [],
}


class StageEstimate(Value):
    """One stage of the jobs of a submission."""

    jobs: int
    calls_at_most: int | None
    """Language model calls if every reply has to be asked for again as often as the settings allow; None with jobs of
    which that is not known yet."""
    jobs_unbounded: int
    """Jobs whose calls an earlier stage decides: documents whose headings are known once they are converted."""
    calls_expected: float | None
    """By the median of past jobs in the same mode; None without any. The ledger may hold some of them."""
    prompt_tokens: int | None
    """Of the expected calls, likewise; None where no server counted them."""
    reply_tokens: int | None
    seconds: float | None
    """Of all jobs together, one after the other, by the median of past jobs; None without any."""


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
    calls_expected: float | None
    prompt_tokens: int | None
    reply_tokens: int | None
    seconds: float | None
    """Until the run finishes, with as many stages at the same time as in past runs; None where a stage has none."""
    basis: tuple[str, ...]
    """The past runs with the same models that calls, tokens and seconds are estimated from."""
    currency: str | None
    """None without prices."""
    money: float | None
    """Of the expected calls; None without prices, or without a price or tokens for one of the models."""
    models: dict[str, str]
    """The language models that are asked: `available`, or what is wrong."""
    missing: tuple[str, ...]
    """What has to be there before it can be submitted, each with its remedy."""
    notices: tuple[str, ...]
