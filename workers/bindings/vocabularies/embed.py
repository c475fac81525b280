"""Stage `embed` of a vocabulary: its models, built and visible in the same transaction."""

import asyncio
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from schemas.errors import InputChangedError
from schemas.values.tags import BuiltVocabulary, VectorLayout, Vocabulary
from stages.tags.models import BuiltModels, TokenModel
from store.database import Connection
from store.vocabularies import vocabularies
from workers.bindings.tags.reading import vocabulary_id
from workers.work import Result, Work


async def run(work: Work) -> Result[BuiltVocabulary]:
    """By FastText, or around the vectors that the submission names; in a thread, for minutes."""
    built_for = vocabulary_id(work)
    inputs = work.claim.inputs
    work.read["seed"] = inputs["seed"]
    work.read["vectors"] = inputs["vectors"]
    content = await work.database.with_retry(lambda connection: vocabularies.content(connection, built_for))
    models = await asyncio.to_thread(_built, content, inputs["seed"], inputs["vectors"])

    async def keep(connection: Connection) -> None:
        await vocabularies.keep_models(connection, built_for, models)

    return Result(
        BuiltVocabulary(
            vocabulary_id=built_for,
            model=models.name,
            model_digest=sha256(models.tokens_file).hexdigest(),
            context_digest=sha256(models.context_file).hexdigest(),
            dimension=models.dimension,
            tokens=len(models.vectors),
            context_rows=len(models.context_rows),
        ),
        effect=keep,
    )


def _built(vocabulary: Vocabulary, seed: int, vectors: dict[str, Any] | None) -> BuiltModels:
    from adapters.tag_models import TagModelBuilder

    return TagModelBuilder().build(
        vocabulary, seed=seed, tokens=None if vectors is None else _given(vectors, vocabulary)
    )


def _given(vectors: dict[str, Any], vocabulary: Vocabulary) -> TokenModel:
    from adapters.imported_vectors import imported_vectors

    path = Path(vectors["path"])
    _refuse_other_file(path, vectors["sha256"])
    return imported_vectors(path, VectorLayout(vectors["layout"]), vocabulary)


def _refuse_other_file(path: Path, expected: str) -> None:
    try:
        with path.open("rb") as file:
            found = file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputChangedError(
            f"{path} cannot be read by this worker ({type(error).__name__}); put the file there, or submit another."
        ) from error
    if found != expected:
        raise InputChangedError(
            f"{path} is not the file that was submitted (SHA-256 {found[:12]} instead of {expected[:12]}); "
            "put that one back, or index the vocabulary with this one."
        )
