"""The texts, tags and scores of an index: participant id -> one entry per chunk."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from schemas.errors import ScoringSchemaError
from schemas.values.participants import ChunkScoresMeta, ParticipantChunks, PHQ8Item
from stages.participants.artifacts.files import IndexFiles, LoadRules, to_bytes
from stages.participants.artifacts.names import ArtifactFile
from stages.participants.chunking import PROMPT_HASH, chunk_scores_of
from stages.replies.strict import json_type

TEXTS_REMEDY = "write an object: participant id -> list of texts, in the order of the vectors"
TAGS_REMEDY = "write the tags again for these chunks, or import without them (--no-tags)"
CHUNK_SCORES_REMEDY = "score these chunks again, or import without them (--no-chunk-scores)"
PROMPT_REMEDY = (
    "score the chunks again (`ragq index chunk-scores`), or import them with `ragq references import NAME.npz "
    "--chunk-scores --other-prompt`, which records their prompt and shows it with every run"
)

_ABSENT = "was requested and is missing"
_ITEMS = {item.evidence_key: item for item in PHQ8Item}


def read_texts(files: IndexFiles) -> dict[int, list[str]]:
    """The texts of every participant; with problems they are only usable for further checks."""
    return files.lists(ArtifactFile.TEXTS, TEXTS_REMEDY, wrong=_text_wrong)


def read_tags(files: IndexFiles, chunks: Mapping[int, int]) -> dict[int, list[list[str]]]:
    """The tags of every chunk, of which `chunks` counts those of each participant; a missing file is a problem."""
    return _required(files, ArtifactFile.TAGS, TAGS_REMEDY, wrong=_tags_wrong, chunks=chunks)


def read_chunk_scores(files: IndexFiles, chunks: Mapping[int, int]) -> dict[int, list[dict[str, Any]]]:
    """The scores of every chunk, of which `chunks` counts those of each participant; a missing file is a problem."""
    return _required(files, ArtifactFile.CHUNK_SCORES, CHUNK_SCORES_REMEDY, wrong=_chunk_scores_wrong, chunks=chunks)


def read_scorer(files: IndexFiles, rules: LoadRules) -> ChunkScoresMeta | None:
    """The scorer of the chunks, whose prompt must be the current one; a missing file is a problem.

    Another prompt is only a warning if the rules accept it, which the description of the scores then records. With
    EMBEDDING_ALLOW_CHUNK_SCORES_PROMPT_HASH_MISMATCH another or an unknown prompt is only a warning as well.
    """
    file = ArtifactFile.CHUNK_SCORES_META
    meta = files.description(ChunkScoresMeta, file, CHUNK_SCORES_REMEDY)
    other = _ABSENT if file not in files.contents else None if meta is None else other_prompt(meta)
    if other and meta is not None and rules.accept_other_prompt:
        files.warn(file, f"{other}; their prompt is recorded and shown with every run that uses the scores")
        meta = meta.model_copy(update={"other_prompt": True})
    elif other and rules.settings.embedding.allow_chunk_scores_prompt_hash_mismatch:
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


def tags_of(entry: Sequence[Sequence[str]]) -> tuple[tuple[PHQ8Item, ...], ...]:
    """The tags of the chunks of a participant, as they were read."""
    return tuple(tuple(_ITEMS[tag] for tag in tags) for tags in entry)


def per_chunk_files(participants: Sequence[ParticipantChunks]) -> dict[ArtifactFile, bytes]:
    """The files that are read here, of tags and of scores where every participant has them."""
    files = {ArtifactFile.TEXTS: to_bytes({str(person.participant_id): person.texts for person in participants})}
    if all(person.tags is not None for person in participants):
        tagged = {
            str(person.participant_id): [[tag.evidence_key for tag in tags] for tags in person.tags or ()]
            for person in participants
        }
        files[ArtifactFile.TAGS] = to_bytes(tagged)
    if all(person.scores is not None for person in participants):
        scored = {
            str(person.participant_id): [
                {item.evidence_key: score for item, score in scores.items()} for scores in person.scores or ()
            ]
            for person in participants
        }
        files[ArtifactFile.CHUNK_SCORES] = to_bytes(scored)
    return files


def _required(
    files: IndexFiles,
    file: ArtifactFile,
    what_to_do: str,
    *,
    wrong: Callable[[Any], str | None],
    chunks: Mapping[int, int],
) -> dict[int, list[Any]]:
    if file in files.contents:
        return files.lists(file, what_to_do, wrong=wrong, chunks=chunks)
    files.refuse(file, _ABSENT, what_to_do)
    return {}


def _text_wrong(text: Any) -> str | None:
    return None if isinstance(text, str) else f"expected a string, found {json_type(text)}"


def _tags_wrong(tags: Any) -> str | None:
    if not isinstance(tags, list):
        return f"expected an array of tags, found {json_type(tags)}"
    if not all(isinstance(tag, str) for tag in tags):
        return "a tag is not a string"
    if not all(tag in _ITEMS for tag in tags):
        return "a tag is unknown, tags look like PHQ8_Sleep"
    return None


def _chunk_scores_wrong(scores: Any) -> str | None:
    if not isinstance(scores, dict):
        return f"expected an object of scores, found {json_type(scores)}"
    try:
        chunk_scores_of(scores)
    except ScoringSchemaError as error:
        return "; ".join(f"{key}: {violation}" for key, violation in error.violations.items())
    return None
