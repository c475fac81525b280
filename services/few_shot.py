"""The reference index that few-shot jobs use, and what the run records about it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from schemas.errors import Refused
from schemas.settings.base import value_in_words
from schemas.settings.resolve import EffectiveSettings
from schemas.settings.run import RUN_SETTINGS, RunSettings
from schemas.values.participants import ChunkScoresMeta, TranscriptVariant
from services.indexes import build_command, fitting_index
from stages.participants.artifacts import other_prompt
from stages.participants.chunking import is_circular
from stages.participants.score_reply import baseline_record
from stages.participants.splits import sources, training_name
from stages.participants.transcripts import import_command
from stages.texts.characters import listed
from store.database import Connection
from store.references import index_runs, interviews, references
from store.references.references import StoredIndex


def _overlap(
    index: StoredIndex, indexed: Collection[int], both: Sequence[int], split: str | None, *, is_allowed: bool
) -> dict[str, Any]:
    """Part of the run's request: who of the index is assessed; empty without anybody.

    Raises Refused, with who and the remedies, unless that is allowed, and when the index holds nobody else: every
    prompt would be without references then.
    """
    if not both:
        return {}
    is_whole = len(both) == len(indexed)
    if is_allowed and not is_whole:
        return {"overlap": {"index": index.name, "participants": list(both)}}
    where = "among the participants of this run" if split is None else f"in split '{split}'"
    if is_allowed:
        raise Refused(
            f"All {len(indexed)} participants of reference index '{index.name}' are {where}, and search leaves them "
            "out also with --allow-overlap: no reference is left. Name another index with `--references NAME` "
            "(`ragq index list`), or submit with --zero-shot-only."
        )
    allow = "" if is_whole else " --allow-overlap runs without their chunks, and every report of the run shows it."
    raise Refused(
        f"{len(both)} of the {len(indexed)} participants of reference index '{index.name}' (split {index.source}) are "
        f"{where}: {listed(both)}. A run needs references of other people: name an index without them with "
        "`--references NAME` (`ragq index list`, `ragq index references --split SPLIT`), or submit with "
        f"--zero-shot-only.{allow}"
    )


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
    *,
    data_set: str,
    split: str | None,
    excluded: Sequence[int],
    variants: Mapping[TranscriptVariant, int],
    allow_overlap: bool,
    named: str | None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Part of the inputs of every few-shot job, and part of the run's request: what its readers have to know of the
    index.

    It is the data set's index that EMBEDDING_EMBEDDINGS_FILE names, or the `named` one, without anybody `excluded`:
    the whole split, also beyond its limit, or without a split the participants that were named; ids ascending.
    `variants` are those of the transcripts that are assessed.

    Raises Refused when there is none of that name, when it has participants of the split and that is not allowed, and
    when nobody of it has scores to be shown; and EmbeddingArtifactMismatchError, naming every difference, when it was
    built with other settings or lacks what the settings ask for.
    """
    index = await fitting_index(connection, settings, data_set=data_set, transcripts=variants, named=named)
    labels = await references.labels(connection, index.id)
    both = await references.assessed_people(connection, index.id, data_set, excluded)
    inputs: dict[str, Any] = {
        "index_id": index.id,
        "index_data_set": index.data_set,
        "index_model_digest": index.model_digest,
        "excluded": list(excluded) if index.data_set == data_set else both,
    }
    record: dict[str, Any] = {
        "references": named,
        "searched": {"index": index.name, "data_set": index.data_set, "split": training_name(index.split)},
        "variants": {"transcripts": variants, "index": index.variant.value},
    }
    record |= left_parity(settings.profile, settings.run)
    record |= _overlap(index, labels, both, split, is_allowed=allow_overlap)
    if index.partial is not None:
        record["left_out_references"] = list(index.partial.skipped_participants)
    searched = {number: items for number, items in labels.items() if number not in inputs["excluded"]}
    if (baseline := baseline_record(training_name(index.split), searched.values())) is not None:
        record["baseline"] = baseline
    if index.run_id is not None and (cut := await index_runs.cut_chunks(connection, index.run_id)):
        record["cut_chunks"] = {"cut": cut, "chunks": index.chunks}
    if settings.run.embedding.reference_score_source == "participant":
        record |= _unlabelled(index, searched, settings)
    else:
        inputs["chunk_scores"] = await index_runs.scored_by(connection, index.id)
        record["chunk_scores"] = _scorer(index.chunk_scores_meta, settings.run)
    return inputs, record


async def first_baseline(connection: Connection, data_set: str, *, without: Collection[int]) -> dict[str, Any]:
    """Part of a run's request: the baseline of the likeliest training split of a data set that has none of these."""
    people = await interviews.known(connection, data_set)
    for source in sources(await interviews.stored_splits(connection)):
        if source.data_set != data_set or {*source.participant_ids} & {*without}:
            continue
        labels = [people[number].model_dump()["items"] for number in source.participant_ids if number in people]
        if (record := baseline_record(source.called, labels)) is not None:
            return {"baseline": record}
    return {}


def _unlabelled(index: StoredIndex, searched: Mapping[int, Any], settings: EffectiveSettings) -> dict[str, Any]:
    """Part of the run's request: who of the index has no scores to be shown. Raises Refused when nobody has."""
    without = [number for number, items in searched.items() if items is None]
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
