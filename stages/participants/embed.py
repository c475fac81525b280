"""Stage `embed`: the evidence of each item as one vector (Spec 37), and the chunks of a reference transcript."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from schemas.settings.run import RunSettings
from schemas.values.participants import EmbeddedEvidence, ExtractedEvidence, PHQ8Item, TranscriptVariant
from schemas.values.references import EmbeddedChunks
from stages.models import canonical_model
from stages.ports import Embedder, Vectors
from stages.texts.characters import straight_apostrophes
from stages.vectors import unit_rows


def evidence_text(quotes: Sequence[str]) -> str:
    """The quotes of an item as the text that is embedded and judged: one quote a line."""
    return "\n".join(quotes)


async def embed_evidence(
    extracted: ExtractedEvidence,
    *,
    embedder: Embedder,
    dimension: int,
    timeout_s: float,
    min_evidence_chars: int,
    batch: bool,
    truncate: bool,
) -> tuple[EmbeddedEvidence, Vectors]:
    """Embed the items with at least `min_evidence_chars` characters of evidence, in the order of the questionnaire.

    One vector of length 1 per item. In batch mode all texts are embedded in one call, otherwise each in its own. The
    embedder is given straight apostrophes. Without any such item it is not called, and the digest is empty. Vectors
    are checked, cut and normalised by `unit_rows`, with its errors; LLMTimeoutError, TextTooLongError without
    `truncate`, and other errors of the embedder are raised unchanged.
    """
    texts = embedded_texts(extracted, min_chars=min_evidence_chars)
    calls = _calls([straight_apostrophes(text) for text in texts.values()], batch=batch)
    embedded = [await embedder.embed_batch(call, timeout_s=timeout_s, truncate=truncate) for call in calls]
    matrices = [
        unit_rows(found.vectors, rows=len(call), dimension=dimension)
        for call, found in zip(calls, embedded, strict=True)
    ]
    starts = np.cumsum([0, *map(len, calls)])
    items = tuple(texts)
    cut = tuple(items[start + at] for start, found in zip(starts, embedded, strict=False) for at in found.cut)
    evidence = EmbeddedEvidence(
        model=embedder.name,
        model_digest=await embedder.digest() if texts else "",
        dtype=await embedder.dtype() if texts else "",
        dimension=dimension,
        items=items,
        embedding_calls=len(calls),
        cut_texts=len(cut),
        cut_items=cut,
        reused_texts=sum(found.reused for found in embedded),
    )
    return evidence, np.concatenate([np.empty((0, dimension), dtype=np.float32), *matrices])


def embedded_texts(extracted: ExtractedEvidence, *, min_chars: int) -> dict[PHQ8Item, str]:
    """The text of each item with at least `min_chars` characters of evidence, in the order of the questionnaire."""
    texts = {item: evidence_text(extracted.quotes.get(item, ())) for item in PHQ8Item}
    return {item: text for item, text in texts.items() if text and len(text) >= min_chars}


async def embed_chunks(
    texts: Sequence[str],
    evidence: Mapping[PHQ8Item, str],
    *,
    embedder: Embedder,
    dimension: int,
    timeout_s: float,
    truncate: bool,
) -> tuple[EmbeddedChunks, Vectors]:
    """One row of length 1 per chunk of a transcript, then one per item with evidence, in one call.

    Raises as `embed_evidence` does.
    """
    said = [straight_apostrophes(text) for text in (*texts, *evidence.values())]
    found = await embedder.embed_batch(said, timeout_s=timeout_s, truncate=truncate)
    vectors = unit_rows(found.vectors, rows=len(said), dimension=dimension)
    embedded = EmbeddedChunks(
        model=embedder.name,
        model_digest=await embedder.digest(),
        dimension=dimension,
        vectors=len(texts),
        cut_texts=len(found.cut),
        cut=tuple(at for at in found.cut if at < len(texts)),
        evidence=tuple(item.evidence_key for item in evidence),
        dtype=await embedder.dtype(),
        reused_texts=found.reused,
    )
    return embedded, vectors


def _calls(texts: list[str], *, batch: bool) -> list[list[str]]:
    if not texts:
        return []
    return [texts] if batch else [[text] for text in texts]


class BuiltWith(Protocol):
    """The settings that an index was built with. None is unknown and not compared."""

    @property
    def backend(self) -> str | None: ...
    @property
    def model(self) -> str | None: ...
    @property
    def dimension(self) -> int | None: ...
    @property
    def chunk_size(self) -> int | None: ...
    @property
    def chunk_step(self) -> int | None: ...
    @property
    def min_evidence_chars(self) -> int | None: ...


def settings_differences(built: BuiltWith, settings: RunSettings) -> Iterator[str]:
    """A message per setting whose value differs from the one that the index was built with.

    Two names of the same model are equal.
    """
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
    """A message if the index was built from another variant than the transcripts `now` counts; else None.

    What is unknown cannot be compared.
    """
    if built is TranscriptVariant.UNKNOWN or not now.keys() - {built, TranscriptVariant.UNKNOWN}:
        return None
    return f"transcripts: the index was built from variant {built}, those of the run are {counted_variants(now)}"


def counted_variants(variants: Mapping[TranscriptVariant, int]) -> str:
    """Variants and how many transcripts have each.

    >>> counted_variants({TranscriptVariant.RAW: 41})
    'raw (41)'
    """
    return ", ".join(f"{variant} ({count})" for variant, count in variants.items())
