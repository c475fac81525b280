"""Stage `embed`: the evidence of each item as one vector (Spec 37), and the chunks of a reference transcript."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from schemas.settings.run import EmbeddingSettings, RunSettings
from schemas.values.participants import EmbeddedEvidence, ExtractedEvidence, PHQ8Item, TranscriptVariant
from schemas.values.runs import IndexSource
from stages.models import canonical_model
from stages.ports import Embedder, TextVectors, Vectors
from stages.texts.characters import straight_apostrophes
from stages.vectors import embedded_by, unit_vectors


def evidence_text(quotes: Sequence[str]) -> str:
    """The quotes of an item as the text that is embedded and judged: one quote a line."""
    return "\n".join(quotes)


async def embed_evidence(
    extracted: ExtractedEvidence | None,
    *,
    chunks: Sequence[str] = (),
    in_one_call: bool,
    embedder: Embedder,
    settings: RunSettings,
) -> tuple[EmbeddedEvidence, Vectors]:
    """One vector of length 1 per chunk of a reference transcript, then one per item with enough evidence, in the order
    of the questionnaire. Texts are embedded in one call, or each in its own. Without any text the embedder is not
    called, and the digest is empty. Raises as `embed_spoken` does."""
    evidence = {} if extracted is None else embedded_texts(extracted, settings.embedding)
    texts, items = [*chunks, *evidence.values()], tuple(evidence)
    calls = [texts] if in_one_call and texts else [[text] for text in texts]
    dimension = settings.embedding.dimension
    found = [await embed_spoken(call, embedder, settings, dimension=dimension) for call in calls]
    starts = np.cumsum([0, *map(len, calls)])
    cut = [int(start) + at for start, one in zip(starts, found, strict=False) for at in one.cut]
    embedded = EmbeddedEvidence(
        **dict(await embedded_by(embedder, found, dimension=dimension)),
        items=items,
        embedding_calls=len(calls),
        cut_items=tuple(items[at - len(chunks)] for at in cut if at >= len(chunks)),
        chunk_vectors=len(chunks),
        cut_chunks=tuple(at for at in cut if at < len(chunks)),
    )
    return embedded, np.concatenate([np.empty((0, dimension), np.float32), *(one.vectors for one in found)])


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


BUILT_WITH: Final = ("backend", "dimension", "chunk_size", "chunk_step", "min_evidence_chars")
"""The settings EMBEDDING_* that an index keeps."""


def settings_differences(built: IndexSource, settings: RunSettings) -> Iterator[str]:
    """A message per setting that differs from the one of the index. Two names of the same model are equal."""
    model = settings.model.embedding_model
    if canonical_model(built.model) != canonical_model(model):
        yield f"MODEL_EMBEDDING_MODEL: built with {built.model}, now {model}"
    for name in BUILT_WITH:
        then, now = getattr(built, name), getattr(settings.embedding, name)
        if then != now:
            yield f"EMBEDDING_{name.upper()}: built with {then}, now {now}"


def split_difference(split: str, *, built: str, now: str) -> str | None:
    """A message if the hash over the ids of the split differs from the one that the index was built on; else None."""
    return None if built == now else f"split {split}: built on participants {built}, now {now}"


def variant_difference(built: TranscriptVariant, now: Mapping[TranscriptVariant, int]) -> str | None:
    """A message if the index was built from another variant, as far as is known, than the transcripts `now` counts."""
    if built is TranscriptVariant.UNKNOWN or not now.keys() - {built, TranscriptVariant.UNKNOWN}:
        return None
    return f"transcripts: the index was built from variant {built}, those of the run are {counted_variants(now)}"


def counted_variants(variants: Mapping[TranscriptVariant, int]) -> str:
    """Variants and how many transcripts have each.

    >>> counted_variants({TranscriptVariant.RAW: 41})
    'raw (41)'
    """
    return ", ".join(f"{variant} ({count})" for variant, count in variants.items())
