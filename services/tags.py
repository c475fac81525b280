"""Tags runs: which phrases ask which vocabulary for candidates, under which policy."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from schemas.chains import stages_of
from schemas.errors import Refused
from schemas.settings.base import settings_of
from schemas.settings.resolve import EffectiveSettings
from schemas.settings.run import RunSettings
from schemas.statuses import Priority
from schemas.suggestions import Each, Repeatable, did_you_mean
from schemas.values.tags import PhraseSet
from stages.files.records import ProblemsFound
from stages.tags.phrases import parse_phrase_sets
from stages.tags.ranking import USUAL, least_count
from store.database import Connection
from store.runs.chain import content_hash
from store.runs.runs import NewJob, NewRun
from store.vocabularies import vocabularies
from store.vocabularies.vocabularies import StoredVocabulary


@dataclass(frozen=True, kw_only=True)
class TagsRequest:
    """What is asked for."""

    phrase_sets: Repeatable[PhraseSet]
    """A million of them are not in memory together."""
    vocabulary: str
    allow_nsfw_tags: bool = False
    until: str | None = None
    """The last stage to run; None runs all."""


def phrase_sets(data: bytes, *, file: str, of: str, context_tags: str = "") -> Repeatable[PhraseSet]:
    """The phrase sets in lines of text, each with the context tags of the request, separated by commas, after its own.

    `file` and `of` name the text in problems. Raises ProblemsFound with the lines that cannot be read.
    """
    given = tuple(tag.strip() for tag in context_tags.split(",") if tag.strip())
    found, problems = parse_phrase_sets(data, file=file, context_tags=given)
    if problems:
        raise ProblemsFound(problems, of=of, consequence="nothing was submitted")
    return found


async def plan_tags(connection: Connection, request: TagsRequest, settings: EffectiveSettings) -> NewRun:
    """The run for a request: one job per phrase set, in the order asked for.

    Raises Refused for an unknown vocabulary, and for one without the models that PSQ_SIMILARITY needs.
    """
    psq = settings.run.psq
    vocabulary = await vocabulary_of_name(connection, request.vocabulary)
    if vocabulary.model is None:
        raise Refused(
            f"Vocabulary '{vocabulary.name}' has no models yet. `ragq index tags {vocabulary.name}` builds them."
        )
    is_fused = psq.similarity == "fused"
    if is_fused and vocabulary.similarity_digest is None:
        raise Refused(
            f"The models of vocabulary '{vocabulary.name}' have no spelling and no meaning, which PSQ_SIMILARITY=fused "
            f"compares. Import the vocabulary again and build its models (`ragq index tags {vocabulary.name}`), or set "
            "PSQ_SIMILARITY=original to search by FastText alone."
        )
    inputs: dict[str, Any] = {
        "vocabulary_id": vocabulary.id,
        "tokens_digest": vocabulary.model_digest,
        "context_digest": vocabulary.context_digest,
        "allow_nsfw_tags": request.allow_nsfw_tags,
        "min_tag_count": await minimum_count(connection, vocabulary.id, settings.run),
    }
    if is_fused:
        inputs["similarity_digest"] = vocabulary.similarity_digest
        inputs["sentences"] = {
            "backend": vocabulary.sentence_backend,
            "model": vocabulary.sentence_model,
            "digest": vocabulary.sentence_digest,
        }
    return NewRun(
        kind="tags",
        profile=settings.profile,
        settings=settings.snapshot(),
        # Only what the candidates depend on: another language model is no reason to look again.
        settings_hash=tags_hash(settings.run),
        request={
            "vocabulary": vocabulary.name,
            "phrase_sets": len(request.phrase_sets),
            "allow_nsfw_tags": request.allow_nsfw_tags,
            "until": request.until,
            "profile_source": settings.profile_source,
        },
        priority=Priority.INTERACTIVE if len(request.phrase_sets) == 1 else Priority.NORMAL,
        jobs=Each(request.phrase_sets, partial(_job, inputs, stages_of("tags", "candidates", until=request.until))),
    )


def _job(inputs: Mapping[str, Any], stages: tuple[str, ...], one: PhraseSet) -> NewJob:
    return NewJob(
        mode="candidates",
        subject=one.id,
        inputs={**inputs, "phrases": list(one.phrases), "context_tags": list(one.context_tags)},
        stages=stages,
    )


async def vocabulary_of_name(connection: Connection, name: str) -> StoredVocabulary:
    """The current vocabulary of a name. Raises Refused when there is none, with those that there are."""
    found = await vocabularies.by_name(connection, name)
    if found is None:
        known = [vocabulary.name for vocabulary in await vocabularies.current(connection)]
        raise Refused(
            f"There is no vocabulary '{name}'.{did_you_mean(name, known)} There are: {', '.join(known) or 'none yet'}. "
            f"`ragq import tags DIR --name {shlex.quote(name)}` makes one.",
            slug="vocabulary-missing",
        )
    return found


async def minimum_count(connection: Connection, vocabulary_id: int, settings: RunSettings) -> int:
    """PSQ_MIN_TAG_COUNT, or what it is for the tags of a vocabulary."""
    found = settings.psq.min_tag_count
    if found != "auto":
        return found
    tags, reaching = await vocabularies.reaching(connection, vocabulary_id, USUAL)
    return least_count(tags=tags, reaching=reaching)


def tags_hash(settings: RunSettings) -> str:
    """A hash over the settings that candidates depend on."""
    names = {setting.name for setting in settings_of(type(settings.psq))}
    return content_hash({name: value for name, value in settings.values().items() if name in names})
