"""Dry runs of documents, compared with the runs that follow them."""

import pytest

from schemas.values.chat import ChatCall
from schemas.values.documents import DecidedBy, RepairAction, RepairedTitles
from schemas.values.estimates import Estimate
from services import document_edits
from services.documents import PlannedDocument
from services.import_estimates import estimate_documents
from services.work_files import WorkFile
from stages.documents.heading_bounds import most_headings
from stages.documents.outline import outline
from stages.documents.repair import repair_by_rules
from stages.documents.repair_reply import Change, changed_repairs
from stages.documents.sanitise import sanitise
from stages.documents.select import sections_of
from stages.documents.select_reply import with_headings
from store import originals
from tests.services.documents import BOOK, CHAIN, Library, library

__all__ = ["library"]

BY_MODEL = {"RAGQ_REPAIR_BY": "model", "RAGQ_SELECT_BY": "model", "RAGQ_DOCUMENT_MODEL": "tidy"}
LONG = "".join(f"## Leaf {number}\n\nGreen.\n\n" for number in range(250))


def answered(call: ChatCall) -> str:
    """Every heading as it is, and every section."""
    fenced = call.messages[1].content.split("<<< headings")[1].split(">>>")[0].splitlines()[1:-1]
    lines = [line.split(" : ") for line in fenced]
    repairs = call.purpose.startswith("repair")
    return "\n".join(f"{line} : {f'NO_CHANGE : {text}' if repairs else 'VECTORIZE'}" for line, _, text in lines)


async def estimated(library: Library, *texts: str, name: str = "tea.md", **values: str) -> Estimate:
    """Of files that are not stored."""
    planned = []
    for text in texts:
        file = WorkFile(name, text.encode(), name)
        async with library.database.connection() as connection:
            planned.append(PlannedDocument.of(file, await originals.keep(connection, file.content)))
    found = await estimate_documents(library.database, "library", planned, library.settings(**values))
    assert found is not None
    return found


async def paid(library: Library) -> int:
    found: int = await library.value("SELECT count(*) FROM llm_call_use WHERE NOT is_reused")
    return found


async def test_rules_ask_no_model(library: Library) -> None:
    found = await estimated(library, BOOK)

    assert (found.jobs, found.modes, list(found.stages)) == (1, {"document": 1}, list(CHAIN))
    assert (found.calls_at_most, found.calls_expected, found.models, found.missing) == (0, 0, {}, ())
    assert (found.seconds, found.existing_run) == (None, None)


@pytest.mark.parametrize("text", [BOOK, LONG])
async def test_the_bound_is_met_when_every_reply_but_the_last_is_unusable(library: Library, text: str) -> None:
    found = await estimated(library, text, **BY_MODEL)
    replies: dict[str, int] = {}

    def reluctant(call: ChatCall) -> str:
        purpose = call.purpose.split(",")[0]
        replies[purpose] = replies.get(purpose, 0) + 1
        return answered(call) if replies[purpose] == 3 else f"Not now, {replies[purpose]}."

    library.answers(reluctant)
    await library.run(await library.job(text, RAGQ_REPLY_RETRIES="2", **BY_MODEL))

    asked = sum(replies.values())
    assert asked == await paid(library) == found.calls_at_most == found.calls_to_pay_at_most
    assert asked == (6 if text == BOOK else 15)
    assert found.models == {"tidy": "not found, or its server did not answer"}


