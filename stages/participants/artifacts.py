"""A reference index in the files of the original system: bytes to values, by its rules, without access to a disk."""

import json
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from enum import StrEnum
from io import BytesIO
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from pydantic import BaseModel, ValidationError

from schemas.errors import (
    EmbeddingArtifactMismatchError,
    EmbeddingDimensionMismatchError,
    EmbeddingValidationError,
    ReplyShapeError,
)
from schemas.settings.run import EmbeddingSettings, RunSettings
from schemas.values.base import can_be_stored
from schemas.values.participants import (
    ITEMS_BY_KEY,
    Chunk,
    ChunkScoresMeta,
    FileProblem,
    PartialBuild,
    Split,
    TranscriptVariant,
)
from schemas.values.runs import IndexSource
from stages.participants.chunking import PROMPT_HASH, chunk_scores_of
from stages.participants.embed import BUILT_WITH, settings_differences, split_difference
from stages.participants.splits import TEST_SPLITS, TRAINING_SPLITS, ids_hash
from stages.ports import Vectors
from stages.records import validation_problems
from stages.replies.parsing import json_type, strict_object
from stages.texts.characters import first_lines, short_hash
from stages.vectors import FOUND, defects, unit_rows


class ArtifactFile(StrEnum):
    """A file of an index, as the suffix that replaces `.npz`."""

    #: One float32 array per participant, key `emb_<id>`, a row per chunk.
    VECTORS = ".npz"
    #: Participant id -> texts of the chunks, in the order of the rows.
    TEXTS = ".json"
    #: The source and the settings of the index.
    META = ".meta.json"
    #: Participant id -> tags per chunk.
    TAGS = ".tags.json"
    #: Participant id -> scores per chunk.
    CHUNK_SCORES = ".chunk_scores.json"
    #: The scorer of the chunks.
    CHUNK_SCORES_META = ".chunk_scores.meta.json"
    #: What was skipped.
    PARTIAL = ".partial.json"


def files_not_read(embedding: EmbeddingSettings) -> set[ArtifactFile]:
    """Tags and chunk scores, where the settings do not need them; those that they need must be there and valid."""
    tags = set() if embedding.enable_item_tag_filter else {ArtifactFile.TAGS}
    is_by_chunk = embedding.reference_score_source == "chunk"
    return tags if is_by_chunk else tags | {ArtifactFile.CHUNK_SCORES, ArtifactFile.CHUNK_SCORES_META}


class LoadedArtifact(NamedTuple):
    """A loaded index."""

    source: IndexSource
    """Under the name of the files, and of no data set yet."""
    participants: tuple[int, ...]
    """Ascending; one may have no chunk."""
    chunks: tuple[Chunk, ...]
    """In the order of the participants."""
    vectors: Vectors
    """One row of length 1 per chunk."""
    chunk_scores_meta: ChunkScoresMeta | None
    partial: PartialBuild | None
    """What was skipped at the build and now; None for a complete index."""
    warnings: tuple[str, ...]


_SCORES_REMEDY: Final = (
    "score these chunks again, or import without them (--set EMBEDDING_REFERENCE_SCORE_SOURCE=participant)"
)
_REMEDIES: Final = {
    ArtifactFile.VECTORS: "write one float32 array of shape (chunks, dimension) per participant with numpy.savez",
    ArtifactFile.TEXTS: "write an object: participant id -> list of texts, in the order of the vectors",
    ArtifactFile.META: "correct it, or remove the file: fields that are missing are not compared",
    ArtifactFile.TAGS: (
        "write the tags again for these chunks, or import without them (--set EMBEDDING_ENABLE_ITEM_TAG_FILTER=false)"
    ),
    ArtifactFile.CHUNK_SCORES: _SCORES_REMEDY,
    ArtifactFile.CHUNK_SCORES_META: _SCORES_REMEDY,
    ArtifactFile.PARTIAL: "restore it, or remove the file if the index is complete",
}
PROMPT_REMEDY: Final = (
    "score the chunks again (`ragq index chunk-scores`), or use them as they are with "
    "EMBEDDING_ALLOW_CHUNK_SCORES_PROMPT_HASH_MISMATCH=true: every run shows their prompt"
)
_ABSENT: Final = "was requested and is missing"
_OURS: Final = {"name", "data_set", "variant"}
"""Fields of an index that no file describes."""
_PARTICIPANT_ID: Final = re.compile(r"[1-9][0-9]{0,5}")
_Description = TypeVar("_Description", bound=BaseModel)


