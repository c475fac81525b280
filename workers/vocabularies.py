"""The stage of a vocabulary job: its models, built."""

import asyncio
from dataclasses import replace
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from schemas.errors import InputChangedError
from schemas.values.tags import BuiltVocabulary, VectorLayout, Vocabulary
from stages.tags.similarity import BuiltModels, SentenceModel, TokenModel, plain
from store import vocabularies
from store.database import Connection
from workers.tags import vocabulary_id
from workers.work import Result, Work

BATCH = 256
"""Names of one call to the embedder, so that questions find their turn between."""


async def run_embed(work: Work) -> Result[BuiltVocabulary]:
    """The models of a vocabulary, visible in the same transaction.

    By FastText, or around the vectors that the submission names; in a thread, while the names are embedded.
    """
    built_for = vocabulary_id(work)
    inputs = work.claim.inputs
    work.read["seed"] = inputs["seed"]
    work.read["vectors"] = inputs["vectors"]
    content = await work.database.ask(vocabularies.content, built_for)
    models, similarity = await asyncio.gather(
        asyncio.to_thread(_built, content, inputs["seed"], inputs["vectors"]), _similarity(work, content)
    )
    if similarity is not None:
        models = replace(models, similarity_file=similarity.file, sentences=similarity.sentences)

    async def keep(connection: Connection) -> None:
        await vocabularies.keep_models(connection, built_for, models)

    return Result(
        BuiltVocabulary(
            vocabulary_id=built_for,
            model=models.tokens.name,
            model_digest=sha256(models.tokens.file).hexdigest(),
            context_digest=sha256(models.context_file).hexdigest(),
            similarity_digest=None if similarity is None else sha256(similarity.file).hexdigest(),
            dimension=models.tokens.dimension,
            tokens=len(models.tokens.vectors),
            context_rows=len(models.context_rows),
        ),
        effect=keep,
    )


class _Similarity(NamedTuple):
    file: bytes
    sentences: SentenceModel


async def _similarity(work: Work, vocabulary: Vocabulary) -> _Similarity | None:
    """Spelling and meaning of all names; None where the submission asks for neither."""
    asked = work.claim.inputs.get("sentences")
    if asked is None or not vocabulary.tags:
        return None
    from adapters.tag_models import similarity_file

    work.read["sentences"] = asked
    embedder = work.embedder_of(asked["backend"], asked["model"])
    tokens = sorted({*(tag.name for tag in vocabulary.tags), *vocabulary.aliases})
    parts = [
        await embedder.embed_batch(
            [plain(token) or token for token in tokens[start : start + BATCH]],
            timeout_s=work.settings.embedding.query_embed_timeout_seconds,
            truncate=True,
        )
        for start in range(0, len(tokens), BATCH)
    ]
    file = await asyncio.to_thread(similarity_file, tokens, np.concatenate([part.vectors for part in parts]))
    return _Similarity(file, SentenceModel(asked["backend"], asked["model"], await embedder.digest()))


def _built(vocabulary: Vocabulary, seed: int, vectors: dict[str, Any] | None) -> BuiltModels:
    from adapters.tag_models import TagModelBuilder

    return TagModelBuilder().build(
        vocabulary, seed=seed, tokens=None if vectors is None else _given(vectors, vocabulary)
    )


def _given(vectors: dict[str, Any], vocabulary: Vocabulary) -> TokenModel:
    from adapters.tag_models import imported_vectors

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
