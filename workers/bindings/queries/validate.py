"""Stage `validate` of a query: a model lets each chunk through or keeps it out, or validation is off."""

from schemas.values.queries import RerankedChunks, ValidatedChunks
from stages.queries.templates import TemplateTag
from stages.queries.validate import keep_all, validate_chunks
from workers.bindings.queries.reading import advising, question, template
from workers.work import Result, Work


async def run(work: Work) -> Result[ValidatedChunks]:
    """As set in the preset; without any chunk left the job fails, unless the preset allows that."""
    preset = work.preset.validation
    reranked = await work.output(RerankedChunks)
    query = await question(work)
    if not preset.enabled:
        with advising(query):
            return Result(keep_all(reranked.chunks, allow_empty=preset.allow_empty))
    asked_by = await template(work, TemplateTag.CHUNK_VALIDATION)
    with advising(query):
        return Result(
            await validate_chunks(
                query.original_query,
                reranked.chunks,
                template=asked_by.text,
                chat=work.chat,
                model=preset.model or work.settings.model.judge_model,
                timeout_s=work.settings.ollama.timeout_seconds,
                max_chunks=preset.max_chunks,
                max_chars=work.settings.ragq.validation_max_chars,
                max_tokens=work.settings.ragq.verdict_max_tokens,
                retries=work.settings.ragq.reply_retries,
                allow_empty=preset.allow_empty,
            )
        )