class _Files:
    """The files of an index by their name without the suffix, and what is wrong with them, to be raised at the end."""

    def __init__(self, contents: Mapping[ArtifactFile, bytes], name: str, settings: RunSettings) -> None:
        self.contents, self.name, self.settings = contents, name, settings
        self.problems: list[FileProblem] = []
        self.warnings: list[str] = []

    def refuse(self, file: ArtifactFile, found: str, what_to_do: str | None = None) -> None:
        """Add a problem."""
        self.problems.append(FileProblem(f"{self.name}{file}", None, found, what_to_do or _REMEDIES[file]))

    def warn(self, file: ArtifactFile, found: str) -> None:
        """Add a warning."""
        self.warnings.append(f"{self.name}{file}: {found}")

    def raise_problems(self) -> None:
        """Raise EmbeddingArtifactMismatchError with a line for each problem, if there is any."""
        if self.problems:
            count = "1 mismatch" if len(self.problems) == 1 else f"{len(self.problems)} mismatches"
            lines = first_lines(self.problems)
            raise EmbeddingArtifactMismatchError(f"The reference artifact has {count}; nothing was imported.\n{lines}")

    def lists(
        self, file: ArtifactFile, wrong: Callable[[Any], str | None], texts: Mapping[int, Sized] | None = None
    ) -> dict[int, list[Any]]:
        """One list per participant, ids ascending, of which no entry, one for each chunk, may be `wrong`. `texts` are
        those of the chunks, where they are known. With problems the lists are only usable for further checks."""
        if file not in self.contents:
            self.refuse(file, _ABSENT)
            return {}
        entries: dict[int, list[Any]] = {}
        found = []
        for key, entry in (self._object(file) or {}).items():
            if _PARTICIPANT_ID.fullmatch(key) is None:
                found.append("a name is not a participant id")
            elif not isinstance(entry, list):
                found.append(f"participant {key} has {json_type(entry)} where an array is expected")
            else:
                entries[int(key)] = entry
        entries = dict(sorted(entries.items()))
        found += [
            f"participant {participant_id}, chunk {ordinal}: {what}"
            for participant_id, of_chunks in entries.items()
            for ordinal, of_chunk in enumerate(of_chunks)
            if (what := wrong(of_chunk))
        ]
        uneven = {} if texts is None else _uneven(entries, texts, names=("entries", "chunks"))
        for what in (*found, *uneven.values()):
            self.refuse(file, what)
        return entries

    def description(
        self, kind: type[_Description], file: ArtifactFile, assumed: Mapping[str, Any] | None = None
    ) -> _Description | None:
        """A description, with the `assumed` values of fields that are null or not in the file; others than its fields
        are not read. None without the file, where nothing is assumed, and with a problem for each wrong field."""
        document = self._object(file) if file in self.contents else assumed
        if document is None:
            return None
        given = {name: document[name] for name in kind.model_fields.keys() - _OURS if document.get(name) is not None}
        try:
            return kind.model_validate_json(json.dumps({**(assumed or {}), **given}), strict=True)
        except ValidationError as error:
            name = f"{self.name}{file}"
            self.problems.extend(validation_problems(error, file=name, line=None, what_to_do=_REMEDIES[file]))
            return None

    def _object(self, file: ArtifactFile) -> dict[str, Any] | None:
        """The object in a file: UTF-8, unique names, no NaN or infinity, only texts that Postgres can store."""
        try:
            document = strict_object(self.contents[file].decode())
        except UnicodeDecodeError:
            found = "is not UTF-8"
        except ValueError as error:
            found = f"cannot be read: {error}"
        else:
            if all(map(can_be_stored, _texts_in(document))):
                return document
            found = "contains a NUL character or half of a surrogate pair"
        self.refuse(file, found)
        return None


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in (*value, *value.values()) if isinstance(value, dict) else value:
            yield from _texts_in(part)


