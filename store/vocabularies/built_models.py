"""The models of a vocabulary: kept once and for good, read as files and as vectors."""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal

import numpy as np

from schemas.errors import Refused, VocabularyMissingError, VocabularyModelsError
from stages.tags.models import BuiltModels
from stages.tags.ports import Vector
from stages.tags.similarity import TokenTable
from store.database import Connection
from store.vectors import to_numpy, to_pgvector
from store.vocabularies.copying import BULK_SECONDS, copy_rows

Part = Literal["tokens", "context", "similarity"]
"""Which model of a vocabulary."""

# The row lock lets one build after the other look whether there are models already.
TO_INDEX = "SELECT model_digest, context_digest FROM vocabulary WHERE id = $1 FOR UPDATE"

KEEP_FILE = "INSERT INTO vocabulary_model (vocabulary_id, part, sha256, data) VALUES ($1, $2, $3, $4)"

INDEXED = """
UPDATE vocabulary SET model = $2, model_digest = $3, context_digest = $4, dimension = $5, similarity_digest = $6,
    sentence_backend = $7, sentence_model = $8, sentence_digest = $9, indexed_at = now()
WHERE id = $1
"""

# vector_send is four bytes and then each number, big-endian: a hundred thousand rows are read at once.
VECTORS = """
SELECT token, vector_send(vector) AS vector FROM tag_vector WHERE vocabulary_id = $1 ORDER BY token COLLATE "C"
"""

ROWS = "SELECT tag, vector FROM tag_context WHERE vocabulary_id = $1 AND tag = ANY($2::text[])"


async def keep_models(connection: Connection, vocabulary_id: int, models: BuiltModels) -> None:
    """Store the models of a vocabulary, all or nothing; the same models once more change nothing.

    A vocabulary keeps its models for good, so that what a run found can be found again. Raises Refused when it has
    others already, and VocabularyMissingError when it is not there.
    """
    digests = {part: hashlib.sha256(data).hexdigest() for part, data in _files(models).items()}
    async with connection.transaction():
        row = await connection.fetchrow(TO_INDEX, vocabulary_id)
        if row is None:
            raise VocabularyMissingError(vocabulary_id)
        if row["model_digest"] is not None:
            if (row["model_digest"], row["context_digest"]) == (digests["tokens"], digests["context"]):
                return
            raise Refused(
                f"Vocabulary {vocabulary_id} has other models already; import it again to build them anew: "
                "runs that used these keep them."
            )
        for part, data in _files(models).items():
            await connection.execute(KEEP_FILE, vocabulary_id, part, digests[part], data, timeout=BULK_SECONDS)
        columns = ("token", "vector")
        await copy_rows(connection, vocabulary_id, "tag_vector", columns, _vector_records(models.vectors))
        columns = ("tag", "vector")
        await copy_rows(connection, vocabulary_id, "tag_context", columns, _vector_records(models.context_rows))
        await connection.execute(
            INDEXED,
            *(vocabulary_id, models.name, digests["tokens"], digests["context"], models.dimension),
            digests.get("similarity"),
            *(models.sentences or (None, None, None)),
        )


async def file(connection: Connection, vocabulary_id: int, part: Part) -> bytes:
    """The bytes of a model. Raises VocabularyModelsError when it is not there or is not what was stored."""
    row = await connection.fetchrow(
        "SELECT sha256, data FROM vocabulary_model WHERE vocabulary_id = $1 AND part = $2",
        vocabulary_id,
        part,
        timeout=BULK_SECONDS,
    )
    if row is None:
        raise _without_models(vocabulary_id)
    data: bytes = row["data"]
    if hashlib.sha256(data).hexdigest() != row["sha256"]:
        raise VocabularyModelsError(
            f"The model '{part}' of vocabulary {vocabulary_id} is not what was stored; "
            "import and index the vocabulary again."
        )
    return data


async def context_rows(connection: Connection, vocabulary_id: int, tags: Collection[str]) -> dict[str, Vector]:
    """The context rows of those of the tags that have one."""
    if not tags:
        return {}
    rows = await connection.fetch(ROWS, vocabulary_id, sorted(tags))
    return {row["tag"]: to_numpy(row["vector"]) for row in rows}


async def dimension(connection: Connection, vocabulary_id: int) -> int:
    """Numbers per token vector. Raises VocabularyMissingError, and VocabularyModelsError when it has no models."""
    row = await connection.fetchrow("SELECT dimension FROM vocabulary WHERE id = $1", vocabulary_id)
    if row is None:
        raise VocabularyMissingError(vocabulary_id)
    if row["dimension"] is None:
        raise _without_models(vocabulary_id)
    numbers: int = row["dimension"]
    return numbers


async def token_vectors(connection: Connection, vocabulary_id: int) -> TokenTable:
    """The vectors of all tokens. Raises VocabularyModelsError when there are none."""
    rows = await connection.fetch(VECTORS, vocabulary_id, timeout=BULK_SECONDS)
    if not rows:
        raise _without_models(vocabulary_id)
    sent = np.frombuffer(b"".join(row["vector"] for row in rows), dtype=np.uint8).reshape(len(rows), -1)
    numbers = sent[:, 4:].copy().view(">f4").astype(np.float32)
    return TokenTable(tokens=[row["token"] for row in rows], vectors=numbers)


def _without_models(vocabulary_id: int) -> VocabularyModelsError:
    """The error of a vocabulary that has no models."""
    return VocabularyModelsError(f"Vocabulary {vocabulary_id} has no models yet; build them with `ragq index tags`.")


def _files(models: BuiltModels) -> dict[Part, bytes]:
    similarity: dict[Part, bytes] = {} if models.similarity_file is None else {"similarity": models.similarity_file}
    return {"tokens": models.tokens_file, "context": models.context_file, **similarity}


def _vector_records(vectors: Mapping[str, Vector]) -> Iterator[tuple[Any, ...]]:
    names = sorted(vectors)
    return zip(names, to_pgvector(vectors[name] for name in names), strict=True)
