"""Stage `sanitise`: the markdown that becomes the work."""

import asyncio
from hashlib import sha256

from schemas.values.documents import ConvertedDocument, RepairedTitles, SanitisedDocument
from stages.documents.sanitise import sanitise
from workers.work import Result, Work


async def run(work: Work) -> Result[SanitisedDocument]:
    """Apply the repairs to the chosen variant."""
    chosen = (await work.output(ConvertedDocument)).chosen
    repaired = await work.output(RepairedTitles)
    markdown, pages = await asyncio.to_thread(sanitise, chosen.markdown, repaired.repairs, chosen.page_lines)
    content_hash = sha256(markdown.encode()).hexdigest()
    return Result(SanitisedDocument(markdown=markdown, content_hash=content_hash, page_lines=pages))
