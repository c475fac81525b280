"""Stage `expand` of a query: by a model, by a pasted reply, or not at all."""

from schemas.values.queries import Expansion, Origin
from stages.queries.expand import expand_query, no_expansion, pasted_expansion
from stages.queries.templates import TemplateTag
from workers.bindings.queries.reading import asked_model, question, template
from workers.work import Result, Work


async def run(work: Work) -> Result[Expansion]:
    """By a model, by a pasted reply, or not at all, as submitted."""
    asked = work.claim.inputs["expansion"]
    if asked["origin"] == Origin.NONE:
        return Result(no_expansion())
    if asked["origin"] == Origin.PASTED:
        return Result(pasted_expansion(asked["reply"]))
    query = await question(work)
    asked_by = await template(work, TemplateTag.QUERY_EXPANSION)
    return Result(
        await expand_query(
            query.original_query,
            n=work.preset.expansion.n,
            template=asked_by.text,
            chat=work.resampling_chat,
            model=asked_model(work),
            timeout_s=work.settings.ollama.timeout_seconds,
            temperature=work.settings.ragq.query_temperature,
            max_tokens=work.preset.expansion.max_tokens or work.settings.ragq.query_max_tokens or None,
        )
    )
