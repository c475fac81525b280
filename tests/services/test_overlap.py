"""Random splits and indexes: a submission is refused, or none of its references comes from its own split."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pgvector import Vector

from schemas.errors import Refused
from schemas.settings.resolve import resolve
from schemas.values.participants import AssessmentMode, Chunk, EmbeddedEvidence, PHQ8Item, Split
from schemas.values.requests import ParticipantRequest
from services.participants import plan_participants
from stages.participants.retrieve import never_used, retrieve_references
from stages.ports import Vectors
from store.database import Connection, Database
from store.references import interviews
from store.references.references import PostgresReferenceSearch
from tests.stages.at_defaults import RUN
from tests.store import reference_indexes
from tests.store.reference_indexes import person, publish_index

PEOPLE: Final = range(300, 308)
OWN: Final = {"EMBEDDING_EMBEDDINGS_FILE": "x", "EMBEDDING_DIMENSION": "2", "MODEL_EMBEDDING_MODEL": "tiny"}
SETTINGS: Final = resolve(profile="paper", options=OWN, environment={})

#: Of the split for training of the data set, as those settings ask for it.
PLAN: Final = reference_indexes.PLAN.model_copy(update={"name": "x", "split_csv_hash": None, "split_ids_hash": "p"})


@dataclass(frozen=True)
class Submission:
    """Who is indexed, in the split and submitted."""

    indexed: AbstractSet[int]
    split: AbstractSet[int]
    limit: int | None
    by_number: bool
    allow_overlap: bool

    @property
    def request(self) -> ParticipantRequest:
        who = {"participants": sorted(self.split)} if self.by_number else {"split": "dev", "limit": self.limit}
        return ParticipantRequest(modes=[AssessmentMode.FEW_SHOT], allow_overlap=self.allow_overlap, **who)

    @property
    def is_refused(self) -> bool:
        """Somebody is in both, and it is not allowed or nobody else is left."""
        both = self.indexed & self.split
        return bool(both) and (not self.allow_overlap or both == self.indexed)


SOME = st.sets(st.sampled_from(PEOPLE), min_size=1)
SUBMISSIONS = st.builds(Submission, SOME, SOME, st.none() | st.integers(1, 3), st.booleans(), st.booleans())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chosen=SUBMISSIONS)
async def test_no_reference_of_a_run_comes_from_its_own_split(database: Database, chosen: Submission) -> None:
    async with database.connection() as connection:
        await store(connection, chosen)
        if chosen.is_refused:
            with pytest.raises(Refused, match=f"of reference index 'x'|{len(chosen.indexed)} participants"):
                await plan_participants(connection, chosen.request, SETTINGS)
            return
        run = await plan_participants(connection, chosen.request, SETTINGS)

    both = sorted(chosen.indexed & chosen.split)
    assert run.request.get("overlap") == ({"index": "x", "participants": both} if both else None)
    embedded = EmbeddedEvidence(
        model="tiny", model_digest="", dimension=2, items=(PHQ8Item.SLEEP, PHQ8Item.TIRED), embedding_calls=1
    )
    for job in run.jobs:
        retrieved = await retrieve_references(
            embedded,
            np.eye(2, dtype=np.float32),
            search=PostgresReferenceSearch(database),
            index_id=job.inputs["index_id"],
            left_out=never_used(int(job.subject), job.inputs["excluded"]),
            settings=RUN,
        )
        for item in embedded.items:
            assert {one.participant_id for one in retrieved.items[item]} == chosen.indexed - chosen.split
        neighbours = await PostgresReferenceSearch(database).nearest_evidence(
            job.inputs["index_id"],
            [(PHQ8Item.SLEEP, np.ones(2, dtype=np.float32))],
            limit=20,
            exclude_participants=job.inputs["excluded"],
        )
        assert [{one.participant_id for one in of_item} for of_item in neighbours] == [chosen.indexed - chosen.split]


async def store(connection: Connection, chosen: Submission) -> None:
    """Everybody, the split, and an index of the indexed ones."""
    people = [person(number) for number in PEOPLE]
    split = Split(name="dev", csv_hash="c", ids_hash="i", participant_ids=sorted(chosen.split))
    await interviews.keep(connection, "data", people, [split])
    index_id = await publish_index(connection, PLAN, [chunks_of(number) for number in sorted(chosen.indexed)])
    await connection.executemany(
        "INSERT INTO reference_evidence (index_id, participant_id, item, vector) VALUES ($1, $2, 'PHQ8_Sleep', $3)",
        [(index_id, number, Vector(chunks_of(number)[1][0])) for number in chosen.indexed],
    )


def chunks_of(number: int) -> tuple[list[Chunk], Vectors]:
    rows = np.random.default_rng(number).normal(size=(2, 2)).astype(np.float32)
    chunks = [Chunk(participant_id=number, ordinal=at, text=text, chunk_hash="h") for at, text in enumerate("ab")]
    return chunks, rows / np.linalg.norm(rows, axis=1, keepdims=True)


async def test_a_named_index_of_another_data_set_is_searched_without_the_assessed(connection: Connection) -> None:
    # In "clinic", 300 is somebody else than in "data", 301 is 304 of "data", and nobody is stored as 303.
    others = [person(300, hashed="other"), person(301, hashed="h304")]
    indexed = Submission({300, 302}, {300, 303, 304}, limit=None, by_number=False, allow_overlap=True)
    await store(connection, indexed)
    await connection.execute("UPDATE participant SET transcript_hash = 'h' || id")
    dev = Split(name="dev", csv_hash="c", ids_hash="j", participant_ids=[300, 301])
    await interviews.keep(connection, "clinic", others, [dev])
    of_clinic = PLAN.model_copy(update={"name": "of_clinic", "data_set": "clinic", "split": "clinic-a"})
    await publish_index(connection, of_clinic, [chunks_of(number) for number in (300, 301, 303, 305)])

    asked = indexed.request.model_copy(update={"split": "data/dev"})
    own = await plan_participants(connection, asked, SETTINGS)
    named = await plan_participants(connection, asked.model_copy(update={"references": "of_clinic"}), SETTINGS)
    with pytest.raises(Refused, match="name one of clinic/dev, data/dev"):
        await plan_participants(connection, indexed.request, SETTINGS)
    with pytest.raises(Refused, match=r"'of_clinik' is neither .* Did you mean 'of_clinic'"):
        await plan_participants(connection, asked.model_copy(update={"references": "of_clinik"}), SETTINGS)

    assert (own.request["searched"]["index"], next(iter(own.jobs)).inputs["excluded"]) == ("x", [300, 303, 304])
    assert named.request["searched"] == {"index": "of_clinic", "data_set": "clinic", "split": "clinic-a"}
    assert named.request["overlap"] == {"index": "of_clinic", "participants": [301, 303]}
    assert [job.inputs["excluded"] for job in named.jobs] == [[301, 303]] * 3
    assert {(job.inputs["data_set"], job.inputs["index_data_set"]) for job in named.jobs} == {("data", "clinic")}


async def test_a_data_set_without_an_index_searches_none_of_another(connection: Connection) -> None:
    chosen = Submission({300, 302}, {303}, limit=None, by_number=False, allow_overlap=False)
    await store(connection, chosen)
    own = [
        Split(name=name, csv_hash="c", ids_hash="j", participant_ids=ids)
        for name, ids in (("clinic-test", [300]), ("all-train", [300, 301]), ("clinic-train", [301]))
    ]
    await interviews.keep(connection, "clinic", [person(300), person(301)], own)

    told = (
        "Data set 'clinic' has no reference index 'x'.*`ragq index references --split all-train .*`--references NAME` s"
    )
    with pytest.raises(Refused, match=told):
        await plan_participants(connection, chosen.request.model_copy(update={"split": "clinic-test"}), SETTINGS)
