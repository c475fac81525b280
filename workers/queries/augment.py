"""Stage `augment` of a query: the prompt with its sources."""

from schemas.values.corpora import CorpusChunk
from schemas.values.queries import ConsolidatedContext, Expansion, ValidatedChunks
from stages.queries.augment import augment_prompt
from stages.queries.templates import TemplateTag
from store import chunks, works
from store.database import Connection
from workers.queries.reading import question, template
from workers.work import Result, Work


async def augment_of_query(work: Work) -> Result:
    """By the template that was active at submission, with as many sources as were asked for, or as the preset says."""
    query = await question(work)
    validated = await work.output("validate", ValidatedChunks)
    consolidated = await work.output("consolidate", ConsolidatedContext)
    asked_by = await template(work, TemplateTag.RAG_AUGMENTATION)
    top_n = work.claim.inputs.get("top_n")
    if top_n is not None:
        work.read["top_n"] = top_n
    ids = [chunk.chunk_id for chunk in validated.chunks]
    work_ids = sorted({chunk.work_id for chunk in validated.chunks} | {group.work_id for group in consolidated.groups})

    async def read(connection: Connection) -> tuple[dict[int, CorpusChunk], dict[int, str]]:
        return await chunks.around(connection, ids), await works.titles(connection, work_ids)

    parents, titles = await work.database.steadily(read)
    return Result(
        augment_prompt(
            query.original_query,
            await work.output("expand", Expansion),
            consolidated,
            validated.chunks,
            titles=titles,
            parents=parents,
            template=asked_by.text,
            template_version=asked_by.version,
            top_n=work.preset.augmentation.top_n_contexts if top_n is None else top_n,
        )
    )
