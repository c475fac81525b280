"""Loads an index from its files, by the rules of the original system."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from schemas.errors import (
    EmbeddingArtifactMismatchError,
    EmbeddingDimensionMismatchError,
    EmbeddingValidationError,
)
from schemas.values.participants import (
    ArtifactMeta,
    ChunkScoresMeta,
    PartialBuild,
    ParticipantChunks,
    TranscriptVariant,
)
from stages.participants.artifacts.files import IndexFiles, LoadRules, to_bytes
from stages.participants.artifacts.names import ArtifactFile
from stages.participants.artifacts.per_chunk import (
    per_chunk_files,
    read_chunk_scores,
    read_scorer,
    read_tags,
    read_texts,
    tags_of,
)
from stages.participants.artifacts.vectors import (
    REMEDY,
    read_vectors,
    unsound_rows,
    with_skipped,
    write_vectors,
)
from stages.participants.chunking import chunk_scores_of
from stages.participants.embed import settings_differences, split_difference
from stages.participants.split_names import TEST_SPLITS, TRAINING_SPLITS, stored_name
from stages.participants.splits import ids_hash
from stages.ports import Vectors
from stages.texts.characters import first_lines
from stages.vectors import unit_rows

META = ArtifactFile.META
_META_REMEDY = "correct it, or remove the file: fields that are missing are not compared"
_PARTIAL_REMEDY = "restore it, or remove the file if the index is complete"
_SETTINGS = "set the value it was built with, or build the index again"


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The model and the split of an artifact. Its dimension, backend and chunking are those of the settings."""

    model: str
    model_digest: str | None
    """None if the artifact does not name the weights."""
    split: str
    split_csv_hash: str | None
    """None if the artifact does not name the file."""
    split_ids_hash: str
    variant: TranscriptVariant
    """Unknown if neither the artifact nor the rules name it."""


def identify(meta: ArtifactMeta | None, listed: Iterable[int], *, files: IndexFiles, rules: LoadRules) -> Identity:
    """The identity of an artifact; every difference is added to what is wrong with `files`.

    Fields that the description lacks are taken from the settings without a comparison. Participants are compared by the
    hash over their ids. For an older artifact without it, the hash of the split's file is compared, and if that
    differs, the ids in `listed`. Another file with the same participants is only a warning.
    """
    described = meta or ArtifactMeta()
    for difference in settings_differences(described, rules.settings):
        files.refuse(META, difference, _SETTINGS)
    source = described.split or rules.default_split
    if source in TEST_SPLITS:
        files.refuse(
            META,
            "split: it was not built from a training split",
            f"use one of {', '.join(TRAINING_SPLITS)} or a split of your own, so that nobody is tested on themselves",
        )
    split = stored_name(source)
    now = rules.splits.get(split)
    same_file = now is not None and described.split_csv_hash == now.csv_hash
    hash_of_ids = described.split_ids_hash or (now.ids_hash if now is not None and same_file else ids_hash(listed))
    if now is not None:
        if others := split_difference(split, built=hash_of_ids, now=now.ids_hash):
            files.refuse(META, others, "import the participants it was built on, or name its split with --split")
        elif described.split_csv_hash is not None and not same_file:
            files.warn(META, f"split {split} has the same participants, but its file has changed")
    return Identity(
        model=described.model or rules.settings.model.embedding_model,
        model_digest=described.model_digest,
        split=split,
        split_csv_hash=described.split_csv_hash,
        split_ids_hash=hash_of_ids,
        variant=described.transcript_variant or rules.default_variant,
    )


class LoadedArtifact(NamedTuple):
    """A loaded index."""

    identity: Identity
    participants: tuple[ParticipantChunks, ...]
    """Ids ascending."""
    meta: ArtifactMeta | None
    chunk_scores_meta: ChunkScoresMeta | None
    partial: PartialBuild | None
    """What was skipped at the build and now; None for a complete index."""
    warnings: tuple[str, ...]


