"""The models of vocabularies: all or nothing, once."""

from collections.abc import Mapping
from hashlib import sha256

import pytest

from schemas.errors import FailureCategory, Refused
from schemas.values.tags import BuiltVocabulary
from stages.tags.similarity import SentenceModel
from store import vocabularies
from store.database import Connection
from store.vocabularies import Part
from tests.refusals import failing
from tests.store.vocabularies.test_vocabularies import CLOTHES

FILES: dict[Part, bytes] = {"tokens": b"tokens", "context": b"context", "similarity": b"similar"}
MINI = SentenceModel("huggingface", "mini", "abc")


async def keep_models(
    connection: Connection,
    vocabulary_id: int,
    files: Mapping[Part, bytes] = FILES,
    sentences: SentenceModel | None = MINI,
) -> None:
    """Give a vocabulary models of these bytes."""
    digests = {part: sha256(data).hexdigest() for part, data in files.items()}
    built = BuiltVocabulary(
        vocabulary_id=vocabulary_id,
        model="given",
        model_digest=digests["tokens"],
        context_digest=digests["context"],
        similarity_digest=digests.get("similarity"),
        dimension=2,
        tokens=2,
        context_rows=1,
    )
    await vocabularies.keep_models(connection, built, files, sentences)


async def test_models_are_kept_once_with_their_files(connection: Connection) -> None:
    vocabulary_id = await vocabularies.keep(connection, "clothes", CLOTHES)
    await keep_models(connection, vocabulary_id)
    await keep_models(connection, vocabulary_id)

    assert {part: await vocabularies.file(connection, vocabulary_id, part) for part in FILES} == FILES
    (listed,) = await vocabularies.current(connection)
    assert (listed.model, listed.dimension) == ("given", 2)
    assert listed.indexed_at is not None
    assert (listed.sentence_backend, listed.sentence_model, listed.sentence_digest) == MINI
    assert listed.similarity_digest == sha256(b"similar").hexdigest()
    with pytest.raises(Refused, match="has other models already"):
        await keep_models(connection, vocabulary_id, {**FILES, "tokens": b"others"})


async def test_models_that_are_missing_or_changed_are_refused(connection: Connection) -> None:
    with failing(FailureCategory.VOCABULARY_UNUSABLE):
        await keep_models(connection, 99)
    vocabulary_id = await vocabularies.keep(connection, "clothes", CLOTHES)
    with failing(FailureCategory.VOCABULARY_UNUSABLE, "ragq index tags"):
        await vocabularies.file(connection, vocabulary_id, "context")
    await keep_models(connection, vocabulary_id)
    await connection.execute("UPDATE vocabulary_model SET data = 'other' WHERE part = 'context'")

    with failing(FailureCategory.VOCABULARY_UNUSABLE, "is not what was stored"):
        await vocabularies.file(connection, vocabulary_id, "context")
