"""The outputs of the stages of an index job."""

import json
from typing import Any, Self

from pydantic import ConfigDict, Field

from schemas.values.base import Embedded, Value
from schemas.values.participants import TranscriptVariant


class Chunk(Value):
    """A window of transcript lines."""

    text: str
    chunk_hash: str
    """First 12 hex digits of the SHA-256 of the text."""
    tags: tuple[str, ...] | None
    """Evidence keys of the items that the text mentions, in alphabetical order; None in an index without tags."""


class ChunkedTranscript(Value):
    """Stage `chunk`: the windows of one transcript, in order."""

    chunks: tuple[Chunk, ...]


class EmbeddedChunks(Embedded):
    """Stage `embed`: the windows of a transcript, and its evidence."""

    vectors: int
    """Of windows."""
    cut: tuple[int, ...] = ()
    """The positions of the windows that were cut, from 0."""
    evidence: tuple[str, ...] = ()
    """Evidence keys of the items whose evidence was embedded, in order."""


class FinishedBatch(Value):
    """Stage `publish`: this transcript, or this chunk, is ready. The last job of the run publishes the index."""

    index_id: int
    chunks: int


class Sidecar(Value):
    """Metadata of the data. Fields of other programs are kept; fields with values of another type are refused."""

    model_config = ConfigDict(extra="allow", strict=True)

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """The metadata in a JSON object. Raises pydantic's ValidationError."""
        # As JSON, because there a strict tuple may be written as an array.
        return cls.model_validate_json(json.dumps(document))

    def document(self) -> dict[str, Any]:
        """The JSON object, with the fields that were set and no others."""
        return self.model_dump(mode="json", exclude_unset=True)


class ArtifactMeta(Sidecar):
    """`.meta.json`: the source and the settings of an index. A field that is None was not written."""

    backend: str | None = None
    model: str | None = None
    """Its name in the backend."""
    model_canonical: str | None = None
    model_digest: str | None = None
    """SHA-256 of the weights. Only ragq writes it."""
    dimension: int | None = Field(default=None, ge=1)
    actual_dimension_min: int | None = None
    actual_dimension_max: int | None = None
    dimension_mismatch_count: int | None = None
    chunk_size: int | None = None
    chunk_step: int | None = None
    min_evidence_chars: int | None = None
    split: str | None = None
    """`paper-train` or `avec-train`."""
    transcript_variant: TranscriptVariant | None = None
    """Only ragq writes it."""
    participant_count: int | None = None
    generated_at: str | None = None
    generator_script: str | None = None
    split_csv_hash: str | None = None
    """First 12 hex digits of the SHA-256 of the split's CSV."""
    split_ids_hash: str | None = None
    """First 12 hex digits of the SHA-256 of the split's ids, ascending, joined by commas."""


class ChunkScoresMeta(Sidecar):
    """`.chunk_scores.meta.json`: the scorer of the chunks, and its settings."""

    prompt_hash: str
    """First 12 hex digits of the SHA-256 of the scorer's prompt."""
    scorer_model: str | None = None
    scorer_model_digest: str | None = None
    """Identifies the scorer's weights. Only ragq writes it."""
    allow_same_model: bool | None = None
    """True if the scorer was MODEL_QUANTITATIVE_MODEL itself, and this was allowed. Only ragq writes it."""
    other_prompt: bool | None = None
    """True if another prompt than ragq's made the scores, and an import accepted them by name. Only ragq writes it."""
    scorer_backend: str | None = None
    temperature: float | None = None
    generated_at: str | None = None
    source_embeddings: str | None = None
    """File name of the `.npz` whose chunks were scored."""
    total_chunks: int | None = None


class PartialBuild(Sidecar):
    """`.partial.json`: what was skipped, which marks an index as incomplete."""

    output_npz: str | None = None
    skipped_participants: tuple[int, ...] = ()
    skipped_participant_count: int = 0
    skipped_chunks: int = 0
    chunk_skip_reason_counts: dict[str, int] = Field(default_factory=dict)
