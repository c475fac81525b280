"""Reference indexes: imported, chosen for a few-shot run, and never shown without item scores."""

import asyncio
from collections.abc import Collection, Mapping

import numpy as np
import pytest

from schemas.errors import EmbeddingArtifactMismatchError, Refused
from schemas.settings.resolve import EffectiveSettings, resolve
from schemas.settings.run import RunSettings
from schemas.values.participants import AssessmentMode, PartialBuild, PHQ8Item, Split, TranscriptVariant
from schemas.values.requests import ParticipantRequest
from schemas.values.runs import IndexSource
from services.indexes import fitting_index, import_artifact
from services.participants import plan_participants
from services.references import plan_references
from stages.participants.artifacts import ArtifactFile
from stages.reports.words import notices
from store.database import Connection, Database
from store.references import interviews, references
from store.references.references import PostgresReferenceSearch, StoredIndex
from tests.services.test_overlap import OWN, PLAN, SETTINGS, chunks_of
from tests.stages.participants.artifacts.builders import META, VECTORS, artifact_files, as_json, npz, rules
from tests.store.reference_indexes import person, publish_index

INDEXED = (300, 301, 302)
ASSESSED = 310
FEW_SHOT = ParticipantRequest(modes=[AssessmentMode.FEW_SHOT], participants=[ASSESSED])
SPEC_33 = {"EMBEDDING_MIN_REFERENCE_SIMILARITY": "0.6", "EMBEDDING_ENABLE_REFERENCE_VALIDATION": "true"}
CHARS = {"EMBEDDING_MAX_REFERENCE_CHARS_PER_ITEM": "9"}
NOTICE = (
    "2 participants of the reference index have no item scores: 301, 302. Their chunks take places among the "
    "references and are not shown."
)


async def store(connection: Connection, *, labelled: Collection[int]) -> None:
    """Everybody, a split of the indexed ones, and their index."""
    people = [person(number, score=1 if number in labelled else None) for number in (*INDEXED, ASSESSED)]
    split = Split(name="clinic-a", csv_hash="c", ids_hash="p", participant_ids=INDEXED)
    await interviews.keep(connection, "data", people, [split])
    await publish_index(connection, PLAN, [chunks_of(number) for number in INDEXED])


async def test_those_without_scores_are_named_with_the_run_and_the_index_and_nobody_else_refused(
    connection: Connection,
) -> None:
    await store(connection, labelled=())
    with pytest.raises(Refused, match=r"Nobody of reference index 'x' has item scores.*Without references: --zero"):
        await plan_participants(connection, FEW_SHOT, SETTINGS)
    await store(connection, labelled=(300,))

    run = await plan_participants(connection, FEW_SHOT, SETTINGS)
    index = await plan_references(connection, "clinic-a", SETTINGS, False)

    for kind, one in (("participant", run), ("index", index)):
        assert NOTICE in notices(kind, "paper", one.request)


async def test_a_run_beside_the_notebook_names_the_settings_by_which_it_leaves_parity(connection: Connection) -> None:
    await store(connection, labelled=INDEXED)
    for profile, options, left in [
        ("paper", {"EMBEDDING_MIN_REFERENCE_SIMILARITY": "0.6"}, None),
        ("paper-parity", {"EMBEDDING_TOP_K_REFERENCES": "3"}, None),
        ("paper-parity", SPEC_33, [f"{name}={value}" for name, value in SPEC_33.items()]),
        ("paper-parity", {"RAGQ_PROMPT_FORMAT": "xml"}, ["RAGQ_PROMPT_FORMAT=xml"]),
        ("paper", {"RAGQ_PROMPT_FORMAT": "notebook"} | CHARS, ["EMBEDDING_MAX_REFERENCE_CHARS_PER_ITEM=9"]),
    ]:
        settings = resolve(profile=profile, options=OWN | options, environment={})
        run = await plan_participants(connection, FEW_SHOT, settings)

        assert run.request.get("left_parity") == left
        assert sum("arity" in notice for notice in notices("participant", profile, run.request)) == (left is not None)


async def test_an_index_is_built_of_training_splits_and_of_ones_own(connection: Connection) -> None:
    await store(connection, labelled=INDEXED)

    tested = Split(name="paper-test", csv_hash="c", ids_hash="q", participant_ids=(ASSESSED,))
    await interviews.keep_splits(connection, "data", [tested])
    built = await plan_references(connection, "clinic-a", SETTINGS, False)
    assert (built.request["index"], len(built.jobs)) == ("x_clinic_a", 3)
    for split, refusal in [
        (
            "paper-test",
            "References come from a training split.*paper-train or avec-train or clinic-a, not 'paper-test'",
        ),
        ("clinic-b", "Split 'clinic-b' is not stored. Did you mean 'clinic-a'.*`ragq splits make --paper`"),
    ]:
        with pytest.raises(Refused, match=refusal):
            await plan_references(connection, split, SETTINGS, False)


RAW = {TranscriptVariant.RAW: 3}
OF_PAPER = PLAN.model_copy(update={"name": "x_paper_train", "variant": TranscriptVariant.RAW})
OTHER_VARIANT = OF_PAPER.model_copy(
    update={"name": "x_paper_train_participant_only", "variant": TranscriptVariant.PARTICIPANT_ONLY}
)
OTHER_CHUNKS = OF_PAPER.model_copy(update={"chunk_size": 6})
OTHER_SPLIT = OF_PAPER.model_copy(update={"name": "x_avec_train", "split": "train"})


