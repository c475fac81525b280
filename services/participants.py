"""Participant runs: who is assessed, in which modes, on which reference index."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from schemas.chains import stages_of
from schemas.errors import EvidenceSchemaError, Refused
from schemas.settings.profiles import DEMO_MODEL
from schemas.settings.resolve import EffectiveSettings
from schemas.settings.run import settings_hash
from schemas.suggestions import did_you_mean
from schemas.values.phq8 import AssessmentMode, PHQ8Item
from services import baselines
from services.few_shot import Assessed, PlannedSearch, plan_search
from services.splits import find_data_set, find_split
from stages.participants.extract import quotes_per_item
from stages.participants.transcripts import import_command
from store.database import Connection
from store.references import interviews
from store.references.interviews import TranscriptIdentity
from store.runs.runs import NewJob, NewRun

#: The keys of given evidence.
_KEYS = tuple(item.evidence_key for item in PHQ8Item)


@dataclass(frozen=True, kw_only=True)
class ParticipantRequest:
    """What is asked for. Either a split, of which `limit` takes the first participants, or participants by id."""

    data_set: str | None = None
    """Whose split or participants; needed where several data sets could be meant."""
    split: str | None = None
    participants: Sequence[int] = ()
    modes: Sequence[AssessmentMode]
    limit: int | None = None
    until: str | None = None
    """The last stage to run; None runs all."""
    evidence: Mapping[str, Any] | None = None
    """Ready-made quotes: participant id -> evidence key -> list of quotes."""
    allow_overlap: bool = False
    """Search an index that holds people of the submitted split; their chunks are left out."""
    allow_variant_mismatch: bool = False
    """Search an index that was built from another variant of the transcripts."""
    references: str | None = None
    """The index to search, by its name or by its split, also of another data set; None is that of the settings."""


async def plan_participants(connection: Connection, request: ParticipantRequest, settings: EffectiveSettings) -> NewRun:
    """The run for a request: one job per participant and mode, participants in the order asked for.

    Raises Refused for an unknown split or participant, a missing transcript, evidence of the wrong shape, or a
    reference index with people of the submitted split; and EmbeddingArtifactMismatchError when that index was built
    with other settings or from another variant of the transcripts.
    """
    if request.references is not None and AssessmentMode.FEW_SHOT not in request.modes:
        raise Refused("Zero-shot jobs search no references: leave --references out, or submit few-shot jobs too.")
    data_set, split, everybody = await _participants(connection, request)
    wanted = everybody[: request.limit]
    transcripts = await _transcripts(connection, data_set, wanted)
    evidence = _checked_evidence(request.evidence, wanted)
    assessed = Assessed.of(data_set, split, everybody, (transcript.variant for transcript in transcripts.values()))
    search = (
        await plan_search(
            connection,
            settings,
            assessed,
            allow_overlap=request.allow_overlap,
            allow_variant_mismatch=request.allow_variant_mismatch,
            named=request.references,
        )
        if AssessmentMode.FEW_SHOT in request.modes
        else PlannedSearch({}, await baselines.of_first_split(connection, data_set, without=assessed.excluded))
    )
    jobs = [
        NewJob(
            mode=mode,
            subject=str(participant_id),
            inputs={"data_set": data_set}
            | _inputs(transcript)
            | (search.inputs if mode is AssessmentMode.FEW_SHOT else {})
            | ({} if evidence is None else {"evidence": evidence[participant_id]}),
            stages=stages_of("participant", mode, until=request.until),
        )
        for participant_id, transcript in transcripts.items()
        for mode in request.modes
    ]
    return NewRun(
        kind="participant",
        profile=settings.profile,
        settings=settings.snapshot(),
        settings_hash=settings_hash(settings.run),
        request={
            "data_set": data_set,
            "split": split,
            "participants": list(request.participants),
            "modes": list(request.modes),
            "limit": request.limit,
            "until": request.until,
            "evidence": None if evidence is None else "given",
            "variants": assessed.variant_record(),
            "profile_source": settings.profile_source,
            "scorer": settings.run.ragq.scorer,
            "demo_model": settings.run.ragq.scorer == "model" and settings.run.model.quantitative_model == DEMO_MODEL,
        }
        | search.record,
        jobs=jobs,
    )


def _inputs(transcript: TranscriptIdentity) -> dict[str, Any]:
    return {"transcript_hash": transcript.hash, "transcript_variant": transcript.variant.value}


async def _participants(connection: Connection, request: ParticipantRequest) -> tuple[str, str | None, Sequence[int]]:
    """A data set, the split of it if one is named, and everybody in that or named."""
    if request.split is None:
        named = list(dict.fromkeys(request.participants))
        return await find_data_set(connection, request.data_set, numbers=named), None, named
    split = await find_split(connection, request.split, data_set=request.data_set)
    members = await interviews.members(connection, split.data_set, split.name)
    if not members:
        raise Refused(f"Split '{split.called}' has no participants; import or make it again.")
    return split.data_set, split.name, [member.participant_id for member in members]


async def _transcripts(connection: Connection, data_set: str, wanted: Sequence[int]) -> dict[int, TranscriptIdentity]:
    found = await interviews.transcripts(connection, data_set, wanted)
    missing = [str(participant_id) for participant_id in wanted if participant_id not in found]
    if missing:
        known = await interviews.participant_ids(connection, data_set)
        raise Refused(
            f"No transcript is stored for participant {', '.join(missing)} of data set '{data_set}'."
            f"{did_you_mean(missing[0], map(str, known)) if len(missing) == 1 else ''} "
            f"`{import_command(data_set)}` imports transcripts."
        )
    return {participant_id: found[participant_id] for participant_id in wanted}


def _checked_evidence(
    evidence: Mapping[str, Any] | None, participants: Sequence[int]
) -> dict[int, dict[str, list[str]]] | None:
    if evidence is None:
        return None
    problems = [f"participant {key} is not part of this run" for key in evidence if key not in map(str, participants)]
    checked: dict[int, dict[str, list[str]]] = {}
    for participant_id in participants:
        if str(participant_id) not in evidence:
            problems.append(f"participant {participant_id} has no entry; give an empty object for no evidence")
            continue
        given = evidence[str(participant_id)]
        strange = len(given.keys() - set(_KEYS)) if isinstance(given, dict) else 0
        if strange:
            keys = "1 key" if strange == 1 else f"{strange} keys"
            problems.append(f"participant {participant_id}: {keys} that no item has; items are {', '.join(_KEYS)}")
        try:
            quotes = quotes_per_item(given)
        except EvidenceSchemaError as error:
            problems += [f"participant {participant_id}: {key}: {what}" for key, what in error.violations.items()]
        else:
            checked[participant_id] = {item.evidence_key: list(texts) for item, texts in quotes.items()}
    if problems:
        raise Refused("The evidence cannot be used:\n" + "\n".join(f"  {problem}" for problem in problems))
    return checked


def in_enabled_modes(request: ParticipantRequest, settings: EffectiveSettings) -> ParticipantRequest:
    """The request, in zero-shot mode alone with ENABLE_FEW_SHOT=false, in few-shot alone with RAGQ_SCORER=neighbours.

    Raises Refused when that leaves it no mode.
    """
    if settings.run.ragq.scorer == "neighbours":
        if AssessmentMode.FEW_SHOT not in request.modes:
            raise Refused(
                "RAGQ_SCORER=neighbours scores by the participants of a reference index, so it has no zero-shot mode; "
                "reports have the median of the training split beside it. Submit without --zero-shot-only, or with "
                "--set RAGQ_SCORER=model and a language model."
            )
        request = replace(request, modes=(AssessmentMode.FEW_SHOT,))
    if settings.run.evaluation.enable_few_shot:
        return request
    if AssessmentMode.ZERO_SHOT not in request.modes:
        raise Refused(
            f"ENABLE_FEW_SHOT=false ({settings.sources['ENABLE_FEW_SHOT']}) leaves a few-shot submission no mode; "
            "--set ENABLE_FEW_SHOT=true enables it."
        )
    return replace(request, modes=(AssessmentMode.ZERO_SHOT,))
