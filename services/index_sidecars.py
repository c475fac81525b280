"""Whether a reference index has the tags, the chunk scores and the evidence that a run asks for."""

from schemas.settings.run import RunSettings
from schemas.values.artifacts import ChunkScoresMeta
from stages.participants.artifacts.chunk_scores import PROMPT_REMEDY, other_prompt
from store.database import Connection
from store.references import references
from store.references.references import StoredIndex


async def unfit_sidecars(
    connection: Connection, index: StoredIndex, settings: RunSettings, *, name: str, build: str
) -> list[str]:
    """What the index lacks, each with what makes it. `name` is how commands name the index, `build` builds it again."""
    # What is switched off is not looked at (Spec 38).
    needs_tags = settings.embedding.enable_item_tag_filter
    needs_scores = settings.embedding.reference_score_source == "chunk"
    rule = evidence_rule(settings)
    unfit = []
    if rule is not None and index.evidence != rule:
        has = f"has evidence {index.evidence}" if index.evidence else "has no evidence"
        unfit.append(f"RAGQ_SCORER=neighbours: the run needs evidence {rule}, the index {has}; `{build}` makes it")
    if not (needs_tags or needs_scores):
        return unfit
    found = await references.sidecars(connection, index.id)
    if needs_tags and not found.has_tags:
        unfit.append(f"EMBEDDING_ENABLE_ITEM_TAG_FILTER: not every chunk has tags; `{build}` writes them")
    if needs_scores and not found.has_scores:
        unfit.append(
            "EMBEDDING_REFERENCE_SCORE_SOURCE=chunk: not every chunk has its own scores; "
            f"`ragq index chunk-scores {name} --scorer-model MODEL` makes them, "
            "`ragq references import NAME.npz --chunk-scores` brings them"
        )
    elif needs_scores and not settings.embedding.allow_chunk_scores_prompt_hash_mismatch:
        meta = chunk_scores_meta(index)
        unknown = "prompt_hash: nothing records by which prompt the chunks were scored"
        other = unknown if meta is None else other_prompt(meta)
        is_accepted = meta is not None and meta.other_prompt
        unfit += [f"{other}; {PROMPT_REMEDY}"] if other and not is_accepted else []
    return unfit


def evidence_rule(settings: RunSettings) -> str | None:
    """How the evidence of participants of an index is found, in words; None where no scorer compares it."""
    if settings.ragq.scorer != "neighbours":
        return None
    quantitative = settings.quantitative
    return f"of similarity {quantitative.similarity_threshold:g} and more, at most {quantitative.similarity_max_quotes}"


def chunk_scores_meta(index: StoredIndex) -> ChunkScoresMeta | None:
    """The scorer of the chunks; None where that is not known."""
    return None if index.chunk_scores_meta is None else ChunkScoresMeta.from_document(index.chunk_scores_meta)
