"""A document as its stages left it, and its headings and sections decided by a pasted reply or one by one.

An edit is an attempt of its stage. What the stages after it stored stays in the history, and they run again."""

import asyncio
from bisect import bisect_right
from collections.abc import Sequence
from typing import TypeVar

from pydantic import Field, computed_field

from schemas.chains import stage_that_stores, stages_of
from schemas.errors import MissingError
from schemas.statuses import JobStatus, StageStatus
from schemas.values.base import Value
from schemas.values.documents import (
    ConvertedDocument,
    DecidedBy,
    DocumentLine,
    DocumentOutline,
    Heading,
    RepairAction,
    RepairedTitles,
    SanitisedDocument,
    SelectedSections,
    TocEntry,
)
from stages.documents.outline import outline
from stages.documents.repair import repair_by_reply, repair_prompt
from stages.documents.select import sections_of, select_by_reply, select_prompt, with_headings
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


class OutlineHeading(Heading):
    """A heading of a document, and what became of it."""

    page: int | None = Field(default=None, examples=[31])
    """From 1; null in formats without pages."""
    action: RepairAction | None = Field(default=None, examples=["H2"])
    """What stage `repair` did; null before that is stored."""
    repaired_level: int | None = Field(default=None, examples=[2])
    """The level in the work; null for a heading that is removed, and before it is repaired."""
    repaired_text: str | None = Field(default=None, repr=False, examples=["2.1 Oxidation"])
    """The words in the work, likewise."""
    work_line: int | None = Field(default=None, examples=[12])
    """Its line in the sanitised markdown, once that is stored; names the heading in a selection."""
    embeds: bool | None = None
    """Whether its section is embedded; null before that is selected, and for a heading that is removed."""
    reason: str | None = Field(default=None, examples=["an index"])
    """Why its section is skipped."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def disagrees(self) -> bool:
        """The table of contents gives it another level than the document has in the end."""
        level = self.level if self.repaired_level is None else self.repaired_level
        return self.toc_level is not None and self.toc_level != level


class DocumentView(DocumentLine):
    """A document: its job, what the stages found, and its headings."""

    run_id: int | None = Field(default=None, examples=[12])
    status: JobStatus | None = Field(default=None, examples=["succeeded"])
    stages: dict[str, StageStatus] = Field(default={}, examples=[{"convert": "done", "outline": "done"}])
    """The status of each stage, in the order of the chain."""
    converter: str | None = Field(default=None, examples=["pypdfium2 5.1.0"])
    headings_by: str | None = Field(default=None, examples=["document: it has its own headings"])
    """What they were found by, and why: by the `outline` of a PDF, the `style` of its fonts, or in the `document`."""
    left_out_lines: int | None = Field(default=None, examples=[150])
    """Headers, footers, page numbers and a printed table of contents, which the markdown has not."""
    pages_without_text: tuple[int, ...] = Field(default=(), examples=[(3,)])
    """Pages of a PDF that gave no text, from 1: blank, or a picture alone."""
    repaired_by: DecidedBy | None = Field(default=None, examples=["rules"])
    selected_by: DecidedBy | None = Field(default=None, examples=["rules"])
    model: str | None = None
    """The model that decided, where one did."""
    headings: tuple[OutlineHeading, ...] = ()
    missing: tuple[TocEntry, ...] = ()
    """Entries of the table of contents that no heading has."""

    @computed_field(examples=[4])  # type: ignore[prop-decorator]
    @property
    def changed(self) -> int:
        """Headings that stage `repair` did not leave as they were."""
        return sum(heading.action not in (None, RepairAction.NO_CHANGE) for heading in self.headings)

    @computed_field(examples=[2])  # type: ignore[prop-decorator]
    @property
    def skipped(self) -> int:
        """Headings whose sections are not embedded."""
        return sum(heading.embeds is False for heading in self.headings)

    @computed_field(examples=[1])  # type: ignore[prop-decorator]
    @property
    def disagreements(self) -> int:
        """Headings of another level than in the table of contents, and entries of it without a heading."""
        return len(self.missing) + sum(heading.disagrees for heading in self.headings)


async def document_view(
    connection: Connection, *, job_id: int | None = None, work_id: int | None = None
) -> DocumentView:
    """A document by its job, or by its work, read at one moment. Raises MissingError, for a job of another kind too."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        if job_id is None:
            assert work_id is not None
            work = await works.work(connection, work_id)
            if work.job_id is None:
                found = await asyncio.to_thread(outline, await works.markdown(connection, work.id), ())
                headings = tuple(OutlineHeading(**dict(heading), work_line=heading.line) for heading in found.headings)
                return DocumentView(work_id=work.id, title=work.title, format="markdown", headings=headings)
            job_id = work.job_id
        return await _of_job(connection, await document_job(connection, job_id))


