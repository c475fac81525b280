"""Stage `convert`: a document as markdown."""

from adapters.documents import convert
from schemas.values.documents import ConvertedDocument
from stages.documents.formats import DocumentFormat, format_of, holds_markdown
from store import originals
from workers.work import Result, Work


async def run(work: Work) -> Result[ConvertedDocument]:
    """Convert the original that the job was submitted with, in a process of its own."""
    named: str = work.claim.inputs["original"]
    work.read["original"] = named
    content = await work.database.with_retry(lambda connection: originals.content(connection, named))
    name: str = work.claim.inputs["name"]
    form = DocumentFormat.MARKDOWN if holds_markdown(content, name) else format_of(content, name)
    return Result(await convert(content, form, work.document_limits))
