"""Compares a reference index with the settings, at its import and at every submission."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from schemas.settings.run import RunSettings
from schemas.values.interviews import TranscriptVariant
from stages.models import canonical_model


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
