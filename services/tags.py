"""Tags runs: which phrases ask which vocabulary for candidates, under which policy."""

import shlex
from collections.abc import Mapping
from typing import Any

from schemas.chains import stages_of
from schemas.errors import Refused
from schemas.settings.resolve import EffectiveSettings
from schemas.settings.run import RunSettings
from schemas.statuses import Priority
from schemas.suggestions import did_you_mean
from schemas.values.requests import TagsRequest
from schemas.values.tags import PhraseSet, StoredVocabulary, Vocabulary
from services.new_runs import Submitted, submit_run
from stages.models import resolved_model
from stages.records import accept
from stages.tags.phrases import parse_phrase_sets
from stages.tags.rerank import SHARE, USUAL
from stages.tags.vocabulary_files import FILES, parse_vocabulary
from stages.texts.characters import is_plain_id
from store import vocabularies
from store.database import Connection, Database
from store.runs import runs
from store.runs.chain import content_hash
from store.runs.runs import NewJob, NewRun


def phrase_sets(data: bytes, *, file: str, of: str, context_tags: str = "") -> tuple[PhraseSet, ...]:
    """The phrase sets in lines of text, each with the context tags of the request, separated by commas, after its own.
    `file` and `of` name the text in problems. Raises ProblemsFound with the lines that cannot be read."""
    given = tuple(tag.strip() for tag in context_tags.split(",") if tag.strip())
    parsed = parse_phrase_sets(data, file=file, context_tags=given)
    return accept(parsed, of=of, consequence="nothing was submitted")


async def plan_tags(connection: Connection, request: TagsRequest, settings: EffectiveSettings) -> NewRun:
    """The run for a request: one job per phrase set, in the order asked for. Raises Refused for an unknown vocabulary,
    and for one without the models that PSQ_SIMILARITY needs."""
    psq = settings.run.psq
    vocabulary = await vocabulary_of_name(connection, request.vocabulary)
    if vocabulary.model is None:
        raise Refused(
            f"Vocabulary '{vocabulary.name}' has no models yet. `ragq index tags {vocabulary.name} --wait` builds them."
        )
    is_fused = psq.similarity == "fused"
    if is_fused and vocabulary.similarity_digest is None:
        raise Refused(
            f"The models of vocabulary '{vocabulary.name}' have no spelling and no meaning, which PSQ_SIMILARITY=fused "
            f"compares. Import the vocabulary again and build its models (`ragq index tags {vocabulary.name} --wait`), "
            "or set PSQ_SIMILARITY=original to search by FastText alone."
        )
    inputs: dict[str, Any] = {
        "vocabulary_id": vocabulary.id,
        "tokens_digest": vocabulary.model_digest,
        "context_digest": vocabulary.context_digest,
        "allow_nsfw_tags": request.allow_nsfw,
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
            "allow_nsfw_tags": request.allow_nsfw,
            "until": request.until,
            "profile_source": settings.profile_source,
        },
        priority=Priority.INTERACTIVE if len(request.phrase_sets) == 1 else Priority.NORMAL,
        jobs=[
            NewJob(
                mode="candidates",
                subject=one.id or str(number),
                inputs={**inputs, "phrases": list(one.phrases), "context_tags": list(one.context_tags)},
                stages=stages_of("tags", "candidates", until=request.until),
            )
            for number, one in enumerate(request.phrase_sets, start=1)
        ],
    )


async def vocabulary_of_name(connection: Connection, name: str) -> StoredVocabulary:
    """The current vocabulary of a name. Raises Refused when there is none, with those that there are."""
    found = await vocabularies.current(connection, name)
    if not found:
        known = [vocabulary.name for vocabulary in await vocabularies.current(connection)]
        raise Refused(
            f"There is no vocabulary '{name}'.{did_you_mean(name, known)} There are: {', '.join(known) or 'none yet'}. "
            f"`ragq import tags DIR --name {shlex.quote(name)}` makes one.",
            slug="vocabulary-missing",
        )
    return found[0]


async def minimum_count(connection: Connection, vocabulary_id: int, settings: RunSettings) -> int:
    """PSQ_MIN_TAG_COUNT, or what it is for the tags of a vocabulary."""
    found = settings.psq.min_tag_count
    if found != "auto":
        return found
    return USUAL if await vocabularies.share(connection, vocabulary_id, USUAL) >= SHARE else 0


def tags_hash(settings: RunSettings) -> str:
    """A hash over the settings that candidates depend on."""
    return content_hash({name: value for name, value in settings.values().items() if name.startswith("PSQ_")})


async def build_vocabulary(database: Database, name: str, settings: EffectiveSettings) -> Submitted:
    """Submit the run that builds the models of a vocabulary, or find the one that has built them. Raises Refused for an
    unknown vocabulary, and for one whose models were built with another embedder."""

    run = settings.run
    sentences = None
    if run.psq.similarity == "fused":
        backend = run.embedding.backend
        sentences = {"backend": backend, "model": resolved_model(run.model.embedding_model, backend)}

    async def plan(connection: Connection) -> NewRun:
        vocabulary = await vocabulary_of_name(connection, name)
        job = NewJob(
            mode="tags",
            subject=str(vocabulary.id),
            inputs={"vocabulary_id": vocabulary.id, "sentences": sentences},
            stages=stages_of("index", "tags"),
        )
        planned = NewRun(
            kind="index",
            profile=settings.profile,
            settings=settings.snapshot(),
            # The models depend on the embedder alone.
            settings_hash=content_hash([] if sentences is None else sentences),
            request={"vocabulary": name, "profile_source": settings.profile_source},
            jobs=[job],
        )
        if vocabulary.model is not None and await runs.find(connection, planned) is None:
            raise Refused(
                f"Vocabulary '{name}' has models already ({vocabulary.model}); import it again to build others."
            )
        return planned

    return await submit_run(database, await database.once(plan))


def read_vocabulary(name: str, files: Mapping[str, bytes]) -> Vocabulary:
    """The vocabulary in files by name; needs no database. Raises Refused for a name that a vocabulary cannot have and
    for files of other names, and ProblemsFound."""
    if not is_plain_id(name):
        raise Refused(
            "A vocabulary's name has 1 to 64 letters, digits, dots, colons, hyphens and underscores; "
            "give it another name (--name)."
        )
    if not files.keys() <= {*FILES}:
        raise Refused(f"The files of a vocabulary are {', '.join(FILES)}; give these, and no other.")
    return accept(parse_vocabulary(files), of="vocabulary")


async def delete_vocabulary(connection: Connection, name: str) -> None:
    """Delete a vocabulary with its models, and what older runs kept of its earlier imports. Results of runs stay; their
    jobs cannot be computed again. Raises Refused when there is none, and while unfinished jobs use it."""
    await vocabulary_of_name(connection, name)
    if users := await vocabularies.delete(connection, name):
        runs = ", ".join(f"r{run_id}" for run_id in users)
        raise Refused(
            f"Unfinished jobs use vocabulary '{name}': {runs}. Wait until they have finished, or end them: "
            f"`ragq cancel r{users[0]}`."
        )
