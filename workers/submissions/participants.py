"""Participant runs: who is assessed, in which modes, on which reference index."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from schemas.errors import EmbeddingArtifactMismatchError, EvidenceSchemaError, Refused
from schemas.settings.resolve import EffectiveSettings
from schemas.settings.run import RunSettings, settings_hash
from schemas.values.artifacts import ChunkScoresMeta
from schemas.values.phq8 import AssessmentMode
from stages.participants.artifacts.chunk_scores import PROMPT_REMEDY, other_prompt
from stages.participants.artifacts.names import index_name
from stages.participants.chunk_scores import is_circular
from stages.participants.evidence_schema import quotes_per_item
from stages.participants.index_identity import settings_differences, split_difference
from store import chunk_scores, interviews, references
from store.database import Connection
from store.references import StoredIndex
from store.runs import NewJob, NewRun
from workers.pipelines import stages_of

#: Names a split may also be asked for by.
SPLIT_ALIASES = {"paper": "paper-test"}


@dataclass(frozen=True, kw_only=True)
class ParticipantRequest:
    """What is asked for. Either a split, of which `limit` takes the first participants, or participants by id."""

    split: str | None = None
    participants: Sequence[int] = ()
    modes: Sequence[AssessmentMode]
    limit: int | None = None
    until: str | None = None
    """The last stage to run; None runs all."""
    evidence: Mapping[str, Any] | None = None
    """Ready-made quotes: participant id -> evidence key -> list of quotes."""


async def plan_participants(connection: Connection, request: ParticipantRequest, settings: EffectiveSettings) -> NewRun:
    """The run for a request: one job per participant and mode, participants in the order asked for.

    Raises Refused for an unknown split or participant, a missing transcript or evidence of the wrong shape, and
    EmbeddingArtifactMismatchError when the reference index was built with other settings.
    """
    hashes = await _transcripts(connection, request)
    evidence = _checked_evidence(request.evidence, list(hashes))
    few_shot: dict[str, Any] = {}
    scorer: dict[str, Any] | None = None
    if AssessmentMode.FEW_SHOT in request.modes:
        index = await _index(connection, settings.run)
        few_shot = {"index_id": index.id, "index_model_digest": index.model_digest}
        if settings.run.embedding.reference_score_source == "chunk":
            few_shot["chunk_scores"] = await chunk_scores.scored_by(connection, index.id)
            scorer = _scorer(index, settings.run)
    jobs = [
        NewJob(
            mode=mode,
            subject=str(participant_id),
            inputs={"transcript_hash": transcript_hash}
            | (few_shot if mode is AssessmentMode.FEW_SHOT else {})
            | ({} if evidence is None else {"evidence": evidence[participant_id]}),
            stages=stages_of("participant", mode, until=request.until),
        )
        for participant_id, transcript_hash in hashes.items()
        for mode in request.modes
    ]
    return NewRun(
        kind="participant",
        profile=settings.profile,
        settings=settings.snapshot(),
        settings_hash=settings_hash(settings.run),
        request={
            "split": request.split,
            "participants": list(request.participants),
            "modes": list(request.modes),
            "limit": request.limit,
            "until": request.until,
            "evidence": None if evidence is None else "given",
            "profile_source": settings.profile_source,
        }
        | ({} if scorer is None else {"chunk_scores": scorer}),
        version=version("ragq"),
        jobs=jobs,
    )


async def _transcripts(connection: Connection, request: ParticipantRequest) -> dict[int, str]:
    if request.split is None:
        wanted = list(dict.fromkeys(request.participants))
    else:
        name = SPLIT_ALIASES.get(request.split, request.split)
        wanted = [member.participant_id for member in await interviews.members(connection, name)]
        if not wanted:
            known = ", ".join(await interviews.split_names(connection)) or "none yet"
            raise Refused(
                f"Split '{request.split}' is not stored. Stored splits: {known}. "
                "`ragq import participants DIR` imports the splits of a data set."
            )
        wanted = wanted[: request.limit]
    found = await interviews.transcript_hashes(connection, wanted)
    missing = [str(participant_id) for participant_id in wanted if participant_id not in found]
    if missing:
        raise Refused(
            f"No transcript is stored for participant {', '.join(missing)}. "
            "`ragq import participants DIR` imports transcripts."
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
        try:
            quotes = quotes_per_item(evidence[str(participant_id)])
        except EvidenceSchemaError as error:
            problems += [f"participant {participant_id}: {key}: {what}" for key, what in error.violations.items()]
        else:
            checked[participant_id] = {item.evidence_key: list(texts) for item, texts in quotes.items()}
    if problems:
        raise Refused("The evidence cannot be used:\n" + "\n".join(f"  {problem}" for problem in problems))
    return checked


async def _index(connection: Connection, settings: RunSettings) -> StoredIndex:
    stored = {index.name: index for index in await references.current(connection)}
    name = index_name(settings.embedding.embeddings_file)
    if name not in stored:
        known = ", ".join(stored) or "none yet"
        raise Refused(
            f"There is no reference index '{name}' (EMBEDDING_EMBEDDINGS_FILE). Built: {known}. "
            "`ragq index references --split paper-train` builds it."
        )
    index = stored[name]
    mismatches = list(settings_differences(index, settings))
    current = await interviews.split_hashes(connection, index.split)
    if current is not None:
        other = split_difference(index.split, built=index.split_ids_hash, now=current.ids_hash)
        mismatches += [other] if other else []
    mismatches += await _unfit_sidecars(connection, index, settings)
    if mismatches:
        raise EmbeddingArtifactMismatchError(
            f"Reference index '{name}' does not fit the settings of this run:\n"
            + "\n".join(f"  {mismatch}" for mismatch in mismatches)
            + f"\nBuild it again: `ragq index references --split {index.split}`; or set the values it was built with."
        )
    return index


async def _unfit_sidecars(connection: Connection, index: StoredIndex, settings: RunSettings) -> list[str]:
    # What is switched off is not looked at (Spec 38).
    needs_tags = settings.embedding.enable_item_tag_filter
    needs_scores = settings.embedding.reference_score_source == "chunk"
    if not (needs_tags or needs_scores):
        return []
    found = await references.sidecars(connection, index.id)
    unfit = []
    if needs_tags and not found.has_tags:
        unfit.append("EMBEDDING_ENABLE_ITEM_TAG_FILTER: not every chunk has tags; `ragq index references` writes them")
    if needs_scores and not found.has_scores:
        unfit.append(
            "EMBEDDING_REFERENCE_SCORE_SOURCE=chunk: not every chunk has scores of its own; "
            f"`ragq index chunk-scores {index.name} --scorer-model MODEL` makes them, "
            "`ragq references import NAME.npz --chunk-scores` brings them"
        )
    elif needs_scores and not settings.embedding.allow_chunk_scores_prompt_hash_mismatch:
        meta = _chunk_scores_meta(index)
        unknown = "prompt_hash: nothing tells by which prompt the chunks were scored"
        other = unknown if meta is None else other_prompt(meta)
        unfit += [f"{other}; {PROMPT_REMEDY}"] if other else []
    return unfit


def _scorer(index: StoredIndex, settings: RunSettings) -> dict[str, Any]:
    """Whose scores the references of a run show, for its record."""
    meta = _chunk_scores_meta(index)
    if meta is None or meta.scorer_model is None:
        return {"scorer_model": None, "is_circular": None}
    circular = is_circular(meta.scorer_model, quantitative_model=settings.model.quantitative_model)
    return {"scorer_model": meta.scorer_model, "is_circular": circular}


def _chunk_scores_meta(index: StoredIndex) -> ChunkScoresMeta | None:
    return None if index.chunk_scores_meta is None else ChunkScoresMeta.from_document(index.chunk_scores_meta)
