"""Index runs of tags: the models of a vocabulary, built as one job."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from schemas.chains import stages_of
from schemas.errors import Refused
from schemas.settings.resolve import EffectiveSettings
from schemas.values.tags import VectorLayout, Vocabulary
from services.new_runs import PlannedRun, Submitted, submit_run
from services.tags import vocabulary_of_name
from stages.files.records import ProblemsFound
from stages.models import resolved_model
from stages.reports.numbers_in_words import counted
from stages.tags.vocabulary_files import FILES, parse_vocabulary
from stages.texts.ids import is_plain_id
from store.database import Connection, Database
from store.runs import runs
from store.runs.chain import content_hash
from store.runs.runs import NewJob, NewRun
from store.vocabularies import vocabularies
from store.vocabularies.vocabularies import StoredVocabulary

SEED: Final = 7
"""Of the models, unless another is given."""


class GivenVectors(NamedTuple):
    """Vectors that take the place of trained ones: a file that the worker reads under the same path."""

    path: Path
    layout: VectorLayout
    sha256: str


class VocabularyBuild(NamedTuple):
    """The run that builds the models of a vocabulary, or has built them."""

    run_id: int
    submitted: Submitted | None
    """None when the run has built the models already."""


async def build_vocabulary(
    database: Database,
    name: str,
    settings: EffectiveSettings,
    *,
    seed: int = SEED,
    vectors: GivenVectors | None = None,
) -> VocabularyBuild:
    """Submit the run that builds the models of a vocabulary.

    Raises Refused for an unknown vocabulary, and for one whose models were built from another seed or other vectors.
    """
    async with database.connection() as connection:
        run, built_by = await plan_vocabulary(connection, name, settings, seed=seed, vectors=vectors)
    if built_by is not None:
        return VocabularyBuild(built_by, None)
    submitted = await submit_run(database, PlannedRun(run))
    return VocabularyBuild(submitted.run_id, submitted)


async def plan_vocabulary(
    connection: Connection,
    name: str,
    settings: EffectiveSettings,
    *,
    seed: int = SEED,
    vectors: GivenVectors | None = None,
) -> tuple[NewRun, int | None]:
    """The run that builds the models of a vocabulary, and the run that has built them. Raises as `build_vocabulary`."""
    vocabulary = await vocabulary_of_name(connection, name)
    run = _planned(vocabulary, settings, seed, vectors)
    built_by = None if vocabulary.model is None else await runs.find(connection, run)
    if built_by is None and vocabulary.model is not None:
        raise Refused(f"Vocabulary '{name}' has models already ({vocabulary.model}); import it again to build others.")
    return run, built_by


def _planned(
    vocabulary: StoredVocabulary, settings: EffectiveSettings, seed: int, vectors: GivenVectors | None
) -> NewRun:
    given = None
    if vectors is not None:
        given = {"path": str(vectors.path), "layout": vectors.layout.value, "sha256": vectors.sha256}
    run = settings.run
    sentences = None
    if run.psq.similarity == "fused":
        backend = run.embedding.backend
        sentences = {"backend": backend, "model": resolved_model(run.model.embedding_model, backend)}
    return NewRun(
        kind="index",
        profile=settings.profile,
        settings=settings.snapshot(),
        # The models depend on the embedder alone.
        settings_hash=content_hash([] if sentences is None else sentences),
        request={
            "vocabulary": vocabulary.name,
            "seed": seed,
            "vectors": None if vectors is None else vectors.layout.value,
            "profile_source": settings.profile_source,
        },
        jobs=[
            NewJob(
                mode="tags",
                subject=str(vocabulary.id),
                inputs={"vocabulary_id": vocabulary.id, "seed": seed, "vectors": given, "sentences": sentences},
                stages=stages_of("index", "tags"),
            )
        ],
    )


class ImportedVocabulary(NamedTuple):
    """A vocabulary that was stored, and how much is in it."""

    id: int
    tags: int
    aliases: int
    documents: int
    rated: int
    """Tags with a rating."""
    unknown_ratings: int
    """Ratings of tags that the vocabulary does not have, which were left out."""

    @property
    def warning(self) -> str | None:
        """What was left out; None if nothing was."""
        if not self.unknown_ratings:
            return None
        return f"{counted(self.unknown_ratings, 'rating')} left out: the vocabulary does not have the tag."


def read_vocabulary(name: str, files: Mapping[str, bytes]) -> Vocabulary:
    """The vocabulary in files by name; needs no database.

    Raises Refused for a name that a vocabulary cannot have and for files of other names, and ProblemsFound.
    """
    if not is_plain_id(name):
        raise Refused(
            "A vocabulary's name has 1 to 64 letters, digits, dots, colons, hyphens and underscores; "
            "give it another name (--name)."
        )
    if not files.keys() <= {*FILES}:
        raise Refused(f"The files of a vocabulary are {', '.join(FILES)}; give these, and no other.")
    found, problems = parse_vocabulary(files)
    if problems:
        raise ProblemsFound(problems, of="vocabulary")
    return found


async def keep_vocabulary(connection: Connection, name: str, vocabulary: Vocabulary) -> ImportedVocabulary:
    """Store a vocabulary in place of an older one of its name; jobs that were submitted with that one keep it."""
    vocabulary_id = await vocabularies.keep(connection, name, vocabulary)
    return ImportedVocabulary(
        vocabulary_id,
        len(vocabulary.tags),
        len(vocabulary.aliases),
        len(vocabulary.documents),
        sum(tag.nsfw_probability is not None for tag in vocabulary.tags),
        vocabulary.unknown_ratings,
    )


async def delete_vocabulary(connection: Connection, name: str) -> None:
    """Delete a vocabulary with its models, and what older runs kept of its earlier imports.

    Results of runs stay; their jobs cannot be computed again. Raises Refused when there is none, and while
    unfinished jobs use it.
    """
    await vocabulary_of_name(connection, name)
    users = await vocabularies.delete(connection, name)
    if users:
        runs = ", ".join(f"r{run_id}" for run_id in users)
        raise Refused(
            f"Unfinished jobs use vocabulary '{name}': {runs}. Wait until they have finished, or end them: "
            f"`ragq cancel r{users[0]}`."
        )
