"""The reference index that few-shot jobs use, and what the run records about it."""

from typing import Any, NamedTuple

from schemas.errors import EmbeddingArtifactMismatchError, Refused
from schemas.settings.run import RunSettings
from schemas.values.artifacts import ChunkScoresMeta, PartialBuild
from stages.participants.artifacts.chunk_scores import PROMPT_REMEDY, other_prompt
from stages.participants.artifacts.names import index_name
from stages.participants.chunk_scores import is_circular
from stages.participants.index_identity import settings_differences, split_difference
from store.database import Connection
from store.references import chunk_scores, interviews, references
from store.references.references import StoredIndex


class PlannedSearch(NamedTuple):
    """The search of the few-shot jobs of a run."""

    inputs: dict[str, Any]
    """Part of the inputs of every few-shot job."""
    record: dict[str, Any]
    """Part of the run's request: what its readers have to know of the index."""


NO_SEARCH = PlannedSearch({}, {})
"""Of a run without few-shot jobs."""


async def plan_search(connection: Connection, settings: RunSettings) -> PlannedSearch:
    """The search of the index named by EMBEDDING_EMBEDDINGS_FILE.

    Raises Refused when there is none of that name, and EmbeddingArtifactMismatchError, naming every difference, when
    it was built with other settings or lacks what the settings ask for.
    """
    index = await _index(connection, settings)
    inputs: dict[str, Any] = {"index_id": index.id, "index_model_digest": index.model_digest}
    record: dict[str, Any] = {}
    if index.partial is not None:
        record["left_out_references"] = list(PartialBuild.from_document(index.partial).skipped_participants)
    if settings.embedding.reference_score_source == "chunk":
        inputs["chunk_scores"] = await chunk_scores.scored_by(connection, index.id)
        record["chunk_scores"] = _scorer(_chunk_scores_meta(index), settings)
    return PlannedSearch(inputs, record)


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
            "EMBEDDING_REFERENCE_SCORE_SOURCE=chunk: not every chunk has its own scores; "
            f"`ragq index chunk-scores {index.name} --scorer-model MODEL` makes them, "
            "`ragq references import NAME.npz --chunk-scores` brings them"
        )
    elif needs_scores and not settings.embedding.allow_chunk_scores_prompt_hash_mismatch:
        meta = _chunk_scores_meta(index)
        unknown = "prompt_hash: nothing records by which prompt the chunks were scored"
        other = unknown if meta is None else other_prompt(meta)
        is_accepted = meta is not None and meta.other_prompt
        unfit += [f"{other}; {PROMPT_REMEDY}"] if other and not is_accepted else []
    return unfit


def _scorer(meta: ChunkScoresMeta | None, settings: RunSettings) -> dict[str, Any]:
    scorer = None if meta is None else meta.scorer_model
    quantitative_model = settings.model.quantitative_model
    return {
        "scorer_model": scorer,
        "is_circular": None if scorer is None else is_circular(scorer, quantitative_model=quantitative_model),
        "other_prompt": meta.prompt_hash if meta is not None and other_prompt(meta) else None,
    }


def _chunk_scores_meta(index: StoredIndex) -> ChunkScoresMeta | None:
    return None if index.chunk_scores_meta is None else ChunkScoresMeta.from_document(index.chunk_scores_meta)