def load_artifact(files: Mapping[ArtifactFile, bytes], *, name: str, rules: LoadRules) -> LoadedArtifact:
    """The index in these files, named `name` and their suffix; vectors and texts are required.

    Tags and chunk scores are read only if the rules request them. All mismatches, with the settings and within the
    files, are raised in one EmbeddingArtifactMismatchError. Without tags and scores, a participant whose texts and
    vectors differ in number is skipped with a warning. Then EmbeddingDimensionMismatchError is raised for vectors
    shorter than the setting, unless they may be skipped and others remain, and EmbeddingValidationError for vectors
    with NaN, an infinity or only zeros.
    """
    read = IndexFiles(files, name)
    texts, vectors = read_texts(read), read_vectors(read)
    chunks = {participant_id: len(of_participant) for participant_id, of_participant in texts.items()}
    meta = read.description(ArtifactMeta, META, _META_REMEDY)
    if META not in files:
        read.warn(META, "is missing; assumed to be built with the current settings")
    partial = read.description(PartialBuild, ArtifactFile.PARTIAL, _PARTIAL_REMEDY)
    listed = {*texts, *(partial.skipped_participants if partial else ())}
    identity = identify(meta, listed, files=read, rules=rules)
    tags = read_tags(read, chunks) if rules.with_tags else None
    scores = read_chunk_scores(read, chunks) if rules.with_chunk_scores else None
    scorer = read_scorer(read, rules) if rules.with_chunk_scores else None

    dropped = {} if read.problems else _unpaired(texts, vectors)
    for found in dropped.values():
        if rules.asked_for:
            read.refuse(ArtifactFile.VECTORS, found, REMEDY)
        else:
            read.warn(ArtifactFile.VECTORS, f"{found}; skipped")
    read.raise_problems()

    kept = {key: vectors[key] for key in texts if key not in dropped}
    short = _short(kept, rules, f"{name}{ArtifactFile.VECTORS}")
    for participant_id in short:
        rows = len(kept.pop(participant_id))
        found = f"participant {participant_id} has {rows} vectors of less than {rules.settings.embedding.dimension}"
        read.warn(ArtifactFile.VECTORS, f"{found} dimensions; skipped")
    _refuse_unsound(kept, rules, f"{name}{ArtifactFile.VECTORS}")
    dimension = rules.settings.embedding.dimension
    return LoadedArtifact(
        identity=identity,
        participants=tuple(
            ParticipantChunks(
                participant_id=key,
                texts=tuple(texts[key]),
                vectors=unit_rows(rows, rows=len(rows), dimension=dimension) if len(rows) else rows[:, :dimension],
                tags=None if tags is None else tags_of(tags[key]),
                scores=None if scores is None else tuple(map(chunk_scores_of, scores[key])),
            )
            for key, rows in kept.items()
        ),
        meta=meta,
        chunk_scores_meta=scorer,
        partial=with_skipped(
            partial,
            participants=[*dropped, *short],
            chunks=sum(chunks.get(key, 0) for key in (*dropped, *short)),
            reasons={"dimension_mismatch": sum(chunks[key] for key in short)} if short else {},
        ),
        warnings=tuple(read.warnings),
    )


def _unpaired(texts: Mapping[int, Sequence[str]], vectors: Mapping[int, Vectors]) -> dict[int, str]:
    """Participants whose texts and vectors differ in number, and how."""
    found = {}
    for key in sorted(texts.keys() | vectors.keys()):
        if key not in vectors:
            found[key] = f"participant {key} has texts and no array emb_{key}"
        elif key not in texts:
            found[key] = f"participant {key} has vectors and no texts"
        elif len(texts[key]) != len(vectors[key]):
            found[key] = (
                f"participant {key} does not have as many texts ({len(texts[key])}) as vectors ({len(vectors[key])})"
            )
    return found


def _short(vectors: Mapping[int, Vectors], rules: LoadRules, file: str) -> list[int]:
    """Participants with vectors shorter than the setting, if they may be skipped."""
    if not any(len(rows) for rows in vectors.values()):
        raise EmbeddingArtifactMismatchError(f"{file} has no chunk with a text and a vector; nothing was imported.")
    embedding = rules.settings.embedding
    short = [key for key, rows in vectors.items() if len(rows) and rows.shape[1] < embedding.dimension]
    left = [key for key, rows in vectors.items() if len(rows) and key not in short]
    may_be_skipped = embedding.allow_insufficient_dimension_embeddings and not rules.asked_for and left
    if short and not may_be_skipped:
        raise EmbeddingDimensionMismatchError(expected=embedding.dimension, actual=vectors[short[0]].shape[1])
    return short


def _refuse_unsound(vectors: Mapping[int, Vectors], rules: LoadRules, file: str) -> None:
    found = [
        f"participant {participant_id}, chunk {row}: {what}"
        for participant_id, rows in vectors.items()
        for row, what in sorted(unsound_rows(rows, rules.settings.embedding.dimension).items())
    ]
    if found:
        lines = first_lines(found)
        raise EmbeddingValidationError(f"{file} has invalid vectors; embed the chunks again.\n{lines}")


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
    files = per_chunk_files(participants) | {
        META: to_bytes(meta.document(), indent=2),
        ArtifactFile.VECTORS: write_vectors(participants),
    }
    if chunk_scores_meta is not None:
        described = chunk_scores_meta.model_copy(update={"source_embeddings": vectors_file})
        files[ArtifactFile.CHUNK_SCORES_META] = to_bytes(described.document(), indent=2)
    if partial is not None:
        files[ArtifactFile.PARTIAL] = to_bytes(
            partial.model_copy(update={"output_npz": vectors_file}).document(), indent=2
        )
    return files
