"""A small artifact: two participants, three chunks, vectors of four numbers."""

import json
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schemas.settings.run import EmbeddingSettings, RunSettings
from schemas.values.participants import PHQ8Item, Split
from stages.participants.artifacts import ArtifactFile, LoadedArtifact, load_artifact
from stages.participants.chunking import PROMPT_HASH

TEXTS = {"304": ["one line"], "303": ["up at three", "no “appetite”\nat all"]}
VECTORS = {
    303: np.array([[1, 0, 0, 0], [0.6, 0.8, 0, 0]], dtype=np.float32),
    304: np.array([[0, 0, 0, 1]], dtype=np.float32),
}
META = {
    "backend": "huggingface",
    "model": "Qwen/Qwen3-Embedding-8B",
    "model_canonical": "qwen3-embedding:8b",
    "dimension": 4,
    "actual_dimension_min": 4,
    "actual_dimension_max": 4,
    "dimension_mismatch_count": 0,
    "chunk_size": 8,
    "chunk_step": 2,
    "min_evidence_chars": 8,
    "split": "paper-train",
    "participant_count": 2,
    "generated_at": "2026-01-07T12:00:00",
    "generator_script": "scripts/generate_embeddings.py",
    "split_csv_hash": "c" * 12,
    "split_ids_hash": "1" * 12,
}
TAGS = {"303": [["PHQ8_Sleep"], []], "304": [["PHQ8_Sleep", "PHQ8_Tired"]]}
NO_SCORES = {item.evidence_key: None for item in PHQ8Item}
CHUNK_SCORES = {"303": [NO_SCORES | {"PHQ8_Sleep": 3}, NO_SCORES | {"PHQ8_Appetite": 0}], "304": [NO_SCORES]}
CHUNK_SCORES_META = {
    "scorer_model": "gemma3:27b",
    "scorer_backend": "ollama",
    "temperature": 0.0,
    "prompt_hash": PROMPT_HASH,
    "generated_at": "2026-01-08T12:00:00",
    "source_embeddings": "small.npz",
    "total_chunks": 3,
}


SPLIT = Split(name="paper-train", participant_ids=(303, 304), csv_hash="c" * 12, ids_hash="1" * 12)


def npz(arrays: dict[int, Any]) -> bytes:
    file = BytesIO()
    named: dict[str, NDArray[Any]] = {f"emb_{participant_id}": array for participant_id, array in arrays.items()}
    np.savez(file, **named)  # type: ignore[arg-type]
    return file.getvalue()


def as_json(document: Any) -> bytes:
    return json.dumps(document).encode()


def artifact_files(**changes: bytes | None) -> dict[ArtifactFile, bytes]:
    """Every file that belongs to a whole index, changed by ArtifactFile's names; None takes one away."""
    files: dict[str, bytes | None] = {
        "TEXTS": as_json(TEXTS),
        "VECTORS": npz(VECTORS),
        "META": as_json(META),
        "TAGS": as_json(TAGS),
        "CHUNK_SCORES": as_json(CHUNK_SCORES),
        "CHUNK_SCORES_META": as_json(CHUNK_SCORES_META),
    }
    return {ArtifactFile[name]: data for name, data in (files | changes).items() if data is not None}


def rules(*, with_tags: bool = False, with_chunk_scores: bool = False, **embedding: Any) -> RunSettings:
    """The settings that the artifact was made with, but for these of EMBEDDING_*."""
    source = "chunk" if with_chunk_scores else "participant"
    read = {"dimension": 4, "enable_item_tag_filter": with_tags, "reference_score_source": source} | embedding
    return RunSettings(embedding=EmbeddingSettings(**read))


def load(loaded_by: RunSettings | None = None, /, *splits: Split, **changes: bytes | None) -> LoadedArtifact:
    """The artifact, changed, loaded under the name `small` and compared with these splits."""
    stored = {split.name: split for split in splits}
    return load_artifact(artifact_files(**changes), loaded_by or rules(), name="small", splits=stored)
