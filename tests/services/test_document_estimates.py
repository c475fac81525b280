"""Dry runs of documents, compared with the runs that follow them."""

import pytest

from schemas.values.chat import ChatCall
from schemas.values.estimates import Estimate
from services.documents import PlannedDocument
from services.import_plans import estimate_documents
from services.work_files import WorkFile
from store import originals
from tests.services.documents import BOOK, Library, library

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
    assert asked == await paid(library) == found.calls_at_most
    assert asked == (6 if text == BOOK else 15)
    assert found.models == {"tidy": "not found, or its server did not answer"}


async def test_calls_tokens_and_time_are_those_of_the_run_that_was_made(library: Library) -> None:
    library.answers(answered)
    await library.run(await library.job(**BY_MODEL))
    made = await paid(library)

    both = await estimated(library, BOOK, BOOK + "\nMore.\n", **BY_MODEL)

    assert (both.jobs, both.calls_expected, both.basis) == (2, 2 * made, ("r1",))
    assert (both.prompt_tokens, both.reply_tokens) == tuple(2 * count for count in await tokens(library))
    took = await library.value("SELECT extract(epoch FROM sum(ended_at - started_at))::float8 FROM stage_attempt")
    assert both.seconds == pytest.approx(2 * took)
    # By rules it takes another time, which no past run tells.
    assert (await estimated(library, BOOK)).seconds is None


async def tokens(library: Library) -> tuple[int, int]:
    return (
        await library.value("SELECT sum(prompt_tokens)::int FROM llm_call"),
        await library.value("SELECT sum(reply_tokens)::int FROM llm_call"),
    )
