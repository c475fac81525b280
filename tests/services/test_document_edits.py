"""What becomes of headings and sections: by rules, by a model, by pasted replies and one by one, up to the chunks."""

import pytest

from schemas.errors import MissingError, ReplyShapeError
from schemas.values.documents import CutDocument, DecidedBy, RepairedTitles, SanitisedDocument, SelectedSections
from schemas.values.requests import WorksWanted
from schemas.values.runs import Target
from services import documents
from services.documents import document_text, document_view
from services.forks import fork
from services.runs import redo
from store.corpora import works
from store.runs import attempts
from tests.refusals import refused
from tests.services.documents import BOOK, Library, library
from tests.services.questions.questions import flaws

__all__ = ["library"]

REPAIR = "5 : H1 : On tea\n9 : H2 : Green leaves\n13 : REMOVE : References"
BY_RULES = "H1 no_vec, H1-chunk vec, H2 no_vec, H2-chunk vec, H2 no_vec, H2-chunk no_vec"


async def test_markdown_goes_through_the_stages_by_rules_and_is_shown_as_they_left_it(library: Library) -> None:
    connection = library.connection
    job_id = await library.job()
    empty = await document_view(connection, job_id=job_id)
    with refused("document-missing", match="Stage 'outline' of job"):
        await documents.decision_prompt(connection, job_id, "repair")
    await library.run(job_id, until="outline")
    with refused("document-missing", match="Stage 'sanitise' of job"):
        await documents.edit(connection, job_id, "select", "9 : SKIP")
    await library.run(job_id)

    view = await document_view(connection, job_id=job_id)
    corpus_id = await connection.fetchval("SELECT id FROM corpus")
    (listed,) = (await works.listed(connection, corpus_id, WorksWanted())).items
    markdown, _ = await document_text(connection, job_id=job_id)
    with refused("work-missing"):
        await document_view(connection, work_id=10**9)
    assert (empty.headings, empty.work_id, empty.name) == ((), None, "tea.md")
    assert (listed.job_id, listed.id, listed.title, listed.year) == (job_id, view.work_id, "On tea", 2019)
    assert (view.title, view.corpus, view.format, view.disagreements) == ("On tea", "library", "markdown", 0)
    assert (view.repaired_by, view.selected_by, view.model) == (DecidedBy.RULES, DecidedBy.RULES, None)
    shown = ("line", "level", "action", "repaired_level", "work_line", "embeds", "reason")
    assert [tuple(getattr(one, name) for name in shown) for one in view.headings] == [
        (5, 1, "NO_CHANGE", 1, 5, True, None),
        (9, 3, "H2", 2, 9, True, None),
        (13, 2, "NO_CHANGE", 2, 13, False, "a bibliography"),
    ]
    assert markdown == await library.value("SELECT markdown FROM works") == BOOK.replace("### Leaves", "## Leaves")
    assert await library.chunks() == BY_RULES


async def test_a_model_repairs_and_selects_where_the_settings_say_so(library: Library) -> None:
    library.answers(lambda call: REPAIR if call.purpose.startswith("repair") else "9 : SKIP")
    # Removing its heading leaves the lines of its section.
    job_id = await library.job(RAGQ_REPAIR_BY="model", RAGQ_SELECT_BY="model", RAGQ_DOCUMENT_MODEL="tidy")
    await library.run(job_id)

    repaired, selected = await library.output(job_id, RepairedTitles), await library.output(job_id, SelectedSections)
    assert {(one.by, one.model) for one in (repaired, selected)} == {(DecidedBy.MODEL, "tidy")}
    assert "## Green leaves\n" in (await library.output(job_id, SanitisedDocument)).markdown
    assert await library.chunks() == "H1 no_vec, H1-chunk vec, H2 no_vec, H2-chunk no_vec"
    assert [call.purpose for call in library.calls] == ["repair headings 1 to 3", "select sections 1 to 2"]
    assert await library.value("SELECT count(*) FROM llm_call_use") == 2


