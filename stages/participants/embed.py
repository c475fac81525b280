"""Stage `embed`: the evidence of each item as one vector (Spec 37), and the chunks of a reference transcript."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from schemas.settings.run import EmbeddingSettings, RunSettings
from schemas.values.participants import (
    ArtifactMeta,
    EmbeddedChunks,
    EmbeddedEvidence,
    ExtractedEvidence,
    PHQ8Item,
    TranscriptVariant,
)
from schemas.values.runs import IndexSource
from stages.models import canonical_model
from stages.ports import Embedder, TextVectors, Vectors
from stages.texts.characters import straight_apostrophes
from stages.vectors import embedded_by, unit_vectors


def evidence_text(quotes: Sequence[str]) -> str:
    """The quotes of an item as the text that is embedded and judged: one quote a line."""
    return "\n".join(quotes)


async def embed_evidence(
    extracted: ExtractedEvidence, *, embedder: Embedder, settings: RunSettings
) -> tuple[EmbeddedEvidence, Vectors]:
    """Embed the items with enough evidence, in the order of the questionnaire. One vector of length 1 per item. In
    batch mode all texts are embedded in one call, otherwise each in its own. Without any such item the embedder is not
    called, and the digest is empty. Raises as `embed_spoken` does."""
    texts = embedded_texts(extracted, settings.embedding)
    said = list(texts.values())
    calls = [said] if settings.embedding.enable_batch_query_embedding and said else [[text] for text in said]
    dimension = settings.embedding.dimension
    embedded = [await embed_spoken(call, embedder, settings, dimension=dimension) for call in calls]
    starts = np.cumsum([0, *map(len, calls)])
    items = tuple(texts)
    cut = tuple(items[start + at] for start, found in zip(starts, embedded, strict=False) for at in found.cut)
    by = await embedded_by(embedder, embedded, dimension=dimension)
    evidence = EmbeddedEvidence(**dict(by), items=items, embedding_calls=len(calls), cut_items=cut)
    return evidence, np.concatenate([np.empty((0, dimension), np.float32), *(found.vectors for found in embedded)])


async def embed_spoken(
    texts: Sequence[str], embedder: Embedder, settings: RunSettings, *, dimension: int | None = None
) -> TextVectors:
    """Rows as `unit_vectors` gives them, of texts that the embedder is given with straight apostrophes. Raises what
    `unit_vectors` raises: TextTooLongError unless the settings have long texts truncated."""
    return await unit_vectors(
        [straight_apostrophes(text) for text in texts],
        embedder=embedder,
        timeout_s=settings.embedding.query_embed_timeout_seconds,
        dimension=dimension,
        truncate=settings.ragq.long_texts == "truncate",
    )


def embedded_texts(extracted: ExtractedEvidence, embedding: EmbeddingSettings) -> dict[PHQ8Item, str]:
    """The text of each item with enough characters of evidence, in the order of the questionnaire."""
    texts = {item: evidence_text(extracted.quotes.get(item, ())) for item in PHQ8Item}
    return {item: text for item, text in texts.items() if text and len(text) >= embedding.min_evidence_chars}


async def embed_chunks(
    texts: Sequence[str], evidence: Mapping[PHQ8Item, str], *, embedder: Embedder, settings: RunSettings
) -> tuple[EmbeddedChunks, Vectors]:
    """One row of length 1 per chunk of a transcript, then one per item with evidence, in one call. Raises as
    `embed_evidence` does."""
    dimension = settings.embedding.dimension
    found = await embed_spoken([*texts, *evidence.values()], embedder, settings, dimension=dimension)
    by = await embedded_by(embedder, [found], dimension=dimension)
    embedded = EmbeddedChunks(
        **dict(by),
        vectors=len(texts),
        cut=tuple(at for at in found.cut if at < len(texts)),
        evidence=tuple(item.evidence_key for item in evidence),
    )
    return embedded, found.vectors


BUILT_WITH: Final = {"backend", "dimension", "chunk_size", "chunk_step", "min_evidence_chars"}
"""The settings EMBEDDING_* that an index keeps."""


def settings_differences(built: ArtifactMeta | IndexSource, settings: RunSettings) -> Iterator[str]:
    """A message per setting whose value differs from the one that the index was built with. None is not compared. Two
    names of the same model are equal."""
    embedding, model = settings.embedding, settings.model.embedding_model
    if built.model is not None and canonical_model(built.model) == canonical_model(model):
        model = built.model
    compared = {
        "EMBEDDING_BACKEND": (built.backend, embedding.backend),
        "MODEL_EMBEDDING_MODEL": (built.model, model),
        "EMBEDDING_DIMENSION": (built.dimension, embedding.dimension),
        "EMBEDDING_CHUNK_SIZE": (built.chunk_size, embedding.chunk_size),
        "EMBEDDING_CHUNK_STEP": (built.chunk_step, embedding.chunk_step),
        "EMBEDDING_MIN_EVIDENCE_CHARS": (built.min_evidence_chars, embedding.min_evidence_chars),
    }
    for name, (then, now) in compared.items():
        if then is not None and then != now:
            yield f"{name}: built with {then}, now {now}"


def split_difference(split: str, *, built: str, now: str) -> str | None:
    """A message if the hash over the ids of the split differs from the one that the index was built on; else None."""
    return None if built == now else f"split {split}: built on participants {built}, now {now}"


def variant_difference(built: TranscriptVariant, now: Mapping[TranscriptVariant, int]) -> str | None:
    """A message if the index was built from another variant than the transcripts `now` counts; else None. What is
    unknown cannot be compared."""
    if built is TranscriptVariant.UNKNOWN or not now.keys() - {built, TranscriptVariant.UNKNOWN}:
        return None
    return f"transcripts: the index was built from variant {built}, those of the run are {counted_variants(now)}"


def counted_variants(variants: Mapping[TranscriptVariant, int]) -> str:
    """Variants and how many transcripts have each.

    >>> counted_variants({TranscriptVariant.RAW: 41})
    'raw (41)'
    """
    return ", ".join(f"{variant} ({count})" for variant, count in variants.items())
