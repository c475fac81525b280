"""Stage `select`: which sections are embedded, by rules or by a model."""

import asyncio

from schemas.values.documents import DecidedBy, SanitisedDocument, SelectedSections
from stages.documents.select import sections_of, select_by_rules
from stages.documents.select_reply import select_by_model
from stages.queries.templates import TemplateTag
from workers.bindings.documents.asking import asking
from workers.work import Result, Work


async def run(work: Work) -> Result[SelectedSections]:
    """Select the sections as set; a model whose replies cannot be used fails the job."""
    markdown = (await work.output(SanitisedDocument)).markdown
    found = await asyncio.to_thread(sections_of, markdown)
    if work.settings.ragq.select_by == "rules":
        return Result(SelectedSections(selections=select_by_rules(found), by=DecidedBy.RULES))
    asked = await asking(work, TemplateTag.SECTION_SELECTION)
    return Result(await select_by_model(found, asked, chat=work.chat))
