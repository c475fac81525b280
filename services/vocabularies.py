"""Index runs of tags: the models of a vocabulary, built as one job."""

from pathlib import Path
from typing import Final, NamedTuple

from schemas.chains import stages_of
from schemas.errors import Refused
from schemas.settings.resolve import EffectiveSettings
from schemas.values.tags import VectorLayout
from services.new_runs import PlannedRun, Submitted, submit_run
from services.tags import vocabulary_of_name
from stages.model_aliases import resolved_model
from store.database import Connection, Database
from store.runs import runs
from store.runs.chain import content_hash
from store.runs.runs import NewJob, NewRun
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
