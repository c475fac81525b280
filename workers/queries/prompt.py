"""The prompt of a question, from what is stored: for stage `augment`, and beforehand for whoever wants to see it."""

from schemas.errors import StepNotReadyError
from schemas.settings.frozen import thaw
from schemas.settings.preset import Preset
from schemas.values.queries import AugmentedPrompt, ConsolidatedContext, Expansion, ValidatedChunks
from stages.queries.augment import augment_prompt
from stages.queries.templates import TemplateTag
from store import attempts, chunks, presets, queries, runs, templates, works
from store.database import Connection
from store.queries import StoredQuery
from store.templates import StoredTemplate


async def make_prompt(
    connection: Connection,
    question: str,
    expansion: Expansion,
    consolidated: ConsolidatedContext | None,
    validated: ValidatedChunks,
    *,
    template: StoredTemplate,
    top_n: int,
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
        titles=await works.titles(connection, sorted(work_ids)),
        template=template.text,
        template_version=template.version,
        top_n=top_n,
    )


async def preview(
    connection: Connection, query: StoredQuery, *, preset: str | None = None, top_n: int | None = None
) -> AugmentedPrompt:
    """The prompt that stage `augment` would make now: with `top_n` sources, or as many as the preset says.

    With `preset`, as it would be made once the question has moved there. Raises StepNotReadyError while no search is
    stored, PresetMissingError, and TemplateMissingError.
    """
    expansion = await attempts.output(connection, query.job_id, "expand")
    validated = await attempts.output(connection, query.job_id, "validate")
    consolidated = await attempts.output(connection, query.job_id, "consolidate")
    if expansion is None or validated is None:
        raise StepNotReadyError(query.id, "prompt", "retrieve")
    asked_by, version = await _asked_by(connection, query, preset)
    return await make_prompt(
        connection,
        query.original_query,
        Expansion.model_validate(expansion.value),
        None if consolidated is None else ConsolidatedContext.model_validate(consolidated.value),
        ValidatedChunks.model_validate(validated.value),
        template=await templates.get(connection, TemplateTag.RAG_AUGMENTATION, version),
        top_n=asked_by.augmentation.top_n_contexts if top_n is None else top_n,
    )


async def _asked_by(connection: Connection, query: StoredQuery, name: str | None) -> tuple[Preset, int | None]:
    """The preset, and the version of the template: that of the question's job, or None for the active one."""
    job = await runs.job(connection, query.job_id)
    own = thaw(await runs.settings(connection, query.run_id)).preset
    assert job is not None and own is not None
    version: int = job["inputs"]["templates"][TemplateTag.RAG_AUGMENTATION]
    if name is None:
        return own, version
    chosen = await presets.get(connection, name)
    stays = (chosen.name, chosen.preset) == (await queries.preset_name(connection, query.run_id), own)
    return chosen.preset, version if stays else None
