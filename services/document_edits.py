"""The headings and sections of a document decided by a pasted reply or one by one.

An edit is an attempt of its stage. What the stages after it stored stays in the history, and they run again.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from schemas.errors import Refused
from schemas.values.base import Value
from schemas.values.documents import (
    ConvertedDocument,
    DecidedBy,
    DocumentOutline,
    RepairAction,
    RepairedTitles,
    SanitisedDocument,
    SelectedSections,
    SelectionAction,
)
from services.document_jobs import document_job, needed, refuse_replaced
from stages.documents.repair import Change, changed_repairs, is_usable, repair_by_reply, repair_prompt
from stages.documents.select import changed_selections, sections_of, select_by_reply, select_prompt, with_headings
from stages.queries.templates import TemplateTag
from store.database import Connection
from store.questions import templates
from store.runs import edits
from store.runs.jobs import Job

REPAIR = "repair"
SELECT = "select"


class Edited(Value):
    """A job that continues after an edit."""

    job_id: int = Field(examples=[34])
    stage: str = Field(examples=["repair"])
    """What was edited."""
    changed: int = Field(examples=[4])
    """Headings that are not left as they are, or headings whose sections are skipped."""


async def repair_text(connection: Connection, job_id: int) -> str:
    """The prompt by which a model repairs the headings of a document. Raises as `document_job`, DocumentMissingError
    while the headings are not stored, TemplateMissingError, and TemplateError."""
    job = await document_job(connection, job_id)
    found = await needed(connection, job_id, DocumentOutline)
    toc = (await needed(connection, job_id, ConvertedDocument)).toc
    return repair_prompt(found.headings, toc, template=await _template(connection, job, TemplateTag.TITLE_REPAIR))


async def select_text(connection: Connection, job_id: int) -> str:
    """The prompt by which a model selects the sections of a document. Raises as `repair_text`."""
    job = await document_job(connection, job_id)
    sanitised = await needed(connection, job_id, SanitisedDocument)
    asked = with_headings(sections_of(sanitised.markdown))
    return select_prompt(asked, template=await _template(connection, job, TemplateTag.SECTION_SELECTION))


async def paste_repair(connection: Connection, job_id: int, reply: str) -> Edited:
    """Store what a reply makes of the headings of a document.

    Raises HeadingReplyError for a reply that cannot be used, StageRunningError, Refused for a job whose
    work has another text since and while an earlier stage is not done, and as `repair_text`.
    """
    async with connection.transaction():
        await refuse_replaced(connection, (await document_job(connection, job_id)).id)
        headings = (await needed(connection, job_id, DocumentOutline)).headings
        repaired = RepairedTitles(repairs=repair_by_reply(reply, headings), by=DecidedBy.PASTED)
        return await _store(connection, job_id, REPAIR, repaired, repaired.changed)


async def paste_selection(connection: Connection, job_id: int, reply: str) -> Edited:
    """Store which sections of a document a reply selects. Raises as `paste_repair`."""
    async with connection.transaction():
        await refuse_replaced(connection, (await document_job(connection, job_id)).id)
        found = sections_of((await needed(connection, job_id, SanitisedDocument)).markdown)
        selected = SelectedSections(selections=select_by_reply(reply, found, by=DecidedBy.PASTED), by=DecidedBy.PASTED)
        return await _store(connection, job_id, SELECT, selected, selected.skipped)


async def change_repairs(connection: Connection, job_id: int, changes: Mapping[int, Change]) -> Edited:
    """Store other repairs for the headings at these lines of the converted document.

    Raises Refused for lines without a heading and for words that are no title, and as `paste_repair`.
    """
    async with connection.transaction():
        await refuse_replaced(connection, (await document_job(connection, job_id)).id)
        stored = await needed(connection, job_id, RepairedTitles)
        _refuse_unknown(job_id, changes, [repair.line for repair in stored.repairs], REPAIR)
        repairs = changed_repairs(stored.repairs, changes)
        wrong = [repair.line for repair in repairs if repair.line in changes and not is_usable(repair)]
        if wrong:
            raise Refused(
                f"The words for line {wrong[0]} are no title: write a letter or digit at least, and 500 characters at "
                f"most; `ragq work repair j{job_id} --set {wrong[0]}=REMOVE` leaves the heading out."
            )
        repaired = RepairedTitles(repairs=repairs, by=DecidedBy.USER)
        return await _store(connection, job_id, REPAIR, repaired, repaired.changed)


async def change_selection(connection: Connection, job_id: int, changes: Mapping[int, bool]) -> Edited:
    """Store whether the sections of the headings at these lines of the sanitised document are embedded. Raises as
    `change_repairs`."""
    async with connection.transaction():
        await refuse_replaced(connection, (await document_job(connection, job_id)).id)
        stored = await needed(connection, job_id, SelectedSections)
        found = sections_of((await needed(connection, job_id, SanitisedDocument)).markdown)
        _refuse_unknown(job_id, changes, [section.start_line for section in with_headings(found)], SELECT)
        selected = SelectedSections(selections=changed_selections(found, stored.selections, changes), by=DecidedBy.USER)
        return await _store(connection, job_id, SELECT, selected, selected.skipped)


def repair_change(text: str) -> Change | None:
    """The change that a text means, like `H2:Green leaves`; None for one that means none.

    >>> repair_change("H2:Green leaves")
    Change(action=<RepairAction.H2: 'H2'>, text='Green leaves')
    """
    word, colon, words = text.partition(":")
    if word not in set(RepairAction):
        return None
    return Change(RepairAction(word), words if colon else None)


def selection_change(text: str) -> bool | None:
    """Whether a section is embedded, by SKIP or VECTORIZE; None for another text."""
    return text == SelectionAction.VECTORIZE if text in set(SelectionAction) else None


async def _template(connection: Connection, job: Job, tag: TemplateTag) -> str:
    version: int | None = job.inputs.get("templates", {}).get(tag)
    return (await templates.get(connection, tag, version)).text


async def _store(connection: Connection, job_id: int, stage: str, output: Value, changed: int) -> Edited:
    await edits.set_output(connection, job_id, stage, output.model_dump(mode="json"))
    return Edited(job_id=job_id, stage=stage, changed=changed)


def _refuse_unknown(job_id: int, changes: Mapping[int, Any], known: Sequence[int], stage: str) -> None:
    unknown = sorted(set(changes) - set(known))
    if unknown:
        found = f"Line {unknown[0]} is" if len(unknown) == 1 else f"{len(unknown)} lines, {unknown[0]} first, are"
        raise Refused(
            f"{found} no heading that stage '{stage}' of job j{job_id} decided about; `ragq work prompt j{job_id} "
            f"{stage}` lists them.",
            slug="heading-missing",
        )
