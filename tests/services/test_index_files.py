"""Import of reference indexes."""

import asyncio
from collections.abc import Mapping

import numpy as np
import pytest

from schemas.errors import EmbeddingArtifactMismatchError
from schemas.values.participants import PartialBuild, PHQ8Item, Split
from services.indexes import import_artifact
from stages.participants.artifacts import ArtifactFile, LoadRules
from store.database import Connection, Database
from store.references import interviews, references
from store.references.references import PostgresReferenceSearch, StoredIndex
from tests.stages.participants.artifacts.builders import META, VECTORS, artifact_files, as_json, npz, rules
from tests.store.reference_indexes import person

EVERYTHING = rules(with_tags=True, with_chunk_scores=True)


async def imported(
    connection: Connection, files: Mapping[ArtifactFile, bytes], *, loaded_by: LoadRules = EVERYTHING
) -> tuple[StoredIndex, list[str]]:
    return await import_artifact(connection, files, file_name="small", index_name="small", rules=loaded_by)


async def current(connection: Connection) -> dict[str, StoredIndex]:
    return {index.name: index for index in await references.current(connection)}


async def test_an_import_is_the_current_index_of_its_name_and_a_refused_one_leaves_none(connection: Connection) -> None:
    stored, _ = await imported(connection, artifact_files())

    assert await current(connection) == {"small": stored}
    assert (stored.run_id, stored.participants, stored.chunks) == (None, 2, 3)
    assert (stored.model, stored.split) == ("Qwen/Qwen3-Embedding-8B", "paper-train")
    assert (stored.split_csv_hash, stored.split_ids_hash) == ("c" * 12, "1" * 12)
    assert stored.model_dump()["artifact_meta"] == META
    assert (stored.model_digest, stored.partial) == (None, None)

    with pytest.raises(EmbeddingArtifactMismatchError):
        await imported(connection, artifact_files(TAGS=None))
    await connection.execute("ALTER TABLE reference_vector ADD CONSTRAINT never CHECK (ordinal < 1) NOT VALID")
    with pytest.raises(Exception, match="never"):
        await imported(connection, artifact_files())
    assert await current(connection) == {"small": stored}
    counts = "SELECT (SELECT count(*) FROM reference_index), (SELECT count(*) FROM reference_chunk)"
    assert tuple(await connection.fetchrow(counts)) == (1, 3)


async def test_of_imports_at_the_same_moment_one_becomes_the_current_one(database: Database) -> None:
    await asyncio.gather(*(database.once(imported, artifact_files()) for _ in range(4)))

    async with database.connection() as connection:
        assert list(await current(connection)) == ["small"]
        assert await connection.fetchval("SELECT count(*) FROM reference_index WHERE replaced_at IS NOT NULL") == 3


async def test_references_carry_the_item_scores_of_the_participants_of_todays_split(
    database: Database, connection: Connection
) -> None:
    people = [person(303, score=2), person(304, score=None)]
    split = Split(name="paper-train", csv_hash="c" * 12, ids_hash="1" * 12, participant_ids=[303, 304])
    await interviews.keep(connection, "data", people, [split])
    stored, warnings = await imported(connection, artifact_files())
    other = as_json(META | {"split_ids_hash": "2" * 12})
    with pytest.raises(EmbeddingArtifactMismatchError, match="on participants 222222222222, now 111111111111"):
        await imported(connection, artifact_files(META=other))

    (found,) = await PostgresReferenceSearch(database).nearest(
        stored.id, [(PHQ8Item.SLEEP, VECTORS[303][1])], limit=5, exclude_participants=[]
    )

    of_found = [(reference.participant_id, reference.ordinal, reference.score) for reference in found]
    assert of_found == [(303, 1, 2), (303, 0, 2), (304, 0, None)]
    assert warnings == [
        "The files do not name the weights of the model: runs compare its name alone.",
        "No item scores are stored for 1 of 2 participants: their chunks take places among the references and are not "
        "shown. `ragq import participants DIR --name data` first, then import the index again.",
    ]


async def test_a_participant_without_chunks_keeps_a_place_and_one_without_vectors_none(connection: Connection) -> None:
    texts = as_json({"303": ["a", "b"], "304": ["c"], "305": []})
    arrays = npz({**VECTORS, 305: np.empty((0, 4), dtype=np.float32)})
    files = artifact_files(TEXTS=texts, VECTORS=arrays)
    stored, _ = await imported(connection, files, loaded_by=rules())

    assert list(await references.labels(connection, stored.id)) == [303, 304, 305]
    rows = await connection.fetch(
        "SELECT * FROM reference_chunk AS k JOIN reference_vector ON chunk_id = k.id ORDER BY k.id"
    )
    assert [row["text"] for row in rows] == ["a", "b", "c"]
    assert [row["vector"].to_list() for row in rows] == [*VECTORS[303].tolist(), *VECTORS[304].tolist()]

    fewer, _ = await imported(connection, artifact_files(VECTORS=npz({303: VECTORS[303]})), loaded_by=rules())
    assert fewer.partial == PartialBuild(
        skipped_participants=(304,), skipped_participant_count=1, skipped_chunks=1, chunk_skip_reason_counts={}
    )