def asking(name: str, **options: str) -> EffectiveSettings:
    return resolve(profile="paper", options=OWN | {"EMBEDDING_EMBEDDINGS_FILE": name} | options, environment={})


async def store_indexes(connection: Connection, *plans: IndexSource) -> list[StoredIndex]:
    for plan in plans:
        await publish_index(connection, plan, [chunks_of(300)])
    return await references.current(connection)


async def test_an_index_replaces_the_one_of_its_name_and_identity_alone(connection: Connection) -> None:
    stored = await store_indexes(
        connection, OF_PAPER, OTHER_CHUNKS, OTHER_SPLIT, OF_PAPER.model_copy(update={"split_ids_hash": "q"}), OF_PAPER
    )

    assert [(index.name, index.chunk_size, index.split_ids_hash) for index in stored] == [
        ("x_avec_train", 8, "p"),
        ("x_paper_train", 6, "p"),
        ("x_paper_train", 8, "q"),
        ("x_paper_train", 8, "p"),
    ]


async def test_of_the_indexes_of_a_name_a_run_searches_the_one_that_fits(connection: Connection) -> None:
    await store_indexes(connection, OF_PAPER, OTHER_VARIANT, OTHER_CHUNKS, OTHER_SPLIT)
    for asked, options, transcripts, found in [
        ("x_paper_train", {}, RAW, OF_PAPER),
        ("x_paper_train", {"EMBEDDING_CHUNK_SIZE": "6"}, RAW, OTHER_CHUNKS),
        ("x_paper_train", {}, {TranscriptVariant.PARTICIPANT_ONLY: 3}, OTHER_VARIANT),
        ("x_paper_train_participant_only", {}, {TranscriptVariant.PARTICIPANT_ONLY: 3}, OTHER_VARIANT),
        ("x_avec_train", {}, RAW, OTHER_SPLIT),
        ("x", {"EMBEDDING_CHUNK_SIZE": "6"}, RAW, OTHER_CHUNKS),
    ]:
        index = await fitting_index(connection, asking(asked, **options), data_set="data", transcripts=transcripts)

        assert (index.name, index.identity) == (found.name, references.identity(found))


async def test_an_index_that_is_missing_is_refused_with_what_builds_it(connection: Connection) -> None:
    await store_indexes(connection, OF_PAPER)
    names = ("paper-test", "paper-train", "train")
    splits = [Split(name=name, csv_hash="c", ids_hash="i", participant_ids=()) for name in names]
    await interviews.keep_splits(connection, "data", splits)
    for asked, transcripts, remedy in [
        ("y_paper_train", RAW, "`ragq index references --split paper-train --profile paper --set "),
        ("y_avec_train", RAW, "`ragq index references --split avec-train --profile paper --set "),
        ("y_participant_only", {TranscriptVariant.UNKNOWN: 3}, "`ragq index references --split paper-train "),
    ]:
        with pytest.raises(Refused) as refusal:
            await fitting_index(connection, asking(asked), data_set="data", transcripts=transcripts)

        told = str(refusal.value)
        assert f"'{asked}' (EMBEDDING_EMBEDDINGS_FILE). Built: x_paper_train." in told
        assert told.split("'x_paper_train'? ")[-1].split("x_paper_train. ")[-1].startswith(remedy)


async def test_an_index_of_a_split_of_ones_own_answers_to_its_name_without_it(connection: Connection) -> None:
    await store_indexes(connection, OF_PAPER.model_copy(update={"name": "x_clinic_a", "split": "clinic-a"}))

    for asked in ("x_clinic_a", "x", "x_paper_train"):
        index = await fitting_index(connection, asking(asked), data_set="data", transcripts=RAW)
        assert index.name == "x_clinic_a"
    with pytest.raises(Refused, match="no reference index 'y_paper_train'"):
        await fitting_index(connection, asking("y_paper_train"), data_set="data", transcripts=RAW)


EVERYTHING = rules(with_tags=True, with_chunk_scores=True)


async def imported(
    connection: Connection, files: Mapping[ArtifactFile, bytes], *, loaded_by: RunSettings = EVERYTHING
) -> tuple[StoredIndex, list[str]]:
    await interviews.keep(connection, "data", [person(ASSESSED)], [])
    return await import_artifact(connection, files, loaded_by, file_name="small", name="small")


async def current(connection: Connection) -> dict[str, StoredIndex]:
    return {index.name: index for index in await references.current(connection)}


async def test_an_import_is_the_current_index_of_its_name_and_a_refused_one_leaves_none(connection: Connection) -> None:
    stored, _ = await imported(connection, artifact_files())

    assert await current(connection) == {"small": stored}
    assert (stored.run_id, stored.participants, stored.chunks) == (None, 2, 3)
    assert (stored.model, stored.split) == ("Qwen/Qwen3-Embedding-8B", "paper-train")
    assert (stored.split_csv_hash, stored.split_ids_hash) == ("c" * 12, "1" * 12)
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
    assert fewer.partial == PartialBuild(skipped_participants=(304,))
