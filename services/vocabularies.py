"""Index runs of tags: the models of a vocabulary, built as one job."""

from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from schemas.chains import stages_of
from schemas.settings.resolve import EffectiveSettings
from schemas.values.tags import VectorLayout
from store.runs.chain import content_hash
from store.runs.runs import NewJob, NewRun
from store.vocabularies.vocabularies import StoredVocabulary


class GivenVectors(NamedTuple):
    """Vectors that take the place of trained ones: a file that the worker reads under the same path."""

    path: Path
    layout: VectorLayout
    sha256: str


def plan_vocabulary(
    vocabulary: StoredVocabulary, settings: EffectiveSettings, *, seed: int, vectors: GivenVectors | None = None
) -> NewRun:
    """The run that builds the models of a vocabulary."""
    given = None
    if vectors is not None:
        given = {"path": str(vectors.path), "layout": vectors.layout.value, "sha256": vectors.sha256}
    return NewRun(
        kind="index",
        profile=settings.profile,
        settings=settings.snapshot(),
        # No setting has a say in the models.
        settings_hash=content_hash([]),
        request={
            "vocabulary": vocabulary.name,
            "seed": seed,
            "vectors": None if vectors is None else vectors.layout.value,
            "profile_source": settings.profile_source,
        },
        version=version("ragq"),
        jobs=[
            NewJob(
                mode="tags",
                subject=str(vocabulary.id),
                inputs={"vocabulary_id": vocabulary.id, "seed": seed, "vectors": given},
                stages=stages_of("index", "tags"),
            )
        ],
    )
