"""Writes an index as the files that `load_artifact` reads."""

from collections.abc import Sequence

from schemas.values.participants import ParticipantChunks
from schemas.values.references import ArtifactMeta, ChunkScoresMeta, PartialBuild
from stages.participants.artifacts.chunk_scores import write_chunk_scores
from stages.participants.artifacts.files import to_bytes
from stages.participants.artifacts.names import ArtifactFile
from stages.participants.artifacts.tags import write_tags
from stages.participants.artifacts.texts import write_texts
from stages.participants.artifacts.vectors import write_vectors


def write_artifact(
    participants: Sequence[ParticipantChunks],
    *,
    name: str,
    meta: ArtifactMeta,
    chunk_scores_meta: ChunkScoresMeta | None,
    partial: PartialBuild | None,
) -> dict[ArtifactFile, bytes]:
    """The files of an index. Those of tags, chunk scores and skipped participants exist only if there are any."""
    vectors_file = f"{name}{ArtifactFile.VECTORS}"
    files = {
        ArtifactFile.TEXTS: write_texts(participants),
        ArtifactFile.META: to_bytes(meta.document(), indent=2),
        ArtifactFile.VECTORS: write_vectors(participants),
    }
    if all(person.tags is not None for person in participants):
        files[ArtifactFile.TAGS] = write_tags(participants)
    if all(person.scores is not None for person in participants):
        files[ArtifactFile.CHUNK_SCORES] = write_chunk_scores(participants)
    if chunk_scores_meta is not None:
        described = chunk_scores_meta.model_copy(update={"source_embeddings": vectors_file})
        files[ArtifactFile.CHUNK_SCORES_META] = to_bytes(described.document(), indent=2)
    if partial is not None:
        files[ArtifactFile.PARTIAL] = to_bytes(
            partial.model_copy(update={"output_npz": vectors_file}).document(), indent=2
        )
    return files
