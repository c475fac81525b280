"""The models of vocabularies: all or nothing, once."""

from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest

from schemas.errors import Refused, VocabularyError, VocabularyMissingError
from stages.tags.similarity import SentenceModel
from store import vocabularies
from store.database import Connection
from tests.contracts.test_tag_search import built
from tests.stages.tags.builders import at
from tests.store.vocabularies.test_vocabularies import CLOTHES

MODELS = built({"shirt": at(0), "tee": at(10)}, shirt=at(45))


async def test_models_are_kept_with_their_files_and_rows(connection: Connection) -> None:
    models = replace(MODELS, similarity_file=b"similar", sentences=SentenceModel("huggingface", "mini", "abc"))
    vocabulary_id = await vocabularies.keep(connection, "clothes", CLOTHES)
    await vocabularies.keep_models(connection, vocabulary_id, models)

    assert await vocabularies.file(connection, vocabulary_id, "tokens") == b"tokens"
    assert await vocabularies.file(connection, vocabulary_id, "similarity") == b"similar"
    rows = await vocabularies.context_rows(connection, vocabulary_id, ["shirt", "hat"])
    (listed,) = await vocabularies.current(connection)

    assert list(rows) == ["shirt"]
    np.testing.assert_array_equal(rows["shirt"], at(45))
    assert (listed.model, listed.dimension) == ("given", 2)
    assert listed.indexed_at is not None
    assert (listed.sentence_backend, listed.sentence_model, listed.sentence_digest) == ("huggingface", "mini", "abc")
    assert listed.similarity_digest == sha256(b"similar").hexdigest()


async def test_models_are_built_once_and_the_same_ones_change_nothing(connection: Connection) -> None:
    vocabulary_id = await vocabularies.keep(connection, "clothes", CLOTHES)
    await vocabularies.keep_models(connection, vocabulary_id, MODELS)
    await vocabularies.keep_models(connection, vocabulary_id, MODELS)
    others = built({"shirt": at(0)})

    with pytest.raises(Refused, match="has other models already"):
        await vocabularies.keep_models(
            connection, vocabulary_id, replace(others, tokens=others.tokens._replace(file=b"x"))
        )

    assert await connection.fetchval("SELECT count(*) FROM tag_vector") == 2


async def test_models_that_are_missing_or_changed_are_refused(connection: Connection) -> None:
    with pytest.raises(VocabularyMissingError):
        await vocabularies.keep_models(connection, 99, MODELS)
    vocabulary_id = await vocabularies.keep(connection, "clothes", CLOTHES)
    with pytest.raises(VocabularyError, match="ragq index tags"):
        await vocabularies.file(connection, vocabulary_id, "context")
    await vocabularies.keep_models(connection, vocabulary_id, MODELS)
    await connection.execute("UPDATE vocabulary_model SET data = 'other' WHERE part = 'context'")

    with pytest.raises(VocabularyError, match="is not what was stored"):
        await vocabularies.file(connection, vocabulary_id, "context")
