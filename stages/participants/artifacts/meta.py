"""`.meta.json`: what an index was built from and with."""

from datetime import datetime
from typing import Any

from schemas.values.artifacts import ArtifactMeta
from stages.files.problems import Parsed
from stages.model_aliases import canonical_model, resolved_model
from stages.participants.artifacts.documents import parse_sidecar
from stages.participants.splits import TRAINING_SPLITS

REMEDY = "correct it, or take the file away: what it does not say is not compared"


def parse_meta(data: bytes, *, file: str) -> Parsed[ArtifactMeta | None]:
    """The description of an index; a file that cannot be read is a problem, never a missing one."""
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
    participant_count: int,
    built_at: datetime,
    built_by: str,
) -> ArtifactMeta:
    """The description of an index that is written to files.

    What the files said that it was imported from stays, where the index itself does not know better: who made it
    when, and fields of other programs.
    """
    outside = {inside: outside for outside, inside in TRAINING_SPLITS.items()}
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
        "split": outside.get(split, split),
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
