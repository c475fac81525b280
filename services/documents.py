"""A document as its stages left it, and its headings and sections decided by a pasted reply or one by one.

An edit is an attempt of its stage. What the stages after it stored stays in the history, and they run again."""

import asyncio
from collections.abc import Sequence
from typing import TypeVar

from schemas.chains import stage_that_stores
from schemas.errors import MissingError
from schemas.values.base import Value
from schemas.values.documents import (
    ConvertedDocument,
    DecidedBy,
    DocumentOutline,
    DocumentView,
    RepairAction,
    RepairedTitles,
    SanitisedDocument,
    SelectedSections,
)
from stages.documents.outline import outline
from stages.documents.repair import repair_by_reply, repair_prompt
from stages.documents.select import sections_of, select_by_reply, select_prompt, with_headings, with_selection
from stages.queries.templates import TemplateTag
from store.corpora import works
from store.database import Connection
from store.questions import presets
from store.runs import attempts, edits, jobs
from store.runs.jobs import Job

Output = TypeVar("Output", bound=Value)

KIND = "work"
MODE = "document"


async def document_job(connection: Connection, job_id: int) -> Job:
    """The job of a document. Raises MissingError, for a job of another kind too."""
    job = await jobs.get(connection, job_id)
    if job.kind != KIND:
        raise MissingError(
            f"Job j{job_id} is about no document; `ragq corpus show CORPUS` lists works with their jobs.",
            slug="document-missing",
        )
    return job


async def output_of(connection: Connection, job_id: int, output: type[Output]) -> Output | None:
    """What a stage of a document stored last; None while it is not stored, or stale."""
    return await attempts.stored(connection, job_id, stage_that_stores(KIND, MODE, output), output)


async def needed(connection: Connection, job_id: int, output: type[Output]) -> Output:
    """The same. Raises MissingError while it is not stored."""
    found = await output_of(connection, job_id, output)
    if found is None:
        stage = stage_that_stores(KIND, MODE, output)
        raise MissingError(
            f"Stage '{stage}' of job j{job_id} is not stored now; `ragq inspect j{job_id}` shows its progress.",
            slug="document-missing",
        )
    return found


async def document_view(
    connection: Connection, *, job_id: int | None = None, work_id: int | None = None
) -> DocumentView:
    """A document by its job, or by its work, read at one moment. Raises MissingError, for a job of another kind too."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        if job_id is None:
            assert work_id is not None
            work = await works.work(connection, work_id)
            if work.job_id is None:
                by_text = await asyncio.to_thread(outline, (await works.text(connection, work.id))[0], ())
                headings = tuple(heading.model_copy(update={"work_line": heading.line}) for heading in by_text.headings)
                return DocumentView(work_id=work.id, title=work.title, format="markdown", headings=headings)
            job_id = work.job_id
        await document_job(connection, job_id)
        found = await output_of(connection, job_id, DocumentOutline)
        repaired = await output_of(connection, job_id, RepairedTitles)
        sanitised = await output_of(connection, job_id, SanitisedDocument)
        selected = await output_of(connection, job_id, SelectedSections)
        view = (await works.documents(connection, [job_id]))[job_id]
    headings = next((one.headings for one in (sanitised, repaired, found) if one is not None), ())
    if selected is not None:
        headings = with_selection(headings, selected.skipped)
    missing = () if found is None else found.missing
    more = {
        "headings": headings,
        "missing": missing,
        "changed": sum(heading.action not in (None, RepairAction.NO_CHANGE) for heading in headings),
        "skipped": sum(heading.embeds is False for heading in headings),
        "disagreements": len(missing) + sum(heading.disagrees for heading in headings),
    }
    return view.model_copy(update=more)


async def document_text(
    connection: Connection, *, job_id: int | None = None, work_id: int | None = None
) -> tuple[str, Sequence[int]]:
    """The markdown of a work; or that of a job, sanitised if that is stored, and as it was converted before. With the
    line at which each page begins.

    Raises as `document_view`, Refused for a work that does not match its hash, and MissingError for a job that has
    converted nothing yet.
    """
    if work_id is not None:
        return await works.text(connection, work_id)
    assert job_id is not None
    await document_job(connection, job_id)
    made = await output_of(connection, job_id, SanitisedDocument) or await needed(connection, job_id, ConvertedDocument)
    return made.markdown, made.page_lines


REPAIR = "repair"
SELECT = "select"


async def decision_prompt(connection: Connection, job_id: int, step: str) -> str:
    """The prompt by which a model repairs the headings of a document, or selects its sections. Raises as
    `document_job`, MissingError while the headings are not stored, TemplateMissingError, and TemplateError."""
    job = await document_job(connection, job_id)
    tag = TemplateTag.TITLE_REPAIR if step == REPAIR else TemplateTag.SECTION_SELECTION
    template = (await presets.template(connection, tag, job.inputs.get("templates", {}).get(tag))).template_content
    if step == REPAIR:
        found = await needed(connection, job_id, DocumentOutline)
        return repair_prompt(
            found.headings, (await needed(connection, job_id, ConvertedDocument)).toc, template=template
        )
    sanitised = await needed(connection, job_id, SanitisedDocument)
    return select_prompt(with_headings(sections_of(sanitised.markdown)), template=template)


async def edit(connection: Connection, job_id: int, step: str, reply: str, *, by: DecidedBy = DecidedBy.PASTED) -> None:
    """Store what a reply makes of the headings of a document, or which sections it selects. By a user it has lines for
    single headings, and the others stay as they were decided.

    Raises ReplyShapeError for a reply that cannot be used, StageRunningError, Refused for a job whose work has another
    text since and while an earlier stage is not done, and as `decision_prompt`.
    """
    is_change = by is DecidedBy.USER
    decided: RepairedTitles | SelectedSections
    async with connection.transaction():
        await works.refuse_replaced(connection, [(await document_job(connection, job_id)).id])
        if step == REPAIR:
            of_stage: type[RepairedTitles | DocumentOutline] = RepairedTitles if is_change else DocumentOutline
            headings = (await needed(connection, job_id, of_stage)).headings
            decided = RepairedTitles(headings=repair_by_reply(reply, headings), by=by)
        else:
            sections = sections_of((await needed(connection, job_id, SanitisedDocument)).markdown)
            former = (await needed(connection, job_id, SelectedSections)).skipped if is_change else None
            decided = SelectedSections(skipped=select_by_reply(reply, sections, by=by, former=former), by=by)
        stage = REPAIR if step == REPAIR else SELECT
        await edits.set_output(connection, job_id, stage, decided.model_dump(mode="json"))
