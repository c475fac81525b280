"""The files of a reference index, read strictly and written: vectors, texts, tags, chunk scores and their metadata."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from pydantic import ValidationError

from schemas.errors import EmbeddingArtifactMismatchError
from schemas.settings.run import RunSettings
from schemas.values.participants import ArtifactMeta, FileProblem, Sidecar, Split, TranscriptVariant
from schemas.values.runs import IndexIdentity
from stages.files.records import validation_problems
from stages.models import canonical_model, resolved_model
from stages.participants.artifacts.names import ArtifactFile
from stages.participants.split_names import training_name
from stages.replies.strict import json_type, strict_object
from stages.texts.characters import can_be_stored, first_lines

Description = TypeVar("Description", bound=Sidecar)

_PARTICIPANT_ID = re.compile(r"[1-9][0-9]{0,5}")


@dataclass(frozen=True)
class IndexFiles:
    """The files of an index, and what is wrong with them, to be raised at the end."""

    contents: Mapping[ArtifactFile, bytes]
    name: str
    """Their name without the suffix."""
    problems: list[FileProblem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def refuse(self, file: ArtifactFile, found: str, what_to_do: str) -> None:
        """Add a problem."""
        self.problems.append(FileProblem(f"{self.name}{file}", None, found, what_to_do))

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
        self,
        file: ArtifactFile,
        what_to_do: str,
        *,
        wrong: Callable[[Any], str | None],
        chunks: Mapping[int, int] | None = None,
    ) -> dict[int, list[Any]]:
        """An object with one list per participant, ids ascending, and in it what is not `wrong`, for each chunk.

        `chunks` counts the chunks of each participant; None where they are not known. With problems the lists are only
        usable for further checks.
        """
        entries: dict[int, list[Any]] = {}
        found = []
        for key, entry in (self._object(file, what_to_do) or {}).items():
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
        for what in [*found, *(() if chunks is None else _misaligned(entries, chunks))]:
            self.refuse(file, what, what_to_do)
        return entries

    def description(self, kind: type[Description], file: ArtifactFile, what_to_do: str) -> Description | None:
        """A description; None without the file, and with a problem for each field that is missing or another type."""
        document = self._object(file, what_to_do) if file in self.contents else None
        try:
            return None if document is None else kind.from_document(document)
        except ValidationError as error:
            name = f"{self.name}{file}"
            self.problems.extend(validation_problems(error, file=name, line=None, what_to_do=what_to_do))
            return None

    def _object(self, file: ArtifactFile, what_to_do: str) -> dict[str, Any] | None:
        """The object in a file: UTF-8, unique names, no NaN or infinity, only texts that Postgres can store."""
        try:
            document = strict_object(self.contents[file].decode())
        except UnicodeDecodeError:
            found = "is not UTF-8"
        except ValueError as error:
            found = f"cannot be read: {error}"
        else:
            if all(map(can_be_stored, _texts(document))):
                return document
            found = "contains a NUL character or half of a surrogate pair"
        self.refuse(file, found, what_to_do)
        return None


def _misaligned(entries: Mapping[int, list[Any]], chunks: Mapping[int, int]) -> Iterator[str]:
    """Every participant that is missing, unknown, or has another number of entries than chunks."""
    for participant_id in sorted(entries.keys() | chunks.keys()):
        if participant_id not in entries:
            yield f"participant {participant_id} is missing"
        elif participant_id not in chunks:
            yield f"participant {participant_id} has no chunks"
        elif len(entries[participant_id]) != chunks[participant_id]:
            counts = f"entries ({len(entries[participant_id])}) as chunks ({chunks[participant_id]})"
            yield f"participant {participant_id} does not have as many {counts}"


def to_bytes(document: Mapping[str, Any], *, indent: int | None = None) -> bytes:
    """A JSON file in UTF-8 that ends with a newline."""
    return (json.dumps(document, ensure_ascii=False, allow_nan=False, indent=indent) + "\n").encode()


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts_of((*value.keys(), *value.values()))
    elif isinstance(value, list):
        yield from _texts_of(value)


def _texts_of(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        yield from _texts(value)


def describe(index: IndexIdentity, imported: ArtifactMeta | None, *, built_at: datetime, built_by: str) -> ArtifactMeta:
    """The description of an index for its files.

    Fields of the files that the index was imported from are kept unless the index has its own value: the time and the
    program of the build, and fields of other programs.
    """
    known = index.model_dump(include=set(ArtifactMeta.model_fields)) | {
        "model": resolved_model(index.model, index.backend),
        "actual_dimension_min": index.dimension,
        "actual_dimension_max": index.dimension,
        "dimension_mismatch_count": 0,
        "split": training_name(index.split),
        "transcript_variant": None if index.variant == TranscriptVariant.UNKNOWN else index.variant,
        "participant_count": index.participants,
    }
    made = {
        "model_canonical": canonical_model(index.model),
        "generated_at": built_at.isoformat(),
        "generator_script": built_by,
    }
    before = {} if imported is None else imported.document()
    written = {name: value for name, value in (made | before | known).items() if value is not None}
    return ArtifactMeta.from_document(written)


@dataclass(frozen=True, kw_only=True)
class LoadRules:
    """Requirements on an artifact when it is loaded."""

    settings: RunSettings
    with_tags: bool = False
    """Read the tags, which are then required and must be valid."""
    with_chunk_scores: bool = False
    """Read the chunk scores, which are then required and must be valid."""
    accept_other_prompt: bool = False
    """Accept chunk scores by another prompt than ragq's; its hash stays with them."""
    default_split: str = "paper-train"
    """The training split of an artifact that does not name one."""
    default_variant: TranscriptVariant = TranscriptVariant.UNKNOWN
    """The transcript variant of an artifact that does not name one."""
    splits: Mapping[str, Split] = field(default_factory=dict)
    """The current splits, by name; one that is absent is not compared."""

    @property
    def asked_for(self) -> Collection[ArtifactFile]:
        """The files that are read only on request, and are then required."""
        scores = (ArtifactFile.CHUNK_SCORES, ArtifactFile.CHUNK_SCORES_META)
        return ((ArtifactFile.TAGS,) if self.with_tags else ()) + (scores if self.with_chunk_scores else ())
