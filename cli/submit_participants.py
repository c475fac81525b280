"""The options of `ragq submit` for participants."""

import json
from pathlib import Path
from typing import Any

import click

from cli.files import read_file
from schemas.errors import Refused
from schemas.values.phq8 import AssessmentMode
from services.participants import ParticipantRequest


class ParticipantIds(click.ParamType[tuple[int, ...]]):
    """Numbers with commas between them."""

    name = "ID,ID..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        try:
            return tuple(int(number) for number in (value if isinstance(value, list) else value.split(",")))
        except (TypeError, ValueError):
            self.fail(f"'{value}' is not a list of participant numbers; write it like 316,319.", param, ctx)


def participants_request(
    *,
    split: str | None,
    participants: tuple[int, ...] | None,
    limit: int | None,
    few_shot_only: bool,
    zero_shot_only: bool,
    evidence: Path | None,
    until: str | None,
    allow_overlap: bool,
    allow_variant_mismatch: bool,
    data_set: str | None,
    references: str | None,
) -> ParticipantRequest:
    """Assessments of participants. Raises UsageError for options that exclude each other."""
    if few_shot_only and zero_shot_only:
        raise click.UsageError("--few-shot-only and --zero-shot-only exclude each other; leave both out for both.")
    if limit is not None and split is None:
        raise click.UsageError("--limit goes with --split; name fewer participants instead.")
    return ParticipantRequest(
        split=split,
        participants=participants or (),
        modes=_modes(few_shot_only, zero_shot_only),
        limit=limit,
        until=until,
        evidence=None if evidence is None else read_evidence(evidence),
        allow_overlap=allow_overlap,
        allow_variant_mismatch=allow_variant_mismatch,
        data_set=data_set,
        references=references,
    )


def read_evidence(path: Path) -> dict[str, Any]:
    """The object in an evidence file. Raises Refused, naming the place, when it is not a JSON object."""
    try:
        evidence = json.loads(read_file(path))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        place = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise Refused(f"{path}{place}: not JSON in UTF-8; write an object of participants.") from None
    if not isinstance(evidence, dict):
        raise Refused(f"{path}: found {type(evidence).__name__}; write an object: participant id -> item -> quotes.")
    return evidence


def _modes(few_shot_only: bool, zero_shot_only: bool) -> tuple[AssessmentMode, ...]:
    if few_shot_only:
        return (AssessmentMode.FEW_SHOT,)
    if zero_shot_only:
        return (AssessmentMode.ZERO_SHOT,)
    return (AssessmentMode.ZERO_SHOT, AssessmentMode.FEW_SHOT)
