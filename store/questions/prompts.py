"""The prompt of a query, from what is stored."""

from schemas.values.queries import AugmentedPrompt, ConsolidatedContext, Expansion, ValidatedChunks
from stages.queries.augment import augment_prompt
from store.corpora import chunks, works
from store.database import Connection
from store.questions.templates import StoredTemplate


async def make_prompt(
    connection: Connection,
    question: str,
    expansion: Expansion,
    consolidated: ConsolidatedContext | None,
    validated: ValidatedChunks,
    *,
    template: StoredTemplate,
    top_n: int,
    context_tokens: int | None = None,
    max_answer_tokens: int | None = None,
) -> AugmentedPrompt:
    """As `augment_prompt`, with the headings and titles around the passages as they are stored now."""
    groups = consolidated.groups if consolidated else ()
    work_ids = {chunk.work_id for chunk in validated.chunks} | {group.work_id for group in groups}
    return augment_prompt(
        question,
        expansion,
        consolidated,
        validated.chunks,
        parents=await chunks.around(connection, [chunk.chunk_id for chunk in validated.chunks]),
        names=await works.names(connection, sorted(work_ids)),
        template=template.text,
        template_tag=template.tag,
        template_version=template.version,
        top_n=top_n,
        context_tokens=context_tokens,
        max_answer_tokens=max_answer_tokens,
    )