def load_artifact(
    files: Mapping[ArtifactFile, bytes],
    settings: RunSettings,
    *,
    name: str,
    splits: Mapping[str, Split],
    default_split: str = "paper-train",
    variant: TranscriptVariant = TranscriptVariant.UNKNOWN,
) -> LoadedArtifact:
    """The index in these files, named `name` and their suffix; vectors and texts are required.

    It is compared with `splits`, those that are stored, by name; `default_split` is that of files that name none. All
    mismatches, with the settings and within the files, are raised in one EmbeddingArtifactMismatchError. Without tags
    and scores, a participant whose texts and vectors differ in number is skipped with a warning. Then
    EmbeddingDimensionMismatchError is raised for short vectors, and EmbeddingValidationError for NaN, infinities and
    zeros.
    """
    read = _Files(files, name, settings)
    texts, vectors = read.lists(ArtifactFile.TEXTS, _text_wrong), _read_vectors(read)
    if ArtifactFile.META not in files:
        read.warn(ArtifactFile.META, "is missing; assumed to be built with the current settings")
    partial = read.description(PartialBuild, ArtifactFile.PARTIAL)
    listed = {*texts, *(partial.skipped_participants if partial else ())}
    source = _source(read, listed, splits, default_split, variant)
    not_read = files_not_read(settings.embedding)
    has_tags, has_scores = (file not in not_read for file in (ArtifactFile.TAGS, ArtifactFile.CHUNK_SCORES))
    tags = read.lists(ArtifactFile.TAGS, _tags_wrong, texts) if has_tags else None
    scores = read.lists(ArtifactFile.CHUNK_SCORES, _chunk_scores_wrong, texts) if has_scores else None
    scorer = _read_scorer(read) if has_scores else None

    dropped = {} if read.problems else _uneven(texts, vectors, names=("texts", "vectors"))
    for found in dropped.values():
        if has_tags or has_scores:
            read.refuse(ArtifactFile.VECTORS, found)
        else:
            read.warn(ArtifactFile.VECTORS, f"{found}; skipped")
    read.raise_problems()

    kept = {key: vectors[key] for key in texts if key not in dropped}
    sound = _unit_vectors(read, kept, may_be_skipped=not (has_tags or has_scores))
    if skipped := {*dropped, *(key for key, rows in kept.items() if len(rows) and key not in sound)}:
        before, count = partial or PartialBuild(), sum(len(texts[key]) for key in skipped & kept.keys())
        partial = PartialBuild(
            skipped_participants=tuple(sorted({*before.skipped_participants, *skipped})),
            chunk_skip_reason_counts=Counter(before.chunk_skip_reason_counts) + Counter(dimension_mismatch=count),
        )
    return LoadedArtifact(
        source=source,
        participants=tuple(key for key in texts if key not in skipped),
        chunks=tuple(
            Chunk(
                participant_id=key,
                ordinal=ordinal,
                text=text,
                chunk_hash=short_hash(text),
                tags=None if tags is None else tags[key][ordinal],
                scores=None if scores is None else scores[key][ordinal],
            )
            for key in sound
            for ordinal, text in enumerate(texts[key])
        ),
        vectors=np.concatenate([*sound.values()]),
        chunk_scores_meta=scorer,
        partial=partial,
        warnings=tuple(read.warnings),
    )