async def test_pasted_replies_are_attempts_after_which_the_rest_is_computed_again(library: Library) -> None:
    connection = library.connection
    job_id = await library.job()
    await library.run(job_id)
    work_id = await library.value("SELECT id FROM works")

    prompt = await documents.decision_prompt(connection, job_id, "select")
    await documents.edit(connection, job_id, "select", "9 : SKIP")
    assert "\n5 : H1 : Tea\n9 : H2 : Leaves\n13 : H2 : References\n" in prompt
    await library.run(job_id)
    assert await library.chunks() == "H1 no_vec, H1-chunk vec, H2 no_vec, H2-chunk no_vec, H2 no_vec, H2-chunk vec"
    assert (await library.output(job_id, CutDocument)).outcome == "replaced"
    assert await library.value("SELECT searchable_chunks FROM corpus") == 2

    prompt = await documents.decision_prompt(connection, job_id, "repair")
    await documents.edit(connection, job_id, "repair", REPAIR)
    assert "\n9 : H3 : Leaves\n13 : H2 : References\n" in prompt
    assert await library.value("SELECT status FROM job WHERE id = $1", job_id) == "waiting"
    await library.run(job_id)
    history = await attempts.history(connection, job_id, "repair")
    assert [attempt.worker_id for attempt in history] == ["worker", "manual"]
    assert not await flaws(connection)
    assert (await library.output(job_id, RepairedTitles)).by is DecidedBy.PASTED
    assert await library.value("SELECT id FROM works WHERE markdown LIKE '%## Green leaves%'") == work_id
    assert await library.chunks() == "H1 no_vec, H1-chunk vec, H2 no_vec, H2-chunk vec"

    before = await library.value("SELECT count(*) FROM stage_attempt")
    for stage in ["repair", "select"]:
        with pytest.raises(ReplyShapeError):
            await documents.edit(connection, job_id, stage, "9 : DANCE")
        unknown = f"10 : {'H1' if stage == 'repair' else 'SKIP'}"
        with pytest.raises(ReplyShapeError, match="no heading: 10"):
            await documents.edit(connection, job_id, stage, unknown, by=DecidedBy.USER)
    with pytest.raises(MissingError):
        await documents.decision_prompt(connection, 10**9, "repair")
    assert await library.value("SELECT count(*) FROM stage_attempt") == before
    assert await library.value("SELECT status FROM job WHERE id = $1", job_id) == "succeeded"


async def test_the_job_of_an_earlier_file_is_not_edited_repeated_or_forked(library: Library) -> None:
    connection = library.connection
    old = await library.job()
    await library.run(old)
    new = await library.job(BOOK + "\nMore.\n")
    await documents.edit(connection, old, "select", "13 : VECTORIZE", by=DecidedBy.USER)
    await library.run(old)
    await library.run(new)

    with refused("document-replaced"):
        await documents.edit(connection, old, "select", "13 : VECTORIZE", by=DecidedBy.USER)
    work_id = await connection.fetchval("SELECT id FROM works")
    assert (await document_view(connection, work_id=work_id)).job_id == new
    assert (await document_view(connection, job_id=old)).work_id is None
    with refused("document-replaced"):
        await redo(library.database, old, "convert")
    with refused("document-replaced"):
        await fork(library.database, Target(None, old), "repair")


async def test_a_document_is_converted_again_in_its_job_and_with_other_values_in_a_fork(library: Library) -> None:
    connection = library.connection
    job_id = await library.job()
    await library.run(job_id)
    await library.imported("# Pot\n\nA pot.\n", name="pot.md", by_stages=False)
    work_id = (await library.output(job_id, CutDocument)).work_id

    await redo(library.database, job_id, "convert")
    await library.run(job_id)
    assert (await library.output(job_id, CutDocument)).outcome == "unchanged"

    library.answers(lambda call: REPAIR)
    by_model = await fork(library.database, Target(None, job_id), "repair", {"RAGQ_REPAIR_BY": "model"})
    forked = await library.job_of_run(by_model.run_id)
    await library.run(forked)
    assert (await library.output(forked, RepairedTitles)).by is DecidedBy.MODEL
    assert (await document_view(connection, work_id=work_id)).job_id == forked
