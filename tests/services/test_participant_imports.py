"""Imports of participants: nothing that is stored is lost, and two studies lie side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.errors import Refused
from schemas.values.participants import DataSet, Participant, PHQ8Item, TranscriptVariant
from services.data_sets import ImportedParticipants, find_split, import_participants
from stages.participants.splits import listed_split
from store.database import Connection, Database
from store.references import interviews
from store.references.interviews import splits_of


def person(number: int, *, knows: frozenset[str] = frozenset({"gender", "score", "items"})) -> Participant:
    """A participant of a study, with the labels that a folder knows of it."""
    items = dict.fromkeys(PHQ8Item, number % 4)
    total = sum(items.values())
    return Participant(
        id=number,
        transcript=f"Participant: i am {number}",
        transcript_hash=f"h{number}",
        gender=number % 2 if "gender" in knows else None,
        phq8_binary=int(total >= 10) if "score" in knows else None,
        phq8_score=total if "score" in knows else None,
        items=items if "items" in knows else None,
        variant=TranscriptVariant.RAW,
    )


async def brought(
    connection: Connection,
    people: Sequence[Participant] = (),
    *,
    data_set: str = "clinic",
    anyway: bool = False,
    **splits: Sequence[int],
) -> ImportedParticipants:
    listed = {name: listed_split(name, numbers, "listed in x") for name, numbers in splits.items()}
    given = DataSet(participants={one.id: one for one in people}, labels={}, splits=listed)
    return await import_participants(connection, data_set, given, replace_stored=anyway)


def labels_of(people: Mapping[int, Any]) -> dict[int, object]:
    return {number: (one.gender, one.phq8_score, one.items) for number, one in people.items()}


LABELS = st.frozensets(st.sampled_from(("gender", "score", "items")))
FOLDERS = st.dictionaries(st.integers(300, 305), LABELS, min_size=1, max_size=6)


@given(folders=st.lists(FOLDERS, min_size=1, max_size=5))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_imports_in_any_order_lose_no_label(database: Database, folders: list[dict[int, frozenset[str]]]) -> None:
    known: dict[int, set[str]] = {}
    async with database.connection() as connection:
        await connection.execute("DELETE FROM participant")
        for folder in folders:
            await brought(connection, [person(number, knows=knows) for number, knows in folder.items()])
            for number, knows in folder.items():
                known.setdefault(number, set()).update(knows)

            stored = await interviews.known(connection, "clinic")
            everything = {number: person(number, knows=frozenset(knows)) for number, knows in known.items()}
            assert labels_of(stored) == labels_of(everything)


async def test_an_import_tells_what_is_new_unchanged_changed_and_replaced(connection: Connection) -> None:
    other = person(303)
    new = other.model_copy(update={"items": dict.fromkeys(PHQ8Item, 3) | {PHQ8Item.SLEEP: 0}, "transcript_hash": "x"})
    people = [person(300), person(301), new, person(305)]
    before = [person(300), person(301, knows=frozenset()), other, person(304)]
    await brought(connection, before, train=[300, 301])

    found = await brought(connection, people, train=[300], test=[305], anyway=True)

    assert (found.new, found.unchanged) == ((305,), (300,))
    assert found.changed == {301: ("gender", "PHQ8_Binary", "PHQ8_Score", "item labels")}
    assert found.conflicting == {303: ("PHQ8_Sleep", "transcript")}
    assert list(found.conflicting_splits) == ["train"]
    assert sorted(await interviews.known(connection, "clinic")) == [300, 301, 303, 304, 305]


async def test_what_is_stored_otherwise_is_refused_and_replaced_when_that_is_asked_for(connection: Connection) -> None:
    other = person(301).model_copy(update={"transcript_hash": "x", "transcript": "Participant: other"})
    await brought(connection, [person(300), person(301)], train=[300, 301])

    with pytest.raises(Refused) as refused:
        await brought(connection, [other, person(302)], train=[301])
    told = str(refused.value)
    assert all(words in told for words in ("participant 301: transcript", "split train", "--replace", "--name"))
    assert sorted(await interviews.known(connection, "clinic")) == [300, 301]

    await brought(connection, [other, person(302)], train=[301], anyway=True)
    people = await interviews.known(connection, "clinic")
    assert {number: one.transcript_hash for number, one in people.items()} == {300: "h300", 301: "x", 302: "h302"}
    assert (await splits_of(connection, "clinic"))["train"].participant_ids == (301,)


async def test_item_labels_do_not_stay_beside_a_total_that_replaces_theirs(connection: Connection) -> None:
    new = person(301, knows=frozenset()).model_copy(update={"phq8_score": 20})
    await brought(connection, [person(301)])

    found = await brought(connection, [new], anyway=True)

    assert found.conflicting == {301: ("PHQ8_Score", "item labels")}
    stored = await interviews.known(connection, "clinic")
    assert (stored[301].phq8_score, stored[301].items) == (20, None)


async def test_two_studies_with_the_same_numbers_and_splits_lie_side_by_side(connection: Connection) -> None:
    await brought(connection, [person(300)], train=[300], own=[300])
    others = [person(300, knows=frozenset()).model_copy(update={"transcript_hash": "x"}), person(301)]
    await brought(connection, others, data_set="other", train=[300, 301])

    assert (await interviews.known(connection, "clinic"))[300].items == person(300).items
    assert (await interviews.known(connection, "other"))[300].items is None
    assert (await find_split(connection, "own")).data_set == "clinic"
    assert (await find_split(connection, "other/train")).data_set == "other"
    with pytest.raises(Refused, match="clinic/train, other/train"):
        await find_split(connection, "train")