def _unit_vectors(files: _Files, vectors: Mapping[int, Vectors], *, may_be_skipped: bool) -> dict[int, Vectors]:
    """Vectors of length 1 of those who have any, cut to the dimension of the settings. Participants with shorter ones
    are skipped with a warning, if that is allowed and others remain."""
    embedding, file = files.settings.embedding, f"{files.name}{ArtifactFile.VECTORS}"
    found = {key: rows for key, rows in vectors.items() if len(rows)}
    if not found:
        raise EmbeddingArtifactMismatchError(f"{file} has no chunk with a text and a vector; nothing was imported.")
    short = [key for key, rows in found.items() if rows.shape[1] < embedding.dimension]
    may_be_skipped = may_be_skipped and embedding.allow_insufficient_dimension_embeddings and len(short) < len(found)
    if short and not may_be_skipped:
        raise EmbeddingDimensionMismatchError(expected=embedding.dimension, actual=found[short[0]].shape[1])
    for key in short:
        few = f"participant {key} has {len(found.pop(key))} vectors of less than {embedding.dimension} dimensions"
        files.warn(ArtifactFile.VECTORS, f"{few}; skipped")
    unsound = [
        f"participant {key}, chunk {row}: {FOUND[defect]}"
        for key, rows in found.items()
        for row, defect in defects(rows[:, : embedding.dimension])
    ]
    if unsound:
        raise EmbeddingValidationError(f"{file} has invalid vectors; embed the chunks again.\n{first_lines(unsound)}")
    return {key: unit_rows(rows, rows=len(rows), dimension=embedding.dimension) for key, rows in found.items()}


def _source(
    files: _Files, listed: Iterable[int], splits: Mapping[str, Split], default_split: str, variant: TranscriptVariant
) -> IndexSource:
    """What an artifact is built from; every difference is added to what is wrong with `files`. Participants are
    compared by the hash over their ids. For an older artifact without it, the hash of the split's file is compared, and
    if that differs, the ids in `listed`. Another file with the same participants is only a warning."""
    meta, settings = ArtifactFile.META, files.settings
    assumed = IndexSource(
        **settings.embedding.model_dump(include={*BUILT_WITH}),
        name=files.name,
        data_set="",
        split=default_split,
        split_csv_hash=None,
        split_ids_hash="",
        variant=variant,
        model=settings.model.embedding_model,
    )
    described = files.description(IndexSource, meta, assumed.model_dump(mode="json")) or assumed
    for difference in settings_differences(described, settings):
        files.refuse(meta, difference, "set the value it was built with, or build the index again")
    if described.split in TEST_SPLITS:
        files.refuse(
            meta,
            "split: it was not built from a training split",
            f"use one of {', '.join(TRAINING_SPLITS)} or a split of your own, so that nobody is tested on themselves",
        )
    split = TRAINING_SPLITS.get(described.split, described.split)
    now = splits.get(split)
    same_file = now is not None and described.split_csv_hash == now.csv_hash
    hash_of_ids = described.split_ids_hash or (now.ids_hash if now is not None and same_file else ids_hash(listed))
    if now is not None:
        if others := split_difference(split, built=hash_of_ids, now=now.ids_hash):
            files.refuse(meta, others, "import the participants it was built on, or name its split with --name")
        elif described.split_csv_hash is not None and not same_file:
            files.warn(meta, f"split {split} has the same participants, but its file has changed")
    return described.model_copy(update={"split": split, "split_ids_hash": hash_of_ids})


def _read_scorer(files: _Files) -> ChunkScoresMeta | None:
    """The scorer of the chunks, whose prompt must be the current one; a missing file is a problem. With
    EMBEDDING_ALLOW_CHUNK_SCORES_PROMPT_HASH_MISMATCH another or an unknown prompt is only a warning."""
    file = ArtifactFile.CHUNK_SCORES_META
    meta = files.description(ChunkScoresMeta, file)
    other = _ABSENT if file not in files.contents else None if meta is None else other_prompt(meta)
    if other and files.settings.embedding.allow_chunk_scores_prompt_hash_mismatch:
        files.warn(file, f"{other}; the scores are used anyway")
    elif other:
        files.refuse(file, other, PROMPT_REMEDY)
    if meta is not None and meta.source_embeddings not in (None, f"{files.name}{ArtifactFile.VECTORS}"):
        files.warn(file, "the scores were made for an artifact of another name; check that it had the same chunks")
    return meta


