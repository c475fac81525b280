"""References without item scores are never shown: a run of them alone is refused, and fewer are named."""

from collections.abc import Collection

import pytest

from schemas.errors import Refused
from schemas.settings.resolve import resolve
from schemas.values.participants import AssessmentMode, Split
from schemas.values.requests import ParticipantRequest
from services.participants import plan_participants
from services.references import plan_references
from stages.reports.words import notices
from store.database import Connection
from store.references import interviews
from tests.services.test_overlap import OWN, PLAN, SETTINGS, chunks_of
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


async def test_a_run_whose_references_have_no_scores_is_refused(connection: Connection) -> None:
    await store(connection, labelled=())

    with pytest.raises(Refused, match=r"Nobody of reference index 'x' has item scores.*Without references: --zero"):
        await plan_participants(connection, FEW_SHOT, SETTINGS)


async def test_those_without_scores_are_named_with_the_run_and_with_the_index(connection: Connection) -> None:
    await store(connection, labelled=(300,))

    run = await plan_participants(connection, FEW_SHOT, SETTINGS)
    index = await plan_references(connection, "clinic-a", SETTINGS, False, True)

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

    other = Split(name="X", csv_hash="c", ids_hash="q", participant_ids=(ASSESSED,))

    built = await plan_references(connection, "clinic-a", SETTINGS, False, True)
    assert (built.request["index"], len(built.jobs)) == ("x_clinic_a", 3)
    for split, refusal in [
        (
            "paper-test",
            "References come from a training split.*paper-train or avec-train or clinic-a, not 'paper-test'",
        ),
        ("clinic-b", "Split 'clinic-b' is not stored. Did you mean 'clinic-a'.*`ragq splits make --from FILE`"),
        ("X", "Index 'x' was built of split 'paper-train'"),
    ]:
        with pytest.raises(Refused, match=refusal):
            await plan_references(connection, split, SETTINGS, False, True)
        await interviews.keep_splits(connection, "data", [other])
