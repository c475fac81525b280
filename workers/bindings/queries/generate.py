"""Stage `generate` of a query: the answer, which is stored with those that the question has already."""

from schemas.full_text import ENGLISH
from schemas.values.queries import Answer, AugmentedPrompt, ValidatedChunks
from stages.queries.extract_answer import extracted_answer
from stages.queries.generate import generate_answer, pasted_answer
from store.database import Connection
from store.questions import queries
from store.questions.answer_basis import answer_basis
from store.questions.queries import StoredQuery
from workers.answer_stream import published
from workers.bindings.queries.reading import advising, asked_model, question, searched_corpora, terms_of
from workers.work import Result, Work


async def run(work: Work) -> Result[Answer]:
    """By a model, and published while it writes; of sentences of the sources; or as the submission brought it.

    Each time the stage runs, it is another sample of the model.
    """
    query = await question(work)
    augmented = await work.output(AugmentedPrompt)
    given = work.claim.inputs["response"]
    if given is not None:
        answer = pasted_answer(given, augmented)
    elif work.settings.ragq.answerer == "extractive":
        answer = await _extracted(work, query, augmented)
    else:
        sample = await work.database.with_retry(lambda connection: queries.answered(connection, query.id))
        async with published(work.database, work.claim.attempt_id) as on_text:
            answer = await generate_answer(
                augmented,
                chat=work.resampling_chat,
                model=asked_model(work),
                timeout_s=work.settings.ollama.timeout_seconds,
                temperature=work.settings.ragq.query_temperature,
                max_tokens=work.preset.augmentation.max_answer_tokens or work.settings.ragq.query_max_tokens or None,
                sample=sample,
                on_text=on_text,
            )
    preset = await work.database.with_retry(lambda connection: queries.preset_name(connection, work.claim.run_id))

    async def keep(connection: Connection) -> None:
        await queries.add_result(
            connection,
            query.id,
            answer,
            augmented.sources,
            attempt_id=work.claim.attempt_id,
            preset=preset,
            basis=await answer_basis(connection, work.claim.job_id, augmented),
        )

    return Result(answer, effect=keep)


async def _extracted(work: Work, query: StoredQuery, augmented: AugmentedPrompt) -> Answer:
    first, *_ = searched = await searched_corpora(work, query)
    validated = await work.output(ValidatedChunks)
    with advising(work, query):
        return await extracted_answer(
            query.original_query,
            augmented,
            validated.chunks,
            embedder=work.embedder,
            terms=terms_of(work, searched),
            timeout_s=work.settings.embedding.query_embed_timeout_seconds,
            language=first.language or ENGLISH,
        )
