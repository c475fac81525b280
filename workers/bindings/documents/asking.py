"""What the stages of a document read that ask a language model."""

from stages.documents.heading_calls import Asking
from stages.queries.templates import TemplateTag
from store.questions import templates
from workers.work import Work


async def asking(work: Work, tag: TemplateTag) -> Asking:
    """By the settings of the run, and by the version of the template that was active at submission."""
    version: int = work.claim.inputs["templates"][tag]
    work.read[f"template {tag}"] = version
    stored = await work.database.with_retry(lambda connection: templates.get(connection, tag, version))
    return Asking(
        template=stored.text,
        model=work.settings.document_model,
        timeout_s=work.settings.ollama.timeout_seconds,
        max_tokens=work.settings.ragq.document_max_tokens or None,
        retries=work.settings.ragq.reply_retries,
    )
