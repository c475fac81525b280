"""Stage `repair`: what becomes of each heading, by rules or by a model."""

from schemas.values.documents import ConvertedDocument, DecidedBy, DocumentOutline, RepairedTitles
from stages.documents.repair import repair_by_rules
from stages.documents.repair_reply import repair_by_model
from stages.queries.templates import TemplateTag
from workers.bindings.documents.asking import asking
from workers.work import Result, Work


async def run(work: Work) -> Result[RepairedTitles]:
    """Repair the headings as set; a model whose replies cannot be used fails the job."""
    headings = (await work.output(DocumentOutline)).headings
    if work.settings.ragq.repair_by == "rules":
        return Result(RepairedTitles(repairs=repair_by_rules(headings), by=DecidedBy.RULES))
    toc = (await work.output(ConvertedDocument)).toc
    asked = await asking(work, TemplateTag.TITLE_REPAIR)
    return Result(await repair_by_model(headings, toc, asked, chat=work.chat))
