"""`.meta.json`: the source and the settings of an index."""

from datetime import datetime
from typing import Any

from schemas.values.artifacts import ArtifactMeta
from schemas.values.transcript_variants import TranscriptVariant
from stages.files.problems import Parsed
from stages.model_aliases import canonical_model, resolved_model
from stages.participants.artifacts.documents import parse_sidecar
from stages.participants.split_names import training_name

REMEDY = "correct it, or remove the file: fields that are missing are not compared"


def parse_meta(data: bytes, *, file: str) -> Parsed[ArtifactMeta | None]:
    """The description of an index; a file that cannot be parsed is a problem and not treated as missing."""
    return parse_sidecar(ArtifactMeta, data, file=file, what_to_do=REMEDY)


def describe(
    imported: ArtifactMeta | None,
    *,
    backend: str,
    model: str,
    model_digest: str | None,
    dimension: int,
    chunk_size: int,
    chunk_step: int,
    min_evidence_chars: int,
    split: str,
    split_csv_hash: str | None,
    split_ids_hash: str,
    variant: TranscriptVariant,
    participant_count: int,
    built_at: datetime,
    built_by: str,
) -> ArtifactMeta:
    """The description of an index for its files.

    Fields of the files that the index was imported from are kept unless the index has its own value: the time and the
    program of the build, and fields of other programs.
    """
    resolved = resolved_model(model, backend)
    known: dict[str, Any] = {
        "backend": backend,
        "model": resolved,
        "model_digest": model_digest,
        "dimension": dimension,
        "actual_dimension_min": dimension,
        "actual_dimension_max": dimension,
        "dimension_mismatch_count": 0,
        "chunk_size": chunk_size,
        "chunk_step": chunk_step,
        "min_evidence_chars": min_evidence_chars,
        "split": training_name(split),
        "transcript_variant": None if variant is TranscriptVariant.UNKNOWN else variant,
        "participant_count": participant_count,
        "split_csv_hash": split_csv_hash,
        "split_ids_hash": split_ids_hash,
    }
    made = {
        "model_canonical": canonical_model(model),
        "generated_at": built_at.isoformat(),
        "generator_script": built_by,
    }
    before = {} if imported is None else imported.document()
    written = {name: value for name, value in (made | before | known).items() if value is not None}
    return ArtifactMeta.from_document(written)
