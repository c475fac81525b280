"""The reference index that few-shot jobs use, and what the run records about it."""

from collections.abc import Collection
from typing import Any, Final, NamedTuple

from schemas.errors import Refused
from schemas.settings.resolve import EffectiveSettings
from schemas.settings.run import RunSettings
from schemas.settings.run_groups import RUN_SETTINGS
from schemas.settings.words import value_in_words
from schemas.values.artifacts import ChunkScoresMeta, PartialBuild
from services import baselines
from services.assessed import Assessed
from services.index_sidecars import chunk_scores_meta
from services.indexes import build_command, fitting_index
from services.overlap import allowed_overlap, refuse_overlap
from stages.participants.artifacts.chunk_scores import other_prompt
from stages.participants.chunk_scores import is_circular
from stages.participants.index_identity import variant_difference
from stages.participants.split_names import training_name
from stages.participants.variants import import_command
from store.database import Connection
from store.references import chunk_scores, index_runs, references
from store.references.references import StoredIndex

#: What came after the paper's notebook, and changes its references.
_AFTER_THE_NOTEBOOK: Final = (
    "EMBEDDING_MIN_REFERENCE_SIMILARITY",
    "EMBEDDING_MAX_REFERENCE_CHARS_PER_ITEM",
    "EMBEDDING_ENABLE_ITEM_TAG_FILTER",
    "EMBEDDING_REFERENCE_SCORE_SOURCE",
    "EMBEDDING_ENABLE_REFERENCE_VALIDATION",
    "RAGQ_DEDUPLICATE_REFERENCES",
    "RAGQ_RERANKER",
)


class PlannedSearch(NamedTuple):
    """The search of the few-shot jobs of a run."""

    inputs: dict[str, Any]
    """Part of the inputs of every few-shot job."""
    record: dict[str, Any]
    """Part of the run's request: what its readers have to know of the index."""


def left_parity(profile: str, settings: RunSettings) -> dict[str, Any]:
    """Part of the run's request: the settings by which a few-shot run that is meant to be the notebook's is not.

    It is meant to be that with profile `paper-parity`, or with the notebook's block of references.
    """
    is_notebook = settings.ragq.prompt_format == "notebook"
    if not is_notebook and profile != "paper-parity":
        return {}
    values = settings.values()
    differing = [name for name in _AFTER_THE_NOTEBOOK if values[name] != RUN_SETTINGS[name].default]
    names = differing if is_notebook else ["RAGQ_PROMPT_FORMAT", *differing]
    return {"left_parity": [f"{name}={value_in_words(values[name])}" for name in names]} if names else {}


async def plan_search(
    connection: Connection,
    settings: EffectiveSettings,
    assessed: Assessed,
    *,
    allow_overlap: bool = False,
    allow_variant_mismatch: bool = False,
    named: str | None = None,
) -> PlannedSearch:
    """The search of the data set's index that EMBEDDING_EMBEDDINGS_FILE names, or of the `named` index, without anybody
    of the run's own split.

    Raises Refused when there is none of that name, when it has participants of the split and that is not allowed, and
    when nobody of it has scores to be shown; and EmbeddingArtifactMismatchError, naming every difference, when it was
    built with other settings or lacks what the settings ask for.
    """
    index = await fitting_index(
        connection,
        settings,
        data_set=assessed.data_set,
        transcripts=assessed.variants,
        excluded=assessed.excluded,
        allow_variant_mismatch=allow_variant_mismatch,
        named=named,
    )
    indexed = await references.participants(connection, index.id)
    both = await references.assessed_people(connection, index.id, assessed.data_set, assessed.excluded)
    is_own = index.data_set == assessed.data_set
    inputs: dict[str, Any] = {
        "index_id": index.id,
        "index_data_set": index.data_set,
        "index_model_digest": index.model_digest,
        "excluded": list(assessed.excluded) if is_own else both,
    }
    record: dict[str, Any] = {
        "references": named,
        "searched": {"index": index.name, "data_set": index.data_set, "split": training_name(index.split)},
        "variants": assessed.variant_record() | {"index": index.variant.value},
    }
    record |= left_parity(settings.profile, settings.run)
    if allow_overlap:
        record |= allowed_overlap(index, indexed, both, assessed)
    else:
        await refuse_overlap(connection, index, indexed, both, assessed, settings)
    if variant_difference(index.variant, assessed.variants):
        record["variants"] |= {"mismatch_allowed": True}
    if index.partial is not None:
        record["left_out_references"] = list(PartialBuild.from_document(index.partial).skipped_participants)
    record |= await baselines.of_index(connection, index, without=inputs["excluded"])
    if index.run_id is not None and (cut := await index_runs.cut_chunks(connection, index.run_id)):
        record["cut_chunks"] = {"cut": cut, "chunks": index.chunks}
    if settings.run.embedding.reference_score_source == "participant":
        record |= await _unlabelled(connection, index, {*indexed} - {*inputs["excluded"]}, settings)
    else:
        inputs["chunk_scores"] = await chunk_scores.scored_by(connection, index.id)
        record["chunk_scores"] = _scorer(chunk_scores_meta(index), settings.run)
    return PlannedSearch(inputs, record)


async def _unlabelled(
    connection: Connection, index: StoredIndex, searched: Collection[int], settings: EffectiveSettings
) -> dict[str, Any]:
    """Part of the run's request: who of the index has no scores to be shown. Raises Refused when nobody has."""
    without = [one for one in await references.unlabelled(connection, index.id) if one in searched]
    if without and len(without) == len(searched):
        raise Refused(
            f"Nobody of reference index '{index.name}' has item scores, so no reference could be shown. "
            f"`{import_command(index.data_set)}` imports those of a folder with label files; then "
            f"`{build_command(settings, index.source)}` builds the index with them. Without references: "
            "--zero-shot-only."
        )
    return {"unlabelled_references": without} if without else {}


def _scorer(meta: ChunkScoresMeta | None, settings: RunSettings) -> dict[str, Any]:
    scorer = None if meta is None else meta.scorer_model
    quantitative_model = settings.model.quantitative_model
    return {
        "scorer_model": scorer,
        "is_circular": None if scorer is None else is_circular(scorer, quantitative_model=quantitative_model),
        "other_prompt": meta.prompt_hash if meta is not None and other_prompt(meta) else None,
    }
