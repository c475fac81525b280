"""Stage `augment` of a query: the prompt with its sources."""

from schemas.values.queries import AugmentedPrompt, ConsolidatedContext, Expansion, ValidatedChunks
from stages.queries.templates import TemplateTag
from store.questions.prompts import make_prompt
from workers.bindings.queries.reading import asked_model, question, template
from workers.work import Result, Work


async def run(work: Work) -> Result[AugmentedPrompt]:
    """By the template that was active at submission, with the requested number of sources, or the preset's.

    It fits into the context of the model that is going to answer, as far as that is known.
    """
    query = await question(work)
    validated = await work.output(ValidatedChunks)
    consolidated = await work.output_if_stored(ConsolidatedContext)
    asked_by = await template(work, TemplateTag(work.settings.ragq.answer_template))
    top_n = work.claim.inputs.get("top_n")
    if top_n is not None:
        work.read["top_n"] = top_n
    expansion = await work.output(Expansion)
    context_tokens = None
    if work.claim.inputs["response"] is None and work.settings.ragq.answerer == "model":
        context_tokens = work.settings.ragq.context_tokens or await work.reported_context(asked_model(work))
        work.read["context_tokens"] = context_tokens
    return Result(
        await work.database.with_retry(
            lambda connection: make_prompt(
                connection,
                query.original_query,
                expansion,
                consolidated,
                validated,
                template=asked_by,
                context_tokens=context_tokens,
                max_answer_tokens=work.preset.augmentation.max_answer_tokens or work.settings.ragq.query_max_tokens,
                top_n=work.preset.augmentation.top_n_contexts if top_n is None else top_n,
            )
        )
    )
