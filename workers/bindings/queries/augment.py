"""Stage `augment` of a query: the prompt with its sources."""

from schemas.values.queries import AugmentedPrompt, ConsolidatedContext, Expansion, ValidatedChunks
from stages.queries.templates import TemplateTag
from store.questions.prompts import make_prompt
from workers.bindings.queries.reading import question, template
from workers.work import Result, Work


async def run(work: Work) -> Result[AugmentedPrompt]:
    """By the template that was active at submission, with the requested number of sources, or the preset's."""
    query = await question(work)
    validated = await work.output(ValidatedChunks)
    consolidated = await work.output_if_stored(ConsolidatedContext)
    asked_by = await template(work, TemplateTag(work.settings.ragq.answer_template))
    top_n = work.claim.inputs.get("top_n")
    if top_n is not None:
        work.read["top_n"] = top_n
    expansion = await work.output(Expansion)
    return Result(
        await work.database.with_retry(
            lambda connection: make_prompt(
                connection,
                query.original_query,
                expansion,
                consolidated,
                validated,
                template=asked_by,
                top_n=work.preset.augmentation.top_n_contexts if top_n is None else top_n,
            )
        )
    )
