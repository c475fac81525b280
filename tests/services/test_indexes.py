"""Which index a run searches: by its name, and by what it was built from and with."""

import pytest

from schemas.errors import Refused
from schemas.settings.resolve import EffectiveSettings, resolve
from schemas.values.participants import Split, TranscriptVariant
from schemas.values.runs import IndexSource
from services.indexes import fitting_index
from store.database import Connection
from store.references import interviews, references
from store.references.references import StoredIndex
from tests.services.test_overlap import OWN, chunks_of
from tests.services.test_overlap import PLAN as OF_TRAINING
from tests.store.reference_indexes import publish_index

RAW = {TranscriptVariant.RAW: 3}
PLAN = OF_TRAINING.model_copy(update={"name": "x_paper_train", "variant": TranscriptVariant.RAW})
OTHER_VARIANT = PLAN.model_copy(
    update={"name": "x_paper_train_participant_only", "variant": TranscriptVariant.PARTICIPANT_ONLY}
)
OTHER_CHUNKS = PLAN.model_copy(update={"chunk_size": 6})
OTHER_SPLIT = PLAN.model_copy(update={"name": "x_avec_train", "split": "train"})


def asking(name: str, **options: str) -> EffectiveSettings:
    """The settings of a run that asks for an index."""
    return resolve(profile="paper", options=OWN | {"EMBEDDING_EMBEDDINGS_FILE": name} | options, environment={})


async def store(connection: Connection, *plans: IndexSource) -> list[StoredIndex]:
    """Publish an index of each plan, one after the other."""
    for plan in plans:
        await publish_index(connection, plan, [chunks_of(300)])
    return await references.current(connection)


async def test_an_index_replaces_the_one_of_its_name_and_identity_alone(connection: Connection) -> None:
    stored = await store(
        connection, PLAN, OTHER_CHUNKS, OTHER_SPLIT, PLAN.model_copy(update={"split_ids_hash": "q"}), PLAN
    )

    assert [(index.name, index.chunk_size, index.split_ids_hash) for index in stored] == [
        ("x_avec_train", 8, "p"),
        ("x_paper_train", 6, "p"),
        ("x_paper_train", 8, "q"),
        ("x_paper_train", 8, "p"),
    ]


async def test_of_the_indexes_of_a_name_a_run_searches_the_one_that_fits(connection: Connection) -> None:
    await store(connection, PLAN, OTHER_VARIANT, OTHER_CHUNKS, OTHER_SPLIT)
    for asked, options, transcripts, found in [
        ("x_paper_train", {}, RAW, PLAN),
        ("x_paper_train", {"EMBEDDING_CHUNK_SIZE": "6"}, RAW, OTHER_CHUNKS),
        ("x_paper_train", {}, {TranscriptVariant.PARTICIPANT_ONLY: 3}, OTHER_VARIANT),
        ("x_paper_train_participant_only", {}, {TranscriptVariant.PARTICIPANT_ONLY: 3}, OTHER_VARIANT),
        ("x_avec_train", {}, RAW, OTHER_SPLIT),
        ("x", {"EMBEDDING_CHUNK_SIZE": "6"}, RAW, OTHER_CHUNKS),
    ]:
        index = await fitting_index(connection, asking(asked, **options), data_set="data", transcripts=transcripts)

        assert (index.name, index.identity) == (found.name, references.identity(found))


async def test_an_index_that_is_missing_is_refused_with_what_builds_it(connection: Connection) -> None:
    await store(connection, PLAN)
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
    await store(connection, PLAN.model_copy(update={"name": "x_clinic_a", "split": "clinic-a"}))

    for asked in ("x_clinic_a", "x", "x_paper_train"):
        index = await fitting_index(connection, asking(asked), data_set="data", transcripts=RAW)
        assert index.name == "x_clinic_a"
    with pytest.raises(Refused, match="no reference index 'y_paper_train'"):
        await fitting_index(connection, asking("y_paper_train"), data_set="data", transcripts=RAW)
