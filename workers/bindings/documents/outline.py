"""Stage `outline`: the headings of a document beside its own table of contents."""

import asyncio

from schemas.values.documents import ConvertedDocument, DocumentOutline
from stages.documents.outline import outline
from workers.work import Result, Work


async def run(work: Work) -> Result[DocumentOutline]:
    """Find the headings of the chosen variant."""
    converted = await work.output(ConvertedDocument)
    return Result(await asyncio.to_thread(outline, converted.chosen.markdown, converted.toc))