async def test_calls_tokens_and_time_are_those_of_the_run_that_was_made(library: Library) -> None:
    library.answers(answered)
    await library.run(await library.job(**BY_MODEL))
    made = await paid(library)

    again = await estimated(library, BOOK, **BY_MODEL)
    both = await estimated(library, BOOK, BOOK + "\nMore.\n", **BY_MODEL)
    other = await estimated(library, BOOK, **BY_MODEL | {"RAGQ_DOCUMENT_MAX_TOKENS": "77"})

    assert {name: stage.calls_held for name, stage in again.stages.items() if stage.calls_at_most} == {
        "repair": 1,
        "select": 1,
    }
    assert (again.calls_held, again.calls_to_pay_at_most, again.calls_expected) == (made, 0, 0)
    assert (both.calls_held, both.calls_expected, both.jobs) == (made, made, 2)
    assert both.calls_at_most == 2 * (both.calls_to_pay_at_most or 0)
    assert other.calls_held == 0
    assert (both.prompt_tokens, both.reply_tokens) == await tokens(library)
    took = await library.value("SELECT extract(epoch FROM max(ended_at) - min(started_at))::float8 FROM stage_attempt")
    # One of the two asks a model as the past job did; the calls of the other are in the ledger.
    assert both.seconds is not None and both.seconds.value == pytest.approx(took)
    assert both.basis_words.startswith("1 past run with these models, modes and stages (1 job)")
    # By rules it takes another time, which no past run tells.
    assert (await estimated(library, BOOK)).seconds is None


async def tokens(library: Library) -> tuple[int, int]:
    return (
        await library.value("SELECT sum(prompt_tokens)::int FROM llm_call"),
        await library.value("SELECT sum(reply_tokens)::int FROM llm_call"),
    )


async def test_calls_after_an_output_that_somebody_set_are_not_promised(library: Library) -> None:
    library.answers(answered)
    job_id = await library.job(**BY_MODEL)
    await library.run(job_id, until="repair")
    async with library.database.connection() as connection:
        changes = {9: Change(RepairAction.H2)}
        await document_edits.change_repairs(connection, job_id, changes)
    await library.run(job_id)
    assert (await library.output(job_id, RepairedTitles)).by is DecidedBy.USER
    assert await paid(library) == 2

    found = await estimated(library, BOOK, **BY_MODEL)

    assert found.stages["select"].calls_held == 0
    assert found.stages["select"].calls_to_pay_at_most == 3


async def test_a_document_that_is_not_converted_has_no_bound(library: Library) -> None:
    page = "<!doctype html><h1>Tea</h1><p>Leaves.</p>"

    found = await estimated(library, page, BOOK, name="tea.html", **BY_MODEL)
    by_rules = await estimated(library, page, name="tea.html")

    repair = found.stages["repair"]
    assert (repair.calls_at_most, repair.calls_to_pay_at_most, repair.jobs_unbounded) == (None, None, 2)
    assert (found.calls_at_most, found.calls_expected, found.prompt_tokens) == (None, None, None)
    assert found.notices[-1].endswith("2 documents are not converted yet, or not sent.")
    assert (by_rules.calls_at_most, by_rules.notices) == (0, ())


async def test_a_file_that_cannot_be_converted_asks_nobody(library: Library) -> None:
    found = await estimated(library, "no page", name="tea.pdf", **BY_MODEL)

    assert (found.jobs, found.calls_at_most) == (1, 0)


async def test_settings_that_do_not_fit_the_corpus_are_part_of_the_estimate(library: Library) -> None:
    await library.imported(by_stages=False)

    found = await estimated(library, BOOK, EMBEDDING_DIMENSION="16")

    assert "Corpus 'library' does not fit the settings of this run" in found.missing[0]


@pytest.mark.parametrize(
    ("markdown", "removed", "headings"),
    [
        # Without its heading the paragraph goes on, no HTML begins in it, and the lines below are headings.
        ("Tea\n# Leaves\n<span>\n# Green\n# Black\n", 2, 2),
        ("Tea\n# Leaves\n---\n", 2, 1),
        ("Tea\n# Leaves\n===\n", 2, 1),
    ],
)
def test_headings_that_a_repair_makes_are_within_the_bound(markdown: str, removed: int, headings: int) -> None:
    before = outline(markdown, ()).headings
    repairs = changed_repairs(repair_by_rules(before), {removed: Change(RepairAction.REMOVE)})

    after = with_headings(sections_of(sanitise(markdown, repairs, ())[0]))

    assert len(after) == headings > len(before) - 1
    bound = most_headings(markdown.encode(), "tea.md")
    assert bound is not None and max(len(before), len(after)) <= bound