async def document_text(
    connection: Connection, *, job_id: int | None = None, work_id: int | None = None
) -> tuple[str, Sequence[int]]:
    """The markdown of a work; or that of a job, sanitised if that is stored, and as it was converted before. With the
    line at which each page begins.

    Raises as `document_view`, Refused for a work that does not match its hash, and MissingError for a job that has
    converted nothing yet.
    """
    if work_id is not None:
        return await works.markdown(connection, work_id), await works.page_lines(connection, work_id)
    assert job_id is not None
    await document_job(connection, job_id)
    made = await output_of(connection, job_id, SanitisedDocument) or await needed(connection, job_id, ConvertedDocument)
    return made.markdown, made.page_lines


_OF_CONVERTED = {"converter", "headings_by", "left_out_lines", "pages_without_text"}


async def _of_job(connection: Connection, job: Job) -> DocumentView:
    converted = await output_of(connection, job.id, ConvertedDocument)
    found = await output_of(connection, job.id, DocumentOutline)
    repaired = await output_of(connection, job.id, RepairedTitles)
    sanitised = await output_of(connection, job.id, SanitisedDocument)
    selected = await output_of(connection, job.id, SelectedSections)
    line = (await works.lines(connection, [job.id]))[job.id]
    runs = (await jobs.of_jobs(connection, [job.id]))[job.id]
    headings: tuple[OutlineHeading, ...] = ()
    if converted is not None and found is not None:
        headings = await asyncio.to_thread(_headings, converted, found, repaired, sanitised, selected)
    return DocumentView(
        **dict(line),
        run_id=job.run_id,
        status=job.status,
        stages={run.stage: run.status for run in runs if run.stage in stages_of(KIND, MODE)},
        **({} if converted is None else converted.model_dump(include=_OF_CONVERTED)),
        repaired_by=None if repaired is None else repaired.by,
        selected_by=None if selected is None else selected.by,
        model=next((one.model for one in (repaired, selected) if one is not None and one.model is not None), None),
        headings=headings,
        missing=() if found is None else found.missing,
    )


def _headings(
    converted: ConvertedDocument,
    found: DocumentOutline,
    repaired: RepairedTitles | None,
    sanitised: SanitisedDocument | None,
    selected: SelectedSections | None,
) -> tuple[OutlineHeading, ...]:
    repairs = {} if repaired is None else {repair.line: repair for repair in repaired.repairs}
    selections = {} if selected is None else {selection.line: selection for selection in selected.selections}
    work_lines = _work_lines(found, repaired, sanitised)
    headings = []
    for heading in found.headings:
        repair = repairs.get(heading.line)
        kept = None if repair is None or repair.action is RepairAction.REMOVE else repair
        work_line = work_lines.get(heading.line)
        selection = None if work_line is None else selections.get(work_line)
        headings.append(
            OutlineHeading(
                **dict(heading),
                page=bisect_right(converted.page_lines, heading.line) or None,
                action=None if repair is None else repair.action,
                repaired_level=None if kept is None else kept.level(heading.level),
                repaired_text=None if kept is None else kept.text,
                work_line=work_line,
                embeds=None if selection is None else selection.embeds,
                reason=None if selection is None else selection.reason,
            )
        )
    return tuple(headings)


def _work_lines(
    found: DocumentOutline, repaired: RepairedTitles | None, sanitised: SanitisedDocument | None
) -> dict[int, int]:
    """The line of each heading in the sanitised markdown. Headings that are kept have their order there."""
    if repaired is None or sanitised is None:
        return {}
    removed = {repair.line for repair in repaired.repairs if repair.action is RepairAction.REMOVE}
    kept = [heading.line for heading in found.headings if heading.line not in removed]
    lines = [heading.line for heading in outline(sanitised.markdown, ()).headings]
    return dict(zip(kept, lines, strict=True)) if len(kept) == len(lines) else {}


REPAIR = "repair"
SELECT = "select"


async def decision_prompt(connection: Connection, job_id: int, step: str) -> str:
    """The prompt by which a model repairs the headings of a document, or selects its sections. Raises as
    `document_job`, MissingError while the headings are not stored, TemplateMissingError, and TemplateError."""
    job = await document_job(connection, job_id)
    tag = TemplateTag.TITLE_REPAIR if step == REPAIR else TemplateTag.SECTION_SELECTION
    template = (await presets.template(connection, tag, job.inputs.get("templates", {}).get(tag))).text
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
            headings = (await needed(connection, job_id, DocumentOutline)).headings
            repairs = (await needed(connection, job_id, RepairedTitles)).repairs if is_change else ()
            decided = RepairedTitles(repairs=repair_by_reply(reply, headings, repairs), by=by)
        else:
            sections = sections_of((await needed(connection, job_id, SanitisedDocument)).markdown)
            former = (await needed(connection, job_id, SelectedSections)).selections if is_change else ()
            decided = SelectedSections(selections=select_by_reply(reply, sections, by=by, former=former), by=by)
        stage = REPAIR if step == REPAIR else SELECT
        await edits.set_output(connection, job_id, stage, decided.model_dump(mode="json"))