def other_prompt(meta: ChunkScoresMeta) -> str | None:
    """A message if the scores were made with another prompt than the current one; else None."""
    if meta.prompt_hash == PROMPT_HASH:
        return None
    return f"prompt_hash: the scores were made with the prompt {meta.prompt_hash}, now it is {PROMPT_HASH}"


def _text_wrong(text: Any) -> str | None:
    return None if isinstance(text, str) else f"expected a string, found {json_type(text)}"


def _tags_wrong(tags: Any) -> str | None:
    if not isinstance(tags, list):
        return f"expected an array of tags, found {json_type(tags)}"
    is_known = all(isinstance(tag, str) and tag in ITEMS_BY_KEY for tag in tags)
    return None if is_known else "a tag is unknown, tags look like PHQ8_Sleep"


def _chunk_scores_wrong(scores: Any) -> str | None:
    if not isinstance(scores, dict):
        return f"expected an object of scores, found {json_type(scores)}"
    try:
        chunk_scores_of(scores)
    except ReplyShapeError as error:
        return error.parse_error
    return None


_SMALL: Final = 16_000_000
_MOST_PER_BYTE: Final = 20
"""Vectors hardly compress; what unpacks to more than this, and is not small, is refused before it is unpacked."""
_KEY: Final = re.compile(r"emb_([1-9][0-9]{0,5})")
_UNREADABLE: Final = (ValueError, EOFError, OSError, RuntimeError, MemoryError, zipfile.BadZipFile, zlib.error)


def _read_vectors(files: _Files) -> dict[int, Vectors]:
    """The arrays as written, ids ascending; those of other names are ignored. Arrays that are not exact in float32, and
    a file that is not an intact `.npz` without pickles, or unpacks to more than 16 MB and 20 times its size, are
    problems."""
    try:
        arrays = _arrays(files.contents[ArtifactFile.VECTORS])
    except _UNREADABLE as error:
        unreadable = f"is not an .npz file that can be read without unpickling ({type(error).__name__})"
        files.refuse(ArtifactFile.VECTORS, unreadable)
        return {}
    wrong = [f"participant {key}: {found}" for key, array in arrays.items() if (found := _array_wrong(array))]
    for found in wrong:
        files.refuse(ArtifactFile.VECTORS, found)
    return {} if wrong else {key: array.astype(np.float32) for key, array in arrays.items()}


def _arrays(data: bytes) -> dict[int, Any]:
    with zipfile.ZipFile(BytesIO(data)) as unread:
        unpacked = sum(member.file_size for member in unread.infolist())
    if unpacked > max(_SMALL, _MOST_PER_BYTE * len(data)):
        raise ValueError("an archive that fills the memory")
    with np.load(BytesIO(data), allow_pickle=False) as archive:
        names = {int(match[1]): name for name in archive.files if (match := _KEY.fullmatch(name))}
        return {participant_id: archive[names[participant_id]] for participant_id in sorted(names)}


def _array_wrong(array: Any) -> str | None:
    if not isinstance(array, np.ndarray):
        return "not an array"
    if array.dtype.kind != "f" or not np.can_cast(array.dtype, np.float32):
        return f"numbers of type {array.dtype}, which are not exact in float32"
    return None if array.ndim == 2 else f"an array of shape {array.shape}"


def _uneven(one: Mapping[int, Sized], other: Mapping[int, Sized], *, names: tuple[str, str]) -> dict[int, str]:
    """Participants who have not as many of one as of the other, and how."""
    found = {}
    for key in sorted(one.keys() | other.keys()):
        has, lacks = names if key in one else reversed(names)
        if key not in one or key not in other:
            found[key] = f"participant {key} has {has} and no {lacks}"
        elif len(one[key]) != len(other[key]):
            counts = f"{has} ({len(one[key])}) as {lacks} ({len(other[key])})"
            found[key] = f"participant {key} does not have as many {counts}"
    return found
